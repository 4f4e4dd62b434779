import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const SITE = "/projects/acme%2Fsite";

beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

describe.each([
  ["issues", "Issue"],
  ["merge_requests", "MergeRequest"],
])("the history of %s", (path, type) => {
  let at: string;
  let id: number;
  let milestones: { id: number; title: string }[];

  const change = async (json: object, as: Person = "owner") => {
    const changed = await app.call(`PUT ${at}`, { as, json });
    expect(changed.status, changed.text).toBe(200);
  };
  const events = async (kind: string) => {
    const { status, json } = await app.call(`GET ${at}/resource_${kind}_events`);
    expect(status).toBe(200);
    return json;
  };

  beforeAll(async () => {
    for (const title of [`${path} 1`, `${path} 2`]) {
      await app.call(`POST ${SITE}/milestones`, { as: "owner", json: { title } });
    }
    milestones = (await app.call(`GET ${SITE}/milestones?search=${path}`, { as: "owner" })).json;
    const { json } = await app.call(`POST ${SITE}/${path}`, {
      as: "developer",
      json: {
        title: "Work",
        labels: "UX,Testing",
        milestone_id: milestones[0]?.id,
        source_branch: "a",
        target_branch: "main",
      },
    });
    id = json.id;
    at = `${SITE}/${path}/${json.iid}`;
  });

  it("has labels that were added and removed", async () => {
    await change({ add_labels: "Development", remove_labels: "UX" });
    await change({ labels: "Development,Testing" });
    const all = await events("label");
    const shown = all.map((event: { label: { name: string }; action: string }) => [
      event.label.name,
      event.action,
    ]);
    expect(shown.slice(0, 2).sort()).toEqual([
      ["Testing", "add"],
      ["UX", "add"],
    ]);
    expect(shown.slice(2)).toEqual([
      ["Development", "add"],
      ["UX", "remove"],
    ]);
    expect(all[2]).toEqual({
      id: expect.any(Number),
      user: expect.objectContaining({ username: "owner" }),
      created_at: expect.stringMatching(/Z$/),
      resource_type: type,
      resource_id: id,
      label: {
        id: expect.any(Number),
        name: "Development",
        color: "#0000ff",
        description: "Being built",
      },
      action: "add",
    });
    const one = await app.call(`GET ${at}/resource_label_events/${all[2].id}`);
    expect(one.json).toEqual(all[2]);
    expect((await app.call(`GET ${at}/resource_label_events/4711`)).status).toBe(404);
  });

  it("has milestones that were set and removed", async () => {
    await change({ milestone_id: milestones[1]?.id });
    await change({ milestone_id: milestones[1]?.id, title: "More work" });
    await change({ milestone_id: null });
    const all = await events("milestone");
    expect(all).toMatchObject([
      { user: { username: "developer" }, milestone: { id: milestones[0]?.id }, action: "add" },
      { user: { username: "owner" }, milestone: { id: milestones[1]?.id }, action: "add" },
      { resource_type: type, milestone: { id: milestones[1]?.id }, action: "remove" },
    ]);
    expect(all[0].state).toBe("opened");
  });

  it("has states", async () => {
    await change({ state_event: "close" });
    await change({ state_event: "close", title: "Done" });
    await change({ state_event: "reopen" }, "developer");
    const states = ["closed", "reopened"];
    if (type === "MergeRequest") {
      await app.call(`PUT ${at}/merge`, { as: "owner" });
      states.push("merged");
    }
    const all = await events("state");
    expect(all.map(({ state }: { state: string }) => state)).toEqual(states);
    expect(all[1]).toEqual({
      id: expect.any(Number),
      user: expect.objectContaining({ username: "developer" }),
      created_at: expect.stringMatching(/Z$/),
      resource_type: type,
      resource_id: id,
      source_commit: null,
      source_merge_request_id: null,
      state: "reopened",
    });
  });

  it("outlives its labels, and belongs to the ghost user when its user is deleted", async () => {
    const { json } = await app.call(`POST ${SITE}/labels`, {
      as: "owner",
      json: { name: `of ${path}`, color: "#000" },
    });
    await change({ add_labels: json.name }, "maintainer");
    await app.call(`DELETE ${SITE}/labels/${json.id}`, { as: "owner" });
    expect((await events("label")).at(-1)).toMatchObject({ label: null, action: "add" });
    const other = await testApp();
    await other.call(`POST ${SITE}/${path}`, {
      as: "developer",
      json: { title: "T", labels: "UX", source_branch: "a", target_branch: "main" },
    });
    const [user] = (await other.call("GET /users?username=developer")).json;
    await other.call(`DELETE /users/${user.id}`, { as: "admin" });
    const left = await other.call(`GET ${SITE}/${path}/1/resource_label_events`);
    expect(left.json).toMatchObject([{ user: { username: "ghost" } }]);
    await other.dispose();
  });
});
