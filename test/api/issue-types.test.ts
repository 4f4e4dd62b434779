import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../graphql/ask.ts";
import { type Person, type TestApp, testApp, waitFor } from "../helpers.ts";
import { type Receiver, startReceiver } from "./_receiver.ts";

let app: TestApp;
let receiver: Receiver;

beforeAll(async () => {
  app = await testApp({
    background: true,
    webhooks: { allowLocalRequests: true, interval: 10 },
  });
  receiver = await startReceiver();
});
afterAll(async () => {
  await app.dispose();
  await receiver.close();
});

const ISSUES = "/projects/acme%2Fsite/issues";
const post = (json: object, as: Person = "owner") => app.call(`POST ${ISSUES}`, { as, json });
const put = (iid: number, json: object, as: Person = "owner") =>
  app.call(`PUT ${ISSUES}/${iid}`, { as, json });
const make = async (json: object, as: Person = "owner") =>
  (await post({ title: "Typed", ...json }, as)).json;
const notesOf = async (iid: number): Promise<string[]> => {
  const { json } = await app.call(`GET ${ISSUES}/${iid}/notes?sort=asc`, { as: "owner" });
  return json.map(({ body }: { body: string }) => body);
};

describe("the type of an issue", () => {
  it("is issue, incident, task or test_case, and issue by default", async () => {
    expect(await make({})).toMatchObject({ issue_type: "issue", type: "ISSUE" });
    for (const issue_type of ["issue", "incident", "task", "test_case"]) {
      const { iid } = await make({ issue_type });
      const { json } = await app.call(`GET ${ISSUES}/${iid}`, { as: "owner" });
      expect(json).toMatchObject({ issue_type, type: issue_type.toUpperCase() });
    }
    const { status, json } = await post({ title: "Typed", issue_type: "epic" });
    expect(status).toBe(400);
    expect(json).toEqual({ message: { issue_type: ["does not have a valid value"] } });
  });

  it("can be changed, which a note tells", async () => {
    const { iid } = await make({});
    expect((await put(iid, { issue_type: "incident" })).json).toMatchObject({ type: "INCIDENT" });
    expect((await put(iid, { issue_type: "test_case" })).json).toMatchObject({ type: "TEST_CASE" });
    await put(iid, { issue_type: "test_case" });
    expect(await notesOf(iid)).toEqual([
      "changed type from issue to incident",
      "changed type from incident to test case",
    ]);
  });

  it("stays an issue for those who may not plan, but for tasks", async () => {
    expect(await make({ issue_type: "incident" }, "guest")).toMatchObject({ issue_type: "issue" });
    const task = await make({ issue_type: "task" }, "guest");
    expect(task).toMatchObject({ issue_type: "task" });
    const { json } = await put(task.iid, { issue_type: "incident" }, "guest");
    expect(json).toMatchObject({ issue_type: "task" });
  });

  it("filters lists, which have all types otherwise", async () => {
    const title = "Listed by its type";
    for (const issue_type of ["issue", "incident", "task", "test_case"]) {
      await make({ title, issue_type, labels: "of-types" });
    }
    const { json: me } = await app.call("GET /user", { as: "owner" });
    for (const path of ["/issues", ISSUES, "/groups/acme/issues", "/issues_statistics"]) {
      for (const [query, count] of [
        ["", 4],
        ["&issue_type=task", 1],
        ["&issue_type=incident", 1],
        ["&issue_type=issue", 1],
      ] as const) {
        const request = `GET ${path}?labels=of-types&author_id=${me.id}${query}`;
        const { json } = await app.call(request, { as: "owner" });
        const found = Array.isArray(json) ? json.length : json.statistics?.counts.all;
        if (path !== "/issues_statistics" || json.statistics) expect(found, request).toBe(count);
      }
    }
  });

  it("keeps tasks and test cases from boards", async () => {
    const labels = "on-board";
    const call = (request: string, json?: object) =>
      app.call(request, { as: "owner", ...(json && { json }) });
    const { json: board } = await call("POST /projects/acme%2Fsite/boards", { name: "Types" });
    for (const issue_type of ["issue", "incident", "task", "test_case"]) {
      await make({ title: issue_type, issue_type, labels });
    }
    const { json: found } = await call("GET /projects/acme%2Fsite/labels/on-board");
    const path = `/projects/acme%2Fsite/boards/${board.id}/lists`;
    const { json: list } = await call(`POST ${path}`, { label_id: found.id });
    const query = `{ boardList(id: "gid://gitlab/List/${list.id}") { issuesCount issues { nodes { title } } } }`;
    const { boardList } = await ask(app, query);
    expect(boardList).toEqual({
      issuesCount: 2,
      issues: { nodes: [{ title: "issue" }, { title: "incident" }] },
    });
  });

  it("goes to another project with the issue, with the severity", async () => {
    const { iid } = await make({ issue_type: "incident", severity: "high" });
    const { json: core } = await app.call("GET /projects/acme%2Fteam%2Fcore", { as: "owner" });
    const { json } = await app.call(`POST ${ISSUES}/${iid}/move`, {
      as: "owner",
      json: { to_project_id: core.id },
    });
    expect(json).toMatchObject({ issue_type: "incident", severity: "HIGH" });
  });

  it("is in seeds, with the severity", async () => {
    const seeded = await testApp({
      seed: {
        users: [{ username: "ada", admin: true, tokens: [{ token: "token-of-owner" }] }],
        groups: [
          {
            path: "acme",
            projects: [
              {
                path: "site",
                issues: [
                  { title: "Down", author: "ada", issue_type: "incident", severity: "critical" },
                ],
              },
            ],
          },
        ],
      },
    });
    const { json } = await seeded.call(`GET ${ISSUES}/1`, { as: "owner" });
    await seeded.dispose();
    expect(json).toMatchObject({ issue_type: "incident", severity: "CRITICAL" });
  });
});

