import * as v from "valibot";
import { optionsOf, textOption } from "../../core/options.ts";
import type { TestRequest } from "../requests.ts";
import { listed, orTimeout } from "./listed.ts";
import { order } from "./order.ts";
import { flagInQuery, numberInQuery, timeoutInQuery } from "./query.ts";

const filter = {
  method: v.optional(textOption),
  path: v.optional(textOption),
  user: v.optional(textOption),
  status: numberInQuery,
  unmatched: flagInQuery,
};

export const requestOrders = [
  order({
    method: "GET",
    path: "requests",
    summary:
      "Lists what the world was asked since the start or the last reset, in order and without secrets: those that fit `method`, `path` (in which `*` stands for any text), `user`, `status`, or with `unmatched=1` those that nothing answers. `X-Dropped` says how many had to go for newer ones",
    query: optionsOf(filter),
    run: ({ world: { received }, query }) =>
      listed(received.list(query).map(shown), received.dropped),
  }),
  order({
    method: "GET",
    path: "requests/wait",
    summary:
      "Waits until a request that fits has been answered, for `timeout` milliseconds (5000): 200 with it, or 408 that says what has arrived instead",
    query: optionsOf({ ...filter, timeout: timeoutInQuery }),
    run: async ({ world, query: { timeout, ...meant } }) =>
      shown(await orTimeout(world.received.wait(meant, { timeout }))),
  }),
  order({
    method: "DELETE",
    path: "requests",
    summary: "Forgets what the world was asked",
    status: 204,
    run: ({ world }) => world.received.clear(),
  }),
];

const shown = (request: TestRequest) => ({ ...request, status: request.status ?? null });
