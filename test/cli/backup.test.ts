import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newFolder, type Ran, run, runJson, type Serving, startServing } from "./helpers.ts";

let folder: ReturnType<typeof newFolder>;
let at: { cwd: string };
beforeEach(async () => {
  folder = newFolder();
  at = { cwd: folder.path };
});
afterEach(() => folder.remove());

const path = (name: string) => join(folder.path, name);
const ada = ["--username", "ada", "--name", "Ada", "--email", "ada@example.com"];
const usersOf = async (db: string) =>
  (await runJson(["user", "list", "--db", db], at)).map(
    ({ username }: { username: string }) => username,
  );
const refused = ({ code, stdout }: Ran) => ({ code, stdout });
const REFUSED = { code: 1, stdout: "" };

describe("db backup", () => {
  let server: Serving;
  beforeEach(async () => {
    await runJson(["user", "create", ...ada, "--db", "pm.db"], at);
    server = await startServing(["--db", "pm.db"], at);
  });
  afterEach(() => server.stop());

  it("never overwrites the database it reads, under any name", async () => {
    mkdirSync(path("sub"));
    symlinkSync("pm.db", path("symbolic.db"));
    linkSync(path("pm.db"), path("hard.db"));
    const before = statSync(path("pm.db")).ino;
    for (const target of [
      "pm.db",
      "./sub/../pm.db",
      path("pm.db"),
      "symbolic.db",
      "hard.db",
      "pm.db-wal",
      "pm.db-shm",
      "pm.db-journal",
      "symbolic.db-wal",
      // There is no key yet, and nothing may take its place.
      "pm.db.key",
      "symbolic.db.key",
    ]) {
      for (const force of [[], ["--force"]]) {
        const ran = await run(["db", "backup", target, "--db", "pm.db", ...force], at);
        expect([target, refused(ran)]).toEqual([target, REFUSED]);
        expect(ran.stderr).toMatch(/^error: .*(is the database itself|belongs to the database)/);
      }
    }
    expect(statSync(path("pm.db")).ino).toBe(before);
    expect((await server.get("/version")).status).toBe(401);
    expect(await runJson(["db", "check", "--db", "pm.db"], at)).toMatchObject({ ok: true });
  });

  it("replaces a backup, and anything else only if told to", async () => {
    const backup = (...more: string[]) => run(["db", "backup", ...more, "--db", "pm.db"], at);
    expect(await backup("backup.db")).toMatchObject({ code: 0 });
    expect(await backup("backup.db")).toMatchObject({ code: 0 });
    // Reading changes nothing.
    const bytes = statSync(path("backup.db")).mtimeMs;
    expect(await runJson(["db", "check", "--db", "backup.db"], at)).toMatchObject({ ok: true });
    expect(statSync(path("backup.db")).mtimeMs).toBe(bytes);
    writeFileSync(path("notes.txt"), "notes");
    new BetterSqlite3(path("other.db")).exec("create table t (id integer)").close();
    await runJson(["user", "create", ...ada, "--db", "second.db"], at);
    await runJson(["user", "list", "--db", "backup.db"], at);
    for (const name of ["notes.txt", "other.db", "second.db", "backup.db"]) {
      const ran = await backup(name);
      expect([name, refused(ran)]).toEqual([name, REFUSED]);
      expect(ran.stderr).toContain("--force");
    }
    expect(await backup("notes.txt", "--force")).toMatchObject({ code: 0 });
    expect(await usersOf("notes.txt")).toEqual(["ada"]);
    expect(readdirSync(folder.path).filter((name) => name.includes("partial"))).toEqual([]);
  });
});

describe("db restore", () => {
  it("checks the backup, puts it in place and keeps the previous database", async () => {
    await runJson(["user", "create", ...ada, "--db", "pm.db"], at);
    await runJson(["db", "backup", "backup.db", "--db", "pm.db"], at);
    await runJson(
      [
        "user",
        "create",
        "--username",
        "bob",
        "--name",
        "B",
        "--email",
        "b@example.com",
        "--db",
        "pm.db",
      ],
      at,
    );
    const restored = await runJson(["db", "restore", "backup.db", "--db", "pm.db"], at);
    expect(restored).toEqual({ db: "pm.db", bytes: expect.any(Number), kept: expect.any(String) });
    expect(await usersOf("pm.db")).toEqual(["ada"]);
    expect(await usersOf(restored.kept)).toEqual(["ada", "bob"]);
    // The backup stays usable, and can be replaced.
    await runJson(["db", "restore", "backup.db", "--db", "new.db"], at);
    expect(await usersOf("new.db")).toEqual(["ada"]);
    expect(await run(["db", "backup", "backup.db", "--db", "pm.db"], at)).toMatchObject({
      code: 0,
    });
    expect(refused(await run(["db", "backup", "new.db", "--db", "pm.db"], at))).toEqual(REFUSED);
  });

  it("says that the key must come along", async () => {
    await runJson(["user", "create", ...ada, "--db", "pm.db"], at);
    await runJson(["db", "backup", "b.db", "--db", "pm.db"], at);
    const without = await run(["db", "restore", "b.db", "--db", "elsewhere.db"], at);
    expect(without.stdout).toMatch(/put it at .*elsewhere\.db\.key\.\n$/);
    writeFileSync(path("elsewhere.db.key"), `${"00".repeat(32)}\n`);
    const beside = await run(["db", "restore", "b.db", "--db", "elsewhere.db"], at);
    expect(beside.stdout).toMatch(/make sure that it is in .*elsewhere\.db\.key\.\n$/);
  });

  it("changes nothing while a server uses the database, or with an invalid backup", async () => {
    await runJson(["user", "create", ...ada, "--db", "pm.db"], at);
    await runJson(["db", "backup", "backup.db", "--db", "pm.db"], at);
    const server = await startServing(["--db", "pm.db"], at);
    const held = await run(["db", "restore", "backup.db", "--db", "pm.db"], at);
    await server.stop();
    expect(refused(held)).toEqual(REFUSED);
    expect(held.stderr).toContain("another process has the database pm.db open");
    writeFileSync(path("notes.txt"), "notes, more than a hundred bytes of them".repeat(20));
    new BetterSqlite3(path("other.db")).exec("create table t (id integer)").close();
    const before = readdirSync(folder.path).sort();
    for (const from of ["notes.txt", "other.db", "nowhere.db", "pm.db"]) {
      expect([from, refused(await run(["db", "restore", from, "--db", "pm.db"], at))]).toEqual([
        from,
        REFUSED,
      ]);
    }
    expect(readdirSync(folder.path).sort()).toEqual(before);
    expect(await usersOf("pm.db")).toEqual(["ada"]);
  });

  it("replaces a damaged database", async () => {
    await runJson(["user", "create", ...ada, "--db", "pm.db"], at);
    await runJson(["db", "backup", "backup.db", "--db", "pm.db"], at);
    writeFileSync(path("pm.db"), "no database at all".repeat(100));
    await runJson(["db", "restore", "backup.db", "--db", "pm.db"], at);
    expect(await usersOf("pm.db")).toEqual(["ada"]);
  });
});

