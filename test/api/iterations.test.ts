import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Seed } from "../../src/index.ts";
import { send } from "../graphql/ask.ts";
import { type Answer, baseSeed, type TestApp, testApp } from "../helpers.ts";

const issues = (...titles: readonly string[]) =>
  titles.map((title) => ({ title, author: "owner" }));

const seed: Seed = {
  users: baseSeed.users ?? [],
  groups: [
    {
      path: "acme",
      visibility: "public",
      members: { owner: "owner", reporter: "reporter", guest: "guest" },
      iteration_cadences: [
        {
          title: "Team",
          iterations: [
            { title: "Sprint 3", start_date: "2026-03-15", due_date: "2026-03-28" },
            { title: "Sprint 1", start_date: "2026-02-15", due_date: "2026-02-28" },
            { title: "Sprint 2", start_date: "2026-03-01", due_date: "2026-03-14" },
          ],
        },
        {
          title: "Whole company",
          automatic: true,
          start_date: "2026-03-02",
          duration_in_weeks: 4,
          iterations_in_advance: 1,
        },
      ],
      subgroups: [
        {
          path: "tools",
          visibility: "public",
          iteration_cadences: [
            {
              title: "Tools",
              iterations: [{ title: "Tools 1", start_date: "2026-03-01", due_date: "2026-03-07" }],
            },
          ],
          projects: [
            {
              path: "saw",
              visibility: "public",
              issues: [
                ...issues("Cut"),
                { title: "Sharpen", author: "owner", iteration: "Tools 1", weight: 2 },
              ],
            },
          ],
        },
        {
          path: "hidden",
          visibility: "private",
          iteration_cadences: [
            {
              title: "Hidden",
              iterations: [{ title: "Secret", start_date: "2026-05-01", due_date: "2026-05-07" }],
            },
          ],
        },
      ],
      projects: [
        {
          path: "site",
          visibility: "public",
          issues: [
            ...issues("One", "Two"),
            { title: "Three", author: "owner", iteration: "Sprint 1" },
            { title: "Four", author: "owner", iteration: "Sprint 2" },
            { title: "Five", author: "owner", iteration: "Sprint 3" },
          ],
        },
        { path: "other", visibility: "public" },
      ],
    },
    {
      path: "elsewhere",
      visibility: "public",
      members: { owner: "owner" },
      projects: [{ path: "far" }],
    },
  ],
  projects: [{ namespace: "owner", path: "own", visibility: "public" }],
};

let now = Date.parse("2026-03-04T12:00:00Z");
const clock = () => {
  now += 1;
  return now;
};

let app: TestApp;
/** Ids of iterations by title. */
const ids: Record<string, number> = {};

const read = async (path: string, as: "owner" | "reporter" | "guest" | "anonymous" = "owner") =>
  (await app.call(`GET ${path}`, { as })).json;
const titles = (rows: Answer["json"][]) => rows.map(({ title }) => title);

beforeAll(async () => {
  app = await testApp({ now: clock, seed });
  for (const path of ["/groups/acme/iterations?include_descendants=true"]) {
    for (const { id, title } of await read(path)) if (title !== null) ids[title] = id;
  }
});
afterAll(() => app.dispose());

