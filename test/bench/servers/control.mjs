import { createInterface } from "node:readline";

/**
 * Tells the bench where a server listens, and answers its `usage` with the CPU time used until then, in microseconds.
 * `purge` removes old events, and says how many. It ends with its standard input.
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
