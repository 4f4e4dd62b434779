import { expect, it } from "vitest";
import { baseSeed, type Person, testApp } from "../helpers.ts";
import { ask } from "./ask.ts";

it("a private profile shows when it was created and used only to its user and administrators", async () => {
  const app = await testApp({ seed: baseSeed });
  const { json } = await app.call("GET /users?username=developer", { as: "admin" });
  const { id } = json[0];
  await app.call("GET /user", { as: "developer" });
  const profile = async (as: Person) =>
    (
      await ask(
        app,
        '{ user(username: "developer") { createdAt lastActivityOn linkedin twitter } }',
        {},
        as,
      )
    ).user;
  const { created_at } = (await app.call(`GET /users/${id}`, { as: "guest" })).json;
  const links = { linkedin: "ada", twitter: "lovelace" };
  const changed = await app.call(`PUT /users/${id}`, { as: "admin", json: links });
  expect(changed.status).toBe(200);
  const open = await profile("guest");
  expect(open).toMatchObject({ createdAt: created_at.replace(/\.\d+Z$/, "Z"), ...links });
  await app.call(`PUT /users/${id}`, { as: "admin", json: { private_profile: true } });
  expect(await profile("guest")).toEqual({ createdAt: null, lastActivityOn: null, ...links });
  for (const as of ["developer", "admin"] as const) {
    expect((await profile(as)).createdAt).toBe(open.createdAt);
  }
  await app.dispose();
});
