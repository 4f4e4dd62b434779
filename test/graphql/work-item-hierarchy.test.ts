import { beforeEach, expect, it, onTestFinished } from "vitest";
import { type Person, type TestApp, testApp, waitFor } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;
beforeEach(async () => {
  app = await testApp({ background: true });
  onTestFinished(() => app.dispose());
});

const SITE = "acme/site";
const ISSUES = "/projects/acme%2Fsite/issues";
const KINDS = { issue: 1, incident: 2, test_case: 3, task: 5 };

async function change(name: string, input: object, selected: string, as: Person = "owner") {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`;
  const query = `mutation ($input: ${type}!) { ${name}(input: $input) { errors ${selected} } }`;
  const { data, errors } = await send(app, as, query, { input });
  return errors ? errors.map(({ message }: { message: string }) => message) : data[name];
}

interface Item {
  readonly id: string;
  readonly iid: number;
}

async function item(
  issue_type: keyof typeof KINDS = "task",
  json: object = {},
  as: Person = "owner",
  path = ISSUES,
): Promise<Item> {
  const { json: made } = await app.call(`POST ${path}`, {
    as,
    json: { title: `A ${issue_type}`, issue_type, ...json },
  });
  return { id: `gid://gitlab/WorkItem/${made.id}`, iid: made.iid };
}

const put = (
  { id }: Item,
  hierarchyWidget: object,
  as: Person = "owner",
  selected = "workItem { id }",
) => change("workItemUpdate", { id, hierarchyWidget }, selected, as);
const putBelow = async (child: Item, parent: Item) =>
  expect(await put(child, { parentId: parent.id })).toMatchObject({ errors: [] });

async function hierarchyOf({ iid }: Item, as: Person = "owner") {
  const query = `{ namespace(fullPath: "${SITE}") { workItem(iid: "${iid}") { features {
    weight { rolledUpWeight rolledUpCompletedWeight } hierarchy { hasParent hasChildren parent { iid }
      children { count nodes { iid } } open: children(state: OPEN) { nodes { iid } } ancestors { nodes { iid } }
      rolledUpCountsByType { workItemType { name } countsByState { all opened closed } }
      depthLimitReachedByType { workItemType { name } depthLimitReached } } } } } }`;
  const { features } = (await ask(app, query, {}, as)).namespace.workItem;
  return { ...features.hierarchy, ...features.weight };
}
const childrenOf = async (parent: Item, as?: Person): Promise<number[]> =>
  (await hierarchyOf(parent, as)).children.nodes.map(({ iid }: { iid: string }) => Number(iid));

const notesOf = async ({ iid }: Item): Promise<string[]> => {
  const { json } = await app.call(`GET ${ISSUES}/${iid}/notes?sort=asc`, { as: "owner" });
  return json.map(({ body }: { body: string }) => body);
};

it("puts tasks below issues and incidents, moves them and takes them away, which notes tell", async () => {
  const [issue, incident, task] = [await item("issue"), await item("incident"), await item()];
  await putBelow(task, issue);
  expect(await childrenOf(issue)).toEqual([task.iid]);
  expect(await hierarchyOf(task)).toMatchObject({
    hasParent: true,
    hasChildren: false,
    parent: { iid: String(issue.iid) },
    ancestors: { nodes: [{ iid: String(issue.iid) }] },
    rolledUpCountsByType: [],
    depthLimitReachedByType: [],
  });
  await putBelow(task, incident);
  expect(await childrenOf(issue)).toEqual([]);
  expect(await childrenOf(incident)).toEqual([task.iid]);
  expect(await put(task, { parentId: null })).toMatchObject({ errors: [] });
  expect(await put(task, { parentId: null })).toMatchObject({ errors: [] });
  expect(await hierarchyOf(task)).toMatchObject({ hasParent: false, parent: null });
  expect(await notesOf(task)).toEqual([
    `added #${issue.iid} as parent issue`,
    `added #${incident.iid} as parent incident`,
    `removed parent incident #${incident.iid}`,
  ]);
  expect(await notesOf(issue)).toEqual([
    `added #${task.iid} as child task`,
    `removed child task #${task.iid}`,
  ]);
});

