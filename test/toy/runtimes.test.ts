import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe } from "vitest";
import { newFolder } from "../folder.ts";
import { baseSeed } from "../helpers.ts";
import { runtimes } from "../runtimes.mjs";
import { toyTests } from "./_tests.ts";

const script = fileURLToPath(new URL("_serve.ts", import.meta.url));

for (const { name, command } of runtimes) {
  if (name !== "Bun" && name !== "Deno") continue;
  if (!command) {
    describe.skip(`${name}, which is not available on this platform`);
    continue;
  }
  toyTests(name, async () => {
    const folder = newFolder();
    const [program = "", ...args] = command;
    // Both runtimes print the errors of streams.
    const child = spawn(program, [...args, script, join(folder, "pm.db")], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    const ended = once(child, "exit");
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    child.stdin.write(`${JSON.stringify(baseSeed)}\n`);
    const url = String((await lines.next()).value);
    const close = async () => {
      child.stdin.end();
      await ended;
      await rm(folder, { recursive: true, force: true });
    };
    return { url, close };
  });
}
