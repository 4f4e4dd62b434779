import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newFolder, run, runJson, type Serving, startServing } from "./helpers.ts";

const folder = newFolder();
const at = { cwd: folder.path };
let token: string;
beforeAll(async () => {
  ({
    tokens: [{ token }],
  } = await runJson(["seed", "--db", "seeded.db"], at));
});
afterAll(folder.remove);

const file = (name: string) => join(folder.path, name);

describe("serve", () => {
  it("names the same settings in what is next, and says what a database in memory means", async () => {
    writeFileSync(file("c.json"), JSON.stringify({ db: file("configured.db") }));
    const server = await startServing(["--config", "c.json"], at);
    const { next } = await server.logged(({ message }) => message === "there are no users yet");
    expect(next).toBe("pm-cli user create --admin --config c.json");
    await server.stop();
    const lost = await startServing(["--db", ":memory:"], at);
    await lost.stop();
    expect(lost.stderr).toContain("everything is lost when the server stops");
  });

  it("creates a missing database, and prints where it listens", async () => {
    const server = await startServing(["--db", "new.db", "--host", "localhost", "--port", "0"], at);
    expect(existsSync(file("new.db"))).toBe(true);
    expect(server.log()[0]).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      message: "listening",
      url: expect.stringMatching(/^http:\/\/localhost:\d+$/),
      secret_key: expect.stringMatching(/new\.db\.key$/),
    });
    const { next } = await server.logged(({ message }) => message === "there are no users yet");
    expect(next).toBe("pm-cli user create --admin --db new.db");
    expect((await fetch(`${server.url}/-/readiness`)).status).toBe(200);
    expect(await (await fetch(server.url)).text()).toContain("<h1>All projects</h1>");
    expect(await server.stop("SIGINT")).toBe(0);
    expect(server.stderr).toBe("");
  });

  it("logs requests as JSON lines, without secrets", async () => {
    const server = await startServing(["--db", "seeded.db"], at);
    const url = `${server.url}/api/v4/user`;
    await fetch(`${url}?private_token=${token}`);
    await fetch(`${url}?private_token=not-a-token&x=in-the-query`);
    await fetch(url, { headers: { "private-token": token } });
    await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    const form = new URLSearchParams({ private_token: token, name: "x" });
    await fetch(`${server.url}/api/v4/groups/acme/labels`, { method: "POST", body: form });
    expect(await server.stop()).toBe(0);

    // Skips the log line about the demo's history, which exceeds the retention.
    const [first, second, ...others] = server.log().filter(({ method }) => method);
    expect(first).toEqual({
      time: expect.any(String),
      method: "GET",
      path: "/api/v4/user",
      status: 200,
      duration: expect.any(Number),
      ip: "127.0.0.1",
      request_id: expect.any(String),
      user: "root",
    });
    expect(second).toMatchObject({ path: "/api/v4/user", status: 401 });
    expect(second).not.toHaveProperty("user");
    expect(others.map(({ status }) => status)).toEqual([200, 200, 400]);
    for (const secret of [token, "not-a-token", "in-the-query", "?"]) {
      expect(server.stdout + server.stderr).not.toContain(secret);
    }
  });

  it("reports unexpected errors as a JSON line on standard error", async () => {
    await runJson(["seed", "--db", "broken.db"], at);
    const server = await startServing(["--db", "broken.db"], at);
    const db = new BetterSqlite3(file("broken.db"));
    db.exec("drop table board_lists");
    db.close();
    const response = await fetch(`${server.url}/api/v4/groups/acme/boards?private_token=${token}`);
    const [{ token: own }] = await tokensOf("broken.db");
    const answer = await server.get("/groups/acme/boards", own);
    expect([response.status, answer.status]).toEqual([401, 500]);
    await server.stop();
    expect(JSON.parse(server.stderr)).toEqual({
      time: expect.any(String),
      message: "no such table: board_lists",
      stack: expect.any(String),
    });
    expect(server.stderr).not.toContain(own);
  });

  it("reads settings from the environment, which flags override", async () => {
    const env = {
      PM_DB: "seeded.db",
      PM_HOST: "127.0.0.1",
      PM_PORT: "0",
      PM_URL: "https://pm.example.com/prefix/",
      PM_TIER: "free",
      PM_TRUST_PROXY: "true",
    };
    const server = await startServing([], { ...at, env });
    const headers = { "private-token": token, "x-forwarded-for": "203.0.113.9" };
    const groups = `${server.url}/api/v4/groups`;
    const listed = await fetch(`${groups}?per_page=1`, { headers });
    expect(listed.headers.get("link")).toContain("<https://pm.example.com/prefix/api/v4/groups?");
    const made = await fetch(`${groups}/acme/boards?name=x`, { method: "POST", headers });
    expect(made.status).toBe(403);
    await server.stop();
    expect(server.log()[1]).toMatchObject({ ip: "203.0.113.9" });

    const flags = ["--db", "seeded.db", "--tier", "ultimate", "--url", "http://flag.example.com"];
    const other = await startServing([...flags, "--host", "127.0.0.1"], {
      ...at,
      env: { ...env, PM_DB: "/nowhere/x.db", PM_HOST: "nowhere.invalid", PM_TRUST_PROXY: "false" },
    });
    const answer = await fetch(`${other.url}/api/v4/groups?per_page=1`, { headers });
    expect(answer.headers.get("link")).toContain("<http://flag.example.com/api/v4/groups?");
    await other.stop();
    expect(other.log()[1]).toMatchObject({ ip: "127.0.0.1" });
  });

  it("treats an empty variable as unset", async () => {
    const env = { PM_DB: "", PM_HOST: "", PM_URL: "", PM_TIER: "", PM_TRUST_PROXY: "" };
    const server = await startServing(["--port", "0"], { ...at, env });
    expect(await server.stop()).toBe(0);
    expect(existsSync(file("pm.db"))).toBe(true);
  });

  it("continues when its log's reader is gone", async () => {
    const server = await startServing(["--db", "seeded.db"], at);
    server.child.stdout?.destroy();
    for (let count = 0; count < 3; count += 1) {
      expect((await server.get("/user", token)).status).toBe(200);
    }
    expect(await server.stop()).toBe(0);
    expect(server.stderr).toBe("");
  });
});

