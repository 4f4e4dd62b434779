import { afterAll, beforeAll, expect, it } from "vitest";
import { FEATURES } from "../../src/core/access/features.ts";
import { createFixtures, fixtureSeed, type Places, placesIn } from "../fixtures.ts";
import { engine, type Person, type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";
import { everythingSeen } from "./everything-seen.ts";

/** For asking everything as everybody, three times: PostgreSQL takes long on a busy machine. */
const PATIENCE_MS = 300_000;
const SITE = "/projects/acme%2Fsite";
const ATTRIBUTES = FEATURES.map((name) => `${name === "jobs" ? "builds" : name}_access_level`);
const PEOPLE: readonly Person[] = [
  ...(engine === "postgres" ? [] : (["anonymous"] as const)),
  "stranger",
  "reporter",
];

let app: TestApp;
let places: Places;
beforeAll(async () => {
  app = await testApp({ seed: fixtureSeed(1), extra: toys });
  await createFixtures(app, 1);
  places = await placesIn(app, "acme", "acme/site");
});
afterAll(() => app.dispose());

const set = async (level: string, attributes = ATTRIBUTES) => {
  const json = Object.fromEntries(attributes.map((name) => [name, level]));
  const { status } = await app.call(`PUT ${SITE}`, { as: "owner", json });
  expect(status).toBe(200);
};

/** What is seen with a level, without what says the level. */
async function seenWith(level: string): Promise<Map<string, string>> {
  await set(level);
  const seen = await everythingSeen(app, [places], PEOPLE);
  return new Map(
    [...seen].map(([request, { status, text, total }]) => [
      request,
      `${status} ${total} ${text
        .replaceAll(/"(issues|merge_requests|wiki|jobs|snippets)_enabled":\w+/g, "")
        .replaceAll(/"(issues|merge_requests|wiki|builds|snippets)_access_level":"\w+"/g, "")
        .replaceAll(/"(updated_at|last_activity_at)":"[^"]*"/g, "")}`,
    ]),
  );
}

it(
  "is as enabled for members, and as disabled for everybody else, in every answer",
  async () => {
    const [enabled, disabled] = [await seenWith("enabled"), await seenWith("disabled")];
    const ofMembers = await seenWith("private");
    // Guests, who may not read merge requests that are for members, are no participants either.
    const changes = (request: string) => request.includes("/merge_requests/1/participants");
    const isMember = (request: string) => request.endsWith(" reporter");
    const wrong: unknown[] = [];
    let told = 0;
    for (const [request, answer] of ofMembers) {
      if (isMember(request) && changes(request)) continue;
      const expected = (isMember(request) ? enabled : disabled).get(request);
      if (expected !== (isMember(request) ? disabled : enabled).get(request)) told++;
      if (answer !== expected) wrong.push([request, answer, expected]);
    }
    expect(wrong).toEqual([]);
    expect(told).toBeGreaterThan(150);
  },
  PATIENCE_MS,
);

it("lets guests use all but merge requests", async () => {
  await set("private");
  const status = async (path: string, as: Person) =>
    (await app.call(`GET ${SITE}${path}`, { as })).status;
  for (const path of ["/issues/1", "/snippets", "/wikis", "/pipelines"]) {
    expect([path, await status(path, "guest"), await status(path, "stranger")]).toEqual([
      ...[path, 200],
      path === "/issues/1" ? 404 : 403,
    ]);
  }
  expect(await status("/merge_requests", "guest")).toBe(403);
  expect(await status("/merge_requests", "reporter")).toBe(200);
});
