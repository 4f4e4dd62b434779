import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { ask } from "./ask.ts";

let app: TestApp;

beforeAll(async () => {
  app = await testApp();
  const issues = [
    { title: "First", description: "Text", labels: "UX", assignee_ids: [2], weight: 3 },
    { title: "Second", start_date: "2026-02-01", due_date: "2026-03-01" },
    { title: "Third", weight: 4 },
  ];
  for (const json of issues) {
    await app.call("POST /projects/acme%2Fsite/issues", { as: "owner", json });
  }
  await link(1, 2, "blocks");
  await link(3, 1, "relates_to");
  await app.call("PUT /projects/acme%2Fsite/issues/3", {
    as: "owner",
    json: { state_event: "close" },
  });
});
afterAll(() => app.dispose());

async function link(source: number, target: number, link_type: string) {
  const { json: project } = await app.call("GET /projects/acme%2Fsite", { as: "owner" });
  const { status } = await app.call(`POST /projects/acme%2Fsite/issues/${source}/links`, {
    as: "owner",
    json: { target_project_id: project.id, target_issue_iid: target, link_type },
  });
  expect(status).toBe(201);
}

it("shows issues as work items with widgets", async () => {
  const { project } = await ask(
    app,
    `{ project(fullPath: "acme/site") { workItems(sort: CREATED_ASC) { count nodes {
      id iid title state webUrl reference author { username } workItemType { name }
      userPermissions { readWorkItem updateWorkItem }
      widgets { type
        ... on WorkItemWidgetAssignees { assignees { nodes { username } } }
        ... on WorkItemWidgetLabels { labels { nodes { title } } }
        ... on WorkItemWidgetDescription { description }
        ... on WorkItemWidgetStartAndDueDate { startDate dueDate }
        ... on WorkItemWidgetWeight { weight } } } } } }`,
  );
  const { json } = await app.call("GET /projects/acme%2Fsite/issues?sort=asc&order_by=created_at", {
    as: "owner",
  });
  type Issue = { id: number; iid: number; title: string; state: string; web_url: string };
  expect(project.workItems.count).toBe(3);
  expect(project.workItems.nodes).toMatchObject(
    json.map(({ id, iid, title, state, web_url }: Issue) => ({
      id: `gid://gitlab/WorkItem/${id}`,
      iid: String(iid),
      title,
      state: state === "closed" ? "CLOSED" : "OPEN",
      webUrl: web_url,
      reference: `#${iid}`,
      author: { username: "owner" },
      workItemType: { name: "Issue" },
      userPermissions: { readWorkItem: true, updateWorkItem: true },
    })),
  );
  const [first, second] = project.workItems.nodes;
  expect(first.widgets).toEqual([
    { type: "ASSIGNEES", assignees: { nodes: json[0].assignees.map(usernameOf) } },
    { type: "AWARD_EMOJI" },
    { type: "CURRENT_USER_TODOS" },
    { type: "DESCRIPTION", description: "Text" },
    { type: "DEVELOPMENT" },
    { type: "HIERARCHY" },
    { type: "ITERATION" },
    { type: "LABELS", labels: { nodes: [{ title: "UX" }] } },
    { type: "LINKED_ITEMS" },
    { type: "MILESTONE" },
    { type: "NOTES" },
    { type: "NOTIFICATIONS" },
    { type: "PARTICIPANTS" },
    { type: "START_AND_DUE_DATE", startDate: null, dueDate: null },
    { type: "TIME_TRACKING" },
    { type: "WEIGHT", weight: 3 },
  ]);
  expect(second.widgets).toContainEqual({
    type: "START_AND_DUE_DATE",
    startDate: "2026-02-01",
    dueDate: "2026-03-01",
  });
  for (const [sort, expected] of [
    ["START_DATE_ASC", ["2", "3", "1"]],
    ["START_DATE_DESC", ["2", "3", "1"]],
  ]) {
    const query = `{ project(fullPath: "acme/site") { workItems(sort: ${sort}) { nodes { iid } } } }`;
    const { nodes } = (await ask(app, query)).project.workItems;
    expect(nodes.map(({ iid }: { iid: string }) => iid)).toEqual(expected);
  }
});

const OTHERS = [
  ...["ASSIGNEES", "AWARD_EMOJI", "CURRENT_USER_TODOS", "DESCRIPTION", "DEVELOPMENT", "HIERARCHY"],
  ...["ITERATION", "LABELS", "LINKED_ITEMS", "MILESTONE", "NOTES", "NOTIFICATIONS", "PARTICIPANTS"],
  "TIME_TRACKING",
];

