import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { createApp } from "../../src/index.ts";
import { isLong } from "../forms.ts";
import { baseSeed, call } from "../helpers.ts";
import { collect, newFolder, type Serving, startServing } from "./helpers.ts";

/** The attack lasts until the health check was answered so often. */
const HEALTH_CHECKS = 150;
/**
 * Maximum CPU time that the server spends on others before it answers a health check: so often that of reading a
 * mebibyte of JSON.
 */
const MAX_TIMES_PLAIN = 25;
/** Node takes 300 to 380, the more the faster it answers, and Bun, in the binary, 290 to 320 (decision 13). */
const MAX_MEBIBYTES = 400;
const PAGES = 40;
/** Each character takes six bytes in JSON. */
const LARGE = "\u0001".repeat(900_000);
const PROJECT = "/api/v4/projects/acme%2Fsite";
const TOKEN = { "private-token": "token-of-owner" };

/** Creates a database with a public project whose wiki has pages of nearly a megabyte. */
async function prepare(database: string): Promise<void> {
  const app = await createApp({ database });
  await app.admin.seed(baseSeed);
  for (let at = 0; at < PAGES; at += 1) {
    const form = new FormData();
    form.set("title", `page ${at}`);
    form.set("content", LARGE);
    const { status } = await call(app, `POST ${PROJECT}/wikis`, { as: "owner", body: form });
    expect(status).toBe(201);
  }
  await app.close();
}

/** The 99th percentile of the server's CPU time until a health check is answered, in times of reading a mebibyte of JSON. */
async function healthOf({ url, child }: Serving): Promise<number> {
  const script = fileURLToPath(new URL("_probe.mjs", import.meta.url));
  const args = [script, `${url}/-/health`, String(child.pid), String(HEALTH_CHECKS)];
  const probe = spawn(process.execPath, args);
  const output = collect(probe);
  await once(probe, "close");
  const { took, plain }: { took: { status: number; took: number }[]; plain: number[] } = JSON.parse(
    output.stdout,
  );
  expect(new Set(took.map(({ status }) => status))).toEqual(new Set([200]));
  const of = (share: number, times: number[]) =>
    times.sort((a, b) => a - b)[Math.ceil(times.length * share) - 1] as number;
  return (
    of(
      0.99,
      took.map((one) => one.took),
    ) / of(0.5, plain)
  );
}

/** A process's memory, in MiB; 0 if the platform does not report it. */
const allMemory = (pid: number) => {
  const status = `/proc/${pid}/status`;
  const rss = existsSync(status) && /VmRSS:\s+(\d+)/.exec(readFileSync(status, "utf8"))?.[1];
  return Number(rss || 0) / 1024;
};

/** The most that was measured while work is done. */
async function memoryDuring(measure: () => number, work: Promise<unknown>): Promise<number> {
  let most = 0;
  let isOver = false;
  const done = work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    most = Math.max(most, measure());
    await Promise.race([done, sleep(50)]);
  }
  return most;
}

/** Attacks a server until told to end. */
class Attack {
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  readonly #agents = new Set<Agent>();
  /** How often each status was answered, 0 for no answer. */
  readonly answers = new Map<number, number>();
  readonly #end = new AbortController();

  constructor({ url }: Serving) {
    this.#port = Number(new URL(url).port);
  }

  /** Creates a pool of connections for one client. */
  newAgent(): Agent {
    const agent = new Agent({ keepAlive: true, maxSockets: 60 });
    this.#agents.add(agent);
    return agent;
  }