describe("lists", () => {
  it("have the iterations of a group by their days", async () => {
    const { json, headers } = await app.call("GET /groups/acme/iterations", { as: "anonymous" });
    const group = await read("/groups/acme");
    expect(headers.get("x-total")).toBe("5");
    expect(
      json.map((one: Answer["json"]) => [one.title, one.state, one.sequence, one.due_date]),
    ).toEqual([
      ["Sprint 1", 3, 1, "2026-02-28"],
      ["Sprint 2", 2, 2, "2026-03-14"],
      ["Sprint 3", 1, 3, "2026-03-28"],
      [null, 2, 1, "2026-03-29"],
      [null, 1, 2, "2026-04-26"],
    ]);
    expect(json[1]).toEqual({
      id: ids["Sprint 2"],
      iid: 3,
      sequence: 2,
      group_id: group.id,
      title: "Sprint 2",
      description: null,
      state: 2,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      start_date: "2026-03-01",
      due_date: "2026-03-14",
      web_url: expect.stringMatching(/\/groups\/acme\/-\/iterations\/3$/),
    });
  });

  it.each([
    ["state=opened", ["Sprint 2", "Sprint 3", null, null]],
    ["state=upcoming", ["Sprint 3", null]],
    ["state=current", ["Sprint 2", null]],
    ["state=started", ["Sprint 2", null]],
    ["state=closed", ["Sprint 1"]],
    ["state=all&search=sprint", ["Sprint 1", "Sprint 2", "Sprint 3"]],
    ["search=company", []],
    ["search=company&in[]=cadence_title", [null, null]],
    ["search=2&in[]=title&in[]=cadence_title", ["Sprint 2"]],
    ["search=company&in=title,cadence_title", [null, null]],
    ["search=2&in=", ["Sprint 2"]],
    ["updated_after=2030-01-01", []],
    ["updated_before=2030-01-01&per_page=2", ["Sprint 1", "Sprint 2"]],
    ["updated_before=2020-01-01", []],
    ["per_page=2&page=2", ["Sprint 3", null]],
  ])("are filtered by %s", async (query, expected) => {
    expect(titles(await read(`/groups/acme/iterations?${query}`))).toEqual(expected);
  });

  it("have those of groups above and below", async () => {
    const own = ["Tools 1"];
    expect(titles(await read("/groups/acme%2Ftools/iterations?include_ancestors=false"))).toEqual(
      own,
    );
    const all = ["Sprint 1", "Tools 1", "Sprint 2", "Sprint 3", null, null];
    expect(titles(await read("/groups/acme%2Ftools/iterations"))).toEqual(all);
    expect(titles(await read("/projects/acme%2Ftools%2Fsaw/iterations"))).toEqual(all);
    expect(titles(await read("/groups/acme/iterations?include_descendants=true"))).toEqual([
      ...all,
      "Secret",
    ]);
    expect(
      titles(await read("/groups/acme/iterations?include_descendants=true", "anonymous")),
    ).toEqual(all);
    expect(await read("/projects/owner%2Fown/iterations")).toEqual([]);
    const wrong = await app.call("GET /groups/acme/iterations?state=late", { as: "owner" });
    expect(wrong.status).toBe(400);
  });

  it("are in seeds, which are refused if they make no sense", async () => {
    const seeded = (path: string, cadence: object) =>
      app.admin.seed({
        groups: [{ path, iteration_cadences: [{ title: "Seeded", ...cadence }] }],
      } as Seed);
    const span = (start_date: string, due_date: string) => ({ start_date, due_date });
    await expect(seeded("one", { automatic: true })).rejects.toThrow(
      "the iteration cadence Seeded of one needs start_date, duration_in_weeks and iterations_in_advance",
    );
    for (const iterations of [
      [span("2026-01-01", "2026-01-07"), span("2026-01-07", "2026-01-08")],
      [span("2026-01-07", "2026-01-01")],
    ]) {
      await expect(seeded("one", { iterations })).rejects.toThrow("has iterations that overlap");
    }
    await expect(
      app.admin.seed({
        projects: [
          {
            namespace: "owner",
            path: "seeded",
            issues: [{ title: "Lost", author: "owner", iteration: "Sprint 1" }],
          },
        ],
      }),
    ).rejects.toThrow("owner/seeded has no iteration Sprint 1");
    const { iteration_cadences } = await seeded("one", {
      iterations: [span("2026-01-08", "2026-01-09"), span("2026-01-01", "2026-01-07")],
    });
    expect(iteration_cadences).toBe(1);
  });

  it("need the tier premium", async () => {
    const free = await app.another({ tier: "free" });
    expect((await free.call("GET /groups/acme/iterations", { as: "owner" })).status).toBe(403);
    await free.close();
  });
});

/** Puts an issue into an iteration, and returns what the mutation answers. */
async function put(
  iid: string,
  title: string | null,
  {
    project = "acme/site",
    as = "owner",
  }: { project?: string; as?: "owner" | "reporter" | "guest" } = {},
): Promise<Answer["json"]> {
  const query = `mutation ($input: IssueSetIterationInput!) { issueSetIteration(input: $input) {
    issue { iteration { title } } errors } }`;
  const iterationId = title === null ? null : `gid://gitlab/Iteration/${ids[title] ?? 999999}`;
  const input = { projectPath: project, iid, iterationId };
  const { data, errors } = await send(app, as, query, { input });
  return errors ? "refused" : data.issueSetIteration.issue.iteration;
}

