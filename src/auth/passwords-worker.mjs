// A thread of password-threads.ts: bcrypt is slow and would block every other request. Plain JavaScript, so that every
// runtime can start it from the source, too.
import { parentPort } from "node:worker_threads";
import { compareSync, hashSync } from "bcryptjs";

parentPort?.on("message", ({ password, cost, hash }) => {
  parentPort?.postMessage(
    hash === undefined ? hashSync(password, cost) : compareSync(password, hash),
  );
});
