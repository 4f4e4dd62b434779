import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  environment,
  newFolder,
  run,
  runJson,
  type Serving,
  shellCommand,
  startServing,
} from "./helpers.ts";

const folder = newFolder();
const at = { cwd: folder.path };
let server: Serving;
beforeAll(async () => {
  for (const username of ["ada", "bob"]) {
    const data = ["--username", username, "--name", username, "--email", `${username}@example.com`];
    await runJson(["user", "create", ...data], at);
  }
  server = await startServing([], at);
});
afterAll(async () => {
  await server.stop();
  folder.remove();
});

const create = (user: string, name: string, scopes = "api") => [
  ...["token", "create", "--user", user, "--name", name, "--scopes", scopes],
];

describe("token create", () => {
  it("prints one object whose token works against the served API", async () => {
    const ran = await run(
      [...create("ada", "laptop", "read_api, api,api"), "--expires-at", "2999-12-31", "--json"],
      at,
    );
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    const token = JSON.parse(ran.stdout);
    expect(token).toEqual({
      id: expect.any(Number),
      username: "ada",
      name: "laptop",
      scopes: ["read_api", "api"],
      impersonation: false,
      expires_at: "2999-12-31",
      last_used_at: null,
      revoked: false,
      active: true,
      token: expect.stringMatching(/^pmat-[0-9a-f]{40}$/),
    });
    const response = await server.get("/user", token.token);
    expect([response.status, (await response.json()).username]).toEqual([200, "ada"]);
  });

  it("shows people the secret, and that it is shown once", async () => {
    const { code, stdout } = await run(create("ada", "desk"), at);
    expect(code).toBe(0);
    const [secret, note] = stdout.split("\n");
    expect(note).toContain("not shown again");
    expect((await server.get("/user", secret)).status).toBe(200);
    expect((await run(["token", "list"], at)).stdout).not.toContain(secret);
    expect(JSON.stringify(await runJson(["token", "list"], at))).not.toContain(secret);
  });

  it("issues impersonation tokens", async () => {
    const token = await runJson([...create("bob", "support"), "--impersonate"], at);
    expect(token).toMatchObject({ impersonation: true });
    expect((await server.get("/user", token.token)).status).toBe(200);
  });

  it("warns about a token that is already expired", async () => {
    const { code, stdout } = await run([...create("ada", "old"), "--expires-at", "2020-02-29"], at);
    expect(code).toBe(0);
    expect(stdout).toContain("It has already expired, on 2020-02-29.");
    expect((await server.get("/user", stdout.split("\n", 1)[0])).status).toBe(401);
  });

  it("names missing options", async () => {
    expect(await run(["token", "create", "--name", "x"], at)).toEqual({
      code: 2,
      stdout: "",
      stderr: "error: --user and --scopes are required\n",
    });
  });

  it.each([
    [create("ada", "x", "api,root"), "--scopes: 'root' is not a scope, choose from api, read_api"],
    [create("ada", "x", ","), "--scopes: ',' is not a scope"],
    [create("ada", "x", ""), "--scopes can't be blank"],
    [[...create("ada", "x"), "--expires-at", "2026-02-30"], "'2026-02-30' is invalid"],
    [[...create("ada", "x"), "--expires-at", "tomorrow"], "It must be a day as YYYY-MM-DD."],
  ])("refuses bad values: %j", async (args, message) => {
    const { code, stdout, stderr } = await run(args, at);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
    expect(stderr.trimEnd()).not.toContain("\n");
  });

  it("fails for an unknown user", async () => {
    const { code, stderr } = await run(create("nobody", "x"), at);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "error: there is no such user: `pm-cli user list` shows them all\n",
    });
  });

  // Only Linux has /dev/full.
  it.skipIf(process.platform !== "linux")("fails if the secret can't be written", async () => {
    const command = `${shellCommand} ${create("ada", "lost").join(" ")} --json > /dev/full`;
    const ended = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
      execFile("sh", ["-c", command], { ...at, env: environment() }, (error, _, stderr) =>
        resolve({ code: error?.code, stderr }),
      );
    });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain("its result could not be written");
  });
});

describe("token list", () => {
  it("prints an array or a table, of one user on request", async () => {
    const tokens = await runJson(["token", "list", "--user", "bob"], at);
    expect(tokens).toEqual([
      {
        id: expect.any(Number),
        username: "bob",
        name: "support",
        scopes: ["api"],
        impersonation: true,
        expires_at: null,
        // It was used above, to ask for its owner.
        last_used_at: expect.any(String),
        revoked: false,
        active: true,
      },
    ]);
    const { stdout } = await run(["token", "list"], at);
    expect(stdout).toMatch(
      /ada +│ laptop +│ read_api, api +│ [-\d]+T[\d:]+ │ 2999-12-31 +│ active/,
    );
    expect(stdout).toMatch(/bob +│ support +│ api +│ [-\d]+T[\d:]+ │ +│ active, impersonation/);
    expect(stdout).toMatch(/ada +│ old +│ api +│ +│ 2020-02-29 +│ expired/);
  });

  it("fails for an unknown user", async () => {
    expect((await run(["token", "list", "--user", "nobody"], at)).code).toBe(1);
  });
});

