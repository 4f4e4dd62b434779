import { afterAll, beforeAll, expect, it } from "vitest";
import { givePassword, PASSWORD, type TestApp, testApp, waitFor } from "../helpers.ts";

const DAY = 86_400_000;
const START = Date.parse("2026-06-15T12:00:00.000Z");
let clock = START;
let app: TestApp;
beforeAll(async () => {
  app = await testApp({ now: () => clock });
});
afterAll(() => app.dispose());

const PATH = "/user/activities";
const activities = async (query = "") =>
  (await app.call(`GET ${PATH}${query}`, { as: "admin" })).json;
const shown = (username: string, day: string) => ({
  username,
  last_activity_on: day,
  last_activity_at: day,
});

it("lists the days on which users were active last, oldest first", async () => {
  await app.call("GET /user", { as: "guest" });
  await waitFor(async () => (await activities()).length === 2);
  expect(await activities()).toEqual(
    expect.arrayContaining([shown("guest", "2026-06-15"), shown("admin", "2026-06-15")]),
  );
  clock = START + DAY;
  await app.call("GET /user", { as: "guest" });
  await waitFor(async () => (await activities("?from=2026-06-16")).length === 2);
  expect(await activities("?from=2026-06-16")).toEqual(
    expect.arrayContaining([shown("guest", "2026-06-16"), shown("admin", "2026-06-16")]),
  );
  const [first] = await activities("?per_page=1");
  expect(first.last_activity_on).toBe((await activities())[0].last_activity_on);
  expect(await activities("?from=2026-06-17")).toEqual([]);
  const user = await app.call("GET /user", { as: "guest" });
  expect(user.json.last_activity_on).toBe("2026-06-16");
});

it("leaves out who was not active for six months", async () => {
  clock = START + 300 * DAY;
  await waitFor(async () => (await activities()).length === 1);
  expect(await activities()).toEqual([shown("admin", "2027-04-11")]);
  expect(await activities("?from=2026-01-01")).toContainEqual(shown("guest", "2026-06-16"));
});

it("counts who uses Git with a password", async () => {
  clock = START + 310 * DAY;
  await givePassword(app, "reporter");
  const authorization = `Basic ${Buffer.from(`reporter:${PASSWORD}`).toString("base64")}`;
  const refs = "http://pm.test/acme/site.git/info/refs?service=git-upload-pack";
  expect((await app.call(`GET ${refs}`, { headers: { authorization } })).status).toBe(200);
  await waitFor(async () =>
    (await activities()).some(
      (one: { username: string; last_activity_on: string }) =>
        one.username === "reporter" && one.last_activity_on === "2027-04-21",
    ),
  );
});

it("is only for administrators, and takes days", async () => {
  expect((await app.call(`GET ${PATH}`, { as: "owner" })).status).toBe(403);
  expect((await app.call(`GET ${PATH}`)).status).toBe(401);
  expect((await app.call(`GET ${PATH}?from=soon`, { as: "admin" })).status).toBe(400);
});
