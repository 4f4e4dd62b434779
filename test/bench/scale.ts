import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { type App, createApp } from "../../src/index.ts";
import { insertMany, type PastEvent } from "../../src/resources/events/queries.ts";
import { openStore } from "../../src/store/open.ts";
import { HEADERS } from "./operations.ts";
import { startServer } from "./processes.ts";
import { median } from "./report.ts";

/** What was measured of large things; a part that was not asked for is missing. */
export interface Scale {
  /** Milliseconds of the first page of each list of events, among few and among many. */
  firstPages?: { name: string; few: number; many: number; ratio: number }[];
  /** Milliseconds of sending and of fetching one, and the server's memory in bytes. */
  attachments?: { up: number; down: number; before: number; peak: number };
  /** `quiet`, `during`: milliseconds within which 99% of the reads were answered. */
  purge?: { removed: number; seconds: number; quiet: number; during: number };
}

interface Where {
  folder: string;
  rounds: number;
  say: (text: string) => void;
}

const MANY = 1_000_000;
const FEW = 1_000;
const PROJECTS = 30;
const USERS = 10;
/** Reads a round of a list. */
const READS = 50;
const YEAR = 31_557_600_000;

/**
 * A database of events, a tenth of them in one project, whose member asks. Half of them are older than two years.
 *
 * @returns its file
 */
async function withEvents(count: number, { folder, say }: Where): Promise<string> {
  say(`seeding ${count} events…`);
  const file = join(folder, `events-${count}.db`);
  const app = await createApp({ database: file });
  await app.admin.seed({
    users: Array.from({ length: USERS }, (_, index) => ({
      username: `user${index}`,
      tokens: index === 1 ? [{ token: HEADERS["private-token"] }] : [],
    })),
    groups: [
      {
        path: "acme",
        members: { user1: "developer" },
        projects: Array.from({ length: PROJECTS }, (_, index) => ({ path: `project-${index}` })),
      },
    ],
  });
  await app.close();
  const store = await openStore(file, {});
  const ids = async (sql: string) => (await store.rows(sql)).map(([id]) => id as number);
  const projects = await ids("select id from projects order by id");
  const users = await ids("select id from users where username like 'user%' order by id");
  const now = Date.now();
  const eventAt = (index: number): PastEvent => ({
    project_id: projects[index % 10 === 0 ? 0 : 1 + (index % (PROJECTS - 1))] as number,
    author_id: users[index % USERS] as number,
    ref: "main",
    ref_type: "branch",
    push_action: "pushed",
    commit_count: 1,
    commit_from: "a".repeat(40),
    commit_to: "b".repeat(40),
    commit_title: "Change something",
    at: Math.round(now - 4 * YEAR * (1 - index / count)),
  });
  for (let start = 0; start < count; start += 20_000) {
    const length = Math.min(20_000, count - start);
    const batch = Array.from({ length }, (_, index) => eventAt(start + index));
    await store.transaction((db) => insertMany(db, batch));
  }
  await store.close();
  return file;
}

async function timed(url: string, init: RequestInit = {}): Promise<number> {
  const started = performance.now();
  const response = await fetch(url, {
    ...init,
    headers: { "private-token": HEADERS["private-token"] },
  });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return performance.now() - started;
}

/** In process, since a client's own time would hide differences. */
async function timedIn(app: App, path: string): Promise<number> {
  const request = new Request(`http://pm.test/api/v4${path}`, { headers: HEADERS });
  const started = performance.now();
  const response = await app.fetch(request);
  const took = performance.now() - started;
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return took;
}

/** The first page of each list of events among a thousand and among a million, in turn. */
export async function firstPages(where: Where): Promise<NonNullable<Scale["firstPages"]>> {
  const few = await createApp({ database: await withEvents(FEW, where) });
  const many = await createApp({ database: await withEvents(MANY, where) });
  const lists = [
    ["a project that holds a tenth", "/projects/acme%2Fproject-0/events"],
    ["a user", "/users/user2/events"],
    ["the caller", "/events"],
    [`the caller's ${PROJECTS} projects`, "/events?scope=all"],
  ] as const;
  const pages: NonNullable<Scale["firstPages"]> = [];
  for (const [name, path] of lists) {
    where.say(`first page of ${name}`);
    const rounds: [number, number][] = [];
    // One round more, which only warms up.
    for (let round = 0; round <= where.rounds; round += 1) {
      const times: [number[], number[]] = [[], []];
      for (let read = 0; read < READS; read += 1) {
        times[0].push(await timedIn(few, path));
        times[1].push(await timedIn(many, path));
      }
      if (round > 0) rounds.push([median(times[0]), median(times[1])]);
    }
    pages.push({
      name,
      few: median(rounds.map(([one]) => one)),
      many: median(rounds.map(([, other]) => other)),
      ratio: median(rounds.map(([one, other]) => other / one)),
    });
  }
  await few.close();
  await many.close();
  return pages;
}

const ATTACHMENT = 5_000_000;
const ATTACHMENTS = 20;

/** Files sent and fetched, one after the other. */
export async function attachments(
  app: string,
  file: string,
  { say }: Where,
): Promise<NonNullable<Scale["attachments"]>> {
  say("attachments of 5 MB");
  const server = await startServer([app, file]);
  const wikis = `${server.url}/api/v4/projects/acme%2Fproject-0/wikis`;
  const memory: number[] = [];
  const up: number[] = [];
  const down: number[] = [];
  const watch = setInterval(() => memory.push(server.resident()), 10);
  const before = server.resident();
  for (let index = 0; index < ATTACHMENTS; index += 1) {
    const body = new FormData();
    body.set("file", new Blob([randomBytes(ATTACHMENT)]), `file-${index}.bin`);
    const started = performance.now();
    const response = await fetch(`${wikis}/attachments`, {
      method: "POST",
      headers: { "private-token": HEADERS["private-token"] },
      body,
    });
    const { link } = (await response.json()) as { link: { url: string } };
    up.push(performance.now() - started);
    down.push(await timed(`${wikis}/${link.url}`));
  }
  clearInterval(watch);
  await server.stop();
  return { up: median(up), down: median(down), before, peak: Math.max(...memory) };
}

/** Purges the older half of a million events while others read. */
export async function purge(app: string, where: Where): Promise<NonNullable<Scale["purge"]>> {
  const server = await startServer([app, await withEvents(MANY, where)]);
  const url = `${server.url}/api/v4/projects/acme%2Fproject-0/events`;
  where.say("reads before the purge");
  const quiet = await ninetyNinth(url, new Promise((resolve) => setTimeout(resolve, 5000)));
  where.say("reads while half of the events are purged");
  const started = performance.now();
  const purging = server.purge();
  const during = await ninetyNinth(url, purging);
  const seconds = (performance.now() - started) / 1000;
  await server.stop();
  return { removed: await purging, seconds, quiet, during };
}

/** Milliseconds within which 99% of the reads are answered, four at a time, until something has happened. */
async function ninetyNinth(url: string, until: Promise<unknown>): Promise<number> {
  let over = false;
  const ended = until.finally(() => {
    over = true;
  });
  const times: number[] = [];
  const read = async () => {
    while (!over) times.push(await timed(url));
  };
  await Promise.all([ended, read(), read(), read(), read()]);
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length * 0.99)] ?? Number.NaN;
}