describe("token revoke", () => {
  it("makes the served API refuse the token", async () => {
    const { id, token } = await runJson(create("ada", "lost"), at);
    expect((await server.get("/user", token)).status).toBe(200);
    expect(await runJson(["token", "revoke", String(id)], at)).toMatchObject({
      id,
      revoked: true,
      active: false,
    });
    expect((await server.get("/user", token)).status).toBe(401);
    const { stdout } = await run(["token", "revoke", String(id)], at);
    expect(stdout).toBe(`Token ${id} (lost) of ada is revoked.\n`);
  });

  it("fails for an unknown and for an invalid id", async () => {
    expect(await run(["token", "revoke", "999999"], at)).toEqual({
      code: 1,
      stdout: "",
      stderr: "error: there is no such token: `pm-cli token list` shows them all\n",
    });
    expect((await run(["token", "revoke", "x"], at)).code).toBe(2);
    expect((await run(["token", "revoke"], at)).code).toBe(2);
  });
});

describe("a blocked user", () => {
  it("is refused with 403 until unblocked", async () => {
    const { token } = await runJson(create("bob", "phone"), at);
    await runJson(["user", "block", "bob"], at);
    expect((await server.get("/user", token)).status).toBe(403);
    await runJson(["user", "unblock", "bob"], at);
    expect((await server.get("/user", token)).status).toBe(200);
  });
});

describe("token create-job", () => {
  const createJob = (...more: string[]) => [
    ...["token", "create-job", "--project", "acme/app", "--user", "root"],
    ...more,
  ];

  it("issues a token that reads its project for the given time", async () => {
    const seed = {
      users: [{ username: "root", admin: true }],
      groups: [{ path: "acme", projects: [{ path: "app" }] }],
    };
    writeFileSync(join(folder.path, "seed.json"), JSON.stringify(seed));
    await runJson(["seed", "--db", "jobs.db", "--file", "seed.json"], at);
    const before = Date.now();
    const more = ["--lifetime", "30m", "--db", "jobs.db", "--json"];
    const made = JSON.parse((await run(createJob(...more), at)).stdout);
    expect(made).toMatchObject({ username: "root", project: "acme/app" });
    const lifetime = Date.parse(made.expires_at) - before;
    expect(lifetime).toBeGreaterThanOrEqual(30 * 60_000);
    expect(lifetime).toBeLessThan(40 * 60_000);
    const days = ["--lifetime", "2d", "--db", "jobs.db", "--json"];
    const longer = JSON.parse((await run(createJob(...days), at)).stdout);
    const day = 24 * 60 * 60_000;
    expect(Math.floor((Date.parse(longer.expires_at) - before) / day)).toBe(2);
  });

  it("refuses an invalid duration, and missing options", async () => {
    expect((await run(createJob("--lifetime", "soon"), at)).code).toBe(2);
    const { code, stderr } = await run(["token", "create-job", "--user", "ada"], at);
    expect({ code, stderr }).toEqual({ code: 2, stderr: "error: --project is required\n" });
  });
});

describe("audit list", () => {
  it("prints actions and callers", async () => {
    const events = await runJson(["audit", "list", "--user", "bob"], at);
    expect(events.at(-1)).toMatchObject({ action: "user created", author: "operator" });
    expect(events.at(-2)).toEqual({
      id: expect.any(Number),
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      action: "token made",
      author: "operator",
      user: "bob",
      target: "support (impersonation)",
      ip: "",
    });
    const { stdout } = await run(["audit", "list", "--action", "token revoked"], at);
    expect(stdout).toMatch(/operator +│ token revoked +│ ada +│ lost/);
    const none = await run(["audit", "list", "--since", "2999-01-01"], at);
    expect(none.stdout).toBe("There are no such events.\n");
  });

  it("refuses bad values", async () => {
    expect((await run(["audit", "list", "--since", "soon"], at)).code).toBe(2);
    expect((await run(["audit", "list", "--limit", "0"], at)).code).toBe(2);
    expect((await run(["audit", "list", "--user", "nobody"], at)).code).toBe(1);
  });
});

describe("serve", () => {
  it("accepts no impersonation token if those are off, and limits requests if configured", async () => {
    const { token } = await runJson([...create("bob", "acting"), "--impersonate"], at);
    const own = await runJson(create("bob", "own"), at);
    const args = ["--impersonation", "off", "--requests-per-minute", "2"];
    const strict = await startServing(args, at);
    try {
      expect((await strict.get("/user", token)).status).toBe(401);
      const found: number[] = [];
      for (let index = 0; index < 3; index += 1) {
        found.push((await strict.get("/user", own.token)).status);
      }
      expect(found).toEqual([200, 200, 429]);
    } finally {
      await strict.stop();
    }
  });

  it("offers OAuth2's flows except disabled ones", async () => {
    const flowsOf = async (args: string[]) => {
      const server = await startServing(args, at);
      const metadata = await fetch(`${server.url}/.well-known/oauth-authorization-server`);
      await server.stop();
      return (await metadata.json()).grant_types_supported;
    };
    const strict = await flowsOf(["--implicit-grant", "off", "--password-grant", "off"]);
    const always = [
      "authorization_code",
      "refresh_token",
      "urn:ietf:params:oauth:grant-type:device_code",
    ];
    expect(strict).toEqual(always);
    expect((await flowsOf([])).toSorted()).toEqual([...always, "implicit", "password"].toSorted());
  });
});
