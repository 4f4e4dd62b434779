import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { openWorkshop, type Workshop } from "./_git.ts";

const MEBIBYTE = 1024 * 1024;
const PROJECT = "/projects/acme%2Fsite";

let app: TestApp;
let workshop: Workshop;

beforeAll(async () => {
  app = await testApp();
  workshop = await openWorkshop(app);
});
afterAll(async () => {
  await workshop.close();
  await app.dispose();
});

async function set(settings: object): Promise<void> {
  const path = "PUT /application/settings";
  const { status, text } = await app.call(path, { as: "admin", json: settings });
  expect([status, text]).toEqual([200, text]);
}

/** Sends a file, and returns the status of the answer. */
async function send(path: string, bytes: number, fields: Record<string, string> = {}) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  body.append("file", new Blob([Buffer.alloc(bytes)]), "file.bin");
  const { status, json } = await app.call(`POST ${path}`, { as: "maintainer", body });
  if (status === 413) expect(json).toEqual({ message: "413 Request Entity Too Large" });
  return status;
}

it.each(["uploads", "wikis/attachments"])(
  "max_attachment_size limits %s, below the application's own limit",
  async (path) => {
    await set({ max_attachment_size: 1 });
    expect(await send(`${PROJECT}/${path}`, MEBIBYTE)).toBe(201);
    expect(await send(`${PROJECT}/${path}`, MEBIBYTE + 1)).toBe(413);
    await set({ max_attachment_size: 0 });
    expect(await send(`${PROJECT}/${path}`, MEBIBYTE + 1)).toBe(201);
    await set({ max_attachment_size: 100 });
    expect(await send(`${PROJECT}/${path}`, 10 * MEBIBYTE + 1)).toBe(413);
  },
);

it("max_import_size limits archives of projects", async () => {
  await set({ max_import_size: 1 });
  const fields = { path: "imported", namespace: "acme" };
  expect(await send("/projects/import", MEBIBYTE + 1, fields)).toBe(413);
  await set({ max_import_size: null });
  expect(await send("/projects/import", MEBIBYTE + 1, fields)).not.toBe(413);
});

it("receive_max_input_size limits pushes", async () => {
  await workshop.git("", "init", "--quiet", "--initial-branch=main", "large");
  const folder = join(workshop.folder, "large");
  await mkdir(join(folder, "assets"));
  await writeFile(join(folder, "assets", "noise"), randomBytes(MEBIBYTE + 1));
  await workshop.git("large", "add", ".");
  await workshop.git("large", "commit", "--quiet", "--message=Noise");
  const push = ["push", workshop.url("acme/site", "maintainer"), "main"];
  await set({ receive_max_input_size: 1 });
  const said = await workshop.failure("large", ...push);
  expect(said).toContain("pack exceeds maximum allowed size (1.00 MiB)");
  const branches = async () =>
    (await app.call(`GET ${PROJECT}/repository/branches`, { as: "maintainer" })).json;
  expect(await branches()).toEqual([]);
  await set({ receive_max_input_size: 2 });
  await workshop.git("large", ...push);
  expect(await branches()).toMatchObject([{ name: "main" }]);
});
