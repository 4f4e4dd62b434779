// External status checks: how they are asked for, what they are told, and what depends on what they say.
import { createHmac } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ask } from "../graphql/ask.ts";
import { type Person, type TestApp, testApp, waitFor } from "../helpers.ts";
import { type CodeProject, newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
let project: CodeProject;
/** What the service got. */
const received: { path: string; headers: Record<string, unknown>; text: string }[] = [];
let service: Server;
let url: string;
beforeAll(async () => {
  service = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const { url: path = "", headers } = request;
      received.push({ path, headers, text: Buffer.concat(chunks).toString() });
      response.end("ok");
    });
  });
  await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  app = await testApp({
    background: true,
    url: "https://pm.example.com",
    webhooks: { deliver: true, allowLocalRequests: true, interval: 10 },
  });
});
afterAll(async () => {
  await app.dispose();
  service.closeAllConnections();
  await new Promise<void>((resolve) => service.close(() => resolve()));
});
beforeEach(async () => {
  project = await newCodeProject(app);
  received.length = 0;
});

const call = (method: string, path = "", json: object = {}, as: Person = "maintainer") =>
  project.send(method, `/external_status_checks${path}`, json, as);
async function add(json: object = {}) {
  const made = await call("POST", "", { name: "Lab", external_url: url, ...json });
  expect(made.status, made.text).toBe(201);
  return made.json;
}
async function open(branch = "topic") {
  await project.commit(branch, { [`${branch}.txt`]: "t" }, { from: "main" });
  return project.open(branch);
}
const checks = async (iid: number) =>
  (await project.get(`/merge_requests/${iid}/status_checks`)).json;
const respond = (iid: number, json: object, as: Person = "developer") =>
  project.send("POST", `/merge_requests/${iid}/status_check_responses`, json, as);
const next = async () => {
  await waitFor(async () => received.length > 0);
  return received.shift() as (typeof received)[number];
};

describe("checks of a project", () => {
  it("are added, listed, changed and removed", async () => {
    await project.send("POST", "/protected_branches", { name: "stable*" }, "maintainer");
    const [branch] = (await project.get("/protected_branches", "maintainer")).json;
    const made = await add({ shared_secret: "hush", protected_branch_ids: [branch.id] });
    const expected = {
      id: expect.any(Number),
      name: "Lab",
      project_id: project.id,
      external_url: url,
      hmac: true,
      protected_branches: [
        {
          id: branch.id,
          project_id: project.id,
          name: "stable*",
          created_at: expect.any(String),
          updated_at: expect.any(String),
          code_owner_approval_required: false,
        },
      ],
    };
    expect(made).toEqual(expected);
    const listed = await project.get("/external_status_checks", "maintainer");
    expect([listed.status, listed.json]).toEqual([200, [expected]]);
    expect(listed.headers.get("x-total")).toBe("1");
    const other = `${url}/other?key=secret`;
    const changed = await call("PUT", `/${made.id}`, {
      name: "Bench",
      external_url: other,
      protected_branch_ids: [],
    });
    const after = { ...expected, name: "Bench", external_url: other, protected_branches: [] };
    // The secret does not go to another address.
    expect([changed.status, changed.json]).toEqual([200, { ...after, hmac: false }]);
    expect(await app.store.rows("select url from hooks where check_name = 'Bench'")).toEqual([
      [""],
    ]);
    const secret = await call("PUT", `/${made.id}`, { shared_secret: "new" });
    expect(secret.json).toEqual(after);
    expect((await call("PUT", `/${made.id}`, { shared_secret: null })).json.hmac).toBe(false);
    expect((await call("DELETE", `/${made.id}`)).status).toBe(204);
    expect((await call("DELETE", `/${made.id}`)).status).toBe(404);
    expect((await call("PUT", `/${made.id}`, { name: "x" })).status).toBe(404);
  });

  it("are no hooks", async () => {
    const { id } = await add();
    expect((await project.get("/hooks", "maintainer")).json).toEqual([]);
    expect((await project.get(`/hooks/${id}`, "maintainer")).status).toBe(404);
    const hook = await project.send("POST", "/hooks", { url }, "maintainer");
    expect((await call("DELETE", `/${hook.json.id}`)).status).toBe(404);
  });

  it.each([
    [{ external_url: "http://x.test" }, 400, '400 (Bad request) "name" not given'],
    [{ name: "x" }, 400, '400 (Bad request) "external_url" not given'],
    [{ name: " ", external_url: "http://x.test" }, 400, { name: ["can't be blank"] }],
    [{ name: "Lab", external_url: "http://x.test" }, 422, ["Name has already been taken"]],
    [
      { name: "x", external_url: "http://x.test", protected_branch_ids: [4711] },
      400,
      { protected_branch_ids: ["must be those of protected branches of the project"] },
    ],
  ])("are refused with %j", async (json, status, message) => {
    await add();
    const answer = await call("POST", "", json);
    expect([answer.status, answer.json]).toEqual([status, { message }]);
  });

  it("have addresses of their own that can be called", async () => {
    await add();
    const same = await call("POST", "", { name: "Other", external_url: url });
    expect([same.status, same.json]).toEqual([
      422,
      { message: ["External url has already been taken"] },
    ]);
    const wrong = await call("POST", "", { name: "Other", external_url: "ftp://x.test" });
    expect([wrong.status, wrong.json]).toEqual([422, { error: "Invalid url given" }]);
  });

  it("are audited", async () => {
    const { id } = await add();
    await call("PUT", `/${id}`, { name: "New" });
    await call("DELETE", `/${id}`);
    const { json } = await app.call("GET /audit_events?per_page=3", { as: "admin" });
    expect(json.map((one: { details: object }) => one.details)).toMatchObject([
      { custom_message: "status check removed" },
      { custom_message: "status check changed" },
      { custom_message: "status check added" },
    ]);
  });
});

