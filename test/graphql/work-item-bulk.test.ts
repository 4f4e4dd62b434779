import { beforeEach, expect, it, onTestFinished } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;
beforeEach(async () => {
  app = await testApp();
  onTestFinished(() => app.dispose());
});

const SITE = "acme/site";
const CORE = "acme/team/core";

async function change(name: string, input: object, selected: string, as: Person = "owner") {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`;
  const query = `mutation ($input: ${type}!) { ${name}(input: $input) { errors ${selected} } }`;
  const { data, errors } = await send(app, as, query, { input });
  return errors ? errors.map(({ message }: { message: string }) => message) : data[name];
}

const pathOf = (project: string) => `/projects/${encodeURIComponent(project)}`;

async function issue(project = SITE, as: Person = "owner", json: object = {}) {
  const path = `${pathOf(project)}/issues`;
  const { json: made } = await app.call(`POST ${path}`, { as, json: { title: "One", ...json } });
  return { id: `gid://gitlab/WorkItem/${made.id}`, path: `${path}/${made.iid}` };
}
const read = async ({ path }: { path: string }) =>
  (await app.call(`GET ${path}`, { as: "owner" })).json;
const idOf = async (path: string, className: string) => {
  const { json } = await app.call(`GET ${path}`, { as: "owner" });
  return `gid://gitlab/${className}/${(Array.isArray(json) ? json[0] : json).id}`;
};

it("changes work items of a project or group together, and counts them", async () => {
  const [one, two, far] = [
    await issue(),
    await issue(SITE, "owner", { labels: "old" }),
    await issue(CORE),
  ];
  const { json: made } = await app.call(`POST ${pathOf(SITE)}/labels`, {
    as: "owner",
    json: { name: "new", color: "red" },
  });
  const developer = await idOf("/users?username=developer", "User");
  const { json: milestone } = await app.call(`POST ${pathOf(SITE)}/milestones`, {
    as: "owner",
    json: { title: "v9" },
  });
  const update = (input: object, as?: Person) =>
    change("workItemBulkUpdate", input, "updatedWorkItemCount", as);
  const ids = [one, two, far].map(({ id }) => id);
  expect(
    await update({
      ids,
      fullPath: SITE,
      stateEvent: "CLOSE",
      confidential: true,
      subscriptionEvent: "SUBSCRIBE",
      labelsWidget: {
        addLabelIds: [`gid://gitlab/ProjectLabel/${made.id}`],
        removeLabelIds: [await idOf(`${pathOf(SITE)}/labels/old`, "ProjectLabel")],
      },
      assigneesWidget: { assigneeIds: [developer] },
      milestoneWidget: { milestoneId: `gid://gitlab/Milestone/${milestone.id}` },
    }),
  ).toEqual({ errors: [], updatedWorkItemCount: 2 });
  for (const each of [one, two]) {
    expect(await read(each)).toMatchObject({
      state: "closed",
      confidential: true,
      labels: ["new"],
      assignees: [{ username: "developer" }],
      milestone: { title: "v9" },
      subscribed: true,
    });
  }
  expect(await read(far)).toMatchObject({ state: "opened", confidential: false });
  expect(await update({ ids, fullPath: "acme", stateEvent: "REOPEN" })).toEqual({
    errors: [],
    updatedWorkItemCount: 3,
  });
  expect(await read(one)).toMatchObject({ state: "opened" });
  const cleared = { milestoneWidget: { milestoneId: null }, assigneesWidget: { assigneeIds: [] } };
  await update({ ids: [one.id], fullPath: SITE, ...cleared });
  expect(await read(one)).toMatchObject({ milestone: null, assignees: [] });
});

it("leaves out what the caller may not change", async () => {
  const [theirs, hidden] = [await issue(), await issue(SITE, "owner", { confidential: true })];
  const own = await issue(SITE, "guest");
  const input = { ids: [theirs.id, hidden.id, own.id], fullPath: SITE, stateEvent: "CLOSE" };
  expect(await change("workItemBulkUpdate", input, "updatedWorkItemCount", "guest")).toEqual({
    errors: [],
    updatedWorkItemCount: 1,
  });
  expect(await read(own)).toMatchObject({ state: "closed" });
  expect(await read(theirs)).toMatchObject({ state: "opened" });
  const many = { ...input, ids: Array.from({ length: 101 }, () => own.id) };
  expect(await change("workItemBulkUpdate", many, "updatedWorkItemCount")).toEqual([
    "No more than 100 work items can be updated at the same time.",
  ]);
});

it("changes issues of a project or group together", async () => {
  const [one, two] = [await issue(), await issue(CORE)];
  const parentId = await idOf("/groups/acme", "Group");
  const ids = [one, two].map(({ id }) => id.replace("WorkItem", "Issue"));
  const update = (input: object, as?: Person) =>
    change("issuesBulkUpdate", { ids, ...input }, "updatedIssueCount", as);
  expect(await update({ parentId, stateEvent: "CLOSE" })).toEqual({
    errors: [],
    updatedIssueCount: 2,
  });
  expect(await read(two)).toMatchObject({ state: "closed" });
  const project = await idOf(pathOf(SITE), "Project");
  const developer = await idOf("/users?username=developer", "User");
  expect(
    await update({ parentId: project, assigneeIds: [developer], subscriptionEvent: "UNSUBSCRIBE" }),
  ).toMatchObject({ updatedIssueCount: 1 });
  expect(await read(one)).toMatchObject({
    assignees: [{ username: "developer" }],
    subscribed: false,
  });
  expect(await update({ parentId: "gid://gitlab/Project/99999" })).toEqual([NOT_AVAILABLE]);
});

it("moves work items to another project", async () => {
  const [one, two] = [await issue(), await issue()];
  const input = {
    ids: [one.id, two.id],
    sourceFullPath: SITE,
    targetFullPath: CORE,
  };
  expect(await change("workItemBulkMove", input, "movedWorkItemCount")).toEqual({
    errors: [],
    movedWorkItemCount: 2,
  });
  expect(await read(one)).toMatchObject({ state: "closed", moved_to_id: expect.any(Number) });
  const nowhere = { ...input, targetFullPath: "no/where" };
  expect(await change("workItemBulkMove", nowhere, "movedWorkItemCount")).toEqual([NOT_AVAILABLE]);
});

it("moves a work item between others", async () => {
  const [one, two, three] = [await issue(), await issue(), await issue()];
  expect(
    await change(
      "workItemsReorder",
      { id: three.id, moveBeforeId: one.id, moveAfterId: two.id },
      "workItem { id }",
    ),
  ).toEqual({ errors: [], workItem: { id: three.id } });
  const query = `{ project(fullPath: "${SITE}") { workItems(sort: RELATIVE_POSITION_ASC) { nodes { id } } } }`;
  const { project } = await ask(app, query);
  expect(project.workItems.nodes.map(({ id }: { id: string }) => id)).toEqual(
    [one, three, two].map(({ id }) => id),
  );
});
