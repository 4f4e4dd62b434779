// Users that the identity provider of a group has made.
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { providerOf } from "./_scim.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const get = (query = "", as: Person = "owner") =>
  app.call(`GET /groups/acme/provisioned_users${query}`, { as });
const names = async (query = "") =>
  (await get(query)).json.map((one: { username: string }) => one.username);

it("are listed for the group's owners, and filtered", async () => {
  expect((await get()).json).toEqual([]);
  const provider = await providerOf(app);
  for (const name of ["ada", "ben"]) await provider.add({ userName: `${name}@example.com` });
  const { json } = await get();
  expect(json).toHaveLength(2);
  expect(json[0]).toMatchObject({ email: "ada@example.com", state: "active" });
  const [ada, ben] = await names();
  expect(await names(`?username=${ada.toUpperCase()}`)).toEqual([ada]);
  expect(await names(`?search=${ben}`)).toEqual([ben]);
  expect(await names("?created_after=2100-01-01")).toEqual([]);
  expect(await names("?created_before=2100-01-01")).toEqual([ada, ben]);
  await app.call(`POST /users/${json[0].id}/block`, { as: "admin" });
  expect(await names("?active=true")).toEqual([ben]);
  expect(await names("?blocked=true")).toEqual([ada]);
  expect((await app.call("GET /groups/secret/provisioned_users", { as: "owner" })).json).toEqual(
    [],
  );
  for (const [as, status] of [
    ["anonymous", 401],
    ["maintainer", 403],
  ] as const) {
    expect((await get("", as)).status).toBe(status);
  }
});

it("are not those who had an account before", async () => {
  const provider = await providerOf(app);
  const before = (await names()).length;
  const { json } = await app.call("GET /user", { as: "stranger" });
  await provider.add({ userName: "stranger@example.com", emails: [{ value: json.email }] });
  expect(await names()).toHaveLength(before);
});

it("need the tier premium", async () => {
  const free = await testApp({ tier: "free" });
  const { status } = await free.call("GET /groups/acme/provisioned_users", { as: "owner" });
  expect(status).toBe(403);
  await free.dispose();
});
