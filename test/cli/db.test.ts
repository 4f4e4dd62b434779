import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "../postgres-server.ts";
import { newFolder, run, runJson, startServing } from "./helpers.ts";

const folder = newFolder();
const at = { cwd: folder.path };
beforeAll(async () => {
  await runJson(["seed", "--db", "seeded.db"], at);
});
afterAll(folder.remove);

const sql = (name: string, statements: string) => {
  const db = new BetterSqlite3(join(folder.path, name));
  db.exec(statements);
  db.close();
};
const fails = async (args: string[], code = 1) => {
  const ran = await run(args, at);
  expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code, stdout: "" });
  return ran.stderr;
};

describe("db copy", () => {
  it("shows the copied tables, as a table or as JSON", async () => {
    const shown = await run(["db", "copy", "--from", "seeded.db", "--to", "shown.db"], at);
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toMatch(/│ users +│ 16 +│ [0-9a-f]{12} │/);
    expect(shown.stdout).toMatch(
      /Copied \d+ rows of \d+ tables to shown\.db and read them back\.\nIts secrets need the key in \S+seeded\.db\.key there too\.\n$/,
    );
    const copied = await runJson(["db", "copy", "--from", "shown.db", "--to", "json.db"], at);
    expect(copied.tables).toContainEqual({
      table: "users",
      rows: 16,
      checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(await runJson(["user", "list", "--db", "json.db"], at)).toHaveLength(16);
  });

  it("refuses a target that isn't empty and a missing source", async () => {
    expect(await fails(["db", "copy", "--from", "seeded.db", "--to", "seeded.db"])).toBe(
      "error: seeded.db is the database itself, or a part of it. Nothing was written: name another file\n",
    );
    expect(await fails(["db", "copy", "--from", "seeded.db", "--to", "shown.db"])).toBe(
      "error: the database to copy to is not empty: there is something in users. Choose another with --to, or empty it\n",
    );
    expect(await fails(["db", "copy", "--from", "nowhere.db", "--to", "x.db"])).toMatch(
      /^error: there is no database nowhere\.db/,
    );
    expect(existsSync(join(folder.path, "nowhere.db"))).toBe(false);
    expect(await fails(["db", "copy", "--to", "x.db"], 2)).toContain("--from");
  });
});

describe("db check", () => {
  it("reports that everything is in order", async () => {
    const { code, stdout } = await run(["db", "check", "--db", "seeded.db"], at);
    expect(code).toBe(0);
    expect(stdout.split("\n").filter(Boolean).length).toBeGreaterThan(5);
    for (const line of stdout.split("\n").filter(Boolean)) expect(line).toMatch(/^[a-z ]+: ok$/);
    expect(await runJson(["db", "check", "--db", "seeded.db"], at)).toMatchObject({ ok: true });
  });

  // Only root can become somebody who may not write.
  it.skipIf(process.getuid?.() !== 0)(
    "checks a database that may only be read, whether or not it is being served",
    async () => {
      chmodSync(folder.path, 0o755);
      await runJson(["db", "backup", "read-only.db", "--db", "seeded.db"], at);
      chmodSync(join(folder.path, "read-only.db"), 0o444);
      const through = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
      const db = join(folder.path, "read-only.db");
      const check = () => runJson(["db", "check", "--db", db], { cwd: "/", through });
      expect(await check()).toMatchObject({ ok: true });
      const server = await startServing(["--db", "read-only.db"], at);
      expect(await check()).toMatchObject({ ok: true });
      await server.stop();
      // In the log's mode, but without its files.
      expect(await check()).toMatchObject({ ok: true });
    },
  );

  it("names the problems and what to do, with exit code 1", async () => {
    await runJson(["db", "backup", "damaged.db", "--db", "seeded.db"], at);
    sql("damaged.db", "update projects set full_path = 'nowhere' where id = 1");
    const { code, stdout, stderr } = await run(["db", "check", "--db", "damaged.db"], at);
    expect(code).toBe(1);
    expect(stdout).toContain("paths: project 1 is at nowhere, its namespace at ");
    expect(stderr).toBe(
      "error: damaged.db is damaged: stop its servers, and restore a backup of it\n",
    );
    const json = await run(["db", "check", "--db", "damaged.db", "--json"], at);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false });
  });

  it("recognizes other programs' databases and other versions", async () => {
    sql("other.db", "create table something (id integer)");
    expect(await fails(["db", "check", "--db", "other.db"])).toBe(
      "error: the database is not a pm-api database. Choose another with --db (or PM_DB)\n",
    );
    await runJson(["db", "backup", "old.db", "--db", "seeded.db"], at);
    sql("old.db", "delete from schema_migrations where id like '%emoji'");
    expect(await fails(["db", "check", "--db", "old.db"])).toBe(
      "error: the database is of an older version: bring it up to date first: `pm-cli db migrate` does that\n",
    );
  });
});

