import { join } from "node:path";
import type { Where } from "./events.ts";
import { fillBoard } from "./graphql.ts";
import { load, measure } from "./load.ts";
import type { Operation } from "./operations.ts";
import { startServer } from "./processes.ts";
import { median } from "./report.ts";

const PROJECT = "/projects/acme%2Fsite";

/** Pages for visitors, and the requests to the API that together show the same. */
const PAGES: readonly (readonly [name: string, page: string, requests: readonly string[]])[] = [
  ["20 issues", "/acme/site/-/issues", [PROJECT, `${PROJECT}/issues`]],
  [
    "one issue",
    "/acme/site/-/issues/7",
    [PROJECT, `${PROJECT}/issues/7`, `${PROJECT}/issues/7/discussions`],
  ],
  ["one project", "/acme/site", [PROJECT]],
];

/** A page beside the requests that show the same, by CPU time: 1 is as fast. */
export interface PageFigure {
  readonly name: string;
  readonly byCpu: number;
}

/** Compares pages with the API. @param app the server's script */
export async function measurePages(
  app: string,
  { folder, say, rounds, seconds }: Where & { rounds: number; seconds: number },
): Promise<PageFigure[]> {
  const file = join(folder, "pages.db");
  await fillBoard(file);
  const server = await startServer([app, file]);
  const figures: PageFigure[] = [];
  for (const [name, path, paths] of PAGES) {
    const get = { method: "GET", floor: 0 } as const;
    const page: Operation = { ...get, name: `${name} as a page`, base: "", path };
    const requests: Operation[] = paths.map((one) => ({ ...get, name: one, path: one }));
    for (const one of [page, ...requests]) await load(server.url, one, { amount: 500 });
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      say(`${name} as a page: round ${round + 1} of ${rounds}`);
      const shown = await measure(server, page, seconds);
      let told = 0;
      for (const request of requests) told += (await measure(server, request, seconds)).cpu;
      ratios.push(told / shown.cpu);
    }
    figures.push({ name, byCpu: median(ratios) });
  }
  await server.stop();
  return figures;
}
