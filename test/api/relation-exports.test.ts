// Relations of groups and projects, each exported as a file of its own.
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFixtures, fixtureSeed } from "../fixtures.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp({ seed: fixtureSeed(2), extra: toys });
  await createFixtures(app, 2);
});
afterAll(() => app.dispose());

const PLACES = ["/groups/acme", "/projects/acme%2Fsite"];
const NAMES: Record<string, string[]> = {
  "/groups/acme": ["badges", "boards", "epics", "labels", "members", "milestones", "self"],
  "/projects/acme%2Fsite": [
    ...["boards", "issues", "labels", "merge_requests", "milestones", "project_badges"],
    ...["project_members", "protected_branches", "protected_tags", "releases", "self", "snippets"],
  ],
};

async function exported(place: string, query = ""): Promise<void> {
  const asked = await app.call(`POST ${place}/export_relations${query}`, { as: "owner" });
  expect([asked.status, asked.json]).toEqual([202, { message: "202 Accepted" }]);
  await app.admin.maintenance.runArchives();
}

async function statusOf(place: string, query = "") {
  return app.call(`GET ${place}/export_relations/status${query}`, { as: "owner" });
}

const download = (place: string, query: string, as: Person = "owner") =>
  app.call(`GET ${place}/export_relations/download?${query}`, { as });

