import * as v from "valibot";
import { flagOption, optionsOf } from "../../core/options.ts";
import type { Clock } from "../clock.ts";
import { order } from "./order.ts";

const clockInput = optionsOf({
  now: v.optional(
    v.union([v.string(), v.number()], "must be an instant, such as 2026-01-01T00:00:00Z"),
  ),
  advance: v.optional(v.number("must be a number of milliseconds")),
  frozen: flagOption,
});

export const clockOrders = [
  order({
    method: "GET",
    path: "clock",
    summary: "Returns the time of the world, and whether its clock stands still",
    run: ({ world: { clock } }) => stateOf(clock),
  }),
  order({
    method: "PUT",
    path: "clock",
    summary:
      "Sets the clock (`now`), moves it forward (`advance`, in milliseconds), stops it or lets it run (`frozen`), in this order",
    body: clockInput,
    run: ({ world: { clock }, body: { now, advance, frozen } }) => {
      const { isFrozen } = clock;
      if (now !== undefined) clock.set(now);
      if (advance !== undefined) clock.advance(advance);
      clock.freeze(frozen ?? isFrozen);
      return stateOf(clock);
    },
  }),
];

function stateOf(clock: Clock) {
  return { now: new Date(clock.now()).toISOString(), frozen: clock.isFrozen };
}
