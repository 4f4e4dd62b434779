// What groups say about approvals, and what that means for the projects below them.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CodeProject, newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
let project: CodeProject;
const SETTING = "merge_request_approval_setting";
beforeAll(async () => {
  app = await testApp();
  project = await newCodeProject(app);
});
afterAll(() => app.dispose());

const ofGroup = (method: string, json?: object, as: Person = "owner", group = "secret") =>
  app.call(`${method} /groups/${group}/${SETTING}`, { as, ...(json && { json }) });
const ofProject = (method: string, json?: object) =>
  app.call(`${method} ${project.path}/${SETTING}`, { as: "owner", ...(json && { json }) });

const free = { locked: false, inherited_from: null };
const allowed = { value: true, ...free };
const not = { value: false, ...free };
const locked = { locked: true, inherited_from: "group" };
const NOTHING = {
  allow_author_approval: allowed,
  allow_committer_approval: allowed,
  allow_overrides_to_approver_list_per_merge_request: allowed,
  retain_approvals_on_push: allowed,
  selective_code_owner_removals: not,
  require_password_to_approve: not,
  require_reauthentication_to_approve: not,
};

it("are kept, and count in all projects and groups below", async () => {
  expect((await ofGroup("GET")).json).toEqual(NOTHING);
  await ofProject("PUT", { allow_author_approval: true });
  const json = { allow_author_approval: false, require_password_to_approve: true };
  const changed = await ofGroup("PUT", json);
  const after = {
    ...NOTHING,
    allow_author_approval: not,
    require_password_to_approve: allowed,
    require_reauthentication_to_approve: allowed,
  };
  expect([changed.status, changed.json]).toEqual([200, after]);
  expect((await ofGroup("GET")).json).toEqual(after);
  expect((await ofProject("GET")).json).toMatchObject({
    allow_author_approval: { value: false, ...locked },
    allow_committer_approval: free,
    require_password_to_approve: { value: true, ...locked },
  });
  const { json: older } = await app.call(`GET ${project.path}/approvals`, { as: "owner" });
  expect(older).toMatchObject({
    merge_requests_author_approval: false,
    require_password_to_approve: true,
  });
  const refused = await ofProject("PUT", { allow_author_approval: true });
  expect([refused.status, refused.json]).toEqual([
    400,
    { message: { merge_requests_author_approval: ["is locked by a group"] } },
  ]);
  expect((await ofProject("PUT", { allow_author_approval: false })).status).toBe(200);
  const { json: parent } = await app.call("GET /groups/secret", { as: "owner" });
  const below = { name: "below", path: "below", parent_id: parent.id };
  await app.call("POST /groups", { as: "owner", json: below });
  const inside = await ofGroup("GET", undefined, "owner", "secret%2Fbelow");
  expect(inside.json).toMatchObject({
    allow_author_approval: { value: false, ...locked },
    allow_committer_approval: allowed,
  });
  const lenient = { allow_author_approval: true };
  expect((await ofGroup("PUT", lenient, "owner", "secret%2Fbelow")).status).toBe(400);
  const audited = await app.call("GET /audit_events?per_page=10", { as: "admin" });
  expect(JSON.stringify(audited.json)).toContain('"approval settings changed"');
  const back = { allow_author_approval: true, require_password_to_approve: false };
  expect((await ofGroup("PUT", back)).json).toEqual(NOTHING);
  expect((await ofProject("GET")).json.allow_author_approval).toEqual(not);
});

it("let authors and committers approve, or not, and keep approvals", async () => {
  await ofProject("PUT", { allow_author_approval: true, retain_approvals_on_push: true });
  await project.commit("topic", { t: "t" }, { from: "main", as: "developer" });
  const { iid } = await project.open("topic");
  const path = `/merge_requests/${iid}`;
  const approve = (as: Person) => project.send("POST", `${path}/approve`, {}, as);
  await ofGroup("PUT", { allow_author_approval: false });
  expect((await approve("developer")).status).toBe(401);
  await ofGroup("PUT", { allow_author_approval: true });
  expect((await approve("developer")).status).toBe(201);
  const approvals = async () => (await project.get(`${path}/approvals`)).json.approved_by.length;
  await project.commit("topic", { u: "u" });
  expect(await approvals()).toBe(1);
  await ofGroup("PUT", { retain_approvals_on_push: false });
  await project.commit("topic", { v: "v" });
  expect(await approvals()).toBe(0);
  const rule = { name: "own", approvals_required: 1 };
  const override = () => project.send("POST", `${path}/approval_rules`, rule, "maintainer");
  await ofGroup("PUT", { allow_overrides_to_approver_list_per_merge_request: false });
  expect((await override()).status).toBeGreaterThanOrEqual(400);
  await ofGroup("PUT", { allow_overrides_to_approver_list_per_merge_request: true });
  expect((await override()).status).toBe(201);
});

it("are for owners, and say what they don't have", async () => {
  expect((await ofGroup("GET", undefined, "maintainer")).status).toBe(403);
  expect((await ofGroup("PUT", { allow_author_approval: true }, "maintainer")).status).toBe(403);
  const unsupported = await ofGroup("PUT", { selective_code_owner_removals: true });
  expect([unsupported.status, unsupported.json]).toEqual([
    400,
    { message: { selective_code_owner_removals: ["is not supported"] } },
  ]);
  expect((await ofGroup("PUT", {})).status).toBe(400);
});
