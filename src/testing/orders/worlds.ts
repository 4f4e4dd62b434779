import * as v from "valibot";
import { flagOption, optionsOf } from "../../core/options.ts";
import { sentSeed } from "../seed.ts";
import { addressOf } from "../worlds.ts";
import { order } from "./order.ts";

const worldInput = optionsOf({ seed: v.optional(v.any()), prefix: flagOption });

export const worldOrders = [
  order({
    method: "GET",
    path: "worlds",
    summary: "Lists the worlds of this program with their addresses and tokens",
    run: ({ worlds }) => worlds.list().map(addressOf),
  }),
  order({
    method: "POST",
    path: "worlds",
    summary:
      "Adds a world with its own data, clock and port, or a path of this address (`prefix`), and with its own `seed` if one is given",
    status: 201,
    body: worldInput,
    run: async ({ worlds, body: { seed, prefix } }) =>
      addressOf(
        await worlds.add({
          ...(seed !== undefined && { seed: sentSeed(seed) }),
          ...(prefix && { prefix }),
        }),
      ),
  }),
  order({
    method: "DELETE",
    path: "worlds/:id",
    summary: "Ends a world and its address",
    status: 204,
    run: ({ worlds, params }) => worlds.remove(params["id"] as string),
  }),
];
