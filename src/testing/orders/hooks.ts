import * as v from "valibot";
import { optionsOf, textOption } from "../../core/options.ts";
import { listed, orTimeout } from "./listed.ts";
import { order } from "./order.ts";
import { numberInQuery, timeoutInQuery } from "./query.ts";

const filter = {
  event: v.optional(textOption),
  project: v.optional(textOption),
  url: v.optional(textOption),
  status: numberInQuery,
};
const hooksInput = optionsOf({ deliver: v.boolean("must be true or false") });

export const hookOrders = [
  order({
    method: "GET",
    path: "hooks",
    summary:
      "Lists what webhooks were sent, or would have been, in order and without secrets: what fits `event`, `project` and `url`, in which `*` stands for any text, and `status`",
    query: optionsOf(filter),
    run: async ({ world, query }) => listed(await world.hooks.list(query), world.hooks.dropped),
  }),
  order({
    method: "GET",
    path: "hooks/wait",
    summary:
      "Waits for a call of a webhook that fits, for `timeout` milliseconds (5000): 200 with it, or 408 that says what was called instead",
    query: optionsOf({ ...filter, timeout: timeoutInQuery }),
    run: ({ world, query: { timeout, ...meant } }) =>
      orTimeout(world.hooks.wait(meant, { timeout })),
  }),
  order({
    method: "PUT",
    path: "hooks",
    summary: "Says whether webhooks are called (`deliver`), or the calls are only kept",
    body: hooksInput,
    run: ({ world, body: { deliver } }) => {
      world.hooks.deliver = deliver;
      return { deliver };
    },
  }),
  order({
    method: "DELETE",
    path: "hooks",
    summary: "Forgets the calls of webhooks",
    status: 204,
    run: ({ world }) => world.hooks.clear(),
  }),
];
