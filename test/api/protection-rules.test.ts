import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite";
const KINDS = [
  [
    `${SITE}/packages/protection/rules`,
    { package_name_pattern: "lib-*", package_type: "generic" },
    "Package name pattern",
  ],
  [
    `${SITE}/registry/protection/repository/rules`,
    { repository_path_pattern: "acme/site/lib-*" },
    "Repository path pattern",
  ],
] as const;
const call = (request: string, json?: object, as: Person = "maintainer") =>
  app.call(request, { as, json });

describe.each(KINDS)("%s", (path, about, what) => {
  const levels = {
    minimum_access_level_for_push: "owner",
    minimum_access_level_for_delete: "admin",
  };

  it("has rules", async () => {
    const made = await call(`POST ${path}`, { ...about, ...levels });
    const project = (await call(`GET ${SITE}`)).json.id;
    const shown = { id: expect.any(Number), project_id: project, ...about, ...levels };
    expect([made.status, made.json]).toEqual([201, shown]);
    expect((await call(`GET ${path}`)).json).toEqual([made.json]);
    const again = await call(`POST ${path}`, { ...about, ...levels });
    expect([again.status, again.json]).toEqual([
      422,
      { message: [`${what} has already been taken`] },
    ]);
    const one = `${path}/${made.json.id}`;
    const changes = {
      minimum_access_level_for_push: null,
      minimum_access_level_for_delete: "maintainer",
    };
    const changed = await call(`PATCH ${one}`, changes);
    expect([changed.status, changed.json]).toEqual([200, { ...made.json, ...changes }]);
    const none = await call(`PATCH ${one}`, { minimum_access_level_for_delete: "" });
    expect([none.status, none.json.message[0]]).toEqual([
      422,
      "A rule must have at least a minimum access role for push or delete.",
    ]);
    expect((await call(`DELETE ${one}`)).status).toBe(204);
    for (const method of ["PATCH", "DELETE"]) {
      expect((await call(`${method} ${one}`, {})).status).toBe(404);
    }
  });

  it.each([
    [{ minimum_access_level_for_push: "developer" }, 400],
    [{}, 422],
  ])("refuses %j", async (json, status) => {
    expect((await call(`POST ${path}`, { ...about, ...json })).status).toBe(status);
  });

  it("is maintainers'", async () => {
    expect((await call(`GET ${path}`, undefined, "developer")).status).toBe(403);
    expect((await call(`POST ${path}`, { ...about, ...levels }, "developer")).status).toBe(403);
    expect((await call(`GET ${path}`, undefined, "anonymous")).status).toBe(401);
  });
});

it("refuses rules about others' repositories, and unknown types", async () => {
  const level = { minimum_access_level_for_push: "admin" };
  const other = { repository_path_pattern: "other/site", ...level };
  expect((await call(`POST ${KINDS[1][0]}`, other)).json).toEqual({
    message: ["Repository path pattern should start with the project's full path"],
  });
  for (const json of [{ package_type: "odd" }, {}]) {
    const sent = { package_name_pattern: "x", ...level, ...json };
    expect((await call(`POST ${KINDS[0][0]}`, sent)).status).toBe(400);
  }
});

it("keeps packages from those below a level, by name", async () => {
  const rules = KINDS[0][0];
  const add = (json: object) =>
    call(`POST ${rules}`, { package_type: "generic", ...json }).then(({ json: made }) => made);
  const push = async (name: string, as: Person) => {
    const path = `${SITE}/packages/generic/${name}/1.0/f.txt?select=package_file`;
    const answer = await app.call(`PUT ${path}`, { as, body: "x" });
    return answer.status === 201 ? 201 : [answer.status, answer.json.message];
  };
  const protects = [403, "403 Forbidden - Package protected."];
  await add({ package_name_pattern: "my*app", minimum_access_level_for_push: "maintainer" });
  await add({ package_name_pattern: "top", minimum_access_level_for_push: "admin" });
  expect(await push("my-app", "developer")).toEqual(protects);
  expect(await push("my-app", "maintainer")).toBe(201);
  expect(await push("my-app2", "developer")).toBe(201);
  expect(await push("top", "owner")).toEqual(protects);
  expect(await push("top", "admin")).toBe(201);

  await add({ package_name_pattern: "my-app2", minimum_access_level_for_delete: "owner" });
  await add({
    package_name_pattern: "top",
    package_type: "npm",
    minimum_access_level_for_delete: "admin",
  });
  const { json: packages } = await call(`GET ${SITE}/packages`);
  const idOf = (name: string) => packages.find((one: { name: string }) => one.name === name).id;
  const remove = async (name: string, as: Person) =>
    (await call(`DELETE ${SITE}/packages/${idOf(name)}`, undefined, as)).status;
  const path = `${SITE}/packages/${idOf("my-app2")}`;
  const refused = await call(`DELETE ${path}`);
  expect([refused.status, refused.json.message]).toEqual([
    403,
    "403 Forbidden - Package is deletion protected.",
  ]);
  const [file] = (await call(`GET ${path}/package_files`)).json;
  expect((await call(`DELETE ${path}/package_files/${file.id}`)).status).toBe(403);
  expect(await remove("my-app2", "owner")).toBe(204);
  expect(await remove("top", "maintainer")).toBe(204);
});
