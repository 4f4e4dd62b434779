import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { newCodeProject } from "./_merge-requests.ts";

const DAY = 86_400_000;
let app: TestApp;
let later = 0;
beforeAll(async () => {
  app = await testApp({ now: () => Date.now() + later });
});
afterAll(() => app.dispose());

const tell = async (request: string, as: Person = "owner", json?: object) => {
  const answer = await app.call(request, { as, ...(json && { json }) });
  return [answer.status, answer.json] as const;
};
const setting = async (json: object) =>
  expect((await tell("PUT /application/settings", "admin", json))[0]).toBe(200);
const delay = (isOn: boolean) =>
  setting({
    delayed_project_deletion: isOn,
    delayed_group_deletion: isOn,
    deletion_adjourned_period: 3,
  });

let made = 0;
async function newGroup(json: object = {}) {
  made += 1;
  const sent = { name: `Ending ${made}`, path: `ending${made}`, visibility: "public", ...json };
  const [status, group] = await tell("POST /groups", "owner", sent);
  expect(status).toBe(201);
  return group;
}
async function newProject(namespace_id: number, json: object = {}) {
  made += 1;
  const sent = { name: `Project ${made}`, path: `project${made}`, namespace_id, ...json };
  const [status, project] = await tell("POST /projects", "owner", {
    visibility: "public",
    ...sent,
  });
  expect(status).toBe(201);
  return project;
}
const accepted = [202, { message: "202 Accepted" }];
const refused = (message: string) => [400, { message }];
const today = () => new Date(Date.now() + later).toISOString().slice(0, 10);

describe("until the settings say otherwise", () => {
  it("projects and groups are deleted at once", async () => {
    const group = await newGroup();
    const project = await newProject(group.id);
    expect([project.marked_for_deletion_on, group.marked_for_deletion_on]).toEqual([null, null]);
    expect(await tell(`POST /projects/${project.id}/restore`)).toEqual(
      refused("Project has not been marked for deletion"),
    );
    expect(await tell(`POST /groups/${group.id}/restore`)).toEqual(
      refused("Group has not been marked for deletion"),
    );
    const wrong = `DELETE /projects/${project.id}?permanently_remove=true&full_path=x`;
    expect((await tell(wrong))[0]).toBe(400);
    const path = encodeURIComponent(project.path_with_namespace);
    expect(
      await tell(`DELETE /projects/${project.id}?permanently_remove=true&full_path=${path}`),
    ).toEqual(accepted);
    expect((await tell(`GET /projects/${project.id}`))[0]).toBe(404);
    expect(await tell(`DELETE /groups/${group.id}`)).toEqual(accepted);
    expect((await tell(`GET /groups/${group.id}`))[0]).toBe(404);
  });

  it("the days are 1 to 90", async () => {
    for (const deletion_adjourned_period of [0, 91]) {
      const [status] = await tell("PUT /application/settings", "admin", {
        deletion_adjourned_period,
      });
      expect(status).toBe(400);
    }
  });
});

