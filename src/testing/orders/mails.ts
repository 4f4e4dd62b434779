import * as v from "valibot";
import { optionsOf, textOption } from "../../core/options.ts";
import { listed, orTimeout } from "./listed.ts";
import { order } from "./order.ts";
import { timeoutInQuery } from "./query.ts";

const filter = {
  to: v.optional(textOption),
  subject: v.optional(textOption),
  about: v.optional(textOption),
};

export const mailOrders = [
  order({
    method: "GET",
    path: "mails",
    summary:
      "Lists the mails that would have been sent, in order: those that fit `to`, `subject` and `about`, in which `*` stands for any text",
    query: optionsOf(filter),
    run: async ({ world, query }) => listed(await world.mails.list(query), world.mails.dropped),
  }),
  order({
    method: "GET",
    path: "mails/wait",
    summary:
      "Waits for a mail that fits, for `timeout` milliseconds (5000): 200 with it, or 408 that says what has arrived instead",
    query: optionsOf({ ...filter, timeout: timeoutInQuery }),
    run: ({ world, query: { timeout, ...meant } }) =>
      orTimeout(world.mails.wait(meant, { timeout })),
  }),
  order({
    method: "DELETE",
    path: "mails",
    summary: "Forgets the mails",
    status: 204,
    run: ({ world }) => world.mails.clear(),
  }),
];
