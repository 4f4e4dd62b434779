// What a server does besides answering: jobs of the next stage that start, and webhooks that are called.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type App, createApp } from "../../src/index.ts";
import type { Where } from "./events.ts";
import { HEADERS } from "./operations.ts";
import { type Server, startServer } from "./processes.ts";
import { joined, type Latency, latencyOf, reads } from "./reads.ts";
import { CALLER } from "./seed.ts";

const SECRET_KEY = Buffer.alloc(32, 7).toString("base64");
const CONFIGURATION = "a:\n  stage: build\n  script: make\nb:\n  stage: test\n  script: make\n";
const PIPELINES = 600;

const HOOKS = 10;
const PROJECTS = 10;
const EVENTS = 10_000;
const ISSUES = EVENTS / HOOKS;
/** How often the receiver refuses what it is sent: once in so many times. */
const REFUSED = 3;

/** What was measured, by a clock, in milliseconds. */
export interface WorkingFigures {
  /** From the request that ends the last job of a stage until its answer, when the jobs of the next one are pending. */
  next: Latency;
  hooks: {
    /** How many events reached each hook, in their order, and how often hooks were called. */
    arrived: number;
    calls: number;
    seconds: number;
    /** Reads before, and during the calls. */
    idle: Latency;
    meanwhile: Latency;
  };
}

/** Measures both on a database each. @throws Error if an event is lost, or comes in another order */
export async function measureWorking(
  program: string,
  { folder, say }: Where,
): Promise<WorkingFigures> {
  say("pipelines of two stages…");
  const staged = join(folder, "stages.db");
  await seed(staged, 1);
  const stages = await startServer([program, staged, SECRET_KEY]);
  const next = await measureStages(stages);
  await stages.stop();
  say(`${EVENTS} events for webhooks…`);
  const hooked = join(folder, "hooks.db");
  await seed(hooked, PROJECTS);
  const caller = await startServer([program, hooked, SECRET_KEY]);
  const hooks = await measureHooks(caller);
  await caller.stop();
  return { next, hooks };
}

async function seed(database: string, projects: number): Promise<void> {
  const app: App = await createApp({ database, background: false });
  const members = { [CALLER.username]: "owner" } as const;
  await app.admin.seed({
    users: [{ username: CALLER.username, tokens: [{ token: CALLER.token }] }],
    groups: [
      {
        ...{ path: "acme", members },
        projects: Array.from({ length: projects }, (_, at) => ({ path: `project-${at}` })),
      },
    ],
  });
  await app.close();
}

/** Sends JSON, and returns that of the answer. @throws Error for any other status than those of success */
async function send<Answer>({ url }: Server, path: string, json: object, method = "POST") {
  const headers = { ...HEADERS, "content-type": "application/json" };
  const response = await fetch(`${url}/api/v4${path}`, {
    ...{ method, headers, body: JSON.stringify(json) },
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}

async function measureStages(server: Server): Promise<Latency> {
  const action = { action: "create", file_path: ".gitlab-ci.yml", content: CONFIGURATION };
  await send(server, "/projects/1/repository/commits", {
    ...{ branch: "main", commit_message: "Add", actions: [action] },
  });
  const { token } = await send<{ token: string }>(server, "/user/runners", {
    ...{ runner_type: "project_type", project_id: 1 },
  });
  const took: number[] = [];
  for (let made = 0; made < PIPELINES; made += 1) {
    await send(server, "/projects/1/pipeline", { ref: "main" });
    const names: string[] = [];
    for (let stage = 0; stage < 2; stage += 1) {
      const job = await send<{ id: number; token: string; job_info: { name: string } }>(
        ...[server, "/jobs/request", { token, system_id: "s" }],
      );
      names.push(job.job_info.name);
      const started = performance.now();
      await send(server, `/jobs/${job.id}`, { token: job.token, state: "success" }, "PUT");
      if (stage === 0) took.push(performance.now() - started);
    }
    // The second one was pending as soon as the first one had ended.
    if (names.join(" ") !== "a b") throw new Error(`a runner got ${names}`);
  }
  return latencyOf(took);
}

async function measureHooks(server: Server): Promise<WorkingFigures["hooks"]> {
  /** By hook, the numbers of the issues that it was told of. */
  const told = new Map<string, Set<string>>();
  const calls = new Map<string, number>();
  let arrived = 0;
  let isInOrder = true;
  const receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const hook = request.url as string;
      const count = (calls.get(hook) ?? 0) + 1;
      calls.set(hook, count);
      if (count % REFUSED === 0) return response.writeHead(500).end();
      const { project, object_attributes } = JSON.parse(Buffer.concat(chunks).toString());
      const known = told.get(hook) ?? new Set();
      told.set(hook, known);
      const event = `${project.id} ${object_attributes.iid}`;
      isInOrder &&= object_attributes.iid === known.size + 1;
      if (!known.has(event)) arrived += 1;
      known.add(event);
      return response.end("Thanks");
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const { port } = receiver.address() as AddressInfo;
  for (let project = 1; project <= PROJECTS; project += 1) {
    for (let hook = 0; hook < HOOKS; hook += 1) {
      const url = `http://127.0.0.1:${port}/${project}/${hook}`;
      const json = { url, push_events: false, issues_events: true };
      await send(server, `/projects/${project}/hooks`, json);
    }
  }
  await reads(server, 1);
  const idle = await reads(server, 5);
  const began = performance.now();
  let isDone = false;
  const writing = (async () => {
    for (let made = 0; made < ISSUES; made += 1) {
      await send(server, `/projects/${1 + (made % PROJECTS)}/issues`, { title: `Issue ${made}` });
    }
    while (arrived < EVENTS) await new Promise((resolve) => setTimeout(resolve, 20));
    isDone = true;
  })();
  const parts: Latency[] = [];
  while (!isDone) parts.push(await reads(server, 1));
  await writing;
  const seconds = (performance.now() - began) / 1000;
  receiver.close();
  if (!isInOrder) throw new Error("a hook was told in another order");
  const made = [...calls.values()].reduce((sum, more) => sum + more, 0);
  return { arrived, calls: made, seconds, idle, meanwhile: joined(parts) };
}