const SITE = "/projects/acme%2Fsite/issues";

describe("issues", () => {
  it("are in one iteration of their project's group or one above it", async () => {
    expect(await put("1", "Sprint 2")).toEqual({ title: "Sprint 2" });
    expect((await read(`${SITE}/1`)).iteration).toMatchObject({
      id: ids["Sprint 2"],
      title: "Sprint 2",
      state: 2,
      web_url: expect.stringContaining("/groups/acme/-/iterations/"),
    });
    expect(await put("1", "Sprint 3", { as: "reporter" })).toEqual({ title: "Sprint 3" });
    expect(await put("1", "Sprint 1", { as: "guest" })).toBe("refused");
    expect(await put("1", "Tools 1")).toBe("refused");
    expect(await put("1", "nosuch")).toBe("refused");
    expect(await put("1", "Sprint 1", { project: "acme/tools/saw" })).toEqual({
      title: "Sprint 1",
    });
    expect(await put("1", null, { project: "acme/tools/saw" })).toBeNull();
    expect(await put("1", null)).toBeNull();
    expect((await read(`${SITE}/1`)).iteration).toBeNull();
  });

  it("tell of it in their history", async () => {
    const path = `${SITE}/1/resource_iteration_events`;
    const events = await read(path, "anonymous");
    expect(
      events.map((one: Answer["json"]) => [one.action, one.iteration.title, one.user.username]),
    ).toEqual([
      ["add", "Sprint 2", "owner"],
      ["add", "Sprint 3", "reporter"],
      ["remove", "Sprint 3", "owner"],
    ]);
    const [first] = events;
    const issue = await read(`${SITE}/1`);
    expect(first).toMatchObject({ resource_type: "Issue", resource_id: issue.id });
    expect(await read(`${path}/${first.id}`)).toEqual(first);
    expect((await app.call(`GET ${path}/999999`, { as: "owner" })).status).toBe(404);
    expect(
      (await app.call(`GET ${SITE}/2/resource_iteration_events/${first.id}`, { as: "owner" }))
        .status,
    ).toBe(404);
    expect(
      (
        await app.call(
          `GET ${SITE.replace("issues", "merge_requests")}/1/resource_iteration_events`,
          { as: "owner" },
        )
      ).status,
    ).toBe(404);
  });

  it("tell of their weights in their history", async () => {
    const weigh = (weight: number | null) =>
      app.call(`PUT ${SITE}/2`, { as: "owner", json: { weight } });
    await weigh(3);
    await weigh(3);
    await weigh(null);
    const path = `${SITE}/2/resource_weight_events`;
    const events = await read(path, "anonymous");
    const { id } = await read(`${SITE}/2`);
    expect(events).toEqual([
      {
        id: expect.any(Number),
        user: expect.objectContaining({ username: "owner" }),
        created_at: expect.any(String),
        issue_id: id,
        weight: 3,
      },
      expect.objectContaining({ weight: null }),
    ]);
    expect(await read(`${path}/${events[0].id}`)).toEqual(events[0]);
    expect((await app.call(`GET ${path}/999999`, { as: "owner" })).status).toBe(404);
    const made = await app.call(`POST ${SITE}`, {
      as: "owner",
      json: { title: "Heavy", weight: 9 },
    });
    const own = await read(`${SITE}/${made.json.iid}/resource_weight_events`);
    expect(own).toMatchObject([{ weight: 9 }]);
    await app.call(`DELETE ${SITE}/${made.json.iid}`, { as: "owner" });
  });

  it.each([
    ["iteration_id=None", ["Two", "One"]],
    ["iteration_id=0", ["Two", "One"]],
    ["iteration_id=Any", ["Five", "Four", "Three"]],
    ["iteration_id=current", ["Four"]],
    ["iteration_title=Sprint+3", ["Five"]],
    ["iteration_title=nosuch", []],
    ["iteration_id=999999", []],
    ["not[iteration_id]=Current", ["Five", "Three", "Two", "One"]],
    ["not[iteration_title]=Sprint+1", ["Five", "Four", "Two", "One"]],
  ])("are found by %s", async (query, expected) => {
    expect(titles(await read(`${SITE}?${query}`))).toEqual(expected);
  });

  it("are found by the id of their iteration", async () => {
    expect(titles(await read(`${SITE}?iteration_id=${ids["Sprint 1"]}`))).toEqual(["Three"]);
    expect(titles(await read(`/issues?scope=all&iteration_id=${ids["Sprint 1"]}`))).toEqual([
      "Three",
    ]);
    expect(titles(await read(`/groups/acme/issues?iteration_title=Tools+1`))).toEqual(["Sharpen"]);
    expect((await app.call(`GET ${SITE}?iteration_id=soon`, { as: "owner" })).status).toBe(400);
  });

  it("are found in GraphQL by iterations and cadences", async () => {
    const found = async (args: string) => {
      const query = `{ project(fullPath: "acme/site") { issues(${args}) { nodes { title } } workItems(${args}, sort: CREATED_DESC) { nodes { title } } } }`;
      const { data, errors } = await send(app, "owner", query);
      if (errors) return errors[0];
      expect(titles(data.project.workItems.nodes)).toEqual(titles(data.project.issues.nodes));
      return titles(data.project.issues.nodes);
    };
    const id = `gid://gitlab/Iteration/${ids["Sprint 1"]}`;
    expect(await found(`iterationId: ["${id}", "${ids["Sprint 2"]}"]`)).toEqual(["Four", "Three"]);
    expect(await found("iterationWildcardId: CURRENT")).toEqual(["Four"]);
    expect(await found("iterationWildcardId: ANY")).toEqual(["Five", "Four", "Three"]);
    expect(await found("iterationWildcardId: NONE")).toEqual(["Two", "One"]);
    expect(await found('iterationTitle: "Sprint 2"')).toEqual(["Four"]);
    expect(await found(`not: { iterationId: ["${id}"] }`)).toEqual(["Five", "Four", "Two", "One"]);
    expect(await found("not: { iterationWildcardId: CURRENT }")).toEqual([
      "Five",
      "Three",
      "Two",
      "One",
    ]);
    const { data } = await send(
      app,
      "owner",
      '{ group(fullPath: "acme") { iterationCadences { nodes { id title } } } }',
    );
    const [team, company] = data.group.iterationCadences.nodes;
    expect(await found(`iterationCadenceId: ["${team.id}"]`)).toEqual(["Five", "Four", "Three"]);
    expect(await found(`iterationCadenceId: ["${company.id}"]`)).toEqual([]);
    expect(await found(`iterationId: ["${id}"], iterationWildcardId: ANY`)).toMatchObject({
      message:
        "Only one of [iterationId, iterationWildcardId] arguments is allowed at the same time.",
    });
  });

  it("are put into iterations by quick actions", async () => {
    const note = async (body: string) =>
      (await app.call(`POST ${SITE}/2/notes`, { as: "owner", json: { body } })).json;
    const of = async () =>
      (await read(`${SITE}/2`)).iteration?.title ?? (await read(`${SITE}/2`)).iteration?.due_date;
    expect(await note('/iteration *iteration:"Sprint 1"')).toEqual({
      commands_changes: { iteration_id: ids["Sprint 1"] },
      summary: ['Set the iteration to *iteration:"Sprint 1".'],
    });
    expect(await of()).toBe("Sprint 1");
    await note(`/iteration *iteration:${ids["Sprint 3"]}`);
    expect(await of()).toBe("Sprint 3");
    expect(await note("/remove_iteration")).toEqual({
      commands_changes: { iteration_id: null },
      summary: ['Removed *iteration:"Sprint 3" iteration.'],
    });
    expect(await of()).toBeUndefined();
    await note('/iteration [cadence:"Team"] --next');
    expect(await of()).toBe("Sprint 3");
    await note('/iteration [cadence:"Whole company"] --current');
    expect(await of()).toBe("2026-03-29");
    await note("/remove_iteration");
    for (const command of ["--next", '*iteration:"nosuch"', '[cadence:"Team"]', "Sprint 1"]) {
      expect(await note(`/iteration ${command}`)).toMatchObject({
        message: "400 Bad request - Failed to apply commands.",
      });
    }
    const made = await app.call(`POST ${SITE}`, {
      as: "owner",
      json: { title: "Quick", description: 'Do it\n/iteration *iteration:"Sprint 2"' },
    });
    expect(made.json.iteration.title).toBe("Sprint 2");
    await app.call(`DELETE ${SITE}/${made.json.iid}`, { as: "owner" });
  });

  it("are put into iterations with other widgets of work items", async () => {
    const of = (title: string) => ({ iterationId: `gid://gitlab/Iteration/${ids[title]}` });
    const shown =
      "workItem { id widgets(onlyTypes: [ITERATION]) { type ... on WorkItemWidgetIteration { iteration { title } } } features { iteration { iteration { title } } } } errors";
    const run = async (name: string, input: object) => {
      const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`;
      const query = `mutation ($input: ${type}!) { ${name}(input: $input) { ${name === "workItemBulkUpdate" ? "updatedWorkItemCount errors" : shown} } }`;
      const { data, errors } = await send(app, "owner", query, { input });
      expect(errors).toBeUndefined();
      return data[name];
    };
    const { workItem } = await run("workItemCreate", {
      title: "Widget",
      workItemTypeId: "gid://gitlab/WorkItems::Type/1",
      namespacePath: "acme/site",
      iterationWidget: of("Sprint 1"),
    });
    const has = (title: string) => ({
      widgets: [{ type: "ITERATION", iteration: { title } }],
      features: { iteration: { iteration: { title } } },
    });
    expect(workItem).toMatchObject(has("Sprint 1"));
    const { id } = workItem;
    const changed = await run("workItemUpdate", {
      id,
      title: "W",
      iterationWidget: of("Sprint 2"),
    });
    expect(changed.workItem).toMatchObject(has("Sprint 2"));
    const bulk = { ids: [id], fullPath: "acme/site", iterationWidget: of("Sprint 3") };
    expect((await run("workItemBulkUpdate", bulk)).updatedWorkItemCount).toBe(1);
    expect((await run("workItemUpdate", { id, title: "W" })).workItem).toMatchObject(
      has("Sprint 3"),
    );
    const none = await run("workItemUpdate", { id, iterationWidget: { iterationId: null } });
    expect(none.workItem.features.iteration.iteration).toBeNull();
    await send(app, "owner", `mutation { workItemDelete(input: {id: "${id}"}) { errors } }`);
  });
});

describe("other mutations and boards", () => {
  const iteration = (title: string) => `gid://gitlab/Iteration/${ids[title]}`;

  it("create and change issues in iterations", async () => {
    const { data } = await send(
      app,
      "owner",
      `mutation ($id: IterationID!) { createIssue(input: {projectPath: "acme/site", title: "In", iterationId: $id}) {
        issue { id iid iteration { title } } errors } }`,
      { id: iteration("Sprint 1") },
    );
    const { issue } = data.createIssue;
    expect(issue.iteration).toEqual({ title: "Sprint 1" });
    const { id } = (await app.call("GET /groups/acme", { as: "owner" })).json;
    const bulk = await send(
      app,
      "owner",
      `mutation ($input: IssuesBulkUpdateInput!) { issuesBulkUpdate(input: $input) { updatedIssueCount errors } }`,
      {
        input: {
          ids: [issue.id],
          parentId: `gid://gitlab/Group/${id}`,
          iterationId: iteration("Sprint 2"),
        },
      },
    );
    expect(bulk.data.issuesBulkUpdate).toEqual({ updatedIssueCount: 1, errors: [] });
    expect((await read(`${SITE}/${issue.iid}`)).iteration.title).toBe("Sprint 2");
    await app.call(`DELETE ${SITE}/${issue.iid}`, { as: "owner" });
  });

  it("filter the issues of boards", async () => {
    const made = await app.call("POST /projects/acme%2Fsite/boards", {
      as: "owner",
      json: { name: "Work" },
    });
    const id = `gid://gitlab/Board/${made.json.id}`;
    const found = async (filters: string) => {
      const query = `{ project(fullPath: "acme/site") { board(id: "${id}") { iteration { id } iterationCadence { id }
        lists { nodes { listType iteration { id } issues(filters: ${filters}) { nodes { title } } } } } } }`;
      const { data, errors } = await send(app, "owner", query);
      expect(errors).toBeUndefined();
      const [open] = data.project.board.lists.nodes;
      return titles(open.issues.nodes);
    };
    expect(await found(`{ iterationId: ["${iteration("Sprint 1")}"] }`)).toEqual(["Three"]);
    expect(await found('{ iterationTitle: "Sprint 2" }')).toEqual(["Four"]);
    expect(await found("{ iterationWildcardId: CURRENT }")).toEqual(["Four"]);
    expect(await found(`{ not: { iterationId: ["${iteration("Sprint 1")}"] } }`)).toHaveLength(4);
    expect(await found("{ not: { iterationWildcardId: CURRENT } }")).toHaveLength(4);
  });
});

describe("moves", () => {
  it("keep the iteration of an issue where it has it, and transfers take it away elsewhere", async () => {
    const idOf = async (path: string) => (await read(`/projects/${encodeURIComponent(path)}`)).id;
    const move = async (iid: number, to: string) =>
      (
        await app.call(`POST ${SITE}/${iid}/move`, {
          as: "owner",
          json: { to_project_id: await idOf(to) },
        })
      ).json;
    const near = await move(3, "acme/other");
    expect(near.iteration.title).toBe("Sprint 1");
    expect(
      await read(`/projects/acme%2Fother/issues/${near.iid}/resource_iteration_events`),
    ).toMatchObject([{ action: "add", iteration: { title: "Sprint 1" } }]);
    expect((await move(4, "elsewhere/far")).iteration).toBeNull();
    const saw = await idOf("acme/tools/saw");
    const inSaw = async (iid: number) => (await read(`/projects/${saw}/issues/${iid}`)).iteration;
    await put("1", "Sprint 1", { project: "acme/tools/saw" });
    expect((await inSaw(1)).title).toBe("Sprint 1");
    const [tools, elsewhere] = [
      await read("/groups/acme%2Ftools"),
      await read("/groups/elsewhere"),
    ];
    const group = await app.call(`POST /groups/${tools.id}/transfer`, {
      as: "owner",
      json: { group_id: elsewhere.id },
    });
    expect(group.status).toBe(201);
    // Its own iterations go along with a group.
    expect([await inSaw(1), (await inSaw(2)).title]).toEqual([null, "Tools 1"]);
    const moved = await app.call(`PUT /projects/${saw}/transfer`, {
      as: "owner",
      json: { namespace: "elsewhere" },
    });
    expect(moved.status).toBe(200);
    expect((await read(`/projects/${saw}/issues/2`)).iteration).toBeNull();
  });

  it("are taken out of iterations that are deleted, also if they are many", async () => {
    const [five] = await read(`${SITE}?iteration_title=Sprint+3`);
    await app.store.transaction(async (db) => {
      const rows = await db.rows("select project_id, author_id from issues where id = ?", [
        five.id,
      ]);
      const [project, author] = rows[0] as [number, number];
      for (let iid = 1000; iid < 1210; iid += 1) {
        await db.run(
          "insert into issues (iid, project_id, author_id, title, iteration_id, created_at, updated_at) values (?, ?, ?, 'Many', ?, 1, 1)",
          [iid, project, author, ids["Sprint 3"] as number],
        );
      }
    });
    const query = `mutation { iterationDelete(input: {id: "gid://gitlab/Iteration/${ids["Sprint 3"]}"}) { errors } }`;
    expect((await send(app, "owner", query)).data.iterationDelete.errors).toEqual([]);
    expect((await read(`${SITE}/5`)).iteration).toBeNull();
    expect(titles(await read(`${SITE}?iteration_id=Any&search=Five`))).toEqual([]);
    expect(titles(await read(`${SITE}?iteration_id=None&search=Five`))).toEqual(["Five"]);
    expect(await read(`${SITE}?iteration_id=${ids["Sprint 3"]}`)).toEqual([]);
    expect(await read(`${SITE}?iteration_title=Sprint+3`)).toEqual([]);
    expect(titles(await read("/groups/acme/iterations?search=Sprint"))).toEqual([
      "Sprint 1",
      "Sprint 2",
    ]);
    await app.admin.maintenance.sweepDaily();
    const [left] = await app.store.rows("select count(*) from issues where iteration_id = ?", [
      ids["Sprint 3"] as number,
    ]);
    expect(Number(left?.[0])).toBe(0);
    expect((await app.store.rows("select id from iterations where removed = 1", [])).length).toBe(
      0,
    );
  });
});
