import { join } from "node:path";
import type { Where } from "./events.ts";
import { fillBoard, PASSWORD } from "./graphql.ts";
import { load, measure } from "./load.ts";
import { HEADERS, type Operation } from "./operations.ts";
import { startServer } from "./processes.ts";
import { median } from "./report.ts";
import { CALLER } from "./seed.ts";

const PROJECT = "/projects/acme%2Fsite";

/** Pages for visitors, and the requests to the API that together show the same. */
const PAGES: readonly (readonly [
  name: string,
  page: string,
  requests: readonly string[],
  visitor?: "signed in",
])[] = [
  ["20 issues", "/acme/site/-/issues", [PROJECT, `${PROJECT}/issues`]],
  [
    "one issue",
    "/acme/site/-/issues/7",
    [PROJECT, `${PROJECT}/issues/7`, `${PROJECT}/issues/7/discussions`],
  ],
  ["one project", "/acme/site", [PROJECT]],
  [
    "the form of an issue",
    "/acme/site/-/issues/7/edit",
    [
      PROJECT,
      `${PROJECT}/issues/7`,
      `${PROJECT}/members/all?per_page=100`,
      `${PROJECT}/labels?per_page=100`,
      `${PROJECT}/milestones?per_page=100&state=active&include_ancestors=true`,
    ],
    "signed in",
  ],
];

/** Signs the caller in, by the form. @returns their cookie */
async function signIn(url: string): Promise<string> {
  const headers = { host: HEADERS.host };
  const page = await fetch(`${url}/users/sign_in`, { headers });
  const cookie = cookieOf(page);
  const [, token = ""] = /name="authenticity_token" value="(\w+)"/.exec(await page.text()) ?? [];
  const form = { login: CALLER.username, password: PASSWORD, authenticity_token: token };
  const answer = await fetch(`${url}/users/sign_in`, {
    ...{ method: "POST", redirect: "manual", body: new URLSearchParams(form) },
    headers: { ...headers, cookie },
  });
  if (answer.status !== 303) throw new Error(`signing in: ${answer.status}`);
  return cookieOf(answer);
}

const cookieOf = ({ headers }: Response): string =>
  (headers.get("set-cookie") ?? "").split(";")[0] as string;

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
  const cookie = await signIn(server.url);
  const figures: PageFigure[] = [];
  for (const [name, path, paths, visitor] of PAGES) {
    const get = { method: "GET", floor: 0 } as const;
    const page: Operation = {
      ...{ ...get, name: `${name} as a page`, base: "", path },
      ...(visitor && { cookie }),
    };
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
