import { createInterface } from "node:readline";

/**
 * Tells the benchmark where a server listens, and answers its `usage` with the CPU time used so far, in microseconds.
 * `purge` deletes old events, and answers how many. It stops at the end of standard input.
 *
 * @param {string} url
 * @param {() => Promise<{ events: number }>} [purge]
 * @param {() => number} [cpu] if it is not only this process's
 */
export function ready(url, purge, cpu = ownCpu) {
  const say = (/** @type {unknown} */ message) =>
    process.stdout.write(`${JSON.stringify(message)}\n`);
  createInterface({ input: process.stdin })
    .on("line", async (line) => {
      if (line === "purge") return say({ purged: (await purge?.())?.events });
      say({ cpu: cpu() });
    })
    .on("close", () => process.exit());
  say({ url });
}

function ownCpu() {
  const { user, system } = process.cpuUsage();
  return user + system;
}
