import { spawnSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newFolder, run, runJson, startServing } from "./helpers.ts";

const folder = newFolder();
const at = { cwd: folder.path };
const path = (name: string) => join(folder.path, name);
beforeAll(async () => {
  await runJson(["seed", "--db", "pm.db"], at);
});
afterAll(folder.remove);

let count = 0;
function settings(value: unknown): string {
  count += 1;
  const name = `settings-${count}.json`;
  writeFileSync(path(name), typeof value === "string" ? value : JSON.stringify(value), {
    mode: 0o600,
  });
  return name;
}

describe("--config", () => {
  it("provides settings that variables and options override", async () => {
    const corp = { name: "corp", label: "Corp ID", issuer: "https://id.test", client_id: "pm" };
    const more = { sign_in: { providers: [{ ...corp, client_secret: "s3cret" }] } };
    const file = settings({
      ...{ db: "pm.db", tier: "free", per_page: 7, trust_proxy: true, port: 0, ...more },
    });
    const users = await runJson(["user", "list", "--config", file], at);
    expect(users.length).toBeGreaterThan(10);
    const env = { PM_CONFIG: file, PM_TIER: "premium" };
    const [asFile, asEnvironment, asOption] = await Promise.all([
      startServing(["--config", file], at),
      startServing([], { ...at, env }),
      startServing(["--tier", "ultimate", "--per-page", "5"], { ...at, env }),
    ]);
    const servers = [asFile, asEnvironment, asOption];
    const { token } = await runJson(
      ["token", "create", "--user", "root", "--name", "t", "--scopes", "api", "--db", "pm.db"],
      at,
    );
    const pages = [];
    const tiers = [];
    for (const server of servers) {
      pages.push((await server.get("/projects", token)).headers.get("x-per-page"));
      tiers.push((await server.get("/projects/1/dependencies", token)).status);
    }
    const signIn = await (await fetch(`${asFile.url}/users/sign_in`)).text();
    for (const server of servers) await server.stop();
    expect(signIn).toContain(">Corp ID</button>");
    expect(pages).toEqual(["7", "7", "5"]);
    expect(tiers).toEqual([403, 403, 200]);
  });

  it("refuses unknown settings and values by name", async () => {
    for (const [value, message] of [
      [{ prot: 80 }, "'prot' is not a setting, did you mean 'port'?"],
      [{ "trust-proxy": true }, "'trust-proxy' is not a setting, did you mean 'trust_proxy'?"],
      [{ Port: 80 }, "'Port' is not a setting, did you mean 'port'?"],
      [{ nonsense: 1 }, "'nonsense' is not a setting\n"],
      [{ port: null }, "'port' must be a text, a number, a boolean or a list"],
      [{ port: "many" }, "from 'port' in settings"],
      [{ pages: ["password", "nowhere"] }, "'nowhere' is not a page"],
      [{ event_retention: "soon" }, "such as 2y"],
      [{ smtp: "smtp://mail" }, "--smtp needs --mail-from"],
      [{ sign_in: '{"s3cret' }, "--sign-in is no JSON\n"],
      [{ sign_in: [] }, "--sign-in must be a JSON object"],
      [{ sign_in: { providers: [{ name: "corp" }] } }, "signIn.providers.0.issuer is missing"],
      ["[]", "must be a JSON object"],
      ["{", "are not JSON"],
    ] as const) {
      const file = settings(value);
      const ran = await run(["serve", "--db", "pm.db", "--config", file], at);
      expect([value, ran.code, ran.stdout]).toEqual([value, 2, ""]);
      expect(ran.stderr).toContain(message);
    }
    const missing = await run(["user", "list"], { ...at, env: { PM_CONFIG: "nowhere.json" } });
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("nowhere.json")]);
  });
});

