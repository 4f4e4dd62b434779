import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite";
const get = async (path: string, as: Person = "developer") =>
  (await app.call(`GET ${path}`, { as })).json;
const send = async (request: string, json: object, as: Person = "developer") => {
  const answer = await app.call(request, { as, json });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.json;
};

describe("fields that strict clients need", () => {
  const described = "Do\n- [x] one\n* [ ] two\n1. [X] three\n2) [ ] four\n[x] no task";

  it("of issues", async () => {
    const expected = (iid: number) => ({
      type: "ISSUE",
      issue_type: "issue",
      severity: "UNKNOWN",
      references: { short: `#${iid}`, relative: `#${iid}`, full: `acme/site#${iid}` },
      task_completion_status: { count: 4, completed_count: 2 },
      task_status: "2 of 4 checklist items completed",
      has_tasks: true,
      moved_to_id: null,
      epic: null,
      epic_iid: null,
      iteration: null,
      imported: false,
      imported_from: "none",
    });
    const made = await send(`POST ${SITE}/issues`, { title: "One", description: described });
    expect(made).toMatchObject({ ...expected(made.iid), blocking_issues_count: 0 });
    const path = `${SITE}/issues/${made.iid}`;
    expect(await get(path)).toMatchObject(expected(made.iid));
    expect((await get(`${SITE}/issues`))[0]).toMatchObject(expected(made.iid));
    expect((await get("/issues?scope=all"))[0]).toMatchObject(expected(made.iid));
    const [ofGroup] = await get("/groups/acme/issues");
    expect(ofGroup.references.relative).toBe(`site#${made.iid}`);

    const other = await send(`POST ${SITE}/issues`, { title: "Two" });
    expect(other).toMatchObject({
      has_tasks: false,
      task_completion_status: { count: 0, completed_count: 0 },
    });
    expect(other).not.toHaveProperty("task_status");
    const to = { target_project_id: "acme/site", target_issue_iid: other.iid };
    await send(`POST ${path}/links`, { ...to, link_type: "blocks" }, "reporter");
    expect((await get(path)).blocking_issues_count).toBe(1);
    await send(`PUT ${SITE}/issues/${other.iid}`, { state_event: "close" });
    expect((await get(path)).blocking_issues_count).toBe(0);

    const core = await get("/projects/acme%2Fteam%2Fcore");
    const moved = await send(`POST ${path}/move`, { to_project_id: core.id });
    expect((await get(path)).moved_to_id).toBe(moved.id);
    const [below] = await get("/groups/acme/issues?search=One&state=opened");
    expect(below.references).toEqual({
      short: `#${moved.iid}`,
      relative: `acme/team/core#${moved.iid}`,
      full: `acme/team/core#${moved.iid}`,
    });
  });

  it("of merge requests", async () => {
    const made = await send(`POST ${SITE}/merge_requests`, {
      title: "One",
      description: described,
      source_branch: "one",
      target_branch: "main",
    });
    const references = { short: "!1", relative: "!1", full: "acme/site!1" };
    const expected = {
      references,
      task_completion_status: { count: 4, completed_count: 2 },
      prepared_at: made.created_at,
      merge_after: null,
      imported: false,
      imported_from: "none",
    };
    expect(made).toMatchObject(expected);
    expect(await get(`${SITE}/merge_requests/1`)).toMatchObject(expected);
    expect((await get(`${SITE}/merge_requests`))[0]).toMatchObject(expected);
    expect((await get("/groups/acme/merge_requests"))[0].references.relative).toBe("site!1");
    const asked = `${SITE}/merge_requests/1?include_rebase_in_progress=true&include_diverged_commits_count=true`;
    expect(await get(asked)).toMatchObject({ rebase_in_progress: false });
  });

  it("of merge requests: whether they are squashed, also by their project", async () => {
    const path = `${SITE}/merge_requests/1`;
    for (const [squash_option, squash, expected] of [
      ["always", false, true],
      ["never", true, false],
      ["default_off", true, true],
      ["default_on", false, false],
    ] as const) {
      await send(`PUT ${SITE}`, { squash_option: "default_off" }, "owner");
      await send(`PUT ${path}`, { squash });
      await send(`PUT ${SITE}`, { squash_option }, "owner");
      expect(await get(path)).toMatchObject({ squash, squash_on_merge: expected });
    }
  });

  it("of projects without branches: the one that their first one is expected to be", async () => {
    const { id } = await send("POST /projects", { name: "Empty" });
    const branch = async () => (await get(`/projects/${id}`)).default_branch;
    expect(await branch()).toBe("main");
    await send("PUT /application/settings", { default_branch_name: "trunk" }, "admin");
    expect(await branch()).toBe("trunk");
    await send("PUT /application/settings", { default_branch_name: null }, "admin");
    expect(await branch()).toBe("main");
  });

  it("of milestones: whether they are over", async () => {
    const path = `${SITE}/milestones`;
    const over = await send(`POST ${path}`, { title: "Over", due_date: "2020-01-01" });
    const open = await send(`POST ${path}`, { title: "Open" });
    const later = await send(`POST ${path}`, { title: "Later", due_date: "2999-01-01" });
    expect([over.expired, open.expired, later.expired]).toEqual([true, false, false]);
    expect((await get("/groups/acme/milestones"))[0]).toHaveProperty(
      "expired",
      expect.any(Boolean),
    );
    const issue = await send(`POST ${SITE}/issues`, { title: "Late", milestone_id: over.id });
    expect(issue.milestone.expired).toBe(true);
  });

  it("of members: since when, and whether they use a seat", async () => {
    const all = await get("/groups/acme/members/all?show_seat_info=true");
    const seats = all.map(({ username, is_using_seat, created_at }: Record<string, unknown>) => {
      expect(created_at).toMatch(/^\d{4}-/);
      return [username, is_using_seat];
    });
    expect(Object.fromEntries(seats)).toMatchObject({ owner: true, developer: true, guest: false });
    const [plain] = await get("/groups/acme/members/all");
    expect(plain).not.toHaveProperty("is_using_seat");
    expect((await get(`${SITE}/members/all`))[0].created_at).toMatch(/^\d{4}-/);
  });

  it("of users: what they do", async () => {
    const { id, ...before } = await get("/user");
    expect(before).toMatchObject({ job_title: "", pronouns: null, work_information: null });
    const profile = {
      job_title: "Engineer",
      pronouns: "they/them",
      discord: "1234567890",
      github: "dev",
    };
    const changed = await send(`PUT /users/${id}`, profile, "admin");
    expect(changed).toMatchObject({ ...profile, work_information: "Engineer" });
    await send(`PUT /users/${id}`, { organization: "Acme" }, "admin");
    expect(await get(`/users/${id}`, "guest")).toMatchObject({
      ...profile,
      work_information: "Engineer at Acme",
    });
    const back = { job_title: null, pronouns: "", organization: "" };
    expect(await send(`PUT /users/${id}`, back, "admin")).toMatchObject({
      job_title: "",
      work_information: null,
    });
  });
});
