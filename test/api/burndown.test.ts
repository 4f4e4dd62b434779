import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

const PROJECT = "/projects/acme%2Fsite";
let clock = Date.parse("2026-06-01T10:00:00.000Z");
let app: TestApp;
beforeAll(async () => {
  app = await testApp({ now: () => clock });
});
afterAll(() => app.dispose());

const call = async (request: string, json?: object, as: Person = "developer") => {
  const answer = await app.call(request, { as, ...(json && { json }) });
  expect([request, answer.status < 300, answer.text]).toEqual([request, true, answer.text]);
  return answer.json;
};

it.each(["group", "project"] as const)(
  "of a %s's milestone are in their order, up to the day it is due",
  async (kind) => {
    clock = Date.parse("2026-06-01T10:00:00.000Z");
    const path = kind === "group" ? "/groups/acme" : PROJECT;
    const dates = { start_date: "2026-06-01", due_date: "2026-06-10" };
    const { id } = await call(`POST ${path}/milestones`, { title: `Of a ${kind}`, ...dates });
    const issue = async (more: object) =>
      (await call(`POST ${PROJECT}/issues`, { title: "Work", milestone_id: id, ...more })).iid;
    const first = await issue({ weight: 3 });
    clock += 86_400_000;
    await issue({ confidential: true });
    clock += 86_400_000;
    await call(`PUT ${PROJECT}/issues/${first}`, { state_event: "close" });
    clock += 86_400_000;
    await call(`PUT ${PROJECT}/issues/${first}`, { state_event: "reopen" });
    clock = Date.parse("2026-06-11T00:00:00.000Z");
    await call(`PUT ${PROJECT}/issues/${first}`, { state_event: "close" });
    await issue({});
    const events = `GET ${path}/milestones/${id}/burndown_events`;
    const shown = [
      { created_at: "2026-06-01T10:00:00.000Z", weight: 3, action: "created" },
      { created_at: "2026-06-03T10:00:00.000Z", weight: 3, action: "closed" },
      { created_at: "2026-06-04T10:00:00.000Z", weight: 3, action: "reopened" },
    ];
    const hidden = { created_at: "2026-06-02T10:00:00.000Z", weight: null, action: "created" };
    app.statements.length = 0;
    expect(await call(events)).toEqual([shown[0], hidden, ...shown.slice(1)]);
    const reading = app.statements.filter((sql) => sql.includes("resource_state_events"));
    expect(reading.length).toBe(1);
    // Confidential issues are shown to those who can read them only.
    expect(await call(events, undefined, "guest")).toEqual(shown);
    const second = await app.call(`${events}?per_page=1&page=2`, { as: "developer" });
    expect([second.json, second.headers.get("x-total")]).toEqual([[hidden], "4"]);
    await call(`PUT ${path}/milestones/${id}`, { due_date: "" });
    expect(await call(events)).toEqual([]);
  },
);

it("of another project's milestone are not found", async () => {
  const { id } = await call("POST /groups/secret/milestones", { title: "Secret" });
  const answer = await app.call(`GET ${PROJECT}/milestones/${id}/burndown_events`, {
    as: "developer",
  });
  expect(answer.status).toBe(404);
});
