import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { ask } from "./ask.ts";

let app: TestApp;

beforeAll(async () => {
  app = await testApp();
  const issues = [
    { title: "First", description: "Text", labels: "UX", assignee_ids: [2], weight: 3 },
    { title: "Second", due_date: "2026-03-01" },
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
    { type: "DESCRIPTION", description: "Text" },
    { type: "LABELS", labels: { nodes: [{ title: "UX" }] } },
    { type: "MILESTONE" },
    { type: "PARTICIPANTS" },
    { type: "START_AND_DUE_DATE", startDate: null, dueDate: null },
    { type: "TIME_TRACKING" },
    { type: "WEIGHT", weight: 3 },
  ]);
  expect(second.widgets).toContainEqual({
    type: "START_AND_DUE_DATE",
    startDate: null,
    dueDate: "2026-03-01",
  });
});

const usernameOf = ({ username }: { username: string }) => ({ username });

it("gives one work item, and only some of its widgets", async () => {
  const { json } = await app.call("GET /projects/acme%2Fsite/issues/1", { as: "owner" });
  const query = `query ($id: WorkItemID!) { workItem(id: $id) { iid
    only: widgets(onlyTypes: [WEIGHT, LABELS]) { type }
    others: widgets(exceptTypes: [ASSIGNEES, DESCRIPTION, LABELS, MILESTONE, TIME_TRACKING, PARTICIPANTS]) { type } } }`;
  const { workItem } = await ask(app, query, { id: `gid://gitlab/WorkItem/${json.id}` });
  expect(workItem).toEqual({
    iid: "1",
    only: [{ type: "WEIGHT" }, { type: "LABELS" }],
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
