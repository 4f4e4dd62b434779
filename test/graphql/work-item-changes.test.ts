import { beforeEach, expect, it, onTestFinished } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { send } from "./ask.ts";

// Work items are issues: each mutation is compared with what REST then shows.

let app: TestApp;
beforeEach(async () => {
  app = await testApp();
  onTestFinished(() => app.dispose());
});

const SITE = "acme/site";
const ISSUES = "/projects/acme%2Fsite/issues";
const ISSUE_TYPE = "gid://gitlab/WorkItems::Type/1";
const NOT_AVAILABLE =
  "The resource that you are attempting to access does not exist or you don't have permission to perform this action";

/** Sends a mutation and gives its payload, or the messages of top-level errors. */
async function change(name: string, input: object, selected: string, as: Person = "owner") {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`;
  const query = `mutation ($input: ${type}!) { ${name}(input: $input) { errors ${selected} } }`;
  const { data, errors } = await send(app, as, query, { input });
  return errors ? errors.map(({ message }: { message: string }) => message) : data[name];
}

const rest = async (iid: string | number, as: Person = "owner") =>
  (await app.call(`GET ${ISSUES}/${iid}`, { as })).json;

/** Creates an issue and gives the global id of its work item. */
async function issue(
  json: object = {},
  as: Person = "owner",
): Promise<{ id: string; iid: number }> {
  const { json: made } = await app.call(`POST ${ISSUES}`, { as, json: { title: "Plan", ...json } });
  return { id: `gid://gitlab/WorkItem/${made.id}`, iid: made.iid };
}

async function idOf(path: string, className: string, as: Person = "owner") {
  const { json } = await app.call(`GET ${path}`, { as });
  return `gid://gitlab/${className}/${(Array.isArray(json) ? json[0] : json).id}`;
}

it("creates work items with widgets, linked to others", async () => {
  const other = await issue();
  const developer = await idOf("/users?username=developer", "User");
  await app.call("POST /projects/acme%2Fsite/labels", {
    as: "owner",
    json: { name: "bug", color: "red" },
  });
  const label = await idOf("/projects/acme%2Fsite/labels/bug", "ProjectLabel");
  const milestone = await app.call("POST /projects/acme%2Fsite/milestones", {
    as: "owner",
    json: { title: "v9" },
  });
  const made = await change(
    "workItemCreate",
    {
      namespacePath: SITE,
      title: "New",
      workItemTypeId: ISSUE_TYPE,
      confidential: true,
      descriptionWidget: { description: "Text" },
      assigneesWidget: { assigneeIds: [developer] },
      labelsWidget: { labelIds: [label] },
      milestoneWidget: { milestoneId: `gid://gitlab/Milestone/${milestone.json.id}` },
      startAndDueDateWidget: { dueDate: "2026-12-24", startDate: "2026-12-01" },
      weightWidget: { weight: 4 },
      hierarchyWidget: { parentId: null },
      linkedItemsWidget: { workItemsIds: [other.id], linkType: "BLOCKS" },
    },
    "workItem { iid workItemType { name } }",
  );
  const { workItem } = made;
  expect(made).toMatchObject({ errors: [] });
  expect(workItem.workItemType).toEqual({ name: "Issue" });
  expect(await rest(workItem.iid)).toMatchObject({
    title: "New",
    confidential: true,
    description: "Text",
    assignees: [{ username: "developer" }],
    labels: ["bug"],
    milestone: { title: "v9" },
    start_date: "2026-12-01",
    due_date: "2026-12-24",
    weight: 4,
  });
  const { json: links } = await app.call(`GET ${ISSUES}/${workItem.iid}/links`, { as: "owner" });
  expect(links).toMatchObject([{ iid: other.iid, link_type: "blocks" }]);
});

