import { createInterface } from "node:readline";

/**
 * Tells the bench where a server listens, and answers its `usage` with the CPU time used until then, in microseconds.
 *
 * @param {string} url
 */
export function ready(url) {
  const say = (/** @type {unknown} */ message) =>
    process.stdout.write(`${JSON.stringify(message)}\n`);
  createInterface({ input: process.stdin }).on("line", () => {
    const { user, system } = process.cpuUsage();
    say({ cpu: user + system });
  });
  say({ url });
}
