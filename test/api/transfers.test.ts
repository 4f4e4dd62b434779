// Transfers of projects and groups, and what becomes of labels and milestones of the groups they leave.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { check } from "../../src/database/check.ts";
import { type Person, type TestApp, testApp, waitFor } from "../helpers.ts";
import { type Hooked, startHooked } from "./_hooks.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(async () => {
  expect((await check(app.store)).flatMap(({ problems }) => problems)).toEqual([]);
  await app.dispose();
});

/** Calls a route, which must succeed, as its owner unless `as` says otherwise. */
async function done(request: string, json?: object, as: Person = "owner") {
  const answer = await app.call(request, { as, ...(json && { json }) });
  expect([request, answer.status, answer.status < 300 || answer.text]).toEqual([
    request,
    answer.status,
    true,
  ]);
  return answer.json;
}
/** Status and message of a call. */
async function tell(request: string, json?: object, as: Person = "owner") {
  const { status, json: told } = await app.call(request, { as, ...(json && { json }) });
  return [status, told.message];
}

let made = 0;
const newGroup = (more: object = {}) => {
  made += 1;
  return done("POST /groups", {
    name: `G${made}`,
    path: `g${made}`,
    visibility: "public",
    ...more,
  });
};
const newSubgroup = (parent_id: number, path: string) =>
  done("POST /groups", { name: path, path, parent_id, visibility: "public" });
const newProject = (namespace_id?: number, more: object = {}) => {
  made += 1;
  return done("POST /projects", { path: `p${made}`, namespace_id, visibility: "public", ...more });
};
const titles = (some: { name?: string; title?: string }[]) =>
  some.map(({ name, title }) => name ?? title);

