import type { Strictness } from "../../core/http/strict.ts";
import { strictOption } from "../strict.ts";
import { order } from "./order.ts";

export const strictOrders = [
  order({
    method: "GET",
    path: "strict",
    summary: "Returns what is refused that GitLab ignores or converts",
    run: ({ world }) => world.strict.get(),
  }),
  order({
    method: "PUT",
    path: "strict",
    summary:
      "Says whether attributes that a route does not have (`parameters`), and values in JSON that are of another type than their attribute (`types`), are refused with 400 that names them",
    body: strictOption,
    run: ({ world, body }) => {
      world.strict.set(body as Partial<Strictness>);
      return world.strict.get();
    },
  }),
];
