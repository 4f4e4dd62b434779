import * as v from "valibot";
import type { Seed } from "../../seed/input.ts";
import { sentSeed } from "../seed.ts";
import { order } from "./order.ts";

export const seedOrders = [
  order({
    method: "POST",
    path: "seed",
    summary:
      "Adds a seed, as JSON or YAML (docs/seed.schema.json), to what there is; it may name users that there are. Answers how many records it has made, and the tokens",
    status: 201,
    // The seed's own schema tells more of what is wrong, and where.
    body: v.any(),
    run: ({ world, body }) => world.admin.seed(sentSeed(body) as Seed),
  }),
];