describe("a merge request", () => {
  it("has checks that are told of it, with a signature", async () => {
    const { id } = await add({ shared_secret: "hush" });
    const { iid } = await open();
    const { headers, text } = await next();
    expect(JSON.parse(text)).toMatchObject({
      object_kind: "merge_request",
      object_attributes: { iid, action: "open" },
      external_approval_rule: { id, name: "Lab", external_url: url },
    });
    const signature = createHmac("sha256", "hush").update(text).digest("hex");
    expect(headers["x-gitlab-signature"]).toBe(signature);
    expect(headers["x-gitlab-token"]).toBe(undefined);
    expect(await checks(iid)).toEqual([{ id, name: "Lab", external_url: url, status: "pending" }]);
    await project.send("PUT", `/merge_requests/${iid}`, { title: "Other" });
    expect(JSON.parse((await next()).text).object_attributes.action).toBe("update");
  });

  it("has only checks of its target branch", async () => {
    await project.send("POST", "/protected_branches", { name: "stable*" }, "maintainer");
    const [branch] = (await project.get("/protected_branches", "maintainer")).json;
    await add({ name: "Stable", external_url: `${url}/stable`, protected_branch_ids: [branch.id] });
    await add({ name: "All" });
    const { iid } = await open();
    expect(JSON.parse((await next()).text).external_approval_rule.name).toBe("All");
    expect((await checks(iid)).map(({ name }: { name: string }) => name)).toEqual(["All"]);
    await project.commit("stable-1", { s: "s" }, { from: "main" });
    await project.send("PUT", `/merge_requests/${iid}`, { target_branch: "stable-1" });
    const told = [await next(), await next()].map(({ path }) => path);
    expect(told.sort()).toEqual(["/", "/stable"]);
    expect((await checks(iid)).length).toBe(2);
  });

  it("is not merged before all have passed, if the project wants that; a push makes them stale", async () => {
    const { id } = await add();
    const setting = { only_allow_merge_if_all_status_checks_passed: true };
    const set = await project.send("PUT", "", setting, "maintainer");
    expect(set.json).toMatchObject(setting);
    const { iid, sha } = await open();
    const merge = () => project.send("PUT", `/merge_requests/${iid}/merge`, {}, "maintainer");
    const status = async () =>
      (await project.get(`/merge_requests/${iid}`)).json.detailed_merge_status;
    expect(await status()).toBe("status_checks_must_pass");
    const { id: request } = (await project.get(`/merge_requests/${iid}`)).json;
    const query = `{ mergeRequest(id: "gid://gitlab/MergeRequest/${request}") { detailedMergeStatus } }`;
    expect(await ask(app, query, {}, "developer")).toEqual({
      mergeRequest: { detailedMergeStatus: "EXTERNAL_STATUS_CHECKS" },
    });
    expect((await merge()).status).toBe(405);
    const failed = await respond(iid, { sha, external_status_check_id: id, status: "failed" });
    expect([failed.status, failed.json]).toMatchObject([
      201,
      {
        id: expect.any(Number),
        merge_request: { iid, project_id: project.id },
        external_status_check: { id, name: "Lab", hmac: false, protected_branches: [] },
      },
    ]);
    expect(await checks(iid)).toMatchObject([{ status: "failed" }]);
    expect((await merge()).status).toBe(405);
    await respond(iid, { sha, external_status_check_id: id });
    expect(await checks(iid)).toMatchObject([{ status: "passed" }]);
    expect(await status()).toBe("mergeable");
    const head = await project.commit("topic", { "more.txt": "m" });
    expect(await checks(iid)).toMatchObject([{ status: "pending" }]);
    expect(await status()).toBe("status_checks_must_pass");
    const stale = await respond(iid, { sha, external_status_check_id: id });
    expect([stale.status, stale.json]).toEqual([
      409,
      { message: `SHA does not match HEAD of source branch: ${head}` },
    ]);
    await respond(iid, { sha: head, external_status_check_id: id });
    expect((await merge()).json.state).toBe("merged");
  });

  it("that waits is merged when the last check has passed", async () => {
    const { id } = await add();
    const setting = { only_allow_merge_if_all_status_checks_passed: true };
    await project.send("PUT", "", setting, "maintainer");
    const { iid, sha } = await open();
    const json = { auto_merge: true };
    const waits = await project.send("PUT", `/merge_requests/${iid}/merge`, json, "maintainer");
    expect(waits.json).toMatchObject({ state: "opened", merge_when_pipeline_succeeds: true });
    const said = await respond(iid, { sha, external_status_check_id: id });
    expect(said.status).toBe(201);
    const state = async () => (await project.get(`/merge_requests/${iid}`)).json.state;
    await waitFor(async () => (await state()) === "merged");
  });

  it("has checks that failed asked once more", async () => {
    const { id } = await add();
    const { iid, sha } = await open();
    await next();
    const retry = (check = id) =>
      project.send("POST", `/merge_requests/${iid}/status_checks/${check}/retry`);
    const early = await retry();
    expect([early.status, early.json]).toEqual([
      422,
      { message: "External status check must be failed" },
    ]);
    await respond(iid, { sha, external_status_check_id: id, status: "failed" });
    const again = await retry();
    expect([again.status, again.json]).toEqual([202, { message: "202 Accepted" }]);
    expect(JSON.parse((await next()).text).external_approval_rule.id).toBe(id);
    expect(await checks(iid)).toMatchObject([{ status: "pending" }]);
    expect((await retry(4711)).status).toBe(404);
  });

  it("takes no word of others, or of other checks", async () => {
    const { id } = await add();
    const { iid, sha } = await open();
    const answer = await respond(iid, { sha, external_status_check_id: 4711 });
    expect(answer.status).toBe(404);
    const known = { sha, external_status_check_id: id };
    expect((await respond(iid, known, "reporter")).status).toBe(403);
    expect((await respond(iid, { ...known, status: "maybe" })).json).toEqual({
      message: { status: ["does not have a valid value"] },
    });
    expect((await respond(4711, known)).status).toBe(404);
  });
});
