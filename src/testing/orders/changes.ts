import * as v from "valibot";
import { optionsOf, textOption } from "../../core/options.ts";
import { expectationOption } from "../changes/expectations.ts";
import { order } from "./order.ts";

const changesInput = optionsOf({
  since: v.optional(textOption),
  all: v.optional(v.picklist(["1", "0", "true", "false"], "must be 1 or 0")),
});

export const changesOrders = [
  order({
    method: "GET",
    path: "changes",
    summary:
      "Tells what has been created, updated and deleted since the last reset or a snapshot (`since`), as the API shows it; with `all=1` with times, counts, and what follows by itself",
    query: changesInput,
    run: ({ world, query: { since, all } }) =>
      world.changes({ since, all: all === "1" || all === "true" }),
  }),
  order({
    method: "POST",
    path: "changes/expect",
    summary:
      "Judges whether what is expected has been `created`, `updated` and `deleted`, with `only` nothing else, and tells the differences",
    body: expectationOption,
    run: ({ world, body }) => world.expectChanges(body),
  }),
];