describe("a project", () => {
  it("moves to another group, where it is found by its new path, and by Git by its former", async () => {
    const [from, to] = [await newGroup(), await newGroup()];
    const project = await newProject(from.id, { initialize_with_readme: true });
    const moved = await done(`PUT /projects/${project.id}/transfer`, { namespace: to.id });
    expect(moved).toMatchObject({
      id: project.id,
      path_with_namespace: `${to.path}/${project.path}`,
      namespace: { id: to.id, full_path: to.path },
      visibility: "public",
    });
    const former = encodeURIComponent(project.path_with_namespace);
    expect((await app.call(`GET /projects/${former}`, { as: "owner" })).status).toBe(301);
    expect((await done(`GET /groups/${from.id}/projects`)).length).toBe(0);
    expect(titles(await done(`GET /groups/${to.id}/projects`))).toEqual([project.name]);
    const refs = `http://pm.test/${project.path_with_namespace}.git/info/refs?service=git-upload-pack`;
    expect((await app.call(`GET ${refs}`, {})).status).toBe(200);
    const back = await done(`PUT /projects/${project.id}/transfer`, { namespace: from.full_path });
    expect(back.path_with_namespace).toBe(project.path_with_namespace);
  });

  it("becomes no more visible than its group", async () => {
    const to = await newGroup({ visibility: "private" });
    const { id } = await newProject((await newGroup()).id);
    const moved = await done(`PUT /projects/${id}/transfer`, { namespace: to.path });
    expect(moved.visibility).toBe("private");
    expect((await app.call(`GET /projects/${id}`, { as: "stranger" })).status).toBe(404);
  });

  it("moves to the caller's namespace, of which they become a maintainer", async () => {
    const { id } = await newProject((await newGroup()).id);
    const [{ id: owner }] = await done("GET /users?username=owner");
    await done(`PUT /projects/${id}/transfer`, { namespace: "owner" });
    expect(await done(`GET /projects/${id}/members`)).toMatchObject([
      { id: owner, access_level: 40 },
    ]);
  });

  it("is moved to a group by an administrator", async () => {
    const to = await newGroup();
    const project = await newProject();
    const path = encodeURIComponent(project.path_with_namespace);
    const group = await done(`POST /groups/${to.id}/projects/${path}`, {}, "admin");
    expect(group).toMatchObject({ id: to.id, projects: [{ id: project.id }] });
    const request = `POST /groups/${to.id}/projects/${project.id}`;
    expect((await tell(request))[0]).toBe(403);
    expect(await tell(`POST /groups/${to.id}/projects/nothing`, {}, "admin")).toEqual([
      404,
      "404 Project Not Found",
    ]);
  });

  it("stays where it is for a reason", async () => {
    const [from, to] = [await newGroup(), await newGroup()];
    const project = await newProject(from.id, { name: "Same", path: "same" });
    await newProject(to.id, { name: "Same", path: "other" });
    const request = `PUT /projects/${project.id}/transfer`;
    const refused = (reason: string) => [400, { new_namespace: [reason] }];
    expect(await tell(request, { namespace: from.id })).toEqual(
      refused("Project is already in this namespace."),
    );
    const taken = "Project with same name or path in target namespace already exists";
    expect(await tell(request, { namespace: to.id })).toEqual(refused(taken));
    await done(`PUT /projects/${encodeURIComponent(`${to.path}/other`)}`, { name: "Other" });
    await done("POST /groups", { name: "Same", path: "SAME", parent_id: to.id });
    expect(await tell(request, { namespace: to.id })).toEqual(refused(taken));
    const foreign = "You don't have permission to transfer projects into that namespace.";
    expect(await tell(request, { namespace: "developer" })).toEqual(refused(foreign));
    const others = await app.call("POST /groups", {
      as: "admin",
      json: { name: "Others", path: `others-${made}`, visibility: "public" },
    });
    expect(await tell(request, { namespace: others.json.id })).toEqual(refused(foreign));
    await done(`PUT /groups/${others.json.id}`, { visibility: "private" }, "admin");
    for (const namespace of [others.json.id, "nowhere", 123456]) {
      expect(await tell(request, { namespace })).toEqual([404, "404 Namespace Not Found"]);
    }
    expect(await tell(request)).toEqual([400, '400 (Bad request) "namespace" not given']);
    const found = await done(`GET /projects/${project.id}`);
    expect(found.path_with_namespace).toBe(project.path_with_namespace);
  });

  it("is offered the groups it can move to", async () => {
    const [from, to] = [await newGroup({ name: "Here" }), await newGroup({ name: "There" })];
    const { id } = await newProject(from.id);
    const offered = await done(`GET /projects/${id}/transfer_locations?search=there`);
    expect(offered).toEqual([
      {
        id: to.id,
        web_url: to.web_url,
        name: "There",
        avatar_url: null,
        full_name: "There",
        full_path: to.full_path,
      },
    ]);
    const all = await done(`GET /projects/${id}/transfer_locations?per_page=100`);
    expect(titles(all)).not.toContain("Here");
    // Administrators may transfer it to all others.
    const others = await done(
      `GET /projects/${id}/transfer_locations?search=secret`,
      undefined,
      "admin",
    );
    expect(titles(others)).toEqual(["Secret"]);
  });

  it("gets labels and milestones of its own for those of groups it leaves", async () => {
    const [top, to] = [await newGroup(), await newGroup()];
    const from = await newSubgroup(top.id, "s");
    const { id } = await newProject(from.id, { initialize_with_readme: true });
    const at = `/projects/${id}`;
    for (const name of ["kept", "known", "unused"]) {
      await done(`POST /groups/${top.id}/labels`, { name, color: "#112233", description: name });
    }
    const known = await done(`POST /groups/${to.id}/labels`, { name: "known", color: "#445566" });
    await done(`POST ${at}/labels`, { name: "own", color: "#000000" });
    const dates = { start_date: "2026-01-01", due_date: "2026-02-01" };
    const closed = await done(`POST /groups/${from.id}/milestones`, { title: "v1", ...dates });
    const issue = { title: "I", labels: "kept,known,own", milestone_id: closed.id };
    await done(`POST ${at}/issues`, issue);
    await done(`POST ${at}/issues`, { title: "I2", labels: "kept", confidential: true });
    await done(`PUT /groups/${from.id}/milestones/${closed.id}`, { state_event: "close" });
    await done(`POST ${at}/repository/branches?branch=b&ref=main`);
    const request = { source_branch: "b", target_branch: "main", title: "M" };
    const milestone_id = closed.id;
    await done(`POST ${at}/merge_requests`, { ...request, labels: "kept", milestone_id });
    const release = { tag_name: "v1", ref: "main", milestones: ["v1"] };
    await done(`POST ${at}/releases`, release);
    const board = await done(`POST ${at}/boards`, { name: "B" });
    const [label] = await done(`GET ${at}/labels?search=kept`);
    await done(`POST ${at}/boards/${board.id}/lists`, { label_id: label.id });
    await done(`PUT ${at}/boards/${board.id}`, { milestone_id });

    await done(`PUT ${at}/transfer`, { namespace: to.id });

    const labels = await done(`GET ${at}/labels`);
    expect(labels).toMatchObject([
      {
        name: "kept",
        color: "#112233",
        description: "kept",
        is_project_label: true,
        open_issues_count: 2,
        open_merge_requests_count: 1,
      },
      { id: known.id, is_project_label: false, open_issues_count: 1 },
      { name: "own" },
    ]);
    const [milestone] = await done(`GET ${at}/milestones`);
    expect(milestone).toMatchObject({ title: "v1", state: "closed", project_id: id, ...dates });
    expect(await done(`GET ${at}/issues/1`)).toMatchObject({
      labels: ["kept", "known", "own"],
      milestone: { id: milestone.id },
    });
    expect(await done(`GET ${at}/issues?labels=kept`)).toHaveLength(2);
    expect(await done(`GET ${at}/merge_requests?milestone=v1&labels=kept`)).toHaveLength(1);
    expect(await done(`GET ${at}/releases/v1`)).toMatchObject({
      milestones: [{ id: milestone.id }],
    });
    expect(await done(`GET ${at}/boards/${board.id}`)).toMatchObject({
      milestone: { id: milestone.id },
      lists: [{ label: { name: "kept" } }],
    });
    const [event] = await done(`GET ${at}/issues/1/resource_milestone_events`);
    expect(event.milestone.id).toBe(milestone.id);
    const events = await done(`GET ${at}/issues/1/resource_label_events`);
    expect(events.map((one: { label: { id: number } }) => one.label.id)).toContain(labels[0].id);
    // The list went over to the label of the project: it goes with that.
    await done(`DELETE ${at}/labels/kept`);
    expect((await done(`GET ${at}/boards/${board.id}`)).lists).toEqual([]);
    // The group keeps its own.
    expect(titles(await done(`GET /groups/${top.id}/labels`))).toEqual(["kept", "known", "unused"]);
    expect(titles(await done(`GET /groups/${from.id}/milestones`))).toEqual(["v1"]);
  });

  it("keeps those of groups it stays below", async () => {
    const top = await newGroup();
    const from = await newSubgroup(top.id, "s");
    const { id } = await newProject(from.id);
    const label = await done(`POST /groups/${top.id}/labels`, { name: "kept", color: "#112233" });
    await done(`POST /projects/${id}/issues`, { title: "I", labels: "kept" });
    await done(`PUT /projects/${id}/transfer`, { namespace: top.id });
    expect(await done(`GET /projects/${id}/labels`)).toMatchObject([{ id: label.id }]);
  });

  it("with many issues gets them after the answer, each once", async () => {
    const [from, to] = [await newGroup(), await newGroup()];
    const { id } = await newProject(from.id);
    const at = `/projects/${id}`;
    await done(`POST /groups/${from.id}/labels`, { name: "many", color: "#112233" });
    await done(`POST /groups/${from.id}/milestones`, { title: "m1" });
    const [milestone] = await done(`GET /groups/${from.id}/milestones`);
    await done(`POST ${at}/issues`, { title: "I", labels: "many", milestone_id: milestone.id });
    const COUNT = 3000;
    await app.store.transaction(async (db) => {
      const [first] = await db.rows("select id, author_id from issues where project_id = ?", [id]);
      const numbers = `with recursive n(x) as (select cast(1 as bigint) union all select x + 1 from n where x < ${COUNT - 1})`;
      await db.run(
        `insert into issues (iid, project_id, author_id, title, milestone_id, relative_position, created_at, updated_at)
         ${numbers} select x + 1, ${id}, ${first?.[1]}, 'I', ${milestone.id}, (1000 + x) * 1048576, x, x from n`,
      );
      await db.run(
        `insert into issue_labels (issue_id, label_id, project_id, open_position)
         select i.id, l.id, i.project_id, i.relative_position from issues i join labels l on l.name = 'many'
         where i.project_id = ? and i.iid > 1`,
        [id],
      );
      await db.run("update projects set issue_count = ? where id = ?", [COUNT, id]);
    });
    await done(`PUT ${at}/transfer`, { namespace: to.id });
    await app.admin.maintenance.sweepDaily();
    const labels = () => done(`GET ${at}/labels`);
    expect(await labels()).toMatchObject([
      { name: "many", is_project_label: true, open_issues_count: COUNT },
    ]);
    const { headers } = await app.call(`GET ${at}/issues?labels=many&milestone=m1`, {
      as: "owner",
    });
    expect(headers.get("x-total")).toBe(String(COUNT));
    expect(await done(`GET ${at}/milestones`)).toMatchObject([{ title: "m1", project_id: id }]);
    expect((await done(`GET /groups/${from.id}/labels`))[0].open_issues_count).toBe(0);
  });
});

