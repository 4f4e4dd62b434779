import { createInterface } from "node:readline";

/**
 * Tells the benchmark where a server listens, and answers its `usage` with the CPU time used so far, in microseconds.
 * `purge` deletes old events, and answers how many. It stops at the end of standard input.
 *
 * @param {string} url
 * @param {() => Promise<{ events: number }>} [purge]
 */
export function ready(url, purge) {
  const say = (/** @type {unknown} */ message) =>
    process.stdout.write(`${JSON.stringify(message)}\n`);
  createInterface({ input: process.stdin })
    .on("line", async (line) => {
      if (line === "purge") return say({ purged: (await purge?.())?.events });
      const { user, system } = process.cpuUsage();
      say({ cpu: user + system });
    })
    .on("close", () => process.exit());
  say({ url });
}