it("changes what each widget holds, and clears it", async () => {
  const { id, iid } = await issue({
    labels: "old",
    description: "Before",
    weight: 2,
    due_date: "2026-01-01",
    assignee_ids: [2],
  });
  const label = await idOf("/projects/acme%2Fsite/labels/old", "ProjectLabel");
  const update = (input: object) =>
    change("workItemUpdate", { id, ...input }, "workItem { state title }");
  expect(await update({ title: "After", stateEvent: "CLOSE", confidential: true })).toEqual({
    errors: [],
    workItem: { state: "CLOSED", title: "After" },
  });
  for (const [widget, sent, seen] of [
    ["descriptionWidget", { description: "Text" }, { description: "Text" }],
    ["labelsWidget", { removeLabelIds: [label] }, { labels: [] }],
    ["labelsWidget", { addLabelIds: [label] }, { labels: ["old"] }],
    ["assigneesWidget", { assigneeIds: [] }, { assignees: [] }],
    ["weightWidget", { weight: null }, { weight: null }],
    ["startAndDueDateWidget", { startDate: "2025-12-31" }, { start_date: "2025-12-31" }],
    ["startAndDueDateWidget", { dueDate: null }, { due_date: null, start_date: "2025-12-31" }],
    ["milestoneWidget", { milestoneId: null }, { milestone: null }],
    ["notesWidget", { discussionLocked: true }, { discussion_locked: true }],
    ["notificationsWidget", { subscribed: false }, { subscribed: false }],
    ["awardEmojiWidget", { action: "ADD", name: "thumbsup" }, { upvotes: 1 }],
    ["awardEmojiWidget", { action: "TOGGLE", name: "thumbsup" }, { upvotes: 0 }],
    ["timeTrackingWidget", { timeEstimate: "2h" }, { time_stats: { time_estimate: 7200 } }],
    [
      "timeTrackingWidget",
      { timelog: { timeSpent: "1h" } },
      { time_stats: { total_time_spent: 3600 } },
    ],
  ] as const) {
    expect(await update({ [widget]: sent }), widget).toMatchObject({ errors: [] });
    expect(await rest(iid), widget).toMatchObject(seen);
  }
  const todos = async () =>
    (await app.call("GET /todos?action=marked", { as: "owner" })).json.length;
  await update({ currentUserTodosWidget: { action: "ADD" } });
  expect(await todos()).toBe(1);
  await update({ currentUserTodosWidget: { action: "MARK_AS_DONE" } });
  expect(await todos()).toBe(0);
});

it("refuses by name what there is none of here", async () => {
  const { id } = await issue();
  const refused = (input: object) => change("workItemUpdate", { id, ...input }, "workItem { id }");
  expect(await refused({ healthStatusWidget: { healthStatus: "onTrack" } })).toEqual([
    "Following widget keys are not supported by Issue type: [:health_status_widget]",
  ]);
  expect(
    await refused({ colorWidget: { color: "#ff0000" }, statusWidget: { name: "Done" } }),
  ).toEqual([
    "Following widget keys are not supported by Issue type: [:color_widget, :status_widget]",
  ]);
  const dates = { startDate: "2026-01-02", dueDate: "2026-01-01" };
  expect(await refused({ startAndDueDateWidget: dates })).toMatchObject({
    errors: ["Due date must be greater than or equal to start date"],
    workItem: null,
  });
  expect(await refused({ hierarchyWidget: { childrenIds: [id] } })).toMatchObject({
    errors: [expect.stringContaining("is not allowed to point to itself")],
  });
  const create = (input: object) =>
    change(
      "workItemCreate",
      { title: "New", workItemTypeId: ISSUE_TYPE, ...input },
      "workItem { id }",
    );
  const BOTH = ["Please provide either projectPath or namespacePath argument, but not both."];
  expect(await create({})).toEqual(BOTH);
  expect(await create({ projectPath: SITE, namespacePath: SITE })).toEqual(BOTH);
  expect(
    await create({ projectPath: SITE, workItemTypeId: "gid://gitlab/WorkItems::Type/6" }),
  ).toMatchObject({ errors: ["There are no work items of type Objective here"] });
  // Epics are of groups.
  expect(
    await create({ projectPath: SITE, workItemTypeId: "gid://gitlab/WorkItems::Type/8" }),
  ).toEqual([NOT_AVAILABLE]);
  expect(await create({ projectPath: "acme" })).toEqual([NOT_AVAILABLE]);
  const convert = (workItemTypeId: string) =>
    change("workItemConvert", { id, workItemTypeId }, "workItem { workItemType { name } }");
  expect(await convert(ISSUE_TYPE)).toMatchObject({
    workItem: { workItemType: { name: "Issue" } },
  });
  expect(await convert("gid://gitlab/WorkItems::Type/9")).toMatchObject({
    errors: ["You are not allowed to change the Work Item type to Ticket."],
  });
  expect(await convert("gid://gitlab/WorkItems::Type/99")).toEqual([
    "Work Item type with id 99 was not found",
  ]);
});

it("creates work items of each type, and changes the type", async () => {
  const create = (type: number, as: Person = "owner") =>
    change(
      "workItemCreate",
      {
        namespacePath: SITE,
        title: "Typed",
        workItemTypeId: `gid://gitlab/WorkItems::Type/${type}`,
      },
      "workItem { id iid workItemType { id name iconName } }",
      as,
    );
  for (const [type, name, icon, stored] of [
    [1, "Issue", "work-item-issue", "issue"],
    [2, "Incident", "work-item-incident", "incident"],
    [3, "Test Case", "work-item-test-case", "test_case"],
    [5, "Task", "work-item-task", "task"],
  ] as const) {
    const { workItem } = await create(type);
    const id = `gid://gitlab/WorkItems::Type/${type}`;
    expect(workItem.workItemType).toEqual({ id, name, iconName: icon });
    expect(await rest(workItem.iid)).toMatchObject({
      issue_type: stored,
      type: stored.toUpperCase(),
    });
  }
  const refused = await create(2, "guest");
  expect(refused).toMatchObject({
    errors: ["You are not allowed to create work items of type Incident."],
    workItem: null,
  });
  const { workItem } = await create(5, "guest");
  const convert = (type: number, as: Person = "owner") =>
    change(
      "workItemConvert",
      { id: workItem.id, workItemTypeId: `gid://gitlab/WorkItems::Type/${type}` },
      "workItem { workItemType { name } }",
      as,
    );
  expect(await convert(2, "guest")).toMatchObject({
    errors: ["You are not allowed to change the Work Item type to Incident."],
  });
  expect(await convert(1, "guest")).toEqual({
    errors: [],
    workItem: { workItemType: { name: "Issue" } },
  });
  expect(await convert(2)).toMatchObject({ workItem: { workItemType: { name: "Incident" } } });
  expect(await rest(workItem.iid)).toMatchObject({ issue_type: "incident" });
});

