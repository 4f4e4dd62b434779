import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "../postgres-server.ts";
import { newFolder, run, runJson, type Serving, startServing } from "./helpers.ts";

const folder = newFolder();
const at = { cwd: folder.path };
afterAll(folder.remove);

let token: string;
const seed = async (database: string) => {
  ({
    tokens: [{ token }],
  } = await runJson(["seed", "--db", database], at));
};

/** A client with its own connections, which different processes may accept. */
function clientOf(urls: readonly string[]) {
  const headers = () => ({
    "private-token": token,
    "content-type": "application/json",
    connection: "close",
  });
  return {
    write: (name: string, on: number) =>
      fetch(`${urls[on % urls.length]}/api/v4/groups/acme/labels`, {
        method: "POST",
        headers: headers(),
        body: JSON.stringify({ name, color: "#123456" }),
      }),
    /** Whether a label can be read. */
    has: async (name: string, on: number) => {
      const answer = await fetch(
        `${urls[on % urls.length]}/api/v4/groups/acme/labels/${encodeURIComponent(name)}`,
        { headers: headers() },
      );
      return answer.status === 200;
    },
  };
}

/** Writes at random from several clients, and immediately reads each acknowledged one elsewhere. */
async function writeAndRead(urls: readonly string[], prefix: string, each: number) {
  const client = clientOf(urls);
  const unseen: string[] = [];
  const refused: number[] = [];
  const writers = Array.from({ length: 6 }, async (_, writer) => {
    for (let turn = 0; turn < each; turn += 1) {
      const name = `${prefix}-${writer}-${turn}`;
      const on = Math.floor(Math.random() * urls.length);
      const answer = await client.write(name, on);
      if (answer.status !== 201) refused.push(answer.status);
      // On another process or connection: twice, since either worker may accept it.
      else if (!(await client.has(name, on + 1)) || !(await client.has(name, on + 1))) {
        unseen.push(name);
      }
    }
  });
  await Promise.all(writers);
  expect({ unseen, refused }).toEqual({ unseen: [], refused: [] });
}

