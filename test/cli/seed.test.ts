import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { seedData } from "../../cli/seed/index.ts";
import { createApp } from "../../src/index.ts";
import { newFolder, run, runJson, startServing } from "./helpers.ts";

const folder = newFolder();
const at = { cwd: folder.path };

interface PushData {
  ref: string;
  commit_to: string;
}
afterAll(folder.remove);

describe("seed", () => {
  it("fills a new database with a demo, and prints the counts and the administrator's token", async () => {
    const { code, stdout, stderr } = await run(["seed", "--db", "small.db"], at);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^Seeded small\.db: 16 users, 12 groups, 24 projects, 240 labels, /);
    const token = /^Token of root, not shown again: (pmat-\w+)$/m.exec(stdout)?.[1] as string;

    const server = await startServing(["--db", "small.db"], at);
    const json = async (path: string) => (await server.get(path, token)).json();
    expect(await json("/user")).toMatchObject({ username: "root", is_admin: true });
    const boards = await json("/groups/acme/boards");
    expect(boards[0]).toMatchObject({ name: "Delivery", lists: { length: 6 } });
    const levels = (await json("/groups/acme/members")).map(
      (member: { access_level: number }) => member.access_level,
    );
    expect(new Set(levels)).toEqual(new Set([50, 40, 30, 20, 10]));
    const projects = await json("/projects?per_page=100");
    const visibilities = projects.map((project: { visibility: string }) => project.visibility);
    expect(new Set(visibilities)).toEqual(new Set(["private", "internal", "public"]));
    expect(projects.some((project: { star_count: number }) => project.star_count > 0)).toBe(true);
    expect((await json("/groups/acme/milestones")).length).toBeGreaterThan(0);
    expect((await json("/groups/acme/subgroups")).length).toBe(2);
    expect(await server.stop()).toBe(0);
  });

  it("fills every list of the demo at least once", async () => {
    const { tokens } = await runJson(["seed", "--db", "areas.db"], at);
    const server = await startServing(["--db", "areas.db"], at);
    const ask = (path: string) => server.get(path, tokens[0].token);
    /** The first of these with a non-empty list, and that list. */
    const firstOf = async (
      paths: string[],
    ): Promise<{ path: string; found: { [key: string]: unknown } }> => {
      for (const path of paths) {
        const answer = await ask(path);
        expect(answer.status, path).toBe(200);
        const [found] = await answer.json();
        if (found) return { path, found };
      }
      throw new Error(`nothing in ${paths}`);
    };
    const projects = await (await ask("/groups/acme/projects?per_page=100")).json();
    const inProjects = (rest: string) =>
      firstOf(projects.map(({ id }: { id: number }) => `/projects/${id}/${rest}`));

    const inRepositories = ["tree", "commits", "branches", "tags", "contributors"];
    for (const rest of [
      ...["dependencies", "badges", "events", "labels", "protected_branches"],
      ...inRepositories.map((name) => `repository/${name}`),
    ]) {
      await inProjects(rest);
    }
    for (const rest of [
      ...["releases", "hooks", "environments", "deployments", "pipelines", "jobs"],
      ...["pipeline_schedules", "variables", "triggers"],
    ]) {
      await inProjects(rest);
    }
    const { path: schedules, found: nightly } = await inProjects("pipeline_schedules");
    const runs = await (await ask(`${schedules}/${nightly["id"]}/pipelines`)).json();
    expect(runs.map(({ source }: { source: string }) => source)).toEqual(Array(3).fill("schedule"));
    const { path: wiki } = await inProjects("wikis");
    const slugs = (await (await ask(wiki)).json()).map(({ slug }: { slug: string }) => slug);
    expect(slugs).toEqual(expect.arrayContaining(["home", "Guides/Getting-started"]));
    const { content } = await (await ask(`${wiki}/home`)).json();
    const picture = /uploads\/\w+\/overview\.svg/.exec(content)?.[0];
    expect(await (await ask(`${wiki}/${picture}`)).text()).toMatch(/^<svg/);
    for (const kind of ["issues", "merge_requests"]) {
      for (const state of ["opened", kind === "issues" ? "closed" : "merged"]) {
        await firstOf([`/${kind}?scope=all&state=${state}`]);
      }
      await firstOf([`/groups/acme/${kind}?milestone=Any`]);
      const all = await (await ask(`/${kind}?scope=all&per_page=100`)).json();
      const below = (rest: string) =>
        firstOf(
          all.map(
            ({ project_id, iid }: { project_id: number; iid: number }) =>
              `/projects/${project_id}/${kind}/${iid}/${rest}`,
          ),
        );
      await below("award_emoji");
      const notes = await below("notes");
      expect(notes.found).toMatchObject({ body: expect.any(String) });
      const discussions = await below("discussions");
      const [first] = discussions.found["notes"] as object[];
      expect(first).toMatchObject({ body: expect.any(String) });
    }
    await firstOf(["/issues?scope=all&confidential=true"]);
    await firstOf(["/todos"]);
    await firstOf(["/events"]);
    const { found } = await firstOf(["/groups/acme/badges"]);
    expect(found["rendered_link_url"]).toMatch(
      /^https:\/\/ci\.example\.com\/acme\/[\w-]+\/pipelines$/,
    );
    for (const action of ["created", "joined", "pushed", "commented", "closed", "merged"]) {
      await firstOf([`/events?scope=all&action=${action}`]);
    }
    expect(await server.stop()).toBe(0);
  });

  it("creates a history of two and a half years, during office hours", async () => {
    const before = Date.now();
    const { tokens, events } = await runJson(["seed", "--db", "history.db"], at);
    // Without background jobs, which would purge events older than two years.
    const app = await createApp({
      database: join(folder.path, "history.db"),
      background: false,
    });
    const get = (path: string) =>
      app.fetch(
        new Request(`http://pm.test/api/v4${path}`, {
          headers: { "private-token": tokens[0].token },
        }),
      );
    const times: Date[] = [];
    for (let page = 1; page; ) {
      const answer = await get(`/events?scope=all&per_page=100&sort=asc&page=${page}`);
      for (const event of await answer.json()) times.push(new Date(event.created_at));
      page = Number(answer.headers.get("x-next-page"));
    }
    // The administrator sees those of the first company.
    expect(times.length).toBeGreaterThan(events / 4);
    const [first, last] = [times[0] as Date, times.at(-1) as Date];
    const days = (from: number, to: number) => (to - from) / 86_400_000;
    expect(days(first.getTime(), before)).toBeGreaterThan(900);
    expect(days(first.getTime(), before)).toBeLessThan(930);
    expect(last.getTime()).toBeLessThanOrEqual(Date.now());
    expect(days(last.getTime(), before)).toBeLessThan(30);
    expect(times.every((time) => ![0, 6].includes(time.getUTCDay()))).toBe(true);
    expect(times.every((time) => time.getUTCHours() >= 8 && time.getUTCHours() < 18)).toBe(true);
    // Of one small company, how many months are empty depends on the current day; of all, hardly any is.
    const months = new Set<string>();
    for (const { id } of await (await get("/projects?per_page=100")).json()) {
      for (let page = 1; page; ) {
        const answer = await get(`/projects/${id}/events?per_page=100&page=${page}`);
        for (const { created_at } of await answer.json()) months.add(created_at.slice(0, 7));
        page = Number(answer.headers.get("x-next-page"));
      }
    }
    expect(months.size).toBeGreaterThan(24);
    await app.close();
  });

  it("creates repositories that Git finds sound, with the commits that events name", async () => {
    const { tokens } = await runJson(["seed", "--db", "code.db"], at);
    const server = await startServing(["--db", "code.db"], at);
    const json = async (path: string) => (await server.get(path, tokens[0].token)).json();
    const projects = await json("/groups/acme/projects?per_page=100");
    const git = promisify(execFile);
    for (const { id, path, http_url_to_repo, default_branch } of projects) {
      const url = http_url_to_repo.replace("//", `//root:${tokens[0].token}@`);
      await git("git", ["clone", "--quiet", "--mirror", url, path], at);
      const there = { cwd: join(folder.path, path) };
      const sound = await git("git", ["fsck", "--strict", "--full"], there);
      expect(sound.stdout + sound.stderr).toBe("");
      const log = await git("git", ["log", "--all", "--format=%H"], there);
      const commits = new Set(log.stdout.trim().split("\n"));
      const events = await json(`/projects/${id}/events?action=pushed&per_page=100`);
      const pushed = events.map(({ push_data }: { push_data: PushData }) => push_data);
      // A branch that was dropped has commits that nothing else has.
      const kept = pushed.filter(({ ref }: PushData) => ref === default_branch);
      expect(kept.length).toBeGreaterThan(0);
      for (const { commit_to } of kept) expect(commits).toContain(commit_to);
      const [{ sha = undefined } = {}] = await json(`/projects/${id}/merge_requests?state=merged`);
      if (sha) expect(commits).toContain(sha);
    }
    expect(await server.stop()).toBe(0);
    const checked = await run(["db", "check", "--db", "code.db"], at);
    expect(checked.stdout).toContain("repositories: ok");
    expect(checked.code).toBe(0);
  });

  it("creates the data of the benchmarks", async () => {
    const seeded = await runJson(["seed", "--db", "medium.db", "--scale", "medium"], at);
    expect(seeded).toMatchObject({
      users: 800,
      groups: 60,
      projects: 500,
      labels: 10_000,
      milestones: expect.any(Number),
      boards: 84,
      issues: 2_500,
      tokens: [{ username: "root", token: expect.stringMatching(/^pmat-[0-9a-f]{40}$/) }],
    });

    const server = await startServing(["--db", "medium.db"], at);
    const [{ token }] = seeded.tokens;
    const [board] = await (await server.get("/groups/acme/boards", token)).json();
    expect(board.lists).toHaveLength(20);
    const projects = await (await server.get("/groups/acme/projects?per_page=100", token)).json();
    expect(projects).toHaveLength(25);
    expect(await server.stop()).toBe(0);
  });

  it("refuses a database that has users", async () => {
    await runJson(["seed", "--db", "twice.db"], at);
    expect(await run(["seed", "--db", "twice.db", "--json"], at)).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "error: twice.db already has users, but only new databases can be seeded: name another with --db (or PM_DB)\n",
    });
  });

  it("accepts a file", async () => {
    const data = {
      users: [{ username: "ada", tokens: [{ token: "a-fixed-secret" }] }],
      groups: [{ path: "works", members: { ada: "owner" } }],
    };
    writeFileSync(join(folder.path, "seed.json"), JSON.stringify(data));
    expect(await runJson(["seed", "--db", "file.db", "--file", "seed.json"], at)).toMatchObject({
      users: 1,
      groups: 1,
      projects: 0,
      tokens: [{ username: "ada", token: "a-fixed-secret" }],
    });
  });

  it.each([
    ["malformed", '{"groups":[{"path":1}]}', "groups.0.path"],
    ["contradictory", '{"groups":[{"path":"a","members":{"nobody":"owner"}}]}', "nobody"],
    [
      "twice the same",
      '{"groups":[{"path":"a","labels":[{"name":"x"},{"name":"x"}]}]}',
      "contradicts itself",
    ],
    ["no JSON", "{\n\n  nonsense", "is not JSON"],
  ])("refuses a file that is %s in one line, and writes nothing", async (name, text, message) => {
    const file = `${name.replaceAll(" ", "-")}.json`;
    writeFileSync(join(folder.path, file), text);
    const { code, stdout, stderr } = await run(["seed", "--db", `${name}.db`, "--file", file], at);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/^error: .*\n$/);
    // It can still be seeded.
    expect((await run(["seed", "--db", `${name}.db`], at)).code).toBe(0);
  });

  it("refuses a missing file, an unknown scale, and both at once", async () => {
    const missing = await run(["seed", "--db", "x.db", "--file", "missing.json"], at);
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain("check --file");
    const scale = await run(["seed", "--scale", "huge"], at);
    expect(scale.code).toBe(2);
    expect(scale.stderr).toContain("Allowed choices are small, medium, large.");
    const both = await run(["seed", "--scale", "small", "--file", "seed.json"], at);
    expect(both.code).toBe(2);
  });
});