it("links and unlinks at most ten work items, subscribes, and deletes", async () => {
  const [one, two, three] = [await issue(), await issue(), await issue()];
  const numbers = [two, three].map(({ id }) => id.split("/").at(-1));
  const linked =
    "message workItem { widgets(onlyTypes: [LINKED_ITEMS]) { ... on WorkItemWidgetLinkedItems { linkedItems { nodes { linkType workItem { id } } } } } }";
  const nodesOf = ({
    workItem,
  }: {
    workItem: { widgets: [{ linkedItems: { nodes: unknown } }] };
  }) => workItem.widgets[0].linkedItems.nodes;
  const added = await change(
    "workItemAddLinkedItems",
    { id: one.id, workItemsIds: [two.id, three.id] },
    linked,
  );
  expect(added.message).toBe(`Successfully linked ID(s): ${numbers.join(" and ")}.`);
  expect(nodesOf(added)).toEqual(
    [two, three].map(({ id }) => ({ linkType: "relates_to", workItem: { id } })),
  );
  const removed = await change(
    "workItemRemoveLinkedItems",
    { id: one.id, workItemsIds: [two.id] },
    linked,
  );
  expect(removed.message).toBe(`Successfully unlinked IDs: ${numbers[0]}.`);
  expect(nodesOf(removed)).toHaveLength(1);
  expect(
    await change("workItemRemoveLinkedItems", { id: one.id, workItemsIds: [two.id] }, linked),
  ).toEqual([NOT_AVAILABLE]);
  const many = Array.from({ length: 11 }, () => two.id);
  expect(
    await change("workItemAddLinkedItems", { id: one.id, workItemsIds: many }, linked),
  ).toEqual(["No more than 10 work items can be modified at the same time."]);
  await change("workItemSubscribe", { id: one.id, subscribed: false }, "workItem { id }");
  expect(await rest(one.iid)).toMatchObject({ subscribed: false });
  expect(await change("workItemDelete", { id: one.id }, "project { fullPath }")).toEqual({
    errors: [],
    project: { fullPath: SITE },
  });
  expect(await rest(one.iid)).toEqual({ message: "404 Not found" });
});

it("lets nobody change what the routes of issues don't let them", async () => {
  const { id } = await issue({ confidential: true });
  const other = await issue();
  for (const as of ["guest", "stranger"] as const) {
    for (const [name, input] of [
      ["workItemUpdate", { id, title: "Mine" }],
      ["workItemDelete", { id }],
      ["workItemSubscribe", { id, subscribed: true }],
      ["workItemAddLinkedItems", { id, workItemsIds: [other.id] }],
      ["workItemRemoveLinkedItems", { id, workItemsIds: [other.id] }],
      ["workItemConvert", { id, workItemTypeId: ISSUE_TYPE }],
    ] as const) {
      expect(
        await change(
          name,
          input,
          "workItem { id }".slice(0, name === "workItemDelete" ? 0 : undefined),
          as,
        ),
        `${as} ${name}`,
      ).toEqual([NOT_AVAILABLE]);
    }
  }
});

it("takes the ids of issues for those of work items, and the reverse", async () => {
  const { id, iid } = await issue();
  const issueId = id.replace("WorkItem", "Issue");
  const updated = await change(
    "workItemUpdate",
    { id: issueId, title: "One" },
    "workItem { title }",
  );
  expect(updated.workItem).toEqual({ title: "One" });
  const noted = await change("createNote", { noteableId: id, body: "Hello" }, "note { body }");
  expect(noted.note).toEqual({ body: "Hello" });
  await change("awardEmojiAdd", { awardableId: id, name: "thumbsup" }, "awardEmoji { name }");
  await change(
    "timelogCreate",
    { issuableId: id, timeSpent: "1h", summary: "s" },
    "timelog { timeSpent }",
  );
  expect(await rest(iid)).toMatchObject({
    title: "One",
    user_notes_count: 1,
    upvotes: 1,
    time_stats: { total_time_spent: 3600 },
  });
});
