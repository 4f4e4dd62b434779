import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const ask = (request: string, as: Person, json?: object) => app.call(request, { as, json });
const of = (project: string) => `/projects/${encodeURIComponent(project)}/security_settings`;
const isOn = async (project: string) =>
  (await ask(`GET ${of(project)}`, "developer")).json.secret_push_protection_enabled;
const wanted = { secret_push_protection_enabled: true };

it("is kept for a project", async () => {
  const path = of("acme/site");
  const before = await ask(`GET ${path}`, "developer");
  expect([before.status, before.json]).toEqual([
    200,
    {
      project_id: expect.any(Number),
      created_at: expect.any(String),
      updated_at: expect.any(String),
      auto_fix_container_scanning: false,
      auto_fix_dast: false,
      auto_fix_dependency_scanning: false,
      auto_fix_sast: false,
      continuous_vulnerability_scans_enabled: false,
      container_scanning_for_registry_enabled: false,
      secret_push_protection_enabled: false,
    },
  ]);
  const changed = await ask(`PUT ${path}`, "maintainer", wanted);
  expect([changed.status, changed.json]).toMatchObject([200, wanted]);
  expect(await isOn("acme/site")).toBe(true);
  const off = { secret_push_protection_enabled: false };
  expect((await ask(`PUT ${path}`, "maintainer", off)).json).toMatchObject(off);
});

it("is kept for the projects of a group, and those below it, but some", async () => {
  const { json: site } = await ask("GET /projects/acme%2Fsite", "owner");
  const sent = { ...wanted, projects_to_exclude: [site.id] };
  const { status, json } = await ask("PUT /groups/acme/security_settings", "maintainer", sent);
  expect([status, json]).toEqual([200, { ...wanted, errors: [] }]);
  const found = [await isOn("acme/site"), await isOn("acme/team/core"), await isOn("secret/vault")];
  expect(found).toEqual([false, true, false]);
});

it("is for some only, and needs a value", async () => {
  const path = of("acme/site");
  expect((await ask(`GET ${path}`, "reporter")).status).toBe(403);
  expect((await ask(`PUT ${path}`, "developer", wanted)).status).toBe(403);
  expect((await ask("PUT /groups/acme/security_settings", "developer", wanted)).status).toBe(403);
  for (const one of [path, "/groups/acme/security_settings"]) {
    expect((await ask(`PUT ${one}`, "maintainer", {})).status).toBe(400);
    const odd = { secret_push_protection_enabled: "often" };
    expect((await ask(`PUT ${one}`, "maintainer", odd)).status).toBe(400);
  }
});
