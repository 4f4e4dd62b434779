import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ask } from "./ask.ts";

let app: TestApp;
const SITE = "/projects/acme%2Fsite";

const post = async (path: string, as: Person, json: object) => {
  const { status, text } = await app.call(`POST ${SITE}/${path}`, { as, json });
  if (status !== 201) throw new Error(`${path}: ${status} ${text}`);
};

beforeAll(async () => {
  app = await testApp();
  const branches = { source_branch: "a", target_branch: "main" };
  for (const [path, as] of [
    ["issues", "guest"],
    ["merge_requests", "developer"],
  ] as const) {
    await post(path, as, { title: "Talk", ...branches });
    await post(`${path}/1/notes`, "stranger", { body: "Hello @maintainer" });
    await post(`${path}/1/notes`, "reporter", { body: "Secretly", internal: true });
  }
});
afterAll(() => app.dispose());

it.each([
  ["issues", "issue", "guest"],
  ["merge_requests", "mergeRequest", "developer"],
])("the participants of %s are those that REST lists", async (path, field, author) => {
  const participants = async (as: Person) => {
    const query = `{ project(fullPath: "acme/site") { ${field}(iid: "1") {
      participants { count nodes { username } } } } }`;
    const { count, nodes } = (await ask(app, query, {}, as)).project[field].participants;
    const usernames = nodes.map(({ username }: { username: string }) => username);
    const { json } = await app.call(`GET ${SITE}/${path}/1/participants`, { as });
    expect(json.map(({ username }: { username: string }) => username)).toEqual(usernames);
    expect(count).toBe(usernames.length);
    return usernames.sort();
  };
  const everybody = [author, "maintainer", "stranger"].sort();
  expect(await participants("anonymous")).toEqual(everybody);
  expect(await participants("guest")).toEqual(everybody);
  expect(await participants("owner")).toEqual([...everybody, "reporter"].sort());
  expect(await participants("admin")).toEqual([...everybody, "reporter"].sort());
});
