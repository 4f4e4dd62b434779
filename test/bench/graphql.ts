import { join } from "node:path";
import { createApp } from "../../src/index.ts";
import type { Where } from "./events.ts";
import { load, measure } from "./load.ts";
import { HEADERS, type Operation } from "./operations.ts";
import { startServer } from "./processes.ts";
import { median } from "./report.ts";
import type { Scale } from "./scale.ts";
import { CALLER } from "./seed.ts";

/** The labels of a board's lists. */
const LISTS = ["Backlog", "Ready", "Doing", "Review", "Done"];
const ISSUES = 500;
const PEOPLE = 20;

const FIELDS = `id iid title state confidential dueDate weight createdAt webUrl reference(full: true) relativePosition
  author { id username } milestone { id title } labels { nodes { id title color } }
  assignees { nodes { id username } }`;
const QUERY = `query ($path: ID!) { project(fullPath: $path) { id boards(first: 1) { nodes { id lists(first: 7) {
  nodes { id title listType issues(first: 20) { nodes { ${FIELDS} } } } } } } } }`;

/** A board's page: the lists of five labels with twenty issues each, and the open and closed ones, which are empty. */
const DOCUMENT: Operation = {
  name: "a board's page by GraphQL",
  method: "POST",
  base: "",
  path: "/api/graphql",
  body: JSON.stringify({ query: QUERY, variables: { path: "acme/site" } }),
  floor: 0.5,
};
const LIST: Operation = {
  name: "a list of a board's page",
  method: "GET",
  path: `/projects/acme%2Fsite/issues?labels=${LISTS[0]}&per_page=20`,
  floor: 1,
};

/** By which the caller of {@link fillBoard} signs in. */
export const PASSWORD = "the password of the bench";

/** Makes a project with a board and {@link ISSUES} issues, which everybody may read. @param file of the database */
export async function fillBoard(file: string): Promise<void> {
  const filling = await createApp({ database: file, background: false });
  await filling.admin.seed({
    users: [
      { username: CALLER.username, password: PASSWORD, tokens: [{ token: CALLER.token }] },
      ...Array.from({ length: PEOPLE }, (_, at) => ({ username: `person${at}` })),
    ],
    groups: [
      {
        path: "acme",
        visibility: "public",
        members: { [CALLER.username]: "developer" },
        labels: [...LISTS, "bug"].map((name) => ({ name })),
        milestones: [{ title: "v1" }],
        projects: [
          {
            path: "site",
            visibility: "public",
            boards: [{ name: "Board", lists: LISTS }],
            issues: Array.from({ length: ISSUES }, (_, at) => ({
              title: `Issue ${at}`,
              description: "What is wrong, and how to see it. ".repeat(5),
              author: `person${at % PEOPLE}`,
              assignees: [`person${(at + 1) % PEOPLE}`],
              labels: [LISTS[at % LISTS.length] as string, "bug"],
              milestone: "v1",
            })),
          },
        ],
      },
    ],
  });
  await filling.close();
}

/**
 * Compares a document with the five requests to the REST API that fetch the same issues.
 *
 * @param app the server's script
 */
export async function boardsPage(
  app: string,
  { folder, say, rounds, seconds }: Where & { rounds: number; seconds: number },
): Promise<NonNullable<Scale["boardsPage"]>> {
  const file = join(folder, "boards-page.db");
  await fillBoard(file);
  const server = await startServer([app, file]);
  await requireData(server.url);
  for (const operation of [DOCUMENT, LIST]) await load(server.url, operation, { amount: 500 });
  const ratios: number[] = [];
  const byCpu: number[] = [];
  const rates: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    say(`a board's page: round ${round + 1} of ${rounds}`);
    const list = await measure(server, LIST, seconds);
    const document = await measure(server, DOCUMENT, seconds);
    rates.push(document.perSecond);
    ratios.push((document.perSecond * LISTS.length) / list.perSecond);
    byCpu.push((list.cpu * LISTS.length) / document.cpu);
  }
  await server.stop();
  return { perSecond: median(rates), ratio: median(ratios), byCpu: median(byCpu) };
}

/** @throws Error if the document is not answered by 100 issues */
async function requireData(url: string): Promise<void> {
  const headers = { ...HEADERS, "content-type": "application/json" };
  const init = { method: "POST", headers, body: DOCUMENT.body as string };
  const text = await (await fetch(`${url}/api/graphql`, init)).text();
  const issues = text.split('"iid"').length - 1;
  if (issues !== LISTS.length * 20) throw new Error(`${issues} issues: ${text.slice(0, 200)}`);
}
