import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type CiProject, ciProject } from "./_pipelines.ts";

let app: TestApp;
let project: CiProject;
let job: { id: number; token: string };
beforeAll(async () => {
  app = await testApp({ background: false });
  project = await ciProject(app, "sizes", "test: {script: [make]}\n");
  await project.call("POST /pipeline", { as: "developer", json: { ref: "main" } });
  const json = { runner_type: "project_type", project_id: project.id };
  const { token } = (await app.call("POST /user/runners", { as: "owner", json })).json;
  job = (await app.call("POST /jobs/request", { json: { token } })).json;
});
afterAll(() => app.dispose());

const MEBIBYTE = 1024 * 1024;

/** Uploads an artifact of a type, and returns the status of the answer. */
async function upload(bytes: number, type: string): Promise<number> {
  const form = new FormData();
  form.append("file", new Blob([Buffer.alloc(bytes)]), "file");
  const answer = await app.call(`POST /jobs/${job.id}/artifacts?artifact_type=${type}`, {
    headers: { "job-token": job.token },
    body: form,
  });
  if (answer.status !== 201) {
    expect(answer.json).toEqual({ message: "413 Request Entity Too Large" });
  }
  return answer.status;
}

const files = async () =>
  Number((await app.store.rows("select count(*) from stored_files"))[0]?.[0]);
const set = async (path: string, size: number | null, as: Person = "admin") =>
  (await app.call(`PUT ${path}`, { as, json: { max_artifacts_size: size } })).status;
const shown = async (path: string) =>
  (await app.call(`GET ${path}`, { as: "admin" })).json.max_artifacts_size;

it("is at most what the project says, else the nearest group, else the instance", async () => {
  const { json: group } = await app.call("GET /groups/secret", { as: "owner" });
  const places = ["/application/settings", `/groups/${group.id}`, project.path] as const;
  const [instance, ofGroup, ofProject] = places;
  expect(await Promise.all(places.map(shown))).toEqual([100, null, null]);
  expect(await upload(MEBIBYTE + 1, "archive")).toBe(201);
  expect(await set(instance, 1)).toBe(200);
  const before = await files();
  expect(await upload(MEBIBYTE + 1, "metadata")).toBe(413);
  expect(await files()).toBe(before);
  expect(await upload(MEBIBYTE, "metadata")).toBe(201);
  expect(await set(ofGroup, 3)).toBe(200);
  expect(await upload(3 * MEBIBYTE + 1, "trace")).toBe(413);
  expect(await upload(3 * MEBIBYTE, "trace")).toBe(201);
  expect(await set(ofProject, 2)).toBe(200);
  expect(await upload(2 * MEBIBYTE + 1, "sast")).toBe(413);
  expect(await upload(2 * MEBIBYTE, "sast")).toBe(201);
  expect(await Promise.all(places.map(shown))).toEqual([1, 3, 2]);
  // What is there may be sent again by others; only administrators change it.
  expect([await set(ofProject, 2, "owner"), await set(ofProject, 5, "owner")]).toEqual([200, 403]);
  expect([await set(ofGroup, 3, "owner"), await set(ofGroup, null, "owner")]).toEqual([200, 403]);
  const made = { name: "Sizes", max_artifacts_size: 5 };
  expect((await app.call("POST /projects", { as: "owner", json: made })).status).toBe(403);
  expect(await set(ofProject, null)).toBe(200);
  expect(await upload(3 * MEBIBYTE, "dast")).toBe(201);
  expect(await set(ofGroup, null)).toBe(200);
  expect(await upload(MEBIBYTE + 1, "terraform")).toBe(413);
});

it.each([0, -1, 1025, 1.5, "much"])("can't be %s", async (size) => {
  const refused = [];
  for (const path of ["/application/settings", "/groups/secret", project.path]) {
    refused.push(await set(path, size as number));
  }
  expect(refused).toEqual([400, 400, 400]);
});
