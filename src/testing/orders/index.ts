import { changesOrders } from "./changes.ts";
import { clockOrders } from "./clock.ts";
import { resetOrders } from "./reset.ts";
import { snapshotOrders } from "./snapshots.ts";
import { worldOrders } from "./worlds.ts";

/** All orders. Those of a new kind are added here. */
export const orders = [
  ...resetOrders,
  ...clockOrders,
  ...changesOrders,
  ...snapshotOrders,
  ...worldOrders,
];
