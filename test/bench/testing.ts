// What tests take of a test server besides its answers, beside emulate.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Where } from "./events.ts";
import { freePort } from "./processes.ts";

/** Milliseconds of CPU. */
export interface TestingFigures {
  /** The first test server of a process, over what Node takes itself. */
  first: number;
  second: number;
  reset: number;
  /** A reset among 10,000 issues, and one after 1,000 of them were changed. */
  amongMany: number;
  changed: number;
  /** Telling that one of these issues has changed. */
  changes: number;
  /** A reset of emulate's GitHub. */
  emulate: number;
  /** Bytes that a process with a hundred test servers has. */
  hundred: number;
}

const run = promisify(execFile);
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

async function printedBy<T>(program: string, ...values: string[]): Promise<T> {
  const { stdout } = await run(process.execPath, [path(program), ...values]);
  return JSON.parse(stdout) as T;
}

/** Measures the test server, and emulate in the same run. */
export async function measureTesting({
  rounds,
  say,
}: Pick<Where, "say"> & { rounds: number }): Promise<TestingFigures[]> {
  const hundred = await printedBy<number>("servers/worlds.mjs");
  const figures: TestingFigures[] = [];
  for (let round = 0; round < rounds; round += 1) {
    say(`test servers: round ${round + 1} of ${rounds}`);
    const emulate = await printedBy<number>("emulate/resets.mjs", String(await freePort()));
    const own = await printedBy<Omit<TestingFigures, "emulate">>("servers/testing.mjs");
    figures.push({ ...own, emulate, hundred });
  }
  return figures;
}
