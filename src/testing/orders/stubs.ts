import { type SetStub, sentStubsOption } from "../stubs.ts";
import { order } from "./order.ts";

export const stubOrders = [
  order({
    method: "GET",
    path: "stubs",
    summary: "Lists the canned answers, and how often each was used",
    run: ({ world }) => world.stubs.list().map(shown),
  }),
  order({
    method: "PUT",
    path: "stubs",
    summary:
      "Sets a canned answer (`method`, `path`, in which `*` stands for any text, `status`, `headers`, `body`) in the place of the one with the same `id`, or a list of them in the place of all others",
    body: sentStubsOption,
    run: ({ world, body }) => {
      world.stubs.set(body);
      return world.stubs.list().map(shown);
    },
  }),
  order({
    method: "DELETE",
    path: "stubs",
    summary: "Removes all canned answers",
    status: 204,
    run: ({ world }) => world.stubs.clear(),
  }),
  order({
    method: "DELETE",
    path: "stubs/:id",
    summary: "Removes a canned answer",
    status: 204,
    run: ({ world, params }) => world.stubs.remove(params["id"] as string),
  }),
];

const shown = ({ path, ...stub }: SetStub) => ({ ...stub, path: String(path) });
