import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

const START = Date.parse("2026-06-15T12:00:00.000Z");
let clock = START;
let app: TestApp;
let users = 0;
beforeAll(async () => {
  app = await testApp({ now: () => clock });
});
afterAll(() => app.dispose());

/** Creates a user with an address. */
async function register(email: string): Promise<string> {
  users += 1;
  const username = `new${users}`;
  const json = { username, name: "New", email, force_random_password: true };
  const { status } = await app.call("POST /users", { as: "admin", json });
  expect(status).toBe(201);
  return username;
}

const PLACES = [
  ["group", "/groups/secret", "owner"],
  ["project", "/projects/secret%2Fvault", "maintainer"],
] as const;

describe.each(PLACES)("an invitation to a %s", (kind, at, keeper) => {
  const invite = (json: object, as: Person = keeper) =>
    app.call(`POST ${at}/invitations`, { as, json });
  const invited = async () =>
    (await app.call(`GET ${at}/invitations?per_page=100`, { as: keeper })).json;
  const members = async (): Promise<{ username: string; access_level: number }[]> =>
    (await app.call(`GET ${at}/members?per_page=100`, { as: keeper })).json;
  const address = (name: string) => `${name}@${kind}.example`;

  it("waits for its address, is changed and withdrawn", async () => {
    const email = address("a");
    const json = { email, access_level: 20, expires_at: "2027-01-01" };
    const made = await invite(json);
    expect([made.status, made.json]).toEqual([201, { status: "success" }]);
    const shown = {
      id: expect.any(Number),
      invite_email: email,
      access_level: 20,
      created_at: new Date(clock).toISOString(),
      expires_at: "2027-01-01",
      user_name: null,
      created_by_name: `The ${keeper}`,
    };
    expect(await invited()).toEqual([shown]);
    const again = await invite({ ...json, email: email.toUpperCase() });
    expect([again.status, again.json]).toEqual([
      201,
      {
        status: "error",
        message: { [email.toUpperCase()]: "Invite email has already been taken" },
      },
    ]);
    const path = `${at}/invitations/${encodeURIComponent(email)}`;
    const changed = await app.call(`PUT ${path}`, {
      as: keeper,
      json: { access_level: 30, expires_at: null },
    });
    expect(changed.json).toEqual({ ...shown, access_level: 30, expires_at: null });
    expect((await app.call(`DELETE ${path}`, { as: keeper })).status).toBe(204);
    expect((await app.call(`DELETE ${path}`, { as: keeper })).status).toBe(404);
    await register(email);
    expect((await members()).map(({ username }) => username)).not.toContain(`new${users}`);
  });

  it("makes whoever registers with the address a member", async () => {
    const email = address("b");
    await invite({ email, access_level: 30 });
    const username = await register(email.toUpperCase());
    expect(await members()).toContainEqual(
      expect.objectContaining({ username, access_level: 30, expires_at: null }),
    );
    expect(await invited()).toEqual([]);
    const events = (await app.admin.auditEvents.list()).filter(
      ({ action, user }) => action === "member added" && user === username,
    );
    expect(events).toMatchObject([{ author: keeper }]);
  });

  it("makes a user a member who gets the address, or changes to it", async () => {
    const [further, changed] = [address("c"), address("d")];
    await invite({ email: `${further}, ${changed}`, access_level: 30 });
    expect(await invited()).toHaveLength(2);
    const names = [await register(address("x")), await register(address("y"))];
    const ids = await Promise.all(
      names.map(async (name) => (await app.call(`GET /users?username=${name}`)).json[0].id),
    );
    const unconfirmed = { as: "admin", json: { email: further } } as const;
    await app.call(`POST /users/${ids[0]}/emails`, unconfirmed);
    expect(await invited()).toHaveLength(2);
    const { json } = await app.call(`GET /users/${ids[0]}/emails`, { as: "admin" });
    for (const { id } of json) {
      await app.call(`DELETE /users/${ids[0]}/emails/${id}`, { as: "admin" });
    }
    const confirmed = { email: further, skip_confirmation: true };
    await app.call(`POST /users/${ids[0]}/emails`, { as: "admin", json: confirmed });
    await app.call(`PUT /users/${ids[1]}`, { as: "admin", json: { email: changed } });
    expect(await invited()).toEqual([]);
    const found = (await members()).map(({ username }) => username);
    expect(found).toEqual(expect.arrayContaining(names));
  });

  it("of users makes them members at once", async () => {
    const username = await register(address("z"));
    const { json } = await app.call(`GET /users?username=${username}`);
    const byId = await invite({ user_id: `${json[0].id},1000000`, access_level: 30 });
    expect(byId.json).toEqual({ status: "error", message: { 1000000: "User not found" } });
    const byAddress = await invite({ email: address("z"), access_level: 30 });
    expect(byAddress.json).toEqual({
      status: "error",
      message: { [address("z")]: "User already exists in source" },
    });
    const other = await register(address("zz"));
    expect((await invite({ email: address("zz"), access_level: 20 })).json.status).toBe("success");
    const found = (await members()).map(({ username: name }) => name);
    expect(found).toEqual(expect.arrayContaining([username, other]));
  });

  it("lasts no longer than the membership would", async () => {
    const email = address("late");
    await invite({ email, access_level: 30, expires_at: "2026-06-20" });
    clock = Date.parse("2026-06-20T12:00:00.000Z");
    const username = await register(email);
    clock = START;
    expect((await members()).map(({ username: name }) => name)).not.toContain(username);
    expect(await invited()).toEqual([]);
  });

  it("gives no more than the caller has, and is theirs to give", async () => {
    const email = address("e");
    for (const as of ["stranger", "guest", "developer"] as const) {
      const { status } = await invite({ email, access_level: 10 }, as);
      expect([as, status]).toEqual([as, as === "stranger" ? 404 : 403]);
    }
    expect((await invite({ email, access_level: 35 })).status).toBe(400);
    expect((await invite({ access_level: 30 })).status).toBe(400);
    if (kind === "project") {
      expect((await invite({ email, access_level: 50 })).status).toBe(400);
    }
    const wrong = await invite({ email: "nobody", access_level: 30 });
    expect(wrong.json.message).toEqual({ nobody: "Invite email is invalid" });
    expect(await invited()).toEqual([]);
  });
});