describe("a signal", () => {
  it.each(["SIGTERM", "SIGINT"] as const)("%s lets a slow request be answered", async (signal) => {
    const server = await startServing(["--db", "seeded.db"], at);
    const slow = slowRequest(server);
    await slow.begun;
    const stopped = server.stop(signal);
    await server.logged(({ message }) => message === "stopping");
    await expect(fetch(server.url)).rejects.toThrow();
    expect(server.child.exitCode).toBe(null);
    slow.finish();
    expect(await slow.status).toBe(201);
    expect(await stopped).toBe(0);
    expect(server.log().at(-1)).toMatchObject({ method: "POST", status: 201 });
  });

  it("that comes twice ends at once", async () => {
    const server = await startServing(["--db", "seeded.db"], at);
    const slow = slowRequest(server);
    await slow.begun;
    server.child.kill("SIGTERM");
    await server.logged(({ message }) => message === "stopping");
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(server.child.exitCode).toBe(null);
    expect(await server.stop("SIGTERM")).toBe(1);
    await expect(slow.status).rejects.toThrow();
    expect(server.stderr).toBe("error: SIGTERM again: ended before everything was answered\n");
  });
});

describe("errors that keep serve from starting are one line, exit code 1:", () => {
  it("a port in use", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as { port: number };
    const ran = await run(["serve", "--db", "seeded.db", "--port", String(port)], at);
    other.close();
    expect(ran).toEqual({
      code: 1,
      stdout: "",
      stderr: `error: port ${port} on 127.0.0.1 is in use: stop what uses it, or choose another with --port (or PM_PORT), 0 for a free one\n`,
    });
  });

  it.each(["203.0.113.1", "nowhere.invalid"])("the foreign host %s", async (host) => {
    const ran = await run(["serve", "--db", "seeded.db", "--host", host, "--port", "0"], at);
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr).toBe(
      `error: ${host} is not an address of this machine: choose another with --host (or PM_HOST), such as 127.0.0.1 or 0.0.0.0\n`,
    );
  });

  it("a missing folder", async () => {
    await fails(
      "missing/pm.db",
      /cannot open the database missing\/pm\.db: .* file in an? (existing )?folder/,
    );
  });

  it("a folder instead of a file", async () => {
    mkdirSync(file("folder.db"));
    await fails("folder.db", /cannot open the database folder\.db: .*choose another with --db/);
  });

  it("a file without write permission", async () => {
    writeFileSync(file("readonly.db"), "", { mode: 0o444 });
    // Root may write regardless of the mode, unless it gives that up.
    const isRoot = process.getuid?.() === 0;
    const through = isRoot ? ["setpriv", "--bounding-set=-dac_override"] : [];
    await fails(
      "readonly.db",
      /no permission to write the database readonly\.db: grant it/,
      through,
    );
  });

  it("a file that is not a database", async () => {
    writeFileSync(file("text.db"), "This is no database. ".repeat(100));
    await fails("text.db", /file is not a database\. Restore a backup of it, or choose another/);
  });

  it("another program's database", async () => {
    const db = new BetterSqlite3(file("other.db"));
    db.exec("create table users (something text)");
    db.close();
    await fails("other.db", /Check that it is a database of pm-api, or choose another/);
  });

  it("a database newer than the code", async () => {
    await runJson(["seed", "--db", "newer.db"], at);
    const db = new BetterSqlite3(file("newer.db"));
    db.exec("insert into schema_migrations (id, applied_at) values ('29991231-01-future', 0)");
    db.close();
    await fails("newer.db", /newer than this pm-api: it has 29991231-01-future\. Upgrade pm-api/);
  });

  it.each([
    "postgres://pm:top-secret@127.0.0.1:1/pm",
    "postgresql://pm:top-secret@localhost:1/pm",
    "postgres://pm:top-secret@nowhere.invalid/pm",
  ])("an unreachable PostgreSQL: %s", async (database) => {
    const stderr = await fails(
      database,
      /cannot reach the PostgreSQL server: \S.*\. Check that it runs and that the URL in --db/,
    );
    expect(stderr).not.toContain("top-secret");
  });

  async function fails(database: string, message: RegExp, through?: string[]): Promise<string> {
    const { code, stdout, stderr } = await run(["serve", "--db", database, "--port", "0"], {
      ...at,
      ...(through ? { through } : {}),
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^error: [^\n]*\n$/);
    return stderr;
  }
});