it("tells what is below one, and what that weighs", async () => {
  const issue = await item("issue");
  const none = { count: 0, nodes: [] };
  const counts = (all: number, closed: number) => [
    { workItemType: { name: "Task" }, countsByState: { all, opened: all - closed, closed } },
  ];
  expect(await hierarchyOf(issue)).toMatchObject({
    hasChildren: false,
    children: none,
    rolledUpCountsByType: counts(0, 0),
    rolledUpWeight: null,
    depthLimitReachedByType: [{ workItemType: { name: "Task" }, depthLimitReached: false }],
  });
  const [one, two, three] = [
    await item("task", { weight: 2 }),
    await item("task", { weight: 3 }),
    await item("task", { confidential: true }),
  ];
  const children = [one, two, three].map(({ id }) => id);
  expect(await put(issue, { childrenIds: children })).toMatchObject({ errors: [] });
  await app.call(`PUT ${ISSUES}/${two.iid}`, { as: "owner", json: { state_event: "close" } });
  expect(await hierarchyOf(issue)).toMatchObject({
    hasChildren: true,
    children: { count: 3 },
    open: { nodes: [{ iid: String(one.iid) }, { iid: String(three.iid) }] },
    rolledUpCountsByType: counts(3, 1),
    rolledUpWeight: 5,
    rolledUpCompletedWeight: 3,
  });
  // Guests do not see what is confidential.
  expect(await hierarchyOf(issue, "guest")).toMatchObject({
    children: { count: 2 },
    rolledUpCountsByType: counts(2, 1),
  });
});

it("refuses what can't be below another one", async () => {
  const [issue, other, task] = [await item("issue"), await item("issue"), await item()];
  const [testCase, secret] = [await item("test_case"), await item("issue", { confidential: true })];
  const wrongType = (child: Item) =>
    `#${child.iid} cannot be added: it's not allowed to add this type of parent item`;
  for (const [child, parent, problem] of [
    [other, issue, wrongType(other)],
    [task, testCase, wrongType(task)],
    [await item("task"), task, undefined],
    [issue, issue, `#${issue.iid} cannot be added: is not allowed to point to itself`],
    [
      task,
      secret,
      `#${task.iid} cannot be added: cannot assign a non-confidential task to a confidential parent. Make the task confidential and try again.`,
    ],
  ] as const) {
    expect(await put(child, { parentId: parent.id })).toEqual({
      errors: [problem ?? wrongType(child)],
      workItem: null,
    });
    expect(await hierarchyOf(child)).toMatchObject({ hasParent: false });
  }
  expect(await put(task, { parentId: "gid://gitlab/WorkItem/99999" })).toMatchObject({
    errors: ["No Work Item found with ID: 99999."],
  });
  const far = await item("issue", {}, "owner", "/projects/acme%2Fteam%2Fcore/issues");
  expect(await put(task, { parentId: far.id })).toMatchObject({
    errors: [`#${task.iid} cannot be added: parent must be in the same project or group as child.`],
  });
  await change(
    "workItemAddLinkedItems",
    { id: task.id, workItemsIds: [issue.id] },
    "workItem { id }",
  );
  expect(await put(task, { parentId: issue.id })).toMatchObject({
    errors: [`#${task.iid} cannot be added: cannot assign a linked work item as a parent`],
  });
  const many = Array.from({ length: 101 }, () => task.id);
  expect(await put(issue, { childrenIds: many })).toEqual([
    "No more than 100 work items can be added at the same time.",
  ]);
});

it("has at most 5000 below one", async () => {
  const [issue, task] = [await item("issue"), await item()];
  const parent = Number(issue.id.split("/").at(-1));
  await app.store.transaction(async (db) => {
    await db.run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
       insert into issues (iid, project_id, title, created_at, updated_at, issue_type, relative_position)
       select 1000 + i, (select project_id from issues where id = ?), 'Task', 0, 0, 'task', i from n`,
      [parent],
    );
    await db.run(
      "insert into work_item_parents (issue_id, parent_id, position) select id, ?, id from issues where iid > 1000",
      [parent],
    );
  });
  expect(await put(task, { parentId: issue.id })).toMatchObject({
    errors: [`#${task.iid} cannot be added: parent already has maximum number of children.`],
  });
});