  /** Sends a request, and discards the answer. */
  async ask(
    agent: Agent,
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body = "",
  ): Promise<number> {
    const status = await new Promise<number>((resolve) => {
      const sent = request(
        { port: this.#port, host: "127.0.0.1", agent, method, path, headers },
        (response) => {
          response.resume().once("close", () => resolve(response.statusCode ?? 0));
        },
      );
      sent.once("error", () => resolve(0)).end(body);
    });
    this.answers.set(status, (this.answers.get(status) ?? 0) + 1);
    return status;
  }

  /** Opens a connection and never reads from it. */
  async open(text: string, localAddress: string): Promise<Socket> {
    const socket = connect({ port: this.#port, host: "127.0.0.1", localAddress });
    this.#sockets.add(socket);
    socket.on("error", () => undefined).pause();
    await Promise.race([once(socket, "connect"), once(socket, "close")]);
    socket.write(text);
    return socket;
  }

  /** Repeats some work until the end of the attack. */
  async repeat(work: (time: number) => Promise<unknown>): Promise<void> {
    for (let time = 0; !this.#end.signal.aborted; time += 1) await work(time);
  }

  /** Waits, but not beyond the end of the attack. */
  async pause(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.#end.signal }).catch(() => undefined);
  }

  end(): void {
    this.#end.abort();
    for (const socket of this.#sockets) socket.destroy();
    for (const agent of this.#agents) agent.destroy();
  }
}

const multipart = (part: (at: number) => string, count: number) => ({
  headers: { "content-type": "multipart/form-data; boundary=x" },
  body: `${Array.from({ length: count }, (_, at) => `--x\r\nContent-Disposition: form-data; ${part(at)}\r\n`).join("")}--x--\r\n`,
});

/** Bytes of the largest object of Git LFS that is transferred, and mebibytes that it may cost. */
const OBJECT = 200_000_000;
const MAX_OF_OBJECT = 64;

/** The memory of a process that is no file's, in MiB. */
const ownMemory = (pid: number) =>
  Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

it.runIf(isLong && existsSync("/proc/self/status"))(
  "a server takes, sends and mirrors an object of Git LFS of 200 MB in a small part of its size",
  async () => {
    const folder = newFolder();
    onTestFinished(folder.remove);
    const database = join(folder.path, "pm.db");
    const app = await createApp({ database });
    await app.admin.seed(baseSeed);
    await app.close();
    const server = await startServing(["--db", database, "--local-webhooks", "on"]);
    onTestFinished(() => void server.stop("SIGKILL"));
    const pid = server.child.pid as number;
    const api = async (method: string, path: string, json?: object) => {
      const headers = { ...TOKEN, "content-type": "application/json" };
      const body = json ? JSON.stringify(json) : null;
      const answer = await fetch(`${server.url}/api/v4${path}`, { method, headers, body });
      expect([path, answer.ok]).toEqual([path, true]);
      return answer;
    };
    /** What is sent: the parts differ, so that nothing is stored or read twice. */
    const parts = async function* (size: number) {
      const part = Buffer.alloc(65_536, size % 251);
      for (let at = 0; at < size; at += part.length) {
        part.writeUInt32BE(at);
        yield Buffer.from(part.subarray(0, Math.min(part.length, size - at)));
      }
    };
    const headers = { authorization: `Basic ${btoa("owner:token-of-owner")}` };
    const transfer = async (size: number) => {
      const hash = createHash("sha256");
      for await (const part of parts(size)) hash.update(part);
      const oid = hash.digest("hex");
      const at = (project: string) => `${server.url}/${project}.git/gitlab-lfs/objects/${oid}`;
      const url = `${at("acme/site")}/${size}`;
      const body = Readable.toWeb(Readable.from(parts(size))) as ReadableStream;
      const sent = await fetch(url, {
        method: "PUT",
        headers,
        body,
        duplex: "half",
      } as RequestInit);
      expect(sent.status).toBe(200);
      const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`;
      const file = `/projects/acme%2Fsite/repository/files/${size}`;
      await api("POST", file, { branch: "main", commit_message: "Large", content: pointer });
      for (const project of ["acme/site", "owner/copy"]) {
        let received = 0;
        for (let tries = 0; received === 0 && tries < 600; tries += 1) {
          const answer = await fetch(at(project), { headers });
          if (answer.status !== 200) await sleep(200);
          else
            for await (const part of answer.body as never as AsyncIterable<Uint8Array>)
              received += part.length;
        }
        expect([project, received]).toEqual([project, size]);
      }
    };
    await api("POST", "/projects", { name: "copy" });
    const { host } = new URL(server.url);
    const url = `http://owner:token-of-owner@${host}/owner/copy.git`;
    await api("POST", "/projects/acme%2Fsite/remote_mirrors", { url, enabled: true });
    // Once, so that what it loads and compiles is there.
    await transfer(4_000_000);
    const before = ownMemory(pid);
    const memory = (await memoryDuring(() => ownMemory(pid), transfer(OBJECT))) - before;
    console.info(JSON.stringify({ before, memory }));
    expect(memory).toBeLessThan(MAX_OF_OBJECT);
    expect(await server.stop()).toBe(0);
    expect(server.stderr).toBe("");
  },
);

it("a server with eight hostile clients stays small and responsive, and works afterwards", async () => {
  const folder = newFolder();
  onTestFinished(folder.remove);
  const database = join(folder.path, "pm.db");
  await prepare(database);
  const server = await startServing(["--db", database]);
  onTestFinished(() => void server.stop("SIGKILL"));

  const attack = new Attack(server);
  const agents = Array.from({ length: 6 }, () => attack.newAgent());
  const agent = (at: number) => agents[at] as Agent;
  const large = `${PROJECT}/wikis?with_content=true&per_page=${PAGES}`;
  const fields = multipart((at) => `name="f${at}"\r\n\r\nx`, 4000);
  const files = multipart((at) => `name="file"; filename="${at}.txt"\r\n\r\nx`, 4000);
  const json = { "content-type": "application/json" };
  const dripping = [
    "GET / HTTP/1.1\r\nHost: a\r\nX: ",
    `POST ${PROJECT}/issues HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n`,
  ];

  const clients: (() => Promise<unknown>)[] = [
    // A different statement text each time.
    () =>
      attack.repeat((time) =>
        attack.ask(
          agent(0),
          "GET",
          `/api/v4/issues?scope=all${"&assignee_username[]=".repeat(1 + (time % 350))}`,
        ),
      ),
    // Lists of hundreds of megabytes, several at once.
    () => Promise.all([1, 2, 3].map(() => attack.repeat(() => attack.ask(agent(1), "GET", large)))),
    // The same lists, never read.
    () =>
      attack.repeat(async () => {
        for (let at = 0; at < 30; at += 1) {
          await attack.open(`GET ${large} HTTP/1.1\r\nHost: a\r\n\r\n`, "127.0.0.4");
        }
        await attack.pause(5000);
      }),
    // Thousands of writes at once.
    () =>
      attack.repeat(() =>
        Promise.all(
          Array.from({ length: 500 }, (_, at) =>
            attack.ask(agent(3), "POST", `${PROJECT}/issues?title=many-${at}`, TOKEN),
          ),
        ),
      ),
    // Bodies that take long to parse.
    () =>
      attack.repeat(() => attack.ask(agent(4), "POST", `${PROJECT}/issues`, json, "[".repeat(1e6))),
    () =>
      attack.repeat(() =>
        attack.ask(agent(4), "POST", `${PROJECT}/issues`, { ...json, ...TOKEN }, "[".repeat(1e6)),
      ),
    () =>
      attack.repeat(() =>
        attack.ask(agent(5), "POST", `${PROJECT}/issues`, fields.headers, fields.body),
      ),
    () =>
      attack.repeat(() =>
        attack.ask(
          agent(5),
          "POST",
          `${PROJECT}/wikis/attachments`,
          { ...files.headers, ...TOKEN },
          files.body,
        ),
      ),
    // Requests that never end.
    async () => {
      const sockets = await Promise.all(
        Array.from({ length: 100 }, (_, at) =>
          attack.open(dripping[at % 2] as string, "127.0.0.5"),
        ),
      );
      await attack.repeat(async () => {
        for (const socket of sockets) if (socket.writable) socket.write("x");
        await attack.pause(500);
      });
    },
    // Connections that send nothing.
    async () => {
      for (let at = 0; at < 400; at += 1) await attack.open("", "127.0.0.6");
    },
  ];
  const attacking = Promise.all(clients.map((client) => client()));
  const [health, memory] = await Promise.all([
    healthOf(server).finally(() => attack.end()),
    memoryDuring(() => allMemory(server.child.pid as number), attacking),
  ]);
  const measured = { health, memory, answers: [...attack.answers] };
  console.info(JSON.stringify(measured));
  expect(memory).toBeLessThan(MAX_MEBIBYTES);
  expect(health).toBeLessThan(MAX_TIMES_PLAIN);
  expect(attack.answers.get(500)).toBeUndefined();
  expect(attack.answers.get(201)).toBeGreaterThan(100);

  const after = await server.get(
    "/projects/acme%2Fsite/wikis?with_content=true&per_page=2",
    "token-of-owner",
  );
  expect(await after.json()).toHaveLength(2);
  expect((await server.get("/issues?scope=all", "token-of-owner")).status).toBe(200);
  expect(await server.stop()).toBe(0);
  expect(server.stderr).toBe("");
});
