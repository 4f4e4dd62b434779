// What `pm-cli serve` takes with its log, beside the library without one.
import { join } from "node:path";
import type { Where } from "./events.ts";
import { load, measure, WARM_UP } from "./load.ts";
import { HEADERS, type Operation } from "./operations.ts";
import { freePort, startProgram, startServer } from "./processes.ts";
import { median } from "./report.ts";

/** How often each is measured: the two in turn, since machines are noisy. */
const TURNS = 2;

/** The CPU time of an operation with `pm-cli serve`, as a multiple of that with the library. */
export interface ServingFigure {
  readonly operation: string;
  /** By rounds, and their median. */
  readonly rounds: readonly number[];
  readonly ratio: number;
}

/** Compares both on a copy of a database each. */
export async function measureServing(
  operations: readonly Operation[],
  programs: { readonly app: string; readonly cli: string },
  copy: (name: string) => string,
  { folder, say }: Where,
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<ServingFigure[]> {
  const library = await startServer([programs.app, copy("library")]);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = [programs.cli, "serve", "--db", copy("served"), "--port", String(port)];
  const served = await startProgram(args, url, HEADERS, join(folder, "serve.log"));
  const figures: ServingFigure[] = [];
  for (const operation of operations) {
    say(`${operation.name}, served with a log…`);
    for (const server of [library, served]) await load(server.url, operation, { amount: WARM_UP });
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const used = { embedded: 0, served: 0 };
      for (let turn = 0; turn < TURNS; turn += 1) {
        used.embedded += (await measure(library, operation, seconds)).cpu;
        used.served += (await measure(served, operation, seconds)).cpu;
      }
      ratios.push(used.served / used.embedded);
    }
    figures.push({ operation: operation.name, rounds: ratios, ratio: median(ratios) });
  }
  await Promise.all([library.stop(), served.stop()]);
  return figures;
}
