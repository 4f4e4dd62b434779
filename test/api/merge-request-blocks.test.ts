// Merge requests that block others: what is shown, what is refused, and that merging waits.
import { afterAll, beforeAll, expect, it } from "vitest";
import { ask } from "../graphql/ask.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CodeProject, newCodeProject } from "./_merge-requests.ts";

let app: TestApp;
let project: CodeProject;
let branches = 0;

beforeAll(async () => {
  app = await testApp({ background: false });
  project = await newCodeProject(app);
});
afterAll(() => app.dispose());

interface Opened {
  readonly id: number;
  readonly iid: number;
}

async function open(where = project): Promise<Opened> {
  branches += 1;
  const source = `blocked-${branches}`;
  await where.commit(source, { [`${source}.txt`]: "text\n" }, { from: "main" });
  return where.open(source);
}

const block = ({ iid }: Opened, blocking: number, as: Person = "developer") =>
  project.send(
    "POST",
    `/merge_requests/${iid}/blocks`,
    { blocking_merge_request_id: blocking },
    as,
  );
const ids = async (path: string, as: Person = "developer") =>
  (await project.get(`/merge_requests/${path}`, as)).json.map(({ id }: { id: number }) => id);
const merge = ({ iid }: Opened, json: object = {}) =>
  project.send("PUT", `/merge_requests/${iid}/merge`, json, "maintainer");
const shown = async ({ iid }: Opened) => (await project.get(`/merge_requests/${iid}`)).json;

it("a merge request is not merged before those that block it", async () => {
  const [first, second] = [await open(), await open()];
  const made = await block(second, first.id);
  expect(made).toMatchObject({
    status: 201,
    json: {
      id: expect.any(Number),
      blocking_merge_request: { id: first.id, state: "opened", author: { username: "developer" } },
      blocked_merge_request: { id: second.id },
      project_id: project.id,
    },
  });
  const path = `/merge_requests/${second.iid}/blocks`;
  expect((await project.get(path)).json).toEqual([made.json]);
  expect((await project.get(`${path}/${made.json.id}`)).json).toEqual(made.json);
  expect((await project.get(`/merge_requests/${first.iid}/blockees`)).json).toEqual([made.json]);
  expect(await ids(`${first.iid}/blocks`)).toEqual([]);
  expect((await shown(second)).detailed_merge_status).toBe("merge_request_blocked");
  const query = `{ mergeRequest(id: "gid://gitlab/MergeRequest/${second.id}") { detailedMergeStatus } }`;
  expect(await ask(app, query, {}, "developer")).toEqual({
    mergeRequest: { detailedMergeStatus: "BLOCKED_STATUS" },
  });
  expect(await merge(second)).toMatchObject({
    status: 405,
    json: { message: "405 Method Not Allowed" },
  });
  expect((await merge(first)).status).toBe(200);
  expect((await shown(second)).detailed_merge_status).toBe("mergeable");
  expect((await merge(second)).json.state).toBe("merged");
});

it("one that was closed blocks still, until the block is removed", async () => {
  const [first, second] = [await open(), await open()];
  const { json } = await block(second, first.id);
  await project.send("PUT", `/merge_requests/${first.iid}`, { state_event: "close" });
  expect((await merge(second)).status).toBe(405);
  const path = `/merge_requests/${second.iid}/blocks/${json.id}`;
  expect((await project.send("DELETE", path, {}, "reporter")).status).toBe(403);
  expect((await project.send("DELETE", path)).status).toBe(204);
  expect((await project.send("DELETE", path)).status).toBe(404);
  expect((await merge(second)).status).toBe(200);
});

it("what waits to be merged is merged after the last one that blocks it", async () => {
  const [first, second, third] = [await open(), await open(), await open()];
  await block(third, first.id);
  const { json } = await block(third, second.id);
  const asked = await merge(third, { auto_merge: true });
  expect(asked.json).toMatchObject({ state: "opened", merge_when_pipeline_succeeds: true });
  await merge(first);
  await app.admin.maintenance.runPipelines();
  expect((await shown(third)).state).toBe("opened");
  await project.send("DELETE", `/merge_requests/${third.iid}/blocks/${json.id}`);
  await app.admin.maintenance.runPipelines();
  expect((await shown(third)).state).toBe("merged");
});

it("a merge request is blocked by another one once, by none that is not there, and not by itself", async () => {
  const [first, second] = [await open(), await open()];
  await block(second, first.id);
  const twice = await block(second, first.id);
  expect([twice.status, twice.json]).toEqual([409, { message: "Block already exists" }]);
  const own = await block(second, second.id);
  expect([own.status, own.json]).toEqual([422, { message: "This block is self-referential" }]);
  expect((await block(second, 999_999)).status).toBe(404);
  expect((await block(second, first.id, "reporter")).status).toBe(403);
  expect((await block({ id: 0, iid: 999 }, first.id)).status).toBe(404);
  const missing = await project.send("POST", `/merge_requests/${second.iid}/blocks`);
  expect(missing.json).toEqual({
    message: '400 (Bad request) "blocking_merge_request_id" not given',
  });
});

it("those of other projects are shown to who may read them, and block whoever looks", async () => {
  const other = await newCodeProject(app);
  const { json: groups } = await app.call("POST /groups", {
    as: "owner",
    json: { name: "hidden", path: "hidden" },
  });
  const moved = await app.call(`PUT ${other.path}/transfer`, {
    as: "owner",
    json: { namespace: groups.id },
  });
  expect(moved.status, moved.text).toBe(200);
  await other.commit("elsewhere", { "e.txt": "e\n" }, { from: "main", as: "owner" });
  const hidden = await other.open("elsewhere", {}, "owner");
  const request = await open();
  expect((await block(request, hidden.id)).status).toBe(404);
  const { status, json } = await block(request, hidden.id, "owner");
  expect([status, json.blocking_merge_request.id]).toEqual([201, hidden.id]);
  const path = `${request.iid}/blocks`;
  expect(await ids(path, "owner")).toEqual([json.id]);
  expect(await ids(path)).toEqual([]);
  expect((await project.get(`/merge_requests/${path}/${json.id}`)).status).toBe(404);
  expect((await project.send("DELETE", `/merge_requests/${path}/${json.id}`)).status).toBe(404);
  expect((await shown(request)).detailed_merge_status).toBe("merge_request_blocked");
});