const NOW = Date.parse("2026-11-21T15:00:00Z");

describe("seedData", () => {
  // The large scale uses the same code, but takes long.
  it.each(["small", "medium"] as const)("returns the same data at every call: %s", (scale) => {
    expect(JSON.stringify(seedData(scale, NOW))).toBe(JSON.stringify(seedData(scale, NOW)));
  });

  it.each([
    ["on a Sunday", "2026-11-22T12:00:00Z"],
    ["before the office opens", "2026-11-23T06:00:00Z"],
    ["at noon", "2026-11-23T12:00:00Z"],
    ["between the years", "2026-12-31T12:00:00Z"],
    ["on a leap day", "2028-02-29T23:59:59Z"],
  ])("contains nothing in the future: %s", (_name, now) => {
    const instants = JSON.stringify(seedData("small", Date.parse(now))).matchAll(
      /"(?:created|ended|joined)_at":"([^"]+)"/g,
    );
    const latest = [...instants]
      .map(([, instant]) => instant as string)
      // A milestone can be planned ahead.
      .filter((instant) => instant.includes("T"))
      .sort()
      .at(-1) as string;
    expect(latest <= now, latest).toBe(true);
    expect(Date.parse(now) - Date.parse(latest)).toBeLessThan(14 * 86_400_000);
  });

  it("has secrets only if they can be encrypted", () => {
    const text = (withSecrets: boolean) => JSON.stringify(seedData("small", NOW, withSecrets));
    expect(text(true)).toMatch(/"DEPLOY_TOKEN".*"triggers"|"triggers".*"DEPLOY_TOKEN"/);
    expect(text(false)).not.toMatch(/"variables"|"triggers"|"token":/);
  });

  it("fills in all placeholders in texts and names", () => {
    const text = JSON.stringify(seedData("small", NOW));
    expect(text).not.toMatch(/[{}](thing|when|product|user|folder)/i);
    expect(text).not.toMatch(/undefined|NaN|null/);
  });

  it("has the documented size", () => {
    type Groups = NonNullable<ReturnType<typeof seedData>["groups"]>;
    const all = (groups: Groups): Groups =>
      groups.flatMap((group) => [group, ...all(group.subgroups ?? [])]);
    const { users = [], groups = [], projects = [] } = seedData("large", NOW);
    const every = all(groups);
    const inGroups = every.flatMap((group) => group.projects ?? []);
    const owners = [...every, ...inGroups, ...projects];
    expect(users).toHaveLength(5_000);
    expect(every).toHaveLength(200);
    expect(inGroups.length + projects.length).toBe(2_000);
    expect(owners.flatMap(({ labels = [] }) => labels)).toHaveLength(100_000);
    const happenedIn = [...inGroups, ...projects];
    const count = (each: (project: (typeof happenedIn)[number]) => number) =>
      happenedIn.reduce((sum, project) => sum + each(project), 0);
    expect(count(({ issues = [] }) => issues.length)).toBe(27_500);
    const notesOf = (on: { notes?: { replies?: unknown[] | undefined }[] | undefined }[]) =>
      on
        .flatMap(({ notes = [] }) => notes)
        .reduce((sum, { replies = [] }) => sum + 1 + replies.length, 0);
    const happened = count(
      ({ issues = [], merge_requests = [], pushes = [] }) =>
        [...issues, ...merge_requests].filter(({ ended_at }) => ended_at).length +
        issues.length +
        merge_requests.length +
        notesOf(issues) +
        notesOf(merge_requests) +
        pushes.length,
    );
    expect(happened).toBeGreaterThan(290_000);
    expect(groups[0]).toMatchObject({ path: "acme", visibility: "public" });
    expect(groups[0]?.boards?.[0]?.lists).toHaveLength(20);
  });
});