describe("invalid values are usage errors:", () => {
  it.each([
    [["--port", "65536"], {}, "from 0 to 65535"],
    [["--port", "http"], {}, "from 0 to 65535"],
    [[], { PM_PORT: "-1" }, "from env 'PM_PORT'"],
    [["--url", "pm.example.com"], {}, "It must be like https://pm.example.com"],
    [["--url", "ftp://pm.example.com"], {}, "It must be like https://pm.example.com"],
    [["--url", "https://pm.example.com/?x=1"], {}, "It must be like https://pm.example.com"],
    [["--tier", "gold"], {}, "Allowed choices are free, premium, ultimate."],
    [["--max-connections", "1"], {}, "from 2 to 1000"],
    [["--connect-timeout", "soon"], {}, "from 1 to 3600000"],
    [[], { PM_STATEMENT_TIMEOUT: "0" }, "from env 'PM_STATEMENT_TIMEOUT'"],
    [[], { PM_TRUST_PROXY: "perhaps" }, "from env 'PM_TRUST_PROXY'"],
  ])("%j %j", async (args, env, message) => {
    const ran = await run(["serve", "--db", "seeded.db", ...args], { ...at, env: { ...env } });
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toContain(message);
  });
});

/** Creates a token for `root` in a seeded database. */
async function tokensOf(database: string): Promise<[{ token: string }]> {
  const args = ["token", "create", "--db", database, "--user", "root", "--name", "test"];
  return [await runJson([...args, "--scopes", "api"], at)];
}

/** Starts a request whose body ends only when told to. */
function slowRequest(server: Serving): {
  begun: Promise<void>;
  finish: () => void;
  status: Promise<number | undefined>;
} {
  const body = JSON.stringify({ name: "Slow" });
  const sent = request(`${server.url}/api/v4/groups/acme/boards`, {
    method: "POST",
    agent: false,
    headers: {
      "private-token": token,
      "content-type": "application/json",
      "content-length": String(body.length),
      // Node answers it when the request begins to be read.
      expect: "100-continue",
    },
  });
  const status = new Promise<number | undefined>((resolve, reject) => {
    sent.on("error", reject).on("response", (response) => {
      response.resume().on("end", () => resolve(response.statusCode));
    });
  });
  status.catch(() => undefined);
  sent.flushHeaders();
  return {
    begun: new Promise((resolve) => {
      sent.once("continue", () => {
        sent.write(body.slice(0, 5));
        resolve();
      });
    }),
    finish: () => sent.end(body.slice(5)),
    status,
  };
}