describe("serve", () => {
  it("writes backups from only one of several workers, and keeps as many as configured", async () => {
    const args = ["--db", "pm.db", "--backup-dir", "backups", "--backup-every", "1s"];
    const server = await startServing([...args, "--backup-keep", "2", "--workers", "2"], at);
    const written = () => server.log().filter(({ message }) => message === "backed up");
    while (written().length < 4) await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await server.stop()).toBe(0);
    const files = readdirSync(path("backups"));
    expect(files).toHaveLength(2);
    for (const file of files) expect(file).toMatch(/^pm-\d{8}T\d{6}Z\.db$/);
    expect(new Set(written().map(({ file }) => file)).size).toBe(written().length);
    const backup = join("backups", files[0] as string);
    expect(await runJson(["db", "check", "--db", backup], at)).toMatchObject({ ok: true });
    expect(server.stderr).toBe("");
  });

  it("reports failed backups in its log and in /-/readiness", async () => {
    writeFileSync(path("no-folder"), "");
    const server = await startServing(["--db", "pm.db", "--backup-dir", "no-folder"], {
      ...at,
      // The last backup is old enough to be due again.
      env: { PM_BACKUP_EVERY: "1s" },
    });
    let body: { failed_jobs?: string[] } = {};
    while (!body.failed_jobs) {
      body = (await (await fetch(`${server.url}/-/readiness`)).json()) as typeof body;
    }
    await server.stop();
    expect(body).toEqual({ status: "ok", failed_jobs: ["backup"] });
    expect(server.stderr).toContain("no backup was written: ");
    const refused = await run(["serve", "--db", ":memory:", "--backup-dir", "x"], at);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--backup-dir")]);
  });

  // Windows has no file modes.
  it.skipIf(process.platform === "win32")("warns of files that others can read", async () => {
    await runJson(["db", "backup", "open.db", "--db", "pm.db"], at);
    chmodSync(path("open.db"), 0o644);
    const server = await startServing(["--db", "open.db"], at);
    await server.stop();
    expect(JSON.parse(server.stderr)).toEqual({
      time: expect.any(String),
      message: "warning: others can read open.db (644): chmod 600 open.db",
    });
  });
});

describe("secrets", () => {
  it("can be checked and rotated, naming the key", async () => {
    const of = ["--db", "secret.db"];
    writeFileSync(path("secret.db"), "");
    await runJson(["db", "migrate", ...of], at);
    const empty = { key: null, secrets: 0, outdated: 0, lost: [], lost_others: 0 };
    expect(await runJson(["secrets", "check", ...of], at)).toEqual(empty);
    const { key } = await runJson(["secrets", "rotate", ...of], at);
    expect(await runJson(["secrets", "check", ...of], at)).toEqual({ ...empty, key });
    expect(readFileSync(path("secret.db.key"), "utf8")).toMatch(/^# .*\n# .*\n[\w+/]{43}=\n$/);
    const next = await runJson(["secrets", "rotate-signing-key", ...of], at);
    expect(next).toEqual({ kid: expect.any(String), signs_from: expect.stringMatching(/Z$/) });
    const stolen = await runJson(["secrets", "rotate-signing-key", "--at-once", ...of], at);
    expect(stolen.kid).not.toBe(next.kid);
    expect(await runJson(["secrets", "ssh-host-keys", ...of], at)).toEqual([]);
    expect(await runJson(["secrets", "remove-lost", ...of], at)).toEqual({ users: [], others: 0 });
    const backup = await run(["db", "backup", "b.db", ...of], at);
    expect(backup.stdout).toContain("secret.db.key, is not in it");
    const server = await startServing(of, at);
    await server.stop();
    expect(server.log()[0].secret_key).toMatch(/secret\.db\.key$/);
    const PM_SECRET_KEY = "short";
    const ran = await run(["secrets", "check", ...of], { ...at, env: { PM_SECRET_KEY } });
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining("32 bytes in Base64")]);
    expect(ran.stderr.split("\n")).toHaveLength(2);
  });
});

describe("completion", () => {
  // Windows has no bash.
  it.skipIf(process.platform === "win32")("completes in bash", async () => {
    const { stdout } = await run(["completion", "bash"], at);
    writeFileSync(path("completion.bash"), stdout);
    const completed = (...words: string[]) => {
      const script = `source ./completion.bash
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(left over)
"$(complete -p pm-cli | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout: out, stderr } = spawnSync(
        "bash",
        ["-c", script, "bash", "pm-cli", ...words],
        {
          ...at,
          encoding: "utf8",
        },
      );
      expect(stderr).toBe("");
      return out.split("\n").filter((line) => line !== "");
    };
    expect(completed("us")).toEqual(["user"]);
    expect(completed("db", "")).toEqual(expect.arrayContaining(["backup", "restore", "check"]));
    expect(completed("db", "backup", "--f")).toEqual(["--force"]);
    expect(completed("serve", "--tier", "p")).toEqual(["premium"]);
    expect(completed("serve", "--tier", "free", "--backup-k")).toEqual(["--backup-keep"]);
    expect(completed("completion", "f")).toEqual(["fish"]);
    const files = ["pm.db", "pm.db.key"];
    expect(completed("user", "list", "--db", "pm.d").sort()).toEqual(files);
    expect(completed("db", "restore", "pm.d").sort()).toEqual(files);
  });

  it("exists for other shells, and rejects unknown ones", async () => {
    for (const shell of ["zsh", "fish"]) {
      const { code, stdout } = await run(["completion", shell], at);
      expect([code, stdout.includes("backup-keep")]).toEqual([0, true]);
    }
    expect((await run(["completion", "tcsh"], at)).code).toBe(2);
  });
});