const usernameOf = ({ username }: { username: string }) => ({ username });

it("gives one work item, and only some of its widgets", async () => {
  const { json } = await app.call("GET /projects/acme%2Fsite/issues/1", { as: "owner" });
  const query = `query ($id: WorkItemID!) { workItem(id: $id) { iid
    only: widgets(onlyTypes: [WEIGHT, LABELS]) { type }
    others: widgets(exceptTypes: [${OTHERS}]) { type } } }`;
  const { workItem } = await ask(app, query, { id: `gid://gitlab/WorkItem/${json.id}` });
  expect(workItem).toEqual({
    iid: "1",
    only: [{ type: "LABELS" }, { type: "WEIGHT" }],
    others: [{ type: "START_AND_DUE_DATE" }, { type: "WEIGHT" }],
  });
  const hidden = await ask(app, query, { id: "gid://gitlab/WorkItem/999" });
  expect(hidden.workItem).toBeNull();
});

it("shows links of issues, and which open ones block others", async () => {
  const { project } = await ask(
    app,
    `{ project(fullPath: "acme/site") { issues(sort: CREATED_ASC) { weight nodes { iid
      blocked blockedByCount blockingCount
      linkedWorkItems { nodes { linkId linkType workItemState workItem { iid } } }
      blocks: linkedWorkItems(filter: BLOCKS) { count }
      status { id category } healthStatus epic { id } iteration { id webPath } } } } }`,
  );
  const { json } = await app.call("GET /projects/acme%2Fsite/issues/1/links", { as: "owner" });
  const none = { status: null, healthStatus: null, epic: null, iteration: null };
  type Link = { issue_link_id: number; link_type: string; state: string; iid: number };
  expect(project.issues.weight).toBe(7);
  expect(project.issues.nodes).toMatchObject([
    {
      iid: "1",
      blocked: false,
      blockedByCount: 0,
      blockingCount: 1,
      linkedWorkItems: {
        nodes: json.map(({ issue_link_id, link_type, state, iid }: Link) => ({
          linkId: `gid://gitlab/WorkItems::RelatedWorkItemLink/${issue_link_id}`,
          linkType: link_type,
          workItemState: state === "closed" ? "CLOSED" : "OPEN",
          workItem: { iid: String(iid) },
        })),
      },
      blocks: { count: 1 },
      ...none,
    },
    { iid: "2", blocked: true, blockedByCount: 1, blockingCount: 0, ...none },
    { iid: "3", blocked: false, blockedByCount: 0, blockingCount: 0, ...none },
  ]);
});

const WORK_ITEMS = `query ($path: ID!, $types: [IssueType!], $state: IssuableState, $below: Boolean, $parents: [WorkItemID!],
    $health: HealthStatusFilter, $ids: [WorkItemID!], $kinds: [WorkItemsTypeID!], $tags: [String!], $wild: ReleaseTagWildcardId) {
  namespace(fullPath: $path) { id fullPath fullName parent { fullPath } workItems(types: $types, state: $state, parentIds: $parents,
    includeDescendants: $below, healthStatusFilter: $health, ids: $ids, workItemTypeIds: $kinds, releaseTag: $tags,
    releaseTagWildcardId: $wild) { count nodes { iid namespace { id fullPath } } } } }`;

