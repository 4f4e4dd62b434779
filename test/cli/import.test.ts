// pm-cli import gitlab: from a server of another process, also when it is killed.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ImportReport, PlaceholderRecord } from "../../src/index.ts";
import { randomOf } from "../api/_git.ts";
import { isLong, SEED } from "../forms.ts";
import {
  environment,
  newFolder,
  program,
  run,
  runJson,
  type Serving,
  startServing,
  until,
} from "./helpers.ts";

const folder = newFolder();
const at = { cwd: folder.path };
let server: Serving;
let source: string[] = [];

beforeAll(async () => {
  const { tokens } = await runJson(["seed", "--db", "there.db"], at);
  writeFileSync(join(folder.path, "token"), `${tokens[0].token}\n`);
  server = await startServing(["--db", "there.db"], at);
  source = ["--url", server.url, "--token-file", "token"];
  const root = ["--username", "root", "--name", "Root", "--email", "root@example.com", "--admin"];
  await run(["user", "create", "--db", "here.db", ...root], at);
});
afterAll(async () => {
  await server.stop();
  folder.remove();
});

const command = (db = "here.db") => ["import", "gitlab", "--db", db, ...source, "--group", "acme"];

/** Imports until something has happened, and is killed then. */
async function killed(moment: (child: ChildProcess) => Promise<unknown>, db = "here.db") {
  const [node = "", ...args] = program;
  const child = spawn(node, [...args, ...command(db)], {
    ...at,
    env: environment(),
    stdio: "ignore",
  });
  const ended = once(child, "close");
  await moment(child);
  child.kill("SIGKILL");
  await ended;
}

it.runIf(isLong)("is as whole as another if it was killed at ten random points", async () => {
  const root = ["--username", "root", "--name", "Root", "--email", "root@example.com", "--admin"];
  for (const db of ["killed.db", "whole.db"])
    await run(["user", "create", "--db", db, ...root], at);
  const requests = () => server.stdout.split("\n").length;
  const before = requests();
  const whole: ImportReport = await runJson(command("whole.db"), at);
  const all = requests() - before;
  const random = randomOf(SEED);
  for (let kills = 0; kills < 10; kills += 1) {
    const last = requests() + 1 + random(Math.ceil(all / 12));
    await killed(
      (child) => until(child, () => (requests() > last ? true : undefined)),
      "killed.db",
    );
  }
  const report: ImportReport = await runJson(command("killed.db"), at);
  const taken = ({ places }: ImportReport) =>
    places.map(({ path, status, stats }) => [
      ...[path, status],
      Object.entries(stats).map(([name, { imported }]) => [name, imported]),
    ]);
  expect(taken(report)).toEqual(taken(whole));
});

it("goes on where it was killed, and tells what it has brought and what not", async () => {
  await killed(() => server.logged(({ path }) => /\/issues\/\d+\/links$/.test(path ?? "")));
  const report: ImportReport = await runJson(command(), at);
  expect(report.status).toBe("finished");
  expect(report.places.map(({ path }) => path)).toContain("acme/platform/infrastructure");
  expect(report.places.every(({ status }) => status === "finished")).toBe(true);
  expect(report.failures).toContainEqual({
    source: "acme/shipping-api",
    relation: "variables",
    title: "DEPLOY_TOKEN",
    reason: "its value is masked: set it here",
  });
  const { stdout, code } = await run(command(), at);
  expect(code).toBe(0);
  expect(stdout).toContain("- project acme/shipping-api as acme/shipping-api, finished: ");
  expect(stdout).toContain("Not taken:");
});

it("tells who is nobody here, and makes what they have done somebody's", async () => {
  const group = ["--db", "here.db", "--group", "acme"];
  const list = () => runJson(["import", "placeholders", ...group], at);
  const [first] = (await list()) as PlaceholderRecord[];
  expect(first).toMatchObject({
    ...{ source: server.url, status: "pending_reassignment", reassigned_to: null },
    placeholder: expect.stringContaining("_placeholder_user_"),
  });
  const { username: from = "", source_id } = first as PlaceholderRecord;
  const user = ["--username", "later", "--name", "Later", "--email", "later@example.com"];
  await run(["user", "create", "--db", "here.db", ...user], at);
  const reassign = ["import", "reassign", ...group, "--from", from, "--to", "later"];
  expect((await run(reassign, at)).stdout).toContain("is @later's now");
  const after = ((await list()) as PlaceholderRecord[]).find((one) => one.source_id === source_id);
  expect(after).toMatchObject({ status: "completed", placeholder: null, reassigned_to: "later" });
  const again = await run(reassign, at);
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("invalid status")]);
  const missing = await run(["import", "reassign", ...group], at);
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("are required")]);
});

it("exports a project for a GitLab, with a bundle that Git takes", async () => {
  const to = ["export", "gitlab", "--db", "here.db", "--project", "acme/shipping-api"];
  const { file, size } = await runJson([...to, "--file", "out.tar.gz"], at);
  const unpacked = join(folder.path, "unpacked");
  mkdirSync(unpacked);
  execFileSync("tar", ["-xzf", join(folder.path, file), "-C", unpacked]);
  expect(statSync(join(folder.path, file)).size).toBe(size);
  expect(readFileSync(join(unpacked, "VERSION"), "utf8")).toBe("0.2.4\n");
  execFileSync("git", ["clone", "-q", "--bare", "project.bundle", "code.git"], { cwd: unpacked });
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: join(unpacked, "code.git") }).toString();
  expect(git("symbolic-ref", "HEAD")).toBe("refs/heads/main\n");
  git("fsck", "--strict");
  const issues = readFileSync(join(unpacked, "tree/project/issues.ndjson"), "utf8");
  expect(JSON.parse(issues.split("\n")[0] ?? "")).toMatchObject({
    ...{ iid: expect.any(Number), notes: expect.any(Array), label_links: expect.any(Array) },
  });
  const again = await run([...to, "--file", "out.tar.gz"], at);
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("is there already")]);
});

it("says what is wrong", async () => {
  writeFileSync(join(folder.path, "wrong"), "wrong");
  const to = ["import", "gitlab", "--db", "here.db"];
  const outcomes = [];
  for (const args of [
    [...to, "--group", "acme"],
    [...to, ...source],
    [...to, "--url", server.url, "--group", "acme"],
    [...to, "--url", server.url, "--token-file", "wrong", "--group", "acme"],
    [...to, "--url", server.url, "--token-file", "missing", "--group", "acme"],
    [...to, ...source, "--group", "nowhere"],
  ]) {
    const { code, stderr } = await run(args, at);
    outcomes.push([code, stderr.trim().slice(0, 60)]);
  }
  expect(outcomes).toEqual([
    [2, "error: --url is required"],
    [2, "error: --group or --project is required"],
    [2, "error: --token, --token-file or PM_IMPORT_TOKEN is required"],
    [1, "error: the server refuses the token"],
    [1, expect.stringContaining("error: cannot read the token in missing")],
    [1, "error: nothing was imported: see the report"],
  ]);
});
