import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const ids: Partial<Record<Person, number>> = {};
const SITE = "/projects/acme%2Fsite";

const idOf = async (username: Person): Promise<number> =>
  (await app.call(`GET /users?username=${username}`, { as: "admin" })).json[0].id;

async function send(method: string, path: string, as: Person, json: object = {}) {
  const answer = await app.call(`${method} ${SITE}${path}`, { as, json });
  expect([answer.text, answer.status < 300]).toEqual([answer.text, true]);
  return answer.json;
}

/** `first` has everything, `second` nothing. */
beforeAll(async () => {
  app = await testApp();
  for (const person of ["owner", "developer", "maintainer", "reporter"] as const) {
    ids[person] = await idOf(person);
  }
  const { json: milestones } = await app.call("GET /groups/acme/milestones", { as: "owner" });
  for (const kind of ["issues", "merge_requests"]) {
    const branches = (name: string) =>
      kind === "issues" ? {} : { source_branch: name, target_branch: "main" };
    const made = await send("POST", `/${kind}`, "owner", {
      ...branches("one"),
      title: "Draft: first",
      labels: "UX,Testing",
      milestone_id: milestones[0].id,
      assignee_ids: [ids.developer],
      ...(kind === "issues" ? { weight: 3 } : { reviewer_ids: [ids.reporter] }),
    });
    await send("POST", `/${kind}/${made.iid}/award_emoji`, "owner", { name: "rocket" });
    await send("POST", `/${kind}`, "maintainer", { ...branches("two"), title: "second" });
  }
});
afterAll(() => app.dispose());

async function listed(path: string, as: Person = "owner") {
  const { status, json, text } = await app.call(`GET ${path}`, { as });
  expect([status, text]).toEqual([200, text]);
  return json.map(({ title }: { title: string }) => title.replace("Draft: ", "")).sort();
}

const SHARED = [
  ["not[author_id]=OWNER", "not[author_id]=DEVELOPER"],
  ["not[author_username]=Owner", "not[author_username]=developer"],
  ["not[assignee_id]=DEVELOPER", "not[assignee_id]=OWNER"],
  [
    "not[assignee_username][]=DEVeloper&not[assignee_username][]=guest",
    "not[assignee_username]=owner",
  ],
  ["not[labels]=UX", "not[labels]=Development"],
  ["not[labels]=Development,Testing", "not[labels]=ux"],
  ["not[milestone]=v1", "not[milestone]=v2"],
  ["not[my_reaction_emoji]=rocket", "not[my_reaction_emoji]=thumbsup"],
  ["not[iids][]=1", "not[iids][]=3"],
] as const;

const OWN = {
  issues: [["not[weight]=3", "not[weight]=2"]],
  merge_requests: [
    ["not[reviewer_id]=REPORTER", "not[reviewer_id]=OWNER"],
    ["not[reviewer_username]=reporter", "not[reviewer_username]=owner"],
    ["wip=no", "wip="],
  ],
} as const;

describe.each(["issues", "merge_requests"] as const)("%s", (kind) => {
  const named = (query: string) =>
    query.replace(/(OWNER|DEVELOPER|REPORTER)$/, (name) =>
      String(ids[name.toLowerCase() as Person]),
    );
  const places = [`/${kind}?scope=all`, `/groups/acme/${kind}?`, `${SITE}/${kind}?`];

  it.each([...SHARED, ...OWN[kind]])("%s leaves the first out, %s neither", async (some, none) => {
    for (const place of places) {
      expect([place, await listed(`${place}&${named(some)}`)]).toEqual([place, ["second"]]);
      if (none.endsWith("=")) continue;
      const both = ["first", "second"];
      expect([place, await listed(`${place}&${named(none)}`)]).toEqual([place, both]);
    }
  });

  it("what is left out and what is wanted are both asked for", async () => {
    expect(await listed(`${SITE}/${kind}?labels=UX&not[labels]=Testing`)).toEqual([]);
    expect(await listed(`${SITE}/${kind}?not[labels]=&not[milestone]=`)).toHaveLength(2);
  });

  it("only the caller's own emoji count, and nobody's without one", async () => {
    for (const as of ["maintainer", "anonymous"] as const) {
      const path = `${SITE}/${kind}?not[my_reaction_emoji]=rocket`;
      expect(await listed(path, as)).toEqual(["first", "second"]);
    }
  });

  it.each(["not=x", "not[author_id]=x", "not[iids][]=x", "not[assignee_id]=None"])(
    "%s is refused",
    async (query) => {
      const { status, json } = await app.call(`GET ${SITE}/${kind}?${query}`, { as: "owner" });
      expect([status, json]).toEqual([400, { message: { not: ["is invalid"] } }]);
    },
  );
});

describe("wip", () => {
  let branches = 0;
  it.each([
    ["[WIP] a", true],
    ["wip: a", true],
    ["WIP a", true],
    ["  Draft: a", true],
    ["(draft) a", true],
    ["[Draft] a", true],
    ["wipe a", false],
    ["Drafts of a", false],
    ["A draft: a", false],
  ])("finds %j as the field draft says: %s", async (title, isDraft) => {
    branches += 1;
    const between = { source_branch: `wip-${branches}`, target_branch: "main" };
    const { iid } = await send("POST", "/merge_requests", "owner", { title: "t", ...between });
    const made = await send("PUT", `/merge_requests/${iid}`, "owner", { title });
    expect([title, made.draft]).toEqual([title, isDraft]);
    for (const place of [
      "/merge_requests?scope=all",
      "/groups/acme/merge_requests?",
      `${SITE}/merge_requests?`,
    ]) {
      for (const wip of ["yes", "no"]) {
        const { json } = await app.call(`GET ${place}&wip=${wip}&per_page=100`, { as: "owner" });
        const numbers = json.map((one: { iid: number }) => one.iid);
        expect([place, wip, numbers.includes(iid)]).toEqual([
          place,
          wip,
          isDraft === (wip === "yes"),
        ]);
      }
    }
  });

  it("is refused with anything else", async () => {
    const { status } = await app.call(`GET ${SITE}/merge_requests?wip=maybe`, { as: "owner" });
    expect(status).toBe(400);
  });
});

it("GraphQL leaves merge requests of a reviewer out, and those of two assignees", async () => {
  const titles = async (args: string) => {
    const query = `{ project(fullPath: "acme/site") { mergeRequests(iids: ["1", "2"], ${args}) { nodes { title } } } }`;
    const { json } = await app.call("POST /api/graphql", { as: "owner", json: { query } });
    expect(json.errors).toBeUndefined();
    return json.data.project.mergeRequests.nodes.map(({ title }: { title: string }) => title);
  };
  expect(await titles('not: { reviewerUsername: "reporter" }')).toEqual(["second"]);
  expect(await titles('not: { reviewerUsername: "owner" }')).toEqual(["second", "Draft: first"]);
  expect(await titles('not: { assigneeUsernames: ["guest", "developer"] }')).toEqual(["second"]);
});
