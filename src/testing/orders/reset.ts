import { order } from "./order.ts";

export const resetOrders = [
  order({
    method: "POST",
    path: "reset",
    summary:
      "Returns to the seed, with its ids and tokens, and to the clock, the limits and the faults of the start",
    status: 204,
    run: ({ world }) => world.reset(),
  }),
];