describe("with delayed_project_deletion and delayed_group_deletion", () => {
  beforeAll(() => delay(true));
  afterAll(() => delay(false));

  it("a project is marked, and its path is free", async () => {
    const group = await newGroup();
    const project = await newProject(group.id);
    const one = `/projects/${project.id}`;
    expect(await tell(`DELETE ${one}`, "developer")).toEqual([403, { message: "403 Forbidden" }]);
    expect(await tell(`DELETE ${one}?permanently_remove=true&full_path=x`)).toEqual(
      refused("Project must be marked for deletion first."),
    );
    expect(await tell(`DELETE ${one}`)).toEqual(accepted);
    const [, marked] = await tell(`GET ${one}`);
    const suffix = `-deletion_scheduled-${project.id}`;
    expect(marked).toMatchObject({
      name: `${project.name}${suffix}`,
      path: `${project.path}${suffix}`,
      path_with_namespace: `${project.path_with_namespace}${suffix}`,
      marked_for_deletion_on: today(),
      marked_for_deletion_at: today(),
      archived: false,
    });
    expect(await tell(`DELETE ${one}`)).toEqual(
      refused("Project has been already marked for deletion"),
    );
    const again = await newProject(group.id, { name: project.name, path: project.path });
    expect(again.path_with_namespace).toBe(project.path_with_namespace);

    // Its former path is taken now.
    const [, restored] = await tell(`POST ${one}/restore`);
    expect(restored.marked_for_deletion_on).toBeNull();
    expect(restored.path).toMatch(new RegExp(`^${project.path}-[0-9a-f]{6}$`));
    expect(restored.name).toMatch(new RegExp(`^${project.name}-[0-9a-f]{6}$`));
    await tell(`DELETE ${one}`);
    const ended = (await tell(`GET ${one}`))[1].path_with_namespace;
    expect(await tell(`DELETE ${one}?permanently_remove=true&full_path=acme/site`)).toEqual(
      refused("`full_path` is incorrect. You must enter the complete path for the project."),
    );
    expect(await tell(`DELETE ${one}?permanently_remove=true`)).toEqual(
      refused("`full_path` is incorrect. You must enter the complete path for the project."),
    );
    const path = encodeURIComponent(ended);
    expect(await tell(`DELETE ${one}?permanently_remove=true&full_path=${path}`)).toEqual(accepted);
    expect((await tell(`GET ${one}`))[0]).toBe(404);
    const [, log] = await tell("GET /audit_events", "admin");
    const actions = JSON.stringify(log);
    expect(actions).toContain("project marked for deletion");
    expect(actions).toContain("project restored");
  });

  it("a restored project has its name and path again, and can be changed", async () => {
    const project = await newCodeProject(app);
    const { path, id } = project;
    const before = (await tell(`GET ${path}`))[1];
    const issue = () => tell(`POST ${path}/issues`, "developer", { title: "x" });
    const commit = () =>
      tell(`POST ${path}/repository/commits`, "maintainer", {
        branch: "main",
        commit_message: "x",
        actions: [{ action: "create", file_path: `f${Math.random()}`, content: "x" }],
      });
    expect([(await issue())[0], (await commit())[0]]).toEqual([201, 201]);
    expect(await tell(`DELETE ${path}`)).toEqual(accepted);
    // As of an archived project, everything can be read.
    expect([(await issue())[0], (await commit())[0]]).toEqual([403, 403]);
    expect((await tell(`GET ${path}/issues`, "developer"))[1]).toHaveLength(1);
    expect((await tell(`POST ${path}/restore`, "developer"))[0]).toBe(403);
    const [status, restored] = await tell(`POST ${path}/restore`);
    expect(status).toBe(201);
    expect([restored.id, restored.name, restored.path_with_namespace]).toEqual([
      id,
      before.name,
      before.path_with_namespace,
    ]);
    expect([(await issue())[0], (await commit())[0]]).toEqual([201, 201]);
    expect((await tell(`POST ${path}/restore`))[0]).toBe(400);
    await tell(`DELETE ${path}`);
  });

  it("a group is marked with everything below it", async () => {
    const group = await newGroup();
    const below = await newGroup({ parent_id: group.id });
    const project = await newProject(below.id);
    const path = `/projects/${project.id}`;
    const one = `/groups/${group.id}`;
    expect(await tell(`DELETE ${one}?permanently_remove=true`)).toEqual(
      refused("Group must be marked for deletion first."),
    );
    expect(await tell(`DELETE ${one}`)).toEqual(accepted);
    const [, marked] = await tell(`GET ${one}`);
    expect([marked.path, marked.marked_for_deletion_on]).toEqual([
      `${group.path}-deletion_scheduled-${group.id}`,
      today(),
    ]);
    expect(await tell(`DELETE ${one}`)).toEqual(
      refused("Group has been already marked for deletion"),
    );
    expect((await tell(`GET ${path}`))[1].path_with_namespace).toBe(
      `${marked.path}/${below.path}/${project.path}`,
    );
    // Nothing below it can be changed or added.
    const label = { name: "l", color: "#ff0000" };
    expect((await tell(`POST ${path}/issues`, "owner", { title: "x" }))[0]).toBe(403);
    expect((await tell(`POST /groups/${below.id}/labels`, "owner", label))[0]).toBe(403);
    expect((await tell("POST /projects", "owner", { name: "n", namespace_id: below.id }))[0]).toBe(
      400,
    );
    const sub = { name: "n", path: "n", parent_id: below.id };
    expect((await tell("POST /groups", "owner", sub))[0]).toBe(403);
    const { json } = await app.call("POST http://pm.test/api/graphql", {
      as: "owner",
      json: {
        query: `{ group(fullPath: "${marked.full_path}") { markedForDeletion markedForDeletionOn }
          project(fullPath: "${marked.path}/${below.path}/${project.path}") {
            markedForDeletion markedForDeletionOn archived } }`,
      },
    });
    expect(json.data).toEqual({
      group: { markedForDeletion: true, markedForDeletionOn: expect.stringContaining(today()) },
      project: { markedForDeletion: true, markedForDeletionOn: null, archived: false },
    });
    const taken = await newGroup({ name: group.name, path: group.path });
    const [status, restored] = await tell(`POST ${one}/restore`);
    expect([status, restored.marked_for_deletion_on]).toEqual([201, null]);
    expect(restored.path).toMatch(new RegExp(`^${group.path}-[0-9a-f]{6}$`));
    expect((await tell(`POST ${path}/issues`, "owner", { title: "x" }))[0]).toBe(201);
    await tell(`DELETE ${one}`);
    const full = encodeURIComponent((await tell(`GET ${one}`))[1].full_path);
    expect((await tell(`DELETE ${one}?permanently_remove=true&full_path=x`))[0]).toBe(400);
    expect(await tell(`DELETE ${one}?permanently_remove=true&full_path=${full}`)).toEqual(accepted);
    expect((await tell(`GET ${path}`))[0]).toBe(404);
    await tell(`DELETE /groups/${taken.id}`);
    const [, back] = await tell(`POST /groups/${taken.id}/restore`);
    expect([back.name, back.full_path]).toEqual([group.name, group.path]);
  });

  it("what has the longest names is marked, too", async () => {
    const [above, long] = ["g".repeat(200), "p".repeat(54)];
    const group = await newGroup({ name: "n".repeat(255), path: above });
    const project = await newProject(group.id, { name: "n".repeat(255), path: long });
    for (const [one, before] of [
      [`/projects/${project.id}`, project],
      [`/groups/${group.id}`, group],
    ] as const) {
      expect(await tell(`DELETE ${one}`)).toEqual(accepted);
      const [status, { name, path }] = await tell(`POST ${one}/restore`);
      expect([status, name, path]).toEqual([201, before.name, before.path]);
    }
  });

  it("lists are of what is active, of what is not, or of what was marked on a day", async () => {
    const [group, ending] = [await newGroup(), await newGroup()];
    const [kept, marked, archived] = [
      await newProject(group.id),
      await newProject(group.id),
      await newProject(group.id),
    ];
    const inEnding = await newProject(ending.id);
    await tell(`POST /projects/${archived.id}/archive`);
    await tell(`DELETE /projects/${marked.id}`);
    await tell(`DELETE /groups/${ending.id}`);
    const [all, these] = [
      [kept.id, marked.id, archived.id, inEnding.id],
      [group.id, ending.id],
    ];
    const listed = async (path: string, among: readonly number[]) => {
      const [, found] = await tell(`GET ${path}`);
      return found.map(({ id }: { id: number }) => id).filter((id: number) => among.includes(id));
    };
    const projects = (query: string) =>
      listed(`/projects?per_page=100&order_by=id&sort=asc&${query}`, all);
    expect(await projects("")).toEqual(all);
    expect(await projects("active=true")).toEqual([kept.id]);
    expect(await projects("active=false")).toEqual([marked.id, archived.id, inEnding.id]);
    expect(await projects(`marked_for_deletion_on=${today()}`)).toEqual([marked.id]);
    expect(await projects("marked_for_deletion_on=2020-01-01")).toEqual([]);
    expect(await listed(`/groups/${group.id}/projects?active=true`, all)).toEqual([kept.id]);
    const groups = (query: string) =>
      listed(`/groups?per_page=100&order_by=id&sort=asc&${query}`, these);
    expect(await groups("")).toEqual(these);
    expect(await groups("active=true")).toEqual([group.id]);
    expect(await groups("active=false")).toEqual([ending.id]);
    expect(await groups(`marked_for_deletion_on=${today()}`)).toEqual([ending.id]);
  });

  it("the daily sweep deletes what was marked long enough ago", async () => {
    const [group, ending] = [await newGroup(), await newGroup()];
    const [kept, marked, restored] = [
      await newProject(group.id),
      await newProject(group.id),
      await newProject(group.id),
    ];
    const inEnding = await newProject(ending.id);
    for (const { id } of [marked, restored]) await tell(`DELETE /projects/${id}`);
    await tell(`POST /projects/${restored.id}/restore`);
    await tell(`DELETE /groups/${ending.id}`);
    const statuses = async () => {
      const found: number[] = [];
      for (const { id } of [kept, marked, restored, inEnding]) {
        found.push((await tell(`GET /projects/${id}`))[0]);
      }
      return [...found, (await tell(`GET /groups/${ending.id}`))[0]];
    };
    later += 2 * DAY;
    await app.admin.maintenance.sweepDaily();
    expect(await statuses()).toEqual([200, 200, 200, 200, 200]);
    later += 1.5 * DAY;
    await app.admin.maintenance.sweepDaily();
    expect(await statuses()).toEqual([200, 404, 200, 404, 404]);
  });
});