describe("db backup", () => {
  it("writes a database that can be served", async () => {
    const { bytes } = await runJson(["db", "backup", "backup.db", "--db", "seeded.db"], at);
    expect(bytes).toBeGreaterThan(100_000);
    expect(await runJson(["user", "list", "--db", "backup.db"], at)).toHaveLength(16);
    // It has been used as a database since.
    expect(await fails(["db", "backup", "backup.db", "--db", "seeded.db"])).toContain("--force");
    const again = ["db", "backup", "backup.db", "--db", "seeded.db"];
    expect(await run([...again, "--force"], at)).toMatchObject({ code: 0 });
    const shown = await run(again, at);
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    const [written, key] = shown.stdout.split("\n");
    expect(written).toBe(`Wrote ${bytes} bytes to backup.db.`);
    expect(key).toMatch(/^The key of its secrets, \S+seeded\.db\.key, is not in it/);
  });

  it("reports that it can't write", async () => {
    const stderr = await fails(["db", "backup", "missing/backup.db", "--db", "seeded.db"]);
    expect(stderr).toMatch(/^error: [^\n]+missing[^\n]*\n$/);
  });
});

describe("db migrate", () => {
  it("lists pending steps, runs them, and reports when none are left", async () => {
    sql("empty.db", "");
    const dry = await runJson(["db", "migrate", "--db", "empty.db", "--dry-run"], at);
    expect(dry).toEqual({ migrations: expect.any(Array), dry_run: true });
    expect(dry.migrations.length).toBeGreaterThan(10);
    const shown = await run(["db", "migrate", "--db", "empty.db", "--dry-run"], at);
    expect(shown.stdout).toBe(
      `Would run:\n${dry.migrations.map((id: string) => `  ${id}\n`).join("")}`,
    );
    const done = await runJson(["db", "migrate", "--db", "empty.db"], at);
    expect(done).toEqual({ ...dry, dry_run: false });
    const again = await run(["db", "migrate", "--db", "empty.db"], at);
    expect(again.stdout).toBe("The database is up to date.\n");
    expect(await fails(["db", "migrate", "--dry-run", "--db", "nowhere.db"])).toContain(
      "there is no database nowhere.db",
    );
  });
});

// TEST_WITHOUT_POSTGRES is for platforms without it, and not allowed in CI.
describe.skipIf(process.env["TEST_WITHOUT_POSTGRES"])("with PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.remove());

  it("copies there and back, and checks the copies", async () => {
    const database = `${server.url}/postgres`;
    const there = await runJson(["db", "copy", "--from", "seeded.db", "--to", database], at);
    expect(await runJson(["db", "check", "--db", database], at)).toMatchObject({ ok: true });
    const back = await runJson(["db", "copy", "--from", database, "--to", "back.db"], at);
    expect(back).toEqual(there);
    const refused = await fails(["db", "copy", "--from", "seeded.db", "--to", database]);
    expect(refused).toContain("is not empty");
    const { stdout } = await run(["db", "migrate", "--db", database], at);
    expect(stdout).toBe("The database is up to date.\n");
    expect(await fails(["db", "backup", "x.db", "--db", database])).toMatch(
      /pg_dump --format=custom/,
    );
  });
});
