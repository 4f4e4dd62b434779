import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ask } from "./ask.ts";

let app: TestApp;

beforeAll(async () => {
  app = await testApp();
  const post = async (path: string, as: Person, json: object) => {
    const { status, text } = await app.call(`POST ${path}`, { as, json });
    if (status !== 201) throw new Error(`${path}: ${text}`);
  };
  const site = "/projects/acme%2Fsite";
  await post(`${site}/issues`, "developer", { title: "Open" });
  await post(`${site}/issues`, "developer", { title: "Hidden", confidential: true });
  await post(`${site}/issues/1/notes`, "developer", { body: "Text" });
  const branches = { source_branch: "a", target_branch: "main" };
  await post(`${site}/merge_requests`, "owner", { title: "Work", ...branches });
  await post("/projects/secret%2Fvault/issues", "developer", { title: "Secret" });
});
afterAll(() => app.dispose());

interface Shown {
  id?: string;
  actionName: string;
  targetTitle: string | null;
}

async function events(on: string, args = "", as: Person = "owner"): Promise<Shown[]> {
  const query = `{ on: ${on} { activityEvents${args} { count nodes { id actionName targetType targetIid
    targetTitle createdAt author { username } project { id } pushData { ref } } } } }`;
  const { count, nodes } = (await ask(app, query, {}, as)).on.activityEvents;
  expect(count).toBe(nodes.length);
  return nodes;
}

const SITE = 'project(fullPath: "acme/site")';
const DEVELOPER = 'user(username: "developer")';

it.each([
  ["owner", SITE, "/projects/acme%2Fsite/events"],
  ["anonymous", SITE, "/projects/acme%2Fsite/events"],
  ["guest", DEVELOPER, "/users/developer/events"],
  ["stranger", DEVELOPER, "/users/developer/events"],
  ["developer", "currentUser", "/events"],
] as const)("%s sees the events that REST shows: %s", async (as, on, path) => {
  const { json } = await app.call(`GET ${path}`, { as });
  expect(json.length).toBeGreaterThan(0);
  expect(await events(on, "", as)).toEqual(
    json.map((event: Record<string, string>) => ({
      id: `gid://gitlab/ActivityEvent/${event["id"]}`,
      actionName: event["action_name"],
      targetType: event["target_type"],
      targetIid: event["target_iid"] === null ? null : String(event["target_iid"]),
      targetTitle: event["target_title"],
      createdAt: event["created_at"]?.replace(/\.\d+Z$/, "Z"),
      author: { username: event["author_username"] },
      project: { id: `gid://gitlab/Project/${event["project_id"]}` },
      pushData: null,
    })),
  );
});

it.each([
  ["(action: COMMENTED)", ["commented on"]],
  ["(targetType: MERGE_REQUEST)", ["opened"]],
  ['(createdBefore: "2000-01-01")', []],
  ['(createdAfter: "2999-01-01")', []],
  ["(sort: CREATED_ASC, first: 2, action: CREATED, targetType: ISSUE)", ["opened", "opened"]],
])("they are filtered: %s", async (args, expected) => {
  const found = await events(SITE, args);
  expect(found.map(({ actionName }) => actionName)).toEqual(expected);
});

it("they are sorted", async () => {
  const newest = await events(SITE);
  expect(await events(SITE, "(sort: CREATED_ASC)")).toEqual(newest.reverse());
});

it.each([
  ["DESC", "guest"],
  ["ASC", "guest"],
  ["ASC", "stranger"],
  ["DESC", "admin"],
] as const)("their pages are full, whatever is hidden between: %s, %s", async (sort, as) => {
  const all = await events(DEVELOPER, `(sort: CREATED_${sort})`, as);
  expect(all.length).toBeGreaterThan(1);
  const walk = async (way: "first" | "last") => {
    const found: Shown[] = [];
    let at = "";
    for (let pages = 0; pages < 10; pages += 1) {
      const page = `{ ${DEVELOPER} { activityEvents(sort: CREATED_${sort}, ${way}: 1${at}) {
        nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`;
      const { nodes, pageInfo } = (await ask(app, page, {}, as)).user.activityEvents;
      found.push(...nodes);
      if (!pageInfo[way === "first" ? "hasNextPage" : "hasPreviousPage"]) break;
      at =
        way === "first"
          ? `, after: "${pageInfo.endCursor}"`
          : `, before: "${pageInfo.startCursor}"`;
    }
    return found.map(idOf);
  };
  expect(await walk("first")).toEqual(all.map(idOf));
  expect(await walk("last")).toEqual(all.map(idOf).reverse());
});

const idOf = ({ id }: { id?: string }) => id;

it("those of a private profile are its user's", async () => {
  const { json } = await app.call("GET /users?username=developer", { as: "admin" });
  const hidden = await app.call(`PUT /users/${json[0].id}`, {
    as: "admin",
    json: { private_profile: true },
  });
  expect(hidden.status).toBe(200);
  expect(await events(DEVELOPER, "", "guest")).toEqual([]);
  expect((await events("currentUser", "", "developer")).length).toBe(4);
  expect((await events(DEVELOPER, "", "admin")).length).toBe(4);
});

it("those of users need a signed-in caller", async () => {
  const query = `{ ${SITE} { issue(iid: "1") { author { activityEvents { count } } } } }`;
  const { project } = await ask(app, query, {}, "anonymous");
  expect(project.issue.author.activityEvents).toEqual({ count: 0 });
});
