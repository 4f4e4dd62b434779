import { randomBytes } from "node:crypto";
import { type App, createApp } from "../../src/index.ts";
import type { PageFigure } from "./browsing.ts";
import { FEW, MANY, MEMBER_OF_ALL, OTHERS, PROJECTS, type Where, withEvents } from "./events.ts";
import { HEADERS } from "./operations.ts";
import { startServer } from "./processes.ts";
import { median } from "./report.ts";

/** Measurements of large data; parts that were not requested are missing. */
export interface Scale {
  /** Milliseconds for the first page of each list of events, among few and among many. */
  firstPages?: { name: string; few: number; many: number; ratio: number }[];
  /** Milliseconds to upload and download one, and the server's memory in bytes. */
  attachments?: { up: number; down: number; before: number; peak: number };
  /** `quiet`, `during`: 99th percentile of read latency in milliseconds. */
  purge?: { removed: number; seconds: number; quiet: number; during: number };
  /** Pages beside the requests that together show the same. */
  pages?: readonly PageFigure[];
  /** A document's rate, and its ratio to that of the REST requests for the same data. */
  boardsPage?: { perSecond: number; ratio: number; byCpu: number };
}

interface Measuring extends Where {
  rounds: number;
}

/** Reads per round and list. */
const READS = 50;

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

/** Measured in process, since a client's own time would hide differences. */
async function timedIn(app: App, path: string, token: string): Promise<number> {
  const headers = { ...HEADERS, "private-token": token };
  const request = new Request(`http://pm.test/api/v4${path}`, { headers });
  const started = performance.now();
  const response = await app.fetch(request);
  const took = performance.now() - started;
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return took;
}

/** Measures the first page of each list of events among a thousand and among a million, in turn. */
export async function firstPages(where: Measuring): Promise<NonNullable<Scale["firstPages"]>> {
  const few = await createApp({ database: await withEvents(FEW, where), background: false });
  const many = await createApp({ database: await withEvents(MANY, where), background: false });
  const own = HEADERS["private-token"];
  const all = PROJECTS + OTHERS;
  const lists = [
    ["a project that holds a tenth", "/projects/acme%2Fproject-0/events", own],
    [`a user, as far as ${PROJECTS} projects show`, "/users/user2/events", own],
    [`a user, as far as ${all} projects show`, "/users/user2/events", MEMBER_OF_ALL.token],
    ["the caller", "/events", own],
    [`the caller's ${PROJECTS} projects`, "/events?scope=all", own],
    [`the caller's ${all} projects`, "/events?scope=all", MEMBER_OF_ALL.token],
    [
      `pushes to the caller's ${all} projects`,
      "/events?scope=all&action=pushed",
      MEMBER_OF_ALL.token,
    ],
    [
      `merges in the caller's ${all} projects`,
      "/events?scope=all&action=merged",
      MEMBER_OF_ALL.token,
    ],
  ] as const;
  const pages: NonNullable<Scale["firstPages"]> = [];
  for (const [name, path, token] of lists) {
    where.say(`first page of ${name}`);
    const rounds: [number, number][] = [];
    // One extra round, only to warm up.
    for (let round = 0; round <= where.rounds; round += 1) {
      const times: [number[], number[]] = [[], []];
      for (let read = 0; read < READS; read += 1) {
        times[0].push(await timedIn(few, path, token));
        times[1].push(await timedIn(many, path, token));
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

/** Uploads and downloads files, one after the other. */
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

/** 99th percentile of read latency in milliseconds, four reads at a time, until a promise settles. */
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
