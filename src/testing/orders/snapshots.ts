import { order } from "./order.ts";

export const snapshotOrders = [
  order({
    method: "GET",
    path: "snapshots",
    summary: "Lists the names of the snapshots",
    run: ({ world: { snapshots } }) => snapshots.list().map((name) => ({ name })),
  }),
  order({
    method: "PUT",
    path: "snapshots/:name",
    summary:
      "Names the present state, with the clock, to go back to; a name that there is gets the new one",
    status: 201,
    run: async ({ world: { snapshots }, params: { name = "" } }) => {
      await snapshots.save(name);
      return { name };
    },
  }),
  order({
    method: "POST",
    path: "snapshots/:name/restore",
    summary: "Goes to a named state, whatever was saved or restored since",
    status: 204,
    run: ({ world: { snapshots }, params: { name = "" } }) => snapshots.restore(name),
  }),
  order({
    method: "DELETE",
    path: "snapshots/:name",
    summary: "Forgets a named state",
    status: 204,
    run: ({ world: { snapshots }, params: { name = "" } }) => snapshots.remove(name),
  }),
];