describe("a group", () => {
  it("moves into another with everything below it, and back to the top", async () => {
    const [parent, group] = [await newGroup({ visibility: "internal" }), await newGroup()];
    const sub = await newSubgroup(group.id, "sub");
    const project = await newProject(sub.id);
    const moved = await done(`POST /groups/${group.id}/transfer`, { group_id: parent.id });
    expect(moved).toMatchObject({
      id: group.id,
      parent_id: parent.id,
      full_path: `${parent.path}/${group.path}`,
      full_name: `${parent.name} / ${group.name}`,
      visibility: "internal",
    });
    expect(await done(`GET /projects/${project.id}`)).toMatchObject({
      path_with_namespace: `${parent.path}/${group.path}/sub/${project.path}`,
      visibility: "internal",
    });
    expect(titles(await done(`GET /groups/${parent.id}/descendant_groups`))).toEqual([
      group.name,
      "sub",
    ]);
    expect(await tell(`POST /groups/${parent.id}/transfer`, { group_id: sub.id })).toEqual([
      400,
      "Transfer failed: Cannot transfer group to one of its subgroup.",
    ]);
    const locations = await done(`GET /groups/${group.id}/transfer_locations?per_page=100`);
    const offered = titles(locations);
    expect(offered).toContain("Acme");
    for (const name of [group.name, "sub", parent.name]) expect(offered).not.toContain(name);
    const top = await done(`POST /groups/${group.id}/transfer`, {});
    expect(top).toMatchObject({ parent_id: null, full_path: group.path, full_name: group.name });
    expect((await done(`GET /groups/${sub.id}`)).full_path).toBe(`${group.path}/sub`);
    expect(await done(`GET /groups/${parent.id}/descendant_groups`)).toEqual([]);
  });

  it("gets labels and milestones of its own on its boards", async () => {
    const [parent, other] = [await newGroup(), await newGroup()];
    const group = await newSubgroup(parent.id, "s");
    const label = await done(`POST /groups/${parent.id}/labels`, { name: "up", color: "#112233" });
    const { id: milestone_id } = await done(`POST /groups/${parent.id}/milestones`, { title: "m" });
    const board = await done(`POST /groups/${group.id}/boards`, { name: "B" });
    const at = `/groups/${group.id}/boards/${board.id}`;
    await done(`POST ${at}/lists`, { label_id: label.id });
    await done(`PUT ${at}`, { milestone_id, labels: "up" });
    await done(`POST /groups/${group.id}/transfer`, { group_id: other.id });
    const [own] = await done(`GET /groups/${group.id}/labels`);
    expect(own).toMatchObject({ name: "up", color: "#112233" });
    expect(own.id).not.toBe(label.id);
    const [milestone] = await done(`GET /groups/${group.id}/milestones`);
    expect(milestone).toMatchObject({ title: "m", group_id: group.id });
    expect(await done(`GET ${at}`)).toMatchObject({
      milestone: { id: milestone.id },
      lists: [{ label: { name: "up" } }],
    });
    const fullPath = `${other.path}/s`;
    const query = `{ group(fullPath: "${fullPath}") { boards { nodes { labels { nodes { id } } } } } }`;
    const { data } = await done("POST http://pm.test/api/graphql", { query });
    expect(data.group.boards.nodes).toEqual([
      { labels: { nodes: [{ id: `gid://gitlab/GroupLabel/${own.id}` }] } },
    ]);
  });

  it("brings and loses the members of groups above it", async () => {
    const [parent, group] = [await newGroup({ visibility: "private" }), await newGroup()];
    const project = await newProject(group.id);
    const [{ id: user_id }] = await done("GET /users?username=stranger");
    await done(`POST /groups/${parent.id}/members`, { user_id, access_level: 30 });
    await done(`POST /groups/${group.id}/transfer`, { group_id: parent.id });
    expect((await app.call(`GET /projects/${project.id}`, { as: "stranger" })).status).toBe(200);
    expect((await app.call(`GET /projects/${project.id}`, { as: "guest" })).status).toBe(404);
    await done(`POST /groups/${group.id}/transfer`, {});
    expect((await app.call(`GET /projects/${project.id}`, { as: "stranger" })).status).toBe(404);
  });

  it("stays where it is for a reason", async () => {
    const [group, parent] = [await newGroup(), await newGroup()];
    const request = `POST /groups/${group.id}/transfer`;
    const refused = (reason: string) => [400, `Transfer failed: ${reason}`];
    expect(await tell(request, {})).toEqual(refused("Group is already a root group."));
    await newProject(parent.id, { path: group.path, name: "Another" });
    const taken = "The parent group already has a subgroup or a project with the same path.";
    expect(await tell(request, { group_id: parent.id })).toEqual(refused(taken));
    const child = await done("POST /groups", { name: "C", path: "c", parent_id: parent.id });
    expect(await tell(`POST /groups/${child.id}/transfer`, { group_id: parent.id })).toEqual(
      refused("Group is already associated to the parent group."),
    );
    const others = await done("POST /groups", { name: "O", path: `o${made}` }, "admin");
    const into = { group_id: others.id };
    expect(await tell(request, into)).toEqual([404, "404 Group Not Found"]);
    await done(`PUT /groups/${others.id}`, { visibility: "public" }, "admin");
    expect(await tell(request, into)).toEqual(refused("You don't have enough permissions."));
    expect((await done(`GET /groups/${group.id}`)).full_path).toBe(group.full_path);
  });

  it("with many projects gives them labels of their own after the answer", async () => {
    const [parent, other] = [await newGroup(), await newGroup()];
    const group = await newSubgroup(parent.id, "s");
    await done(`POST /groups/${parent.id}/labels`, { name: "above", color: "#112233" });
    const ids: number[] = [];
    for (let index = 0; index < 25; index += 1) ids.push((await newProject(group.id)).id);
    const labelled = [ids[0], ids[24]];
    for (const id of labelled) {
      await done(`POST /projects/${id}/issues`, { title: "I", labels: "above" });
    }
    await done(`POST /groups/${group.id}/transfer`, { group_id: other.id });
    const running = await app.another({ background: true });
    for (const id of labelled) {
      await waitFor(async () => (await done(`GET /projects/${id}/labels`)).length === 1);
      expect(await done(`GET /projects/${id}/issues?labels=above`)).toHaveLength(1);
    }
    expect(await done(`GET /projects/${ids[1]}/labels`)).toEqual([]);
    await running.close();
  });
});

describe("system hooks", () => {
  let hooked: Hooked;
  beforeAll(async () => {
    hooked = await startHooked();
  });
  afterAll(() => hooked.dispose());

  it("are told of a project's transfer", async () => {
    const group = await hooked.call("POST /groups", { name: "To", path: "to" }, "owner");
    await hooked.listen("");
    await hooked.call("PUT /projects/acme%2Fsite/transfer", { namespace: group.id }, "owner");
    const told = await hooked.next();
    expect(told).toMatchObject([
      {
        event_name: "project_transfer",
        path_with_namespace: "to/site",
        old_path_with_namespace: "acme/site",
        project_namespace_id: group.id,
      },
    ]);
  });
});
