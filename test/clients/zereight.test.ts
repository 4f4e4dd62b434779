import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { buildSchema, parse, validate } from "graphql";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { zipped } from "../api/_zip.ts";
import { newFolder } from "../folder.ts";
import { isLong } from "../forms.ts";
import { CALLS, PROJECT, type World } from "../suites/zereight.ts";
import { FAILURES } from "../suites/zereight-failures.ts";

// @zereight/mcp-gitlab is a program that offers GitLab to language models as tools. Each of its tools is called once,
// over its standard input, as a model's program does. It decodes each answer strictly, field by field.

const root = fileURLToPath(new URL("../model-tools", import.meta.url));
/** It takes minutes: this only ends what hangs. */
const LONG = 3_600_000;
const TOKEN = "root-token";

let server: TestServer;
let folder: string;
let program: ChildProcess;

const CI = `
build: { script: [make], artifacts: { paths: [out.txt] } }
failing: { allow_failure: true, script: [make] }
manual: { script: [make], when: manual }
second: { script: [make], when: manual }
`;

beforeAll(async () => {
  if (!isLong) return;
  if (!existsSync(join(root, "node_modules"))) {
    await promisify(execFile)("npm", ["ci", "--no-audit", "--no-fund"], { cwd: root });
  }
  folder = newFolder();
  server = await startTestServer({
    seed: {
      users: [
        { username: "root", email: "root@example.com", admin: true, tokens: [{ token: TOKEN }] },
      ],
      groups: [
        {
          path: "acme",
          visibility: "public",
          members: { root: "owner" },
          projects: [
            {
              path: "app",
              visibility: "public",
              default_branch: "main",
              issues: [
                { title: "First", description: "It lacks a feature", author: "root" },
                { title: "Second", author: "root" },
              ],
              pushes: [
                {
                  author: "root",
                  ref: "main",
                  commits: [
                    { message: "Begin", files: { "README.md": "hello\n", ".gitlab-ci.yml": CI } },
                  ],
                },
              ],
            },
          ],
        },
      ],
    },
  });
  const env = {
    ...process.env,
    GITLAB_API_URL: `${server.url}/api/v4`,
    GITLAB_PERSONAL_ACCESS_TOKEN: TOKEN,
    GITLAB_TOOLSETS: "all",
    GITLAB_TOOLS: "execute_graphql",
    USE_PIPELINE: "true",
    USE_MILESTONE: "true",
    USE_GITLAB_WIKI: "true",
  };
  const file = join(root, "node_modules/@zereight/mcp-gitlab/build/index.js");
  program = spawn(process.execPath, [file], {
    env,
    cwd: folder,
    stdio: ["pipe", "pipe", "ignore"],
  });
}, LONG);
afterAll(async () => {
  if (!isLong) return;
  program.kill();
  await once(program, "exit");
  await server.close();
  rmSync(folder, { recursive: true });
});

/** What a path such as `0.id` leads to in an answer. */
const at = (path: string, answer: unknown) =>
  path
    .split(".")
    .reduce<unknown>(
      (inner, name) => (inner as Record<string, unknown> | undefined)?.[name],
      answer,
    );

/** A value whose texts have what was remembered in place of its name. */
function filled(value: unknown, world: World): unknown {
  if (Array.isArray(value)) return value.map((item) => filled(item, world));
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([name, inner]) => [name, filled(inner, world)]);
    return Object.fromEntries(entries);
  }
  if (typeof value !== "string") return value;
  return value.replace(/\$(\w+)/g, (_, name) => String(world[name] ?? 0));
}