/** Kills a process under load; returns the names whose writes were acknowledged. */
async function writeWhile(urls: readonly string[], prefix: string, kill: () => Promise<void>) {
  const client = clientOf(urls);
  const acknowledged: string[] = [];
  let ended = false;
  let cut = 0;
  const writers = Array.from({ length: 6 }, async (_, writer) => {
    for (let turn = 0; !ended; turn += 1) {
      const name = `${prefix}-${writer}-${turn}`;
      try {
        const answer = await client.write(name, writer);
        if (answer.status === 201) acknowledged.push(name);
      } catch {
        // The connection broke with the process, so nothing was acknowledged.
        cut += 1;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  });
  const more = async () => {
    const enough = acknowledged.length + 20;
    for (let tries = 0; acknowledged.length < enough && tries < 1000; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(enough);
  };
  await more();
  await kill();
  await more();
  ended = true;
  await Promise.all(writers);
  return { acknowledged, cut };
}

const workersOf = async (server: Serving) => {
  const ps = spawn("ps", ["-o", "pid=", "--ppid", String(server.child.pid)]);
  let text = "";
  ps.stdout.setEncoding("utf8").on("data", (more: string) => {
    text += more;
  });
  await once(ps, "close");
  return text.split("\n").map(Number).filter(Boolean);
};

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Opens keep-alive connections one after the other, each answered once. */
async function connected({ url }: Serving, count: number) {
  const { hostname, port } = new URL(url);
  const made: { socket: Socket; ask: () => Promise<string> }[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const socket = connect(Number(port), hostname).setEncoding("utf8");
    socket.on("error", () => undefined);
    const ask = async () => {
      const headers = `host: ${hostname}\r\nprivate-token: ${token}`;
      socket.write(`GET /api/v4/version HTTP/1.1\r\n${headers}\r\n\r\n`);
      return (await once(socket, "data"))[0] as string;
    };
    await ask();
    made.push({ socket, ask });
  }
  return made;
}

describe("serve --workers", () => {
  beforeAll(() => seed("workers.db"));

  it("serves one file from several processes that see each other's writes at once", async () => {
    const server = await startServing(["--db", "workers.db", "--workers", "2"], at);
    expect(server.log().find(({ message }) => message === "listening")).toEqual({
      time: expect.any(String),
      message: "listening",
      url: server.url,
      workers: 2,
      secret_key: expect.stringMatching(/workers\.db\.key$/),
    });
    expect(await workersOf(server)).toHaveLength(2);
    const start = await fetch(server.url, { redirect: "manual" });
    expect([start.status, start.headers.get("location")]).toEqual([303, "/explore/projects"]);
    await writeAndRead([server.url], "seen", 15);
    expect(await server.stop()).toBe(0);
    expect(server.stderr).toBe("");
    expect(server.log().filter(({ status }) => status === 201)).toHaveLength(90);
    expect(server.log().filter(({ message }) => message === "stopping")).toHaveLength(1);
  });

  it("loses no acknowledged write when one is killed, and starts another", async () => {
    const server = await startServing(["--db", "workers.db", "--workers", "2"], at);
    const [victim] = await workersOf(server);
    const { acknowledged } = await writeWhile([server.url], "killed", async () => {
      process.kill(victim as number, "SIGKILL");
      await server.logged(({ message }) => message === "worker ended");
    });
    const client = clientOf([server.url]);
    for (const name of acknowledged)
      expect([name, await client.has(name, 0)]).toEqual([name, true]);
    expect(server.log().find(({ message }) => message === "worker ended")).toEqual({
      time: expect.any(String),
      message: "worker ended",
      pid: victim,
      signal: "SIGKILL",
    });
    for (let tries = 0; (await workersOf(server)).length < 2 && tries < 100; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(await workersOf(server)).toHaveLength(2);
    expect(await workersOf(server)).not.toContain(victim);
    expect(await server.stop("SIGINT")).toBe(0);
    const { problems } = (await runJson(["db", "check", "--db", "workers.db"], at)).checks[0];
    expect(problems).toEqual([]);
  });

  it("distributes connections evenly", async () => {
    const server = await startServing(["--db", "workers.db", "--workers", "2"], at);
    const connections = await connected(server, 40);
    const [victim] = await workersOf(server);
    process.kill(victim as number, "SIGKILL");
    const isOpen = () => connections.filter(({ socket }) => !socket.destroyed);
    for (let tries = 0; isOpen().length > 20 && tries < 100; tries += 1) await pause(20);
    expect(isOpen()).toHaveLength(20);
    for (const { ask } of isOpen()) expect(await ask()).toMatch(/^HTTP\/1.1 200 /);
    for (const { socket } of connections) socket.destroy();
    expect(await server.stop()).toBe(0);
  });

  it("lets another worker answer what a killed one had been given but not accepted", async () => {
    const server = await startServing(["--db", "workers.db", "--workers", "2"], at);
    const [victim] = await workersOf(server);
    // It still exists, but does nothing.
    process.kill(victim as number, "SIGSTOP");
    const answers = Array.from({ length: 10 }, () => server.get("/version", token));
    const first = await Promise.race(answers);
    expect(first.status).toBe(200);
    process.kill(victim as number, "SIGKILL");
    for (const answer of answers) expect((await answer).status).toBe(200);
    expect(await server.stop()).toBe(0);
  });

  it("replaces a worker that is told to end", async () => {
    const server = await startServing(["--db", "workers.db", "--workers", "2"], at);
    const [leaving] = await workersOf(server);
    process.kill(leaving as number, "SIGTERM");
    // A server may close an idle connection just as the client reuses it; clients then send a GET again (RFC 9112 §9.3.1).
    const get = () => server.get("/version", token);
    const getAgain = ({ cause }: Error) => {
      expect(cause).toMatchObject({ code: "ECONNRESET" });
      return get();
    };
    for (let turn = 0; turn < 50; turn += 1) {
      expect((await get().catch(getAgain)).status).toBe(200);
    }
    const { pid, code } = await server.logged(({ message }) => message === "worker ended");
    expect({ pid, code }).toEqual({ pid: leaving, code: 0 });
    expect(await server.stop()).toBe(0);
  });

  it("all workers end when the supervisor is killed", async () => {
    const server = await startServing(["--db", "workers.db", "--workers", "2"], at);
    const workers = await workersOf(server);
    await server.stop("SIGKILL");
    const alive = () =>
      workers.filter((pid) => {
        try {
          return process.kill(pid, 0);
        } catch {
          return false;
        }
      });
    for (let tries = 0; alive().length > 0 && tries < 100; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(alive()).toEqual([]);
  });

  it("finishes running requests in every worker when it ends", async () => {
    const server = await startServing(["--db", "workers.db", "--workers", "2"], at);
    const body = JSON.stringify({ name: "slow", color: "#123456" });
    const halves = Array.from({ length: 4 }, (_, index) => {
      let finish = () => {};
      const stream = new ReadableStream({
        start(controller) {
          const text = body.replace("slow", `slow ${index}`);
          controller.enqueue(new TextEncoder().encode(text.slice(0, 5)));
          finish = () => {
            controller.enqueue(new TextEncoder().encode(text.slice(5)));
            controller.close();
          };
        },
      });
      const answer = fetch(`${server.url}/api/v4/groups/acme/labels`, {
        method: "POST",
        headers: {
          "private-token": token,
          "content-type": "application/json",
          connection: "close",
        },
        body: stream,
        duplex: "half",
      } as RequestInit);
      return { answer, finish: () => finish() };
    });
    await new Promise((resolve) => setTimeout(resolve, 500));
    const stopped = server.stop();
    await server.logged(({ message }) => message === "stopping");
    await new Promise((resolve) => setTimeout(resolve, 200));
    for (const { finish } of halves) finish();
    const statuses = await Promise.all(halves.map(async ({ answer }) => (await answer).status));
    expect(statuses).toEqual([201, 201, 201, 201]);
    expect(await stopped).toBe(0);
  });

  it("writes whole lines, shortening long ones", async () => {
    const server = await startServing(["--db", "workers.db", "--workers", "2"], at);
    const long = `/api/v4/projects/${"x".repeat(6000)}`;
    await Promise.all(
      Array.from({ length: 200 }, () =>
        fetch(server.url + long, { headers: { connection: "close" } }),
      ),
    );
    expect(await server.stop()).toBe(0);
    const lines = server.stdout.split("\n").filter(Boolean);
    for (const line of lines) expect(Buffer.byteLength(line)).toBeLessThan(4096);
    const entries = server.log().filter(({ path }) => path);
    expect(entries).toHaveLength(200);
    for (const { path } of entries) expect(path).toBe(`${long.slice(0, 500)}…`);
  });

  it("reports once and in one line why it can't start", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    const args = ["serve", "--db", "workers.db", "--workers", "3", "--port", String(port)];
    const ran = await run(args, at);
    other.close();
    expect(ran).toEqual({
      code: 1,
      stdout: "",
      stderr: `error: port ${port} on 127.0.0.1 is in use: stop what uses it, or choose another with --port (or PM_PORT), 0 for a free one\n`,
    });
    const memory = await run(["serve", "--db", ":memory:", "--workers", "2"], at);
    expect(memory).toMatchObject({ code: 2, stdout: "" });
    expect(memory.stderr).toMatch(/^error: --workers needs a database that processes can share/);
    const none = await run(["serve", "--workers", "0"], at);
    expect(none.code).toBe(2);
    expect(none.stderr).toContain("It must be a number from 1 to 256.");
  });

  it("purges old events once, in any worker", async () => {
    // Some of the seeded events are older than the retention.
    await seed("old.db");
    const server = await startServing(["--db", "old.db", "--workers", "3"], at);
    await server.logged(({ message }) => message === "purged");
    expect(await server.stop()).toBe(0);
    const again = await startServing(["--db", "old.db", "--workers", "2"], at);
    await again.get("/version");
    expect(await again.stop()).toBe(0);
    const purged = [...server.log(), ...again.log()].filter(({ message }) => message === "purged");
    expect(purged).toHaveLength(1);
    expect(purged[0].events).toBeGreaterThan(0);
  });
});

// TEST_WITHOUT_POSTGRES is for platforms without it, and not allowed in CI.
describe.skipIf(process.env["TEST_WITHOUT_POSTGRES"])("two servers on one PostgreSQL", () => {
  let postgres: PostgresServer;
  let database: string;
  beforeAll(async () => {
    postgres = await startPostgres();
    database = `${postgres.url}/postgres`;
    await seed(database);
  });
  afterAll(() => postgres.remove());

  it("see each other's writes at once", async () => {
    const servers = await Promise.all([1, 2].map(() => startServing(["--db", database], at)));
    await writeAndRead(
      servers.map(({ url }) => url),
      "seen",
      15,
    );
    for (const server of servers) {
      expect(await server.stop()).toBe(0);
      expect(server.stderr).toBe("");
    }
  });

  it("lose no acknowledged write when one is killed, and the other continues", async () => {
    const [one, two] = await Promise.all([1, 2].map(() => startServing(["--db", database], at)));
    const urls = [one, two].map((server) => (server as Serving).url);
    const { acknowledged, cut } = await writeWhile(urls, "killed", async () => {
      await one?.stop("SIGKILL");
    });
    expect(cut).toBeGreaterThan(0);
    const client = clientOf([urls[1] as string]);
    for (const name of acknowledged)
      expect([name, await client.has(name, 0)]).toEqual([name, true]);
    expect(await two?.stop()).toBe(0);
    expect(await runJson(["db", "check", "--db", database], at)).toMatchObject({ ok: true });
  });
});
