// Whoever follows the links of pages comes to pages, and each costs a bounded number of statements.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFixtures, fixtureSeed } from "../fixtures.ts";
import { repeats } from "../forms.ts";
import { givePassword, PASSWORD, type Person, type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { ORIGIN, type Shown, Visitor } from "../visitor.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ seed: fixtureSeed(COUNT), extra: toys });
  await createFixtures(app, COUNT);
  await givePassword(app, ...PEOPLE);
});
afterAll(() => app.dispose());

const PEOPLE = [
  "admin",
  "owner",
  "maintainer",
  "developer",
  "reporter",
  "guest",
  "stranger",
] as const;

/** Where visitors begin. */
const STARTS = [
  "/explore",
  "/dashboard",
  "/dashboard/todos",
  "/acme",
  "/acme/site",
  "/groups/acme",
  ...["issues", "merge_requests"].map((kind) => `/acme/site/-/${kind}/1`),
];

/** Pages of one shape differ by names and numbers only: so many of each are opened. */
const OF_A_SHAPE = 3;
const shapeOf = (path: string) =>
  path
    .replace(/\?.*/, "?")
    .replace(/^(\/groups)?\/(?!groups|explore|dashboard|users|-)[^?]*?(?=\/-\/|\?|$)/, "$1/:id")
    .replace(/(\/-\/(?:tree|blob|raw|commits|compare|archive|wikis|tags))\/[^?]*/, "$1/:rest")
    .replace(/\b[0-9a-f]{7,64}\b/g, ":sha")
    .replace(/\d+/g, ":n");

/** What the links of a page lead to on this site. */
const linksOf = (page: string): string[] =>
  [...page.matchAll(/\s(?:href|src)="([^"#]*)/g)]
    .map(([, address = ""]) =>
      address.replaceAll("&amp;", "&").replace(/^http:\/\/(pm\.test|localhost)/, ""),
    )
    .filter((path) => path.startsWith("/"));

/** The most statements that a page takes, whatever it shows: a board has up to 22 lists of issues, each of which is one more. */
const mostStatements = (path: string) => (/\/-\/boards\/\d/.test(path) ? 22 * 12 : 80);
/** The most characters that a page has that shows twenty rows. */
const MOST_BYTES = 100_000;
/** How many records of each kind there are: in the long form, as many as a page shows, and more. */
const COUNT = repeats(1, 22);

async function crawl(visitor: Visitor, problems: string[]): Promise<Map<string, Shown>> {
  const opened = new Map<string, Shown>();
  const shapes = new Map<string, number>();
  const open: [path: string, from: string][] = STARTS.map((path) => [path, "the start"]);
  for (const [path, from] of open) {
    const shape = shapeOf(path);
    const count = shapes.get(shape) ?? 0;
    if (opened.has(path) || count >= OF_A_SHAPE) continue;
    shapes.set(shape, count + 1);
    app.statements.length = 0;
    const shown = await visitor.get(path);
    opened.set(path, shown);
    const statements = app.statements.length;
    const isPage = shown.headers.get("content-type")?.startsWith("text/html") ?? false;
    if (statements > mostStatements(path) && isPage)
      problems.push(`${path} takes ${statements} statements`);
    const location = shown.headers.get("location")?.replace(ORIGIN, "");
    const isOwn = path.startsWith("/dashboard");
    const isRefused = !isOwn && location?.startsWith("/users/sign_in?return_to=");
    if (isRefused) problems.push(`${path} of ${from} asks to sign in`);
    else if (location) open.push([location, path]);
    else if (shown.status !== 200) problems.push(`${path} of ${from} answers ${shown.status}`);
    if (!isPage) continue;
    const text = shown.page.slice(shown.page.indexOf("<main")).replace(/<[^>]*>/g, " ");
    const odd = /.{0,40}(?:\bundefined\b|\bnull\b|\[object|NaN).{0,20}/.exec(text);
    if (odd) problems.push(`${path} says "${odd[0]}"`);
    if (shown.page.length > MOST_BYTES)
      problems.push(`${path} has ${shown.page.length} characters`);
    for (const link of linksOf(shown.page)) open.push([link, path]);
  }
  return opened;
}

describe("the links of pages", () => {
  it.each([...PEOPLE, "anonymous"] as const)("lead somewhere for: %s", async (person: Person) => {
    const visitor = new Visitor(app);
    if (person !== "anonymous") await visitor.signIn(person, PASSWORD);
    visitor.headers = { accept: "text/html" };
    const problems: string[] = [];
    const opened = await crawl(visitor, problems);
    expect(problems).toEqual([]);
    expect(opened.size).toBeGreaterThan(person === "anonymous" ? 10 : 60);
  });
});
