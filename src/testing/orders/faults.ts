import { type AddedFault, type Fault, faultId, sentFaultOption } from "../faults.ts";
import { order } from "./order.ts";

export const faultOrders = [
  order({
    method: "GET",
    path: "faults",
    summary:
      "Lists the faults with what is left of each: `after`, `times`, and how often it was `used`",
    run: ({ world }) => world.faults.list().map(shown),
  }),
  order({
    method: "POST",
    path: "faults",
    summary:
      "Makes requests fail that match `method`, `path`, `route`, `user`, `token` and `header`: the next one, or so many `times`, some of them (`probability`, `seed`), `after` some; by `status`, `body` and `headers`, a `delay`, a slow body (`bytesPerSecond`), half of one (`truncate`), or none at all (`disconnect`)",
    status: 201,
    body: sentFaultOption,
    run: ({ world, body }) => {
      const id = world.faults.add(body as Fault);
      return shown(world.faults.list().find((one) => one.id === id) as AddedFault);
    },
  }),
  order({
    method: "DELETE",
    path: "faults",
    summary: "Removes all faults",
    status: 204,
    run: ({ world }) => world.faults.clear(),
  }),
  order({
    method: "DELETE",
    path: "faults/:id",
    summary: "Removes a fault",
    status: 204,
    run: ({ world, params }) => world.faults.remove(faultId(params["id"] as string)),
  }),
];

const shown = ({ path, ...fault }: AddedFault) => ({
  ...fault,
  ...(path !== undefined && { path: String(path) }),
});
