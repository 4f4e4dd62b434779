import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { thisProcess } from "../../src/core/os-process.ts";
import { Leases } from "../../src/jobs/leases.ts";
import { removeLater } from "../../src/jobs/removal.ts";
import { openStore } from "../../src/store/open.ts";
import { startPostgres } from "../postgres-server.ts";
import { newFolder, runJson, type Serving, startServing } from "./helpers.ts";

const folder = newFolder();
afterAll(folder.remove);
let count = 0;

/** A receiver of hooks that answers when it is told to. */
const receiver = createServer((request, response) => {
  let text = "";
  request.setEncoding("utf8").on("data", (more: string) => {
    text += more;
  });
  request.on("end", () => {
    calls.push({ title: JSON.parse(text).object_attributes.title, response });
    heard();
  });
}).listen(0, "127.0.0.1");
let calls: { title: string; response: ServerResponse }[] = [];
let heard = () => {};
afterAll(() => {
  receiver.closeAllConnections();
  receiver.close();
});

/** Waits for the next call. */
async function nextCall() {
  while (calls.length === 0) {
    await new Promise<void>((resolve) => {
      heard = resolve;
    });
  }
  return calls.shift() as (typeof calls)[number];
}

/** Answers each of the calls that come with a title of these, in order; each once. */
async function answerAll(...titles: string[]) {
  for (const title of titles) {
    const call = await nextCall();
    expect(call.title).toBe(title);
    call.response.end();
  }
}

let running: Serving[] = [];
beforeEach(() => {
  [calls, running] = [[], []];
});
afterEach(async () => {
  for (const server of running) await server.stop("SIGKILL");
});

/** A database with a project whose issues a hook is told about. */
async function prepared(db: string) {
  const { tokens } = await runJson(["seed", "--db", db]);
  const serve = async (...more: string[]) => {
    const server = await startServing(["--db", db, "--local-webhooks", "on", ...more]);
    running.push(server);
    return server;
  };
  const headers = {
    "private-token": tokens[0].token as string,
    "content-type": "application/json",
  };
  const post = async (server: Serving, path: string, body: object) => {
    const options = { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await fetch(`${server.url}/api/v4${path}`, options);
    expect(answer.status).toBe(201);
    return (await answer.json()) as { id: number };
  };
  const listen = async (server: Serving) => {
    const answer = await fetch(`${server.url}/api/v4/projects?per_page=1`, { headers });
    const [project] = (await answer.json()) as { id: number }[];
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const path = `/projects/${project?.id}`;
    await post(server, `${path}/hooks`, { url, issues_events: true, push_events: false });
    return (on: Serving, title: string) => post(on, `${path}/issues`, { title });
  };
  return { serve, listen, headers };
}

const newFile = () => {
  count += 1;
  return join(folder.path, `pm-${count}.db`);
};

describe("hooks go on", () => {
  it("after the only process was killed and started again", async () => {
    const { serve, listen } = await prepared(newFile());
    const first = await serve();
    const open = await listen(first);
    await open(first, "one");
    expect((await nextCall()).title).toBe("one");
    await open(first, "two");
    await first.stop("SIGKILL");
    await serve();
    await answerAll("one", "two");
  });

  it("after one of several workers was killed, in another one or its successor", async () => {
    const db = newFile();
    const { serve, listen } = await prepared(db);
    const server = await serve("--workers", "2");
    const open = await listen(server);
    await open(server, "one");
    expect((await nextCall()).title).toBe("one");
    await open(server, "two");
    const store = await openStore(db);
    const [row] = await store.rows(
      "select p.pid from outbox o join processes p on p.id = o.process where o.worker = 'hooks'",
    );
    await store.close();
    process.kill(row?.[0] as number, "SIGKILL");
    await answerAll("one", "two");
  });

  it("after PostgreSQL was away while one was delivered, which is delivered once", async () => {
    const postgres = await startPostgres();
    try {
      const { serve, listen } = await prepared(`${postgres.url}/postgres`);
      const server = await serve();
      const open = await listen(server);
      await open(server, "one");
      const call = await nextCall();
      await open(server, "two");
      await postgres.stop();
      call.response.end();
      // Somebody notices that the database is away.
      expect((await fetch(`${server.url}/-/readiness`)).status).toBe(503);
      await postgres.start();
      await answerAll("two");
      // It is logged by itself, without a request.
      while (!server.stderr.includes("the database answers again")) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      expect(calls).toEqual([]);
    } finally {
      for (const server of running) await server.stop("SIGKILL");
      await postgres.remove();
    }
  });

  it("in the other process on a PostgreSQL database, after the one that delivered it was killed", async () => {
    const postgres = await startPostgres();
    try {
      const { serve, listen } = await prepared(`${postgres.url}/postgres`);
      const first = await serve();
      const open = await listen(first);
      await open(first, "one");
      expect((await nextCall()).title).toBe("one");
      const second = await serve();
      await open(second, "two");
      await first.stop("SIGKILL");
      await answerAll("one", "two");
    } finally {
      for (const server of running) await server.stop("SIGKILL");
      await postgres.remove();
    }
  });
});

it("a path is free again after a process was killed that deleted what was there", async () => {
  const db = newFile();
  const { serve, headers } = await prepared(db);
  const first = await serve();
  const answer = await fetch(`${first.url}/api/v4/projects?per_page=1`, { headers });
  const [project] = (await answer.json()) as [
    { id: number; path: string; namespace: { id: number } },
  ];
  await first.stop();
  const store = await openStore(db);
  const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
  await once(child, "close");
  const holder = { ...thisProcess(), pid: child.pid as number };
  const onError = (error: unknown) => console.error(error);
  const leases = new Leases({ store, now: Date.now, every: 2 ** 30, holder, onError });
  await leases.hold(({ owner, process }) =>
    store.transaction(async (transaction) => {
      await transaction.run("update projects set visibility = -1 where id = ?", [project.id]);
      await removeLater(transaction, { project: project.id }, Date.now());
      await transaction.run("update outbox set owner = ?, process = ?, attempts = 1", [
        ...[owner, process],
      ]);
    }),
  );
  await store.close();
  const second = await serve();
  const { path, namespace } = project;
  const body = JSON.stringify({ name: "Again", path, namespace_id: namespace.id });
  for (;;) {
    const created = await fetch(`${second.url}/api/v4/projects`, { method: "POST", headers, body });
    if (created.status === 201) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});
