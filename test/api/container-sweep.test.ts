import { beforeEach, expect, it } from "vitest";
import { baseSeed, type TestApp, testApp } from "../helpers.ts";
import { digestOf, IMAGE, INDEX, pushBlob, pusher, pushImage, putManifest } from "./_registry.ts";

let app: TestApp;
let now: number;
const SITE = "acme/site";
const DAY = 86_400_000;

beforeEach(async () => {
  now = Date.parse("2026-12-01T10:00:00Z");
  app = await testApp({ seed: baseSeed, now: () => now, background: false });
  return () => app.close();
});

/** Lets a day pass, and sweeps. */
async function sweep(days = 1): Promise<void> {
  for (let day = 0; day < days; day += 1) {
    now += DAY + 1000;
    await app.admin.maintenance.sweepDaily();
  }
}

const count = async (table: string) => {
  const [row] = await app.store.rows(`select count(*) from ${table}`);
  return Number(row?.[0]);
};
const statusOf = async (path: string) => (await (await pusher(app))(`HEAD ${SITE}/${path}`)).status;

it("images with tags stay, with their blobs, and what an index lists or refers to them", async () => {
  const client = await pusher(app);
  const { digest, manifest, config } = await pushImage(client, SITE, "1.0");
  const child = { mediaType: IMAGE, digest, size: manifest.length };
  const index = { schemaVersion: 2, mediaType: INDEX, manifests: [child] };
  await putManifest(client, SITE, "all", index, INDEX);
  const signature = { schemaVersion: 2, config, layers: [], subject: child };
  await putManifest(client, SITE, digestOf(JSON.stringify(signature)), signature);
  await client(`DELETE ${SITE}/manifests/1.0`);
  await sweep(4);
  expect([await count("container_manifests"), await count("container_blobs")]).toEqual([3, 2]);
});

it("images without tags are deleted a day later, then their blobs, and their files", async () => {
  const client = await pusher(app);
  const { digest, layers } = await pushImage(client, SITE, "1.0");
  await pushBlob(client, SITE, "without a manifest");
  await client(`DELETE ${SITE}/manifests/1.0`);
  await sweep();
  expect(await statusOf(`manifests/${digest}`)).toBe(200);
  await sweep();
  expect(await statusOf(`manifests/${digest}`)).toBe(404);
  expect(await statusOf(`blobs/${layers[0]?.digest}`)).toBe(200);
  await sweep(2);
  for (const table of [
    "container_manifests",
    "container_repository_blobs",
    "container_blobs",
    "stored_files",
  ]) {
    expect([table, await count(table)]).toEqual([table, 0]);
  }
});

it("what is tagged or pushed again is kept", async () => {
  const client = await pusher(app);
  const { digest, manifest } = await pushImage(client, SITE, "1.0");
  const { digest: loose } = await pushBlob(client, SITE, "loose");
  await client(`DELETE ${SITE}/manifests/1.0`);
  await sweep();
  const again = await pusher(app);
  expect((await putManifest(again, SITE, "2.0", manifest)).status).toBe(201);
  await pushBlob(again, SITE, "loose");
  await sweep();
  expect(await statusOf(`manifests/${digest}`)).toBe(200);
  expect(await statusOf(`blobs/${loose}`)).toBe(200);
});

it("nothing is deleted of a repository while something is uploaded to it", async () => {
  const { digest } = await pushBlob(await pusher(app), SITE, "pushed before");
  await sweep();
  now += DAY - 60_000;
  expect((await (await pusher(app))(`POST ${SITE}/blobs/uploads/`)).status).toBe(202);
  now += 60_000;
  await sweep(0);
  await app.admin.maintenance.sweepDaily();
  expect(await statusOf(`blobs/${digest}`)).toBe(200);
  await sweep(2);
  expect(await statusOf(`blobs/${digest}`)).toBe(404);
});

it("uploads that were begun and not ended are gone after a day", async () => {
  const client = await pusher(app);
  const begun = await client(`POST ${SITE}/blobs/uploads/`);
  const location = begun.headers.get("location")?.replace("/v2/", "") as string;
  await client(`PATCH ${location}`, { body: "half" });
  now += 23 * 3_600_000 + 1;
  const late = await (await pusher(app))(`PUT ${location}?digest=${digestOf("half")}`);
  expect(late.status).toBe(404);
  await sweep();
  expect([await count("container_uploads"), await count("stored_files")]).toEqual([0, 0]);
});

it("nobody has more than fifty uploads open", async () => {
  const client = await pusher(app);
  for (let at = 0; at < 50; at += 1) {
    expect((await client(`POST ${SITE}/blobs/uploads/`)).status).toBe(202);
  }
  const { status, json } = await client(`POST ${SITE}/blobs/uploads/`);
  expect([status, json.errors[0].code]).toEqual([429, "TOOMANYREQUESTS"]);
  const other = await pusher(app, SITE, "owner");
  expect((await other(`POST ${SITE}/blobs/uploads/`)).status).toBe(202);
});

it("a deleted project leaves nothing", async () => {
  await pushImage(await pusher(app), SITE, "1.0");
  await app.call("DELETE /projects/acme%2Fsite", { as: "owner" });
  await sweep(2);
  for (const table of [
    "container_repositories",
    "container_manifests",
    "container_blobs",
    "stored_files",
  ]) {
    expect([table, await count(table)]).toEqual([table, 0]);
  }
});