it("finds the work items of projects and groups by the paths of their namespaces", async () => {
  const found = async (path: string, variables: object = {}, as?: "stranger" | "guest") => {
    const { namespace } = await ask(app, WORK_ITEMS, { path, ...variables }, as);
    return namespace?.workItems.nodes.map(({ iid }: { iid: string }) => iid);
  };
  const { json: site } = await app.call("GET /projects/acme%2Fsite", { as: "owner" });
  const { namespace } = await ask(app, WORK_ITEMS, { path: "ACME/site" });
  const own = { id: `gid://gitlab/Namespaces::ProjectNamespace/${site.id}`, fullPath: "acme/site" };
  expect(namespace).toMatchObject({
    ...own,
    fullName: site.name_with_namespace,
    parent: { fullPath: "acme" },
    workItems: { count: 3, nodes: [{ iid: "1", namespace: own }, { iid: "2" }, { iid: "3" }] },
  });
  const { json: first } = await app.call("GET /projects/acme%2Fsite/issues/1", { as: "owner" });
  const id = `gid://gitlab/WorkItem/${first.id}`;
  expect(await found("acme/site", { state: "opened" })).toEqual(["1", "2"]);
  expect(await found("acme/site", { types: ["ISSUE", "TASK"] })).toEqual(["1", "2", "3"]);
  expect(await found("acme/site", { types: ["TASK"] })).toEqual([]);
  expect(await found("acme/site", { kinds: ["gid://gitlab/WorkItems::Type/5"] })).toEqual([]);
  expect(await found("acme/site", { kinds: ["gid://gitlab/WorkItems::Type/1"] })).toHaveLength(3);
  expect(await found("acme/site", { ids: [id.replace("WorkItem", "Issue")] })).toEqual(["1"]);
  expect(await found("acme/site", { parents: [id] })).toEqual([]);
  expect(await found("acme/site", { health: "NONE" })).toHaveLength(3);
  expect(await found("acme/site", { health: "ANY" })).toEqual([]);
  expect(await found("acme")).toEqual([]);
  expect(await found("acme", { below: true })).toEqual(["1", "2", "3"]);
  expect(await found("owner")).toEqual([]);
  expect(await found("secret", { below: true }, "stranger")).toBeUndefined();
  expect(await found("secret/closed", {}, "stranger")).toBeUndefined();
  expect(await found("nothing/here")).toBeUndefined();
});

it("finds those whose milestone has a release", async () => {
  await app.admin.seed({
    groups: [
      {
        path: "tagged",
        projects: [
          {
            path: "p",
            pushes: [
              { ref: "main", author: "owner", commits: [{ message: "One", files: { a: "1" } }] },
              { ref: "v1", ref_type: "tag", author: "owner", start_branch: "main" },
            ],
            releases: [{ tag: "v1", author: "owner", milestones: ["M"] }],
            milestones: [{ title: "M" }],
            issues: [
              { title: "In it", author: "owner", milestone: "M" },
              { title: "Not", author: "owner" },
            ],
          },
        ],
      },
    ],
  });
  const found = async (variables: object) =>
    (
      await ask(app, WORK_ITEMS, { path: "tagged/p", ...variables }, "admin")
    ).namespace.workItems.nodes.map(({ iid }: { iid: string }) => iid);
  expect(await found({ tags: ["v1", "v2"] })).toEqual(["1"]);
  expect(await found({ tags: ["v2"] })).toEqual([]);
  expect(await found({ wild: "ANY" })).toEqual(["1"]);
  expect(await found({ wild: "NONE" })).toEqual(["2"]);
});

it("tells the kinds of work items of a project, and their widgets", async () => {
  const query = `query ($path: ID!, $name: IssueType) { namespace(fullPath: $path) { workItemTypes(name: $name) { count nodes {
    id name iconName enabled supportedConversionTypes { name } widgetDefinitions { __typename type
      ... on WorkItemWidgetDefinitionAssignees { allowsMultipleAssignees canInviteMembers }
      ... on WorkItemWidgetDefinitionHierarchy { allowedChildTypes { nodes { name } } }
      ... on WorkItemWidgetDefinitionStatus { allowedStatuses { name } } } } } } }`;
  const kinds = async (variables: object) =>
    (await ask(app, query, variables)).namespace.workItemTypes.nodes;
  const [issue, incident, testCase, task] = await kinds({ path: "acme/site" });
  expect([incident, testCase, task].map(({ name }) => name)).toEqual([
    "Incident",
    "Test Case",
    "Task",
  ]);
  const hierarchy = { type: "HIERARCHY" };
  expect(testCase.widgetDefinitions).not.toContainEqual(expect.objectContaining(hierarchy));
  expect(task.widgetDefinitions).toContainEqual(expect.objectContaining(hierarchy));
  expect(issue).toMatchObject({
    id: "gid://gitlab/WorkItems::Type/1",
    name: "Issue",
    iconName: "work-item-issue",
    enabled: true,
    supportedConversionTypes: [{ name: "Incident" }, { name: "Test Case" }, { name: "Task" }],
  });
  expect(issue.widgetDefinitions).toContainEqual({
    __typename: "WorkItemWidgetDefinitionAssignees",
    type: "ASSIGNEES",
    allowsMultipleAssignees: true,
    canInviteMembers: false,
  });
  expect(issue.widgetDefinitions).toContainEqual({
    __typename: "WorkItemWidgetDefinitionGeneric",
    type: "NOTES",
  });
  expect(issue.widgetDefinitions).toContainEqual({
    __typename: "WorkItemWidgetDefinitionHierarchy",
    type: "HIERARCHY",
    allowedChildTypes: { nodes: [{ name: "Task" }] },
  });
  expect(await kinds({ path: "acme/site", name: "ISSUE" })).toHaveLength(1);
  expect(await kinds({ path: "acme/site", name: "TASK" })).toMatchObject([{ name: "Task" }]);
  expect(await kinds({ path: "acme/site", name: "EPIC" })).toEqual([]);
  const [epic, ...others] = await kinds({ path: "acme" });
  expect([epic.name, epic.supportedConversionTypes, others]).toEqual(["Epic", [], []]);
  expect(epic.widgetDefinitions).toContainEqual({
    __typename: "WorkItemWidgetDefinitionHierarchy",
    type: "HIERARCHY",
    allowedChildTypes: { nodes: [{ name: "Issue" }, { name: "Epic" }] },
  });
});