it("keeps types and confidentiality that fit", async () => {
  const [issue, task] = [await item("issue"), await item()];
  await putBelow(task, issue);
  const rest = async ({ iid }: Item, json: object) => {
    const answer = await app.call(`PUT ${ISSUES}/${iid}`, { as: "owner", json });
    return answer.status === 200 ? 200 : answer.json.message;
  };
  expect(await rest(task, { issue_type: "issue" })).toEqual({
    work_item_type_id: ["cannot be changed to Issue with Issue as parent type."],
  });
  expect(await rest(issue, { issue_type: "task" })).toEqual({
    work_item_type_id: ["cannot be changed to Task with these child item types."],
  });
  expect(await rest(issue, { issue_type: "incident" })).toBe(200);
  expect(await rest(issue, { confidential: true })).toEqual({
    base: ["All child items must be confidential in order to turn on confidentiality."],
  });
  expect(await rest(task, { confidential: true })).toBe(200);
  expect(await rest(issue, { confidential: true })).toBe(200);
  expect(await rest(task, { confidential: false })).toEqual({
    base: ["A non-confidential task cannot have a confidential parent."],
  });
  const convert = await change(
    "workItemConvert",
    { id: task.id, workItemTypeId: "gid://gitlab/WorkItems::Type/1" },
    "workItem { id }",
  );
  expect(convert.errors).toEqual([
    "Work item type cannot be changed to Issue with Incident as parent type.",
  ]);
});

it("orders what is below one, however often there is no room", async () => {
  const issue = await item("issue");
  const tasks: Item[] = [];
  for (let count = 0; count < 4; count += 1) {
    const task = await item();
    await putBelow(task, issue);
    tasks.push(task);
  }
  const [a, b, c, d] = tasks as [Item, Item, Item, Item];
  const order = async () =>
    (await childrenOf(issue)).map((iid) => "abcd"[tasks.findIndex((one) => one.iid === iid)]);
  expect(await order()).toEqual(["a", "b", "c", "d"]);
  const reorder = (one: Item, adjacent: Item, relativePosition?: string) =>
    change(
      "workItemsHierarchyReorder",
      {
        id: one.id,
        adjacentWorkItemId: adjacent.id,
        ...(relativePosition && { relativePosition }),
      },
      "workItem { id } adjacentWorkItem { id } parentWorkItem { id }",
    );
  expect(await reorder(d, a, "BEFORE")).toEqual({
    errors: [],
    workItem: { id: d.id },
    adjacentWorkItem: { id: a.id },
    parentWorkItem: { id: issue.id },
  });
  expect(await order()).toEqual(["d", "a", "b", "c"]);
  await reorder(d, b, "AFTER");
  expect(await order()).toEqual(["a", "b", "d", "c"]);
  await put(c, { adjacentWorkItemId: a.id, relativePosition: "BEFORE" });
  expect(await order()).toEqual(["c", "a", "b", "d"]);
  for (let turn = 0; turn < 30; turn += 1) {
    const [first, second] = turn % 2 === 0 ? [b, a] : [a, b];
    await reorder(first, second, "BEFORE");
  }
  expect(await order()).toEqual(["c", "a", "b", "d"]);
  const alone = await item();
  for (const answer of [await reorder(a, alone), await reorder(alone, a)]) {
    expect(answer).toMatchObject({
      errors: ["The adjacent work item is not below the same parent"],
    });
  }
  const next = { parentId: issue.id, adjacentWorkItemId: a.id, relativePosition: "AFTER" };
  await put(alone, next);
  expect(await childrenOf(issue)).toEqual([c, a, alone, b, d].map(({ iid }) => iid));
});