describe("the severity of an incident", () => {
  it("is set and changed, which a note tells", async () => {
    const { iid, ...made } = await make({ issue_type: "incident", severity: "low" });
    expect(made).toMatchObject({ severity: "LOW" });
    expect((await put(iid, { severity: "critical" })).json).toMatchObject({ severity: "CRITICAL" });
    expect((await put(iid, { severity: "unknown" })).json).toMatchObject({ severity: "UNKNOWN" });
    expect(await notesOf(iid)).toEqual([
      "changed the severity to **Critical - S1**",
      "changed the severity to **Unknown**",
    ]);
  });

  it("is of incidents only", async () => {
    const refused = { message: { severity: ["can be set for incidents only"] } };
    expect(await post({ title: "Typed", severity: "low" })).toMatchObject({
      status: 400,
      json: refused,
    });
    const { iid } = await make({});
    expect(await put(iid, { severity: "low" })).toMatchObject({ status: 400, json: refused });
    expect((await put(iid, { issue_type: "incident", severity: "low" })).json).toMatchObject({
      severity: "LOW",
    });
    expect((await put(iid, { issue_type: "issue" })).json).toMatchObject({ severity: "UNKNOWN" });
    expect((await put(iid, { severity: "bad" })).status).toBe(400);
  });

  it("is not set by those who may not plan", async () => {
    const { iid } = await make({ issue_type: "incident", severity: "low" });
    const [guest] = (await app.call("GET /users?username=guest", { as: "owner" })).json;
    await put(iid, { assignee_ids: [guest.id] });
    expect((await put(iid, { severity: "high" }, "guest")).json).toMatchObject({ severity: "LOW" });
  });
});

describe("quick actions", () => {
  const comment = async (iid: number, body: string) =>
    (await app.call(`POST ${ISSUES}/${iid}/notes`, { as: "owner", json: { body } })).json;

  it("change the type and the severity", async () => {
    const { iid } = await make({});
    for (const [body, summary, seen] of [
      ["/promote_to_incident", "Issue has been promoted to incident.", { type: "INCIDENT" }],
      ["/severity S2", "Severity was set to High - S2.", { severity: "HIGH" }],
      ["/severity critical", "Severity was set to Critical - S1.", { severity: "CRITICAL" }],
      ["/type Test Case", "Type changed successfully.", { type: "TEST_CASE" }],
      ["/type task", "Type changed successfully.", { type: "TASK" }],
      ["/promote_to issue", "Promoted successfully.", { type: "ISSUE" }],
    ] as const) {
      expect(await comment(iid, body), body).toMatchObject({ summary: [summary] });
      const { json } = await app.call(`GET ${ISSUES}/${iid}`, { as: "owner" });
      expect(json, body).toMatchObject(seen);
    }
    for (const body of ["/type epic", "/promote_to epic", "/severity S1", "/type issue"]) {
      expect(await comment(iid, body), body).toEqual({
        message: "400 Bad request - Failed to apply commands.",
      });
    }
  });

  it("make a new issue an incident", async () => {
    expect(await make({ description: "Down\n/promote_to_incident" })).toMatchObject({
      issue_type: "incident",
      description: "Down",
    });
  });
});

it("webhooks tell the type, and call all but issues work items", async () => {
  const { json: hook } = await app.call("POST /projects/acme%2Fsite/hooks", {
    as: "owner",
    json: {
      url: receiver.url,
      push_events: false,
      issues_events: true,
      confidential_issues_events: true,
    },
  });
  const heard = (count: number) => waitFor(async () => receiver.received.length === count);
  const { iid } = await make({ issue_type: "incident", severity: "low" });
  await heard(1);
  const changes = [
    { severity: "high" },
    { issue_type: "task", confidential: true },
    { issue_type: "issue" },
  ];
  for (const [at, json] of changes.entries()) {
    await put(iid, json);
    await heard(at + 2);
  }
  await app.call(`DELETE /projects/acme%2Fsite/hooks/${hook.id}`, { as: "owner" });
  const told = receiver.received.map(({ json }) => json);
  expect(told).toMatchObject([
    { object_kind: "work_item", event_type: "work_item", object_attributes: { action: "open" } },
    {
      object_kind: "work_item",
      object_attributes: { type: "Incident", severity: "high" },
      changes: { severity: { previous: "low", current: "high" } },
    },
    {
      object_kind: "work_item",
      event_type: "confidential_work_item",
      object_attributes: { type: "Task", severity: "unknown" },
      changes: { type: { previous: "Incident", current: "Task" } },
    },
    {
      object_kind: "issue",
      event_type: "confidential_issue",
      object_attributes: { type: "Issue" },
    },
  ]);
});
