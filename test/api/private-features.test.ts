import { afterAll, beforeAll, expect, it } from "vitest";
import { FEATURES } from "../../src/core/access/features.ts";
import { createFixtures, fixtureSeed, type Places, placesIn } from "../fixtures.ts";
import { post } from "../graphql/ask.ts";
import { engine, everyone, type Person, type TestApp, testApp } from "../helpers.ts";
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
        .replaceAll(/"(issues|merge_requests|wiki|jobs|snippets|packages)_enabled":\w+/g, "")
        .replaceAll(
          /"(issues|merge_requests|repository|wiki|builds|snippets|releases|environments|package_registry)_access_level":"\w+"/g,
          "",
        )
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

it("lets guests of a public project read its code, but not use its merge requests", async () => {
  await set("private");
  const status = async (path: string, as: Person) =>
    (await app.call(`GET ${SITE}${path}`, { as })).status;
  for (const path of ["/issues/1", "/snippets", "/wikis", "/pipelines", "/repository/tree"]) {
    expect([path, await status(path, "guest"), await status(path, "stranger")]).toEqual([
      ...[path, 200],
      path === "/issues/1" ? 404 : 403,
    ]);
  }
  expect(await status("/merge_requests", "guest")).toBe(403);
  expect(await status("/merge_requests", "reporter")).toBe(200);
});

it("keeps the code from everybody if it is disabled, and what needs the code with it", async () => {
  const reason = "cannot have higher visibility level than repository access level";
  const [code, requests, builds] = ["repository", "merge_requests", "builds"].map(
    (name) => `${name}_access_level`,
  ) as [string, string, string];
  const change = (json: object) => app.call(`PUT ${SITE}`, { as: "owner", json });
  await set("enabled");
  for (const [levels, refused] of [
    [{ [code]: "disabled" }, [requests, builds]],
    [{ [code]: "private", [builds]: "private" }, [requests]],
    [{ [code]: "private", [requests]: "disabled" }, [builds]],
  ] as const) {
    const { status, json } = await change(levels);
    const message = Object.fromEntries(
      refused.map((name) => [`project_feature.${name}`, [reason]]),
    );
    expect([status, json]).toEqual([400, { message }]);
  }
  const json = { name: "No code", [code]: "disabled", jobs_enabled: false };
  const made = await app.call("POST /projects", { as: "owner", json });
  expect(made.json.message).toEqual({ [`project_feature.${requests}`]: [reason] });

  await set("disabled", [requests, builds, code]);
  for (const as of everyone) {
    const answers = await Promise.all(
      ["/repository/tree", "/repository/archive", "/repository/commits", "/releases"].map((path) =>
        app.call(`GET ${SITE}${path}`, { as }),
      ),
    );
    expect([as, answers.map(({ status }) => status)]).toEqual([as, [403, 403, 403, 200]]);
    const query = '{ project(fullPath: "acme/site") { repository { rootRef } } }';
    expect([as, (await post(app, query, { as })).json.data.project.repository]).toEqual([as, null]);
  }
  await set("enabled");
});