it("adds several at once, and creates one below another", async () => {
  const [issue, one, two] = [await item("issue"), await item(), await item()];
  expect(
    await change(
      "workItemHierarchyAddChildrenItems",
      { id: issue.id, childrenIds: [one.id, two.id] },
      "workItem { id } addedChildren { id }",
    ),
  ).toEqual({
    errors: [],
    workItem: { id: issue.id },
    addedChildren: [{ id: one.id }, { id: two.id }],
  });
  const create = (parentId: string, as: Person = "owner", type = 5) =>
    change(
      "workItemCreate",
      {
        namespacePath: SITE,
        title: "Below",
        workItemTypeId: `gid://gitlab/WorkItems::Type/${type}`,
        hierarchyWidget: { parentId },
      },
      "workItem { id iid }",
      as,
    );
  const { workItem } = await create(issue.id, "guest");
  expect(await childrenOf(issue)).toEqual([one.iid, two.iid, Number(workItem.iid)]);
  expect(await notesOf(issue)).toContain(`added #${workItem.iid} as child task`);
  const before = (await app.call(`GET ${ISSUES}`, { as: "owner" })).headers.get("x-total");
  expect(await create(issue.id, "owner", 1)).toMatchObject({
    errors: [expect.stringContaining("it's not allowed to add this type of parent item")],
    workItem: null,
  });
  expect((await app.call(`GET ${ISSUES}`, { as: "owner" })).headers.get("x-total")).toBe(before);
});

it("lets only members who may change an issue put it below another one", async () => {
  const [issue, task] = [await item("issue"), await item()];
  const theirs = await item("task", {}, "guest");
  expect(await put(task, { parentId: issue.id }, "guest")).toEqual([NOT_AVAILABLE]);
  expect(await put(theirs, { parentId: issue.id }, "guest")).toMatchObject({ errors: [] });
  expect(await put(task, { parentId: issue.id }, "reporter")).toMatchObject({ errors: [] });
  const secret = await item("issue", { confidential: true });
  const unseen = await put(theirs, { parentId: secret.id }, "guest");
  expect(unseen.errors).toEqual([`No Work Item found with ID: ${secret.id.split("/").at(-1)}.`]);
  const permissions = async (as: Person) => {
    const query = `{ workItem(id: "${task.id}") { userPermissions { adminParentLink } } }`;
    return (await ask(app, query, {}, as)).workItem.userPermissions.adminParentLink;
  };
  expect([await permissions("guest"), await permissions("reporter")]).toEqual([false, true]);
});

it("finds what is below certain ones, below any, and below none", async () => {
  const [issue, other] = [await item("issue"), await item("issue")];
  const [one, two] = [await item(), await item()];
  await putBelow(one, issue);
  await putBelow(two, other);
  const found = async (args: string) => {
    const query = `{ namespace(fullPath: "${SITE}") { workItems(${args}) { nodes { iid } } } }`;
    const { data, errors } = await send(app, "owner", query);
    if (errors) return errors[0].message;
    return data.namespace.workItems.nodes.map(({ iid }: Item) => Number(iid));
  };
  expect(await found(`parentIds: ["${issue.id}"]`)).toEqual([one.iid]);
  expect(await found(`hierarchyFilters: { parentIds: ["${issue.id}", "${other.id}"] }`)).toEqual([
    one.iid,
    two.iid,
  ]);
  expect(await found("parentWildcardId: ANY")).toEqual([one.iid, two.iid]);
  expect(await found("hierarchyFilters: { parentWildcardId: NONE }")).toEqual([
    issue.iid,
    other.iid,
  ]);
  expect(await found(`parentIds: ["${issue.id}"], parentWildcardId: ANY`)).toBe(
    "Only one of [parentIds, parentWildcardId] arguments is allowed at the same time.",
  );
});

