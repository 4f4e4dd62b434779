import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.dispose());

const SITE = "/projects/acme%2Fsite";
const VAULT = "/projects/secret%2Fvault";

async function settings(as: Person, path: string, json: object) {
  const { status } = await app.call(`PUT ${path}/notification_settings`, { as, json });
  expect(status).toBe(200);
}

async function post(path: string, as: Person, json: object) {
  const answer = await app.call(`POST ${path}`, { as, json });
  expect([answer.status, answer.text]).toEqual([201, answer.text]);
  return answer.json;
}

/** Who hears of the newest event of a project, and why. */
async function told(project = SITE) {
  const { json } = await app.call(`GET ${project}/events?per_page=1`, { as: "admin" });
  const people = await app.admin.recipients(json[0].id);
  return Object.fromEntries(people.map(({ username, reason }) => [username, reason]));
}

it("tells nobody of what nobody asked for, and never its author", async () => {
  await post(`${SITE}/issues`, "owner", { title: "Quiet" });
  expect(await told()).toEqual({});
});

it("tells who takes part: author, assignees, those who commented", async () => {
  const { iid } = await post(`${SITE}/issues`, "owner", { title: "Talk" });
  await post(`${SITE}/issues/${iid}/notes`, "developer", { body: "First" });
  expect(await told()).toEqual({ owner: "participating" });
  await post(`${SITE}/issues/${iid}/notes`, "reporter", { body: "Second" });
  expect(await told()).toEqual({ owner: "participating", developer: "participating" });
});

it("tells who is named, whatever the case, once, and only where it is a name", async () => {
  await post(`${SITE}/issues`, "owner", {
    title: "For @Guest",
    description: "and @guest, mail me@maintainer.example, `@developer`, @nobody, @stranger.",
  });
  expect(await told()).toEqual({ guest: "mentioned", stranger: "mentioned" });
});

it("goes by the project's settings, else the group's, else the global ones", async () => {
  await settings("maintainer", "", { level: "watch" });
  await post(`${SITE}/issues`, "owner", { title: "One" });
  expect(await told()).toEqual({ maintainer: "watching" });

  await settings("maintainer", "/groups/acme", { level: "disabled" });
  await post(`${SITE}/issues`, "owner", { title: "Two @maintainer" });
  expect(await told()).toEqual({});

  await settings("maintainer", SITE, { level: "watch" });
  await post(`${SITE}/issues`, "owner", { title: "Three" });
  expect(await told()).toEqual({ maintainer: "watching" });

  await settings("maintainer", SITE, { level: "global" });
  await settings("maintainer", "/groups/acme", { level: "global" });
  await post(`${SITE}/issues`, "owner", { title: "Four" });
  expect(await told()).toEqual({ maintainer: "watching" });
  await settings("maintainer", "", { level: "participating" });
});

it("with level mention tells only who is named", async () => {
  await settings("reporter", SITE, { level: "mention" });
  const { iid } = await post(`${SITE}/issues`, "reporter", { title: "Mine" });
  await post(`${SITE}/issues/${iid}/notes`, "owner", { body: "A word" });
  expect(await told()).toEqual({});
  await post(`${SITE}/issues/${iid}/notes`, "owner", { body: "A word, @reporter" });
  expect(await told()).toEqual({ reporter: "mentioned" });
});

it("with level custom tells of what is asked for, and of what one takes part in", async () => {
  await settings("developer", "/groups/acme", { level: "custom", close_issue: true });
  const { iid } = await post(`${SITE}/issues`, "owner", { title: "Custom" });
  expect(await told()).toEqual({});
  await app.call(`PUT ${SITE}/issues/${iid}`, { as: "admin", json: { state_event: "close" } });
  expect(await told()).toEqual({ developer: "custom", owner: "participating" });
});

it("tells nobody who may not see it", async () => {
  await settings("guest", SITE, { level: "watch" });
  await post(`${SITE}/issues`, "owner", {
    title: "Confidential @guest @stranger @maintainer",
    confidential: true,
  });
  expect(await told()).toEqual({ maintainer: "mentioned" });
  await post(`${VAULT}/issues`, "owner", { title: "Secret @stranger @guest @blocked" });
  expect(await told(VAULT)).toEqual({ guest: "mentioned" });
  await settings("guest", SITE, { level: "global" });
});

it("knows merge requests, and nothing of an event that isn't there", async () => {
  const request = { title: "Merge", source_branch: "one", target_branch: "main" };
  const { iid } = await post(`${SITE}/merge_requests`, "developer", request);
  await app.call(`PUT ${SITE}/merge_requests/${iid}`, {
    as: "maintainer",
    json: { state_event: "close" },
  });
  expect(await told()).toEqual({ developer: "participating" });
  await expect(app.admin.recipients(987_654)).rejects.toThrow("404 Event Not Found");
});
