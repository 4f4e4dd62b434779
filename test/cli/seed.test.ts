import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { SCALES, seedData } from "../../cli/seed/index.ts";
import { newFolder, run, runJson, startServing } from "./helpers.ts";

const folder = newFolder();
const at = { cwd: folder.path };
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

  it("makes what the benchmarks run on", async () => {
    const seeded = await runJson(["seed", "--db", "medium.db", "--scale", "medium"], at);
    expect(seeded).toMatchObject({
      users: 800,
      groups: 60,
      projects: 500,
      labels: 10_000,
      milestones: expect.any(Number),
      boards: expect.any(Number),
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
        "error: twice.db has users already, and only a new database is seeded: name another with --db (or PM_DB)\n",
    });
  });

  it("takes a file", async () => {
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
    // So it can be seeded still.
    expect((await run(["seed", "--db", `${name}.db`], at)).code).toBe(0);
  });

  it("refuses a file that isn't there, an unknown scale, and both at once", async () => {
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

describe("seedData", () => {
  it.each(SCALES)("gives the same at every call: %s", (scale) => {
    expect(JSON.stringify(seedData(scale))).toBe(JSON.stringify(seedData(scale)));
  });

  it("is as large as it says", () => {
    type Groups = NonNullable<ReturnType<typeof seedData>["groups"]>;
    const all = (groups: Groups): Groups =>
      groups.flatMap((group) => [group, ...all(group.subgroups ?? [])]);
    const { users = [], groups = [], projects = [] } = seedData("large");
    const every = all(groups);
    const inGroups = every.flatMap((group) => group.projects ?? []);
    const owners = [...every, ...inGroups, ...projects];
    expect(users).toHaveLength(5_000);
    expect(every).toHaveLength(200);
    expect(inGroups.length + projects.length).toBe(2_000);
    expect(owners.flatMap(({ labels = [] }) => labels)).toHaveLength(100_000);
    expect(groups[0]).toMatchObject({ path: "acme", visibility: "public" });
    expect(groups[0]?.boards?.[0]?.lists).toHaveLength(20);
  });
});
