import * as v from "valibot";

/** The schema of a whole number in a query. */
export const numberInQuery = v.optional(
  v.pipe(v.string(), v.regex(/^\d{1,9}$/, "must be a whole number"), v.transform(Number)),
);

/** The schema of something in a query that is on or off. */
export const flagInQuery = v.optional(
  v.pipe(
    v.picklist(["1", "true", "0", "false"], "must be 1 or 0"),
    v.transform((text) => text === "1" || text === "true"),
  ),
);

/** Milliseconds that an order may wait, at most. */
const LONGEST = 600_000;

/** The schema of how long to wait, in milliseconds. */
export const timeoutInQuery = v.pipe(
  numberInQuery,
  v.check(
    (given) => given === undefined || given <= LONGEST,
    `must be at most ${LONGEST} milliseconds`,
  ),
);