/** The lines of a relation's file. */
async function linesOf(place: string, query: string) {
  const headers = { "private-token": "token-of-owner" };
  const url = `http://pm.test/api/v4${place}/export_relations/download?${query}`;
  const response = await app.fetch(new Request(url, { headers }));
  expect([response.status, response.headers.get("content-type")]).toEqual([
    200,
    "application/gzip",
  ]);
  expect(response.headers.get("content-disposition")).toMatch(
    /^attachment; filename="\w+\.ndjson\.gz"/,
  );
  const text = gunzipSync(Buffer.from(await response.arrayBuffer())).toString();
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** The rows of a table in such lines. */
function rowsOf(lines: unknown[], name: string): unknown[][] {
  let table = "";
  return lines.filter((line): line is unknown[] => {
    if (!Array.isArray(line)) table = (line as { table?: string }).table ?? table;
    return Array.isArray(line) && table === name;
  });
}

describe.each(PLACES)("the relations of %s", (place) => {
  const kind = place.startsWith("/groups") ? "group" : "project";

  it("are not there before they are asked for", async () => {
    const [none, one] = [await statusOf(place), await statusOf(place, "?relation=labels")];
    expect([none.status, none.json]).toEqual([200, []]);
    expect([one.status, one.json]).toEqual([404, { message: "Export not found" }]);
    const file = await download(place, "relation=labels");
    expect([file.status, file.json]).toEqual([404, { message: "Export not found" }]);
  });

  it("are started, then finished, each in a file", async () => {
    await app.call(`POST ${place}/export_relations`, { as: "owner" });
    const started = await statusOf(place, "?relation=labels");
    expect(started.json).toMatchObject({ relation: "labels", status: 0, error: null });
    const early = await download(place, "relation=labels");
    expect([early.status, early.json]).toEqual([404, { message: "Export file not found" }]);
    await app.admin.maintenance.runArchives();
    const { json } = await statusOf(place);
    expect(json.map(({ relation }: { relation: string }) => relation)).toEqual(NAMES[place]);
    for (const one of json) {
      expect(one).toEqual({
        ...{ relation: one.relation, status: 1, error: null, batched: false, batches_count: 0 },
        total_objects_count: expect.any(Number),
        updated_at: expect.stringMatching(/^\d{4}-/),
      });
      const lines = await linesOf(place, `relation=${one.relation}`);
      expect(lines[0]).toMatchObject({ format: `pm-api ${kind}`, relation: one.relation });
      expect(lines.at(-1)).toEqual({ end: true });
    }
    const alone = await statusOf(place, "?relation=labels");
    expect(alone.json).toEqual(json.find((one: { relation: string }) => one.relation === "labels"));
  });

  it("have their objects with their parts", async () => {
    const { json: labels } = await app.call(`GET ${place}/labels?per_page=100`, { as: "owner" });
    const lines = await linesOf(place, "relation=labels");
    const names = rowsOf(lines, "labels").flat();
    const own = labels.filter((label: { is_project_label: boolean }) =>
      kind === "group" ? !label.is_project_label : label.is_project_label,
    );
    expect(own.length).toBeGreaterThan(1);
    for (const { name } of own) expect(names).toContain(name);
    const boards = await linesOf(place, "relation=boards");
    expect(rowsOf(boards, "board_lists").length).toBeGreaterThan(0);
    const noted = await linesOf(place, `relation=${kind === "group" ? "epics" : "issues"}`);
    const [issues, notes] = [rowsOf(noted, "issues"), rowsOf(noted, "notes")];
    expect(notes.length).toBeGreaterThan(0);
    const at = kind === "group" ? 2 : 1;
    const ids = issues.map(([id]) => id);
    for (const note of notes) expect(ids).toContain(note[at]);
    expect((await statusOf(place, `?relation=labels`)).json.total_objects_count).toBe(
      rowsOf(lines, "labels").length,
    );
  });

  it("have no secrets and no addresses of people", async () => {
    for (const relation of NAMES[place] ?? []) {
      const text = JSON.stringify(await linesOf(place, `relation=${relation}`));
      expect(text).not.toMatch(/token-of|@example|digest|secret_/);
    }
  });

  it("can be in batches", async () => {
    const whole = await linesOf(place, "relation=labels");
    const refused = await download(place, "relation=labels&batched=true&batch_number=1");
    expect([refused.status, refused.json]).toEqual([400, { message: "Export is not batched" }]);
    await exported(place, "?batched=true");
    const { json } = await statusOf(place, "?relation=labels");
    const count = json.total_objects_count;
    expect(json).toMatchObject({
      ...{ status: 1, batched: true, batches_count: 1 },
      batches: [{ status: 1, batch_number: 1, objects_count: count, error: null }],
    });
    const lines = await linesOf(place, "relation=labels&batched=true&batch_number=1");
    expect(rowsOf(lines, "labels")).toEqual(rowsOf(whole, "labels"));
    for (const [query, status, message] of [
      ["relation=labels", 400, "Export is batched"],
      ["relation=labels&batched=true&batch_number=2", 404, "Batch not found"],
      ["relation=nothing", 404, "Export not found"],
    ] as const) {
      const answer = await download(place, query);
      expect([query, answer.status, answer.json]).toEqual([query, status, { message }]);
    }
    for (const query of ["batched=true", "batch_number=1"]) {
      const { status, json: told } = await download(place, `relation=labels&${query}`);
      expect([status, told]).toEqual([
        400,
        { error: "batched, batch_number provide all or none of parameters" },
      ]);
    }
    expect((await download(place, "")).status).toBe(400);
    expect((await download(place, "relation=labels&batched=true&batch_number=0")).status).toBe(400);
  });

  it("are for those who administer it", async () => {
    for (const path of ["/status", "/download?relation=labels"]) {
      const { status } = await app.call(`GET ${place}/export_relations${path}`, {
        as: "developer",
      });
      expect([path, status]).toEqual([path, 403]);
    }
    const asked = await app.call(`POST ${place}/export_relations`, { as: "developer" });
    expect(asked.status).toBe(403);
    expect((await app.call(`POST ${place}/export_relations`)).status).toBe(401);
  });

  it("are forgotten after a day", async () => {
    // The sweep runs once a day.
    const days = kind === "group" ? 2 : 4;
    const now = () => Date.now() + days * 86_400_000;
    const again = await app.another({ background: false, now });
    await again.admin.maintenance.sweepDaily();
    await again.close();
    expect((await statusOf(place)).json).toEqual([]);
  });
});

it("more than a thousand objects are in several batches", async () => {
  const { json: group } = await app.call("POST /groups", {
    as: "admin",
    json: { name: "Many", path: "many" },
  });
  const values = Array.from({ length: 1001 }, (_, at) => [group.id, `l${at}`, "#112233", 0, 0]);
  await app.store.transaction(async (db) => {
    for (const row of values) {
      await db.run(
        "insert into labels (namespace_id, name, color, created_at, updated_at) values (?, ?, ?, ?, ?)",
        row,
      );
    }
  });
  const place = "/groups/many";
  await app.call(`POST ${place}/export_relations`, { as: "admin", json: { batched: true } });
  await app.admin.maintenance.runArchives();
  const { json } = await app.call(`GET ${place}/export_relations/status?relation=labels`, {
    as: "admin",
  });
  const counts = json.batches.map((batch: { objects_count: number }) => batch.objects_count);
  expect([json.total_objects_count, counts]).toEqual([1001, [1000, 1]]);
});

it("an export that is asked for again replaces the one before, also while that is written", async () => {
  const place = "/groups/acme";
  for (const query of ["", "?batched=true"]) {
    await app.call(`POST ${place}/export_relations${query}`, { as: "owner" });
  }
  await app.admin.maintenance.runArchives();
  const { json } = await statusOf(place);
  expect(json.map((one: { batched: boolean }) => one.batched)).toEqual(json.map(() => true));
  const [files] = await app.store.rows("select count(*) from relation_export_files", []);
  expect(Number(files?.[0])).toBeGreaterThanOrEqual(json.length);
});