it("has quick actions", async () => {
  const [issue, task] = [await item("issue"), await item()];
  const act = async ({ iid }: Item, body: string) => {
    const { json } = await app.call(`POST ${ISSUES}/${iid}/notes`, { as: "owner", json: { body } });
    return json.summary?.[0] ?? json.message;
  };
  const NOTHING = "400 Bad request - Failed to apply commands.";
  expect(await act(task, `/set_parent #${issue.iid}`)).toBe(`Parent item set to #${issue.iid}.`);
  expect(await childrenOf(issue)).toEqual([task.iid]);
  expect(await act(task, "/remove_parent")).toBe("Parent item removed.");
  expect(await act(task, "/remove_parent")).toBe(NOTHING);
  expect(await act(issue, `/remove_child #${task.iid}`)).toBe(NOTHING);
  expect(await act(issue, `/add_child ${SITE}#${task.iid}`)).toBe(
    `Child items added: ${SITE}#${task.iid}.`,
  );
  expect(await childrenOf(issue)).toEqual([task.iid]);
  expect(await act(issue, `/remove_child #${task.iid}`)).toBe(`Child item removed: #${task.iid}.`);
  expect(await childrenOf(issue)).toEqual([]);
  expect(await act(issue, `/set_parent #${task.iid}`)).toBe(NOTHING);
});

it("goes with what is deleted or moved, and into archives", async () => {
  const [issue, other, task, second] = [
    await item("issue"),
    await item("issue"),
    await item(),
    await item(),
  ];
  await putBelow(task, issue);
  await putBelow(second, other);
  const call = async (request: string, json?: object) =>
    (await app.call(request, { as: "owner", ...(json && { json }) })).json;
  await call("POST /projects/acme%2Fsite/export");
  await waitFor(
    async () => (await call("GET /projects/acme%2Fsite/export")).export_status === "finished",
  );
  const archive = await app.fetch(
    new Request("http://pm.test/api/v4/projects/acme%2Fsite/export/download", {
      headers: { "private-token": "token-of-owner" },
    }),
  );
  const body = new FormData();
  body.append("path", "copy");
  body.append("namespace", "acme");
  body.append("file", new Blob([await archive.arrayBuffer()]), "site.gz");
  const { json: copy } = await app.call("POST /projects/import", { as: "owner", body });
  const status = async () => (await call(`GET /projects/${copy.id}/import`)).import_status;
  await waitFor(async () => (await status()) === "finished");
  const query = `{ namespace(fullPath: "acme/copy") { workItem(iid: "${issue.iid}") { features { hierarchy {
    children { nodes { iid } } } } } } }`;
  const { namespace } = await ask(app, query);
  expect(namespace.workItem.features.hierarchy.children.nodes).toEqual([{ iid: String(task.iid) }]);
  await app.call(`DELETE ${ISSUES}/${issue.iid}`, { as: "owner" });
  expect(await hierarchyOf(task)).toMatchObject({ hasParent: false });
  const { json: core } = await app.call("GET /projects/acme%2Fteam%2Fcore", { as: "owner" });
  const moved = await call(`POST ${ISSUES}/${second.iid}/move`, { to_project_id: core.id });
  expect(moved).toMatchObject({ issue_type: "task", project_id: core.id });
  // The copy is in another project: the closed task stays where it was.
  expect(await childrenOf(other)).toEqual([second.iid]);
});

it("is in seeds", async () => {
  const issues = (parent: number) => [
    { title: "Plan", author: "ada" },
    { title: "Step", author: "ada", issue_type: "task" as const, parent },
  ];
  const seed = (parent: number) => ({
    users: [{ username: "ada", admin: true, tokens: [{ token: "token-of-owner" }] }],
    groups: [{ path: "acme", projects: [{ path: "site", issues: issues(parent) }] }],
  });
  const seeded = await testApp({ seed: seed(1) });
  const query = `{ namespace(fullPath: "acme/site") { workItem(iid: "2") { features { hierarchy { parent { iid } } } } } }`;
  const { namespace } = await ask(seeded, query);
  await seeded.dispose();
  expect(namespace.workItem.features.hierarchy.parent).toEqual({ iid: "1" });
  await expect(testApp({ seed: seed(2) })).rejects.toThrow(
    "a task can't be below issue 2 of acme/site",
  );
});
