import { changesOrders } from "./changes.ts";
import { clockOrders } from "./clock.ts";
import { faultOrders } from "./faults.ts";
import { hookOrders } from "./hooks.ts";
import { limitOrders } from "./limits.ts";
import { mailOrders } from "./mails.ts";
import { requestOrders } from "./requests.ts";
import { resetOrders } from "./reset.ts";
import { runnerOrders } from "./runner.ts";
import { seedOrders } from "./seed.ts";
import { snapshotOrders } from "./snapshots.ts";
import { strictOrders } from "./strict.ts";
import { stubOrders } from "./stubs.ts";
import { windowOrders } from "./window.ts";
import { worldOrders } from "./worlds.ts";

/** All orders. Those of a new kind are added here. */
export const orders = [
  ...windowOrders,
  ...resetOrders,
  ...clockOrders,
  ...changesOrders,
  ...snapshotOrders,
  ...worldOrders,
  ...requestOrders,
  ...faultOrders,
  ...limitOrders,
  ...mailOrders,
  ...hookOrders,
  ...runnerOrders,
  ...seedOrders,
  ...stubOrders,
  ...strictOrders,
];