it("has each widget as a feature, and null for what there is none of", async () => {
  const { namespace } = await ask(
    app,
    `{ namespace(fullPath: "acme/site") { workItem(iid: "1") { archived lockVersion imported userDiscussionsCount
      features { assignees { assignees { nodes { username } } } weight { type weight } status { status { name } }
        linkedItems { blocked linkedItems(filter: BLOCKS) { nodes { workItem { iid } } } }
        timeTracking { humanReadableAttributes { timeEstimate totalTimeSpent } }
        development { willAutoCloseByMergeRequest closingMergeRequests { count } relatedMergeRequests { count } featureFlags { count } }
        hierarchy { hasParent hasChildren parent { id } children { count } rolledUpCountsByType { workItemType { name } } }
        notes { discussionLocked discussions(filter: ONLY_COMMENTS, sort: CREATED_DESC) { nodes { notes { nodes { body } } } } }
        description { taskCompletionStatus { count completedCount } edited }
        customFields { customFieldValues { customField { name } ... on WorkItemTextFieldValue { value } } }
        healthStatus { healthStatus } iteration { iteration { id } } color { color } progress { progress } } } other: workItem(iid: "x") { id } } }`,
  );
  expect(namespace.other).toBeNull();
  expect(namespace.workItem).toMatchObject({
    archived: false,
    lockVersion: 0,
    imported: false,
    features: {
      assignees: { assignees: { nodes: [{ username: expect.any(String) }] } },
      weight: { type: "WEIGHT", weight: 3 },
      linkedItems: { blocked: false, linkedItems: { nodes: [{ workItem: { iid: "2" } }] } },
      timeTracking: { humanReadableAttributes: { timeEstimate: null, totalTimeSpent: null } },
      development: { willAutoCloseByMergeRequest: false, closingMergeRequests: { count: 0 } },
      hierarchy: {
        hasParent: false,
        parent: null,
        children: { count: 0 },
        rolledUpCountsByType: [{ workItemType: { name: "Task" } }],
      },
      notes: { discussionLocked: false, discussions: { nodes: [] } },
      description: { taskCompletionStatus: { count: 0, completedCount: 0 }, edited: false },
      ...{ status: null, customFields: null, healthStatus: null },
      iteration: { iteration: null },
      ...{ color: null, progress: null },
    },
  });
});

it("tells which merge requests close one", async () => {
  const { status } = await app.call("POST /projects/acme%2Fsite/merge_requests", {
    as: "owner",
    json: {
      title: "Change",
      description: "Closes #2",
      source_branch: "change",
      target_branch: "main",
    },
  });
  expect(status).toBe(201);
  const query = `{ namespace(fullPath: "acme/site") { workItem(iid: "2") { features { development {
    willAutoCloseByMergeRequest relatedMergeRequests { nodes { title } }
    closingMergeRequests { nodes { fromMrDescription mergeRequest { title } } } } } } } }`;
  const { namespace } = await ask(app, query);
  expect(namespace.workItem.features.development).toEqual({
    willAutoCloseByMergeRequest: true,
    relatedMergeRequests: { nodes: [{ title: "Change" }] },
    closingMergeRequests: {
      nodes: [{ fromMrDescription: true, mergeRequest: { title: "Change" } }],
    },
  });
});