describe("files", () => {
  // Windows has no file modes.
  it.skipIf(process.platform === "win32")(
    "are readable only by their owner, whatever the umask",
    async () => {
      const through = ["sh", "-c", 'umask 000; exec "$@"', "sh"];
      await run(["user", "create", ...ada, "--db", "pm.db"], { ...at, through });
      await run(["db", "backup", "backup.db", "--db", "pm.db"], { ...at, through });
      await run(["db", "copy", "--from", "pm.db", "--to", "copy.db"], { ...at, through });
      await run(["db", "restore", "backup.db", "--db", "restored.db"], { ...at, through });
      const server = await startServing(["--db", "pm.db"], { ...at, through });
      const modes = readdirSync(folder.path).map((name) => [
        name,
        (statSync(path(name)).mode & 0o777).toString(8),
      ]);
      await server.stop();
      expect(modes.map(([name]) => name)).toContain("pm.db-wal");
      expect(modes.filter(([, mode]) => mode !== "600")).toEqual([]);
    },
  );

  it("are removed by the next backup, restore or server if a killed process has left them", async () => {
    await runJson(["user", "create", ...ada, "--db", "pm.db"], at);
    const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
    await once(child, "close");
    const left = (name: string, pid = child.pid) => {
      const partial = `.${name}.${pid}-${Date.now()}.partial`;
      for (const suffix of ["", "-journal"]) writeFileSync(path(partial + suffix), "x");
      return partial;
    };
    const partials = () => readdirSync(folder.path).filter((name) => name.includes(".partial"));
    left("copy.db");
    left("copy.db", process.pid);
    left("other.db");
    await runJson(["db", "backup", "copy.db", "--db", "pm.db"], at);
    expect(partials()).toHaveLength(4);
    left("pm-20261122T013105Z.db");
    await runJson(["db", "backup", "--dir", ".", "--db", "pm.db"], at);
    expect(partials()).toHaveLength(4);
    left("pm.db");
    await runJson(["db", "restore", "copy.db", "--db", "pm.db"], at);
    expect(partials()).toHaveLength(4);
    left("pm.db");
    const server = await startServing(["--db", "pm.db"], at);
    while (partials().length > 4) await new Promise((resolve) => setTimeout(resolve, 10));
    await server.stop();
    expect(partials().every((name) => /^\.(copy\.db.*|other\.db.*)$/.test(name))).toBe(true);
  });

  it("that have keys are never replaced, by whatever name", async () => {
    await runJson(["user", "create", ...ada, "--db", "pm.db"], at);
    const key = "00".repeat(32);
    writeFileSync(path("secret"), `# Keys\n${key}\n`);
    symlinkSync("secret", path("link"));
    for (const name of ["secret", "link"]) {
      const backup = await run(["db", "backup", name, "--db", "pm.db", "--force"], at);
      const restored = await run(["db", "restore", "pm.db", "--db", name], at);
      for (const ran of [backup, restored]) {
        expect([name, refused(ran)]).toEqual([name, REFUSED]);
        expect(ran.stderr).toContain("has the key of secrets");
      }
    }
    const env = { PM_SECRET_KEY_FILE: path("to-come") };
    const backup = await run(["db", "backup", "to-come", "--db", "pm.db"], { ...at, env });
    expect([backup.code, backup.stderr]).toEqual([
      2,
      "error: to-come is the file of the key of secrets (PM_SECRET_KEY_FILE)\n",
    ]);
    expect(readFileSync(path("secret"), "utf8")).toContain(key);
  });

  it("are not left behind after failures", async () => {
    writeFileSync(path("seed.json"), '{"users":"nobody"}');
    const seeded = await run(["seed", "--db", "pm.db", "--file", "seed.json"], at);
    expect(seeded.stderr).toContain("Nothing was written");
    const created = await run(
      ["user", "create", "--db", "pm.db", ...ada.slice(0, 4), "--email", "x"],
      at,
    );
    expect([seeded.code, created.code]).toEqual([1, 2]);
    expect(readdirSync(folder.path)).toEqual(["seed.json"]);
    expect(existsSync(path("pm.db"))).toBe(false);
  });
});