async function request(line: string, body?: unknown): Promise<unknown> {
  const [method, path] = line.split(" ");
  const response = await fetch(`${server.url}/api/v4${path}`, {
    method: method as string,
    headers: { "private-token": TOKEN, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect([line, response.status < 300, text]).toEqual([line, true, text]);
  return text === "" ? undefined : JSON.parse(text);
}

/** A job as a runner gets it. */
interface Job {
  readonly id: number;
  readonly token: string;
  readonly job_info: { readonly name: string };
}

/** Runs all jobs during some work, as a runner does: `failing` fails, the others succeed and have an artifact. */
async function withRunner<T>(token: unknown, work: () => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const running = run(token, stop.signal);
  try {
    return await work();
  } finally {
    stop.abort();
    await running;
  }
}

async function run(token: unknown, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    const job = (await request("POST /jobs/request", { token })) as Job | undefined;
    if (job === undefined) {
      await delay(50);
      continue;
    }
    const form = new FormData();
    form.set("file", new Blob([zipped({ "out.txt": "made\n" })]), "artifacts.zip");
    const headers = { "job-token": job.token };
    const to = `${server.url}/api/v4/jobs/${job.id}/artifacts`;
    expect((await fetch(to, { method: "POST", headers, body: form })).status).toBe(201);
    const state = job.job_info.name === "failing" ? "failed" : "success";
    await request(`PUT /jobs/${job.id}`, { token: job.token, state });
  }
}

/** A pipeline whose jobs have run, and its jobs. */
async function pipeline(): Promise<World> {
  const { id } = (await request(`POST ${PROJECT}/pipeline`, { ref: "main" })) as World;
  for (;;) {
    const path = `GET ${PROJECT}/pipelines/${id}/jobs`;
    const jobs = (await request(path)) as { id: number; name: string; status: string }[];
    if (jobs.every(({ status }) => ["success", "failed", "manual"].includes(status))) {
      return { pipeline: id, ...Object.fromEntries(jobs.map((job) => [job.name, job.id])) };
    }
    await delay(50);
  }
}

it.runIf(isLong)("each GraphQL document that it has is valid", () => {
  const program = readFileSync(
    join(root, "node_modules/@zereight/mcp-gitlab/build/index.js"),
    "utf8",
  );
  const schema = buildSchema(
    readFileSync(new URL("../../docs/schema.graphql", import.meta.url), "utf8"),
  );
  // Documents that the program puts together are not whole.
  const documents = [...program.matchAll(/`(\s*(?:query|mutation)\b[^`]*)`/g)]
    .map(([, text = ""]) => text)
    .filter((text) => /^\s*(query|mutation)\b[^{.]*\{/.test(text) && !text.includes("${"));
  expect(documents.length).toBeGreaterThan(20);
  const problems = documents.flatMap((text) =>
    validate(schema, parse(text)).map(({ message }) => [text.slice(0, 200), message]),
  );
  expect(problems).toEqual([]);
});

it.runIf(isLong)(
  "the tools of @zereight/mcp-gitlab fail where they are expected to, and nowhere else",
  async () => {
    const answers = new Map<number, (message: World) => void>();
    createInterface({ input: program.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      const message = JSON.parse(line) as World;
      answers.get(message["id"] as number)?.(message);
    });
    const say = (message: object) =>
      program.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    let last = 0;
    const ask = (method: string, params: unknown) =>
      new Promise<World>((resolve) => {
        last += 1;
        answers.set(last, resolve);
        say({ id: last, method, params });
      });
    const clientInfo = { name: "test", version: "1.0.0" };
    await ask("initialize", { protocolVersion: "2025-03-26", capabilities: {}, clientInfo });
    say({ method: "notifications/initialized" });
    const { result } = await ask("tools/list", {});
    const offered = (result as { tools: { name: string }[] }).tools.map(({ name }) => name);
    const called = CALLS.map(([tool]) => tool).filter((tool) => !tool.includes(" "));
    expect(called.toSorted()).toEqual(offered.toSorted());

    await using receiver = createServer((_, answer) => answer.end()).listen(0, "127.0.0.1");
    await once(receiver, "listening");
    const { token } = (await request("POST /user/runners", {
      runner_type: "instance_type",
      run_untagged: true,
    })) as World;
    writeFileSync(join(folder, "tool.txt"), "the tool\n");
    const week = 7 * 86_400_000;
    const world: World = {
      ...(await withRunner(token, pipeline)),
      url: server.url,
      receiver: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`,
      last_week: new Date(Date.now() - 2 * week).toISOString(),
    };
    const failed: Record<string, string> = {};
    for (const [tool, args = {}, remembered = {}] of CALLS) {
      const given = filled(args, world);
      const call = () => ask("tools/call", { name: tool, arguments: given });
      // One tool waits until jobs have run.
      const isWaiting = tool === "play_pipeline_jobs";
      const answer = tool.includes(" ")
        ? await request(String(filled(tool, world)), given)
        : refusal(tool, await (isWaiting ? withRunner(token, call) : call()), failed);
      for (const [name, path] of Object.entries(remembered)) world[name] = at(path, answer);
      const secret = /\/uploads\/([0-9a-f]+)\//.exec(String(world["uploaded"]))?.[1];
      if (secret !== undefined) world["secret"] = secret;
      if (world["issue_note"] !== undefined) {
        world["issue_note_gid"] = `gid://gitlab/Note/${world["issue_note"]}`;
      }
    }
    expect(Object.keys(failed).toSorted(), JSON.stringify(failed, null, 2)).toEqual(
      Object.values(FAILURES).flat().toSorted(),
    );
  },
  LONG,
);

/** What a tool answered. If it failed, that is noted: some tools report errors of GraphQL as a success. */
function refusal(tool: string, message: World, failed: Record<string, string>): unknown {
  const { isError, content } = (message["result"] ?? { isError: true, content: [] }) as {
    isError?: boolean;
    content: { text?: string }[];
  };
  const text = content[0]?.text ?? JSON.stringify(message["error"] ?? "");
  const answer = parsed(text);
  const errors = [at("errors", answer) ?? at("error", answer) ?? []].flat();
  if (isError || "error" in message || errors.length > 0) failed[tool] = text;
  return answer;
}

/** The JSON of an answer; of a sentence about a pipeline or schedule, its id. */
function parsed(text: string): unknown {
  const id = /^Created .*?#(\d+)/.exec(text)?.[1];
  if (id !== undefined) return { id };
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
