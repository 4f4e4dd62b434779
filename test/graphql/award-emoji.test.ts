import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;
const ids = { issue: "", note: "", secret: "", internal: "" };
const SITE = "/projects/acme%2Fsite";

beforeAll(async () => {
  app = await testApp();
  const create = async (path: string, json: object) =>
    (await app.call(`POST ${SITE}/${path}`, { as: "owner", json })).json.id;
  ids.issue = `gid://gitlab/Issue/${await create("issues", { title: "First" })}`;
  ids.note = `gid://gitlab/Note/${await create("issues/1/notes", { body: "A note" })}`;
  ids.internal = `gid://gitlab/Note/${await create("issues/1/notes", { body: "x", internal: true })}`;
  const secret = { title: "Secret", confidential: true };
  ids.secret = `gid://gitlab/Issue/${await create("issues", secret)}`;
});
afterAll(() => app.dispose());

type As = "owner" | "guest" | "anonymous";

/** Changes what the caller gave, and gives the payload, or the error. */
async function change(what: string, awardableId: string, name: string, as: As = "owner") {
  const toggled = what === "Toggle" ? "toggledOn" : "";
  const { data, errors } = await send(
    app,
    as,
    `mutation ($input: AwardEmoji${what}Input!) { awardEmoji${what}(input: $input) {
       awardEmoji { name description emoji user { username } } errors ${toggled} } }`,
    { input: { awardableId, name } },
  );
  return errors?.[0].message ?? data[`awardEmoji${what}`];
}

const heart = { name: "heart", description: "heart", emoji: null, user: { username: "owner" } };

it.each(["issue", "note"] as const)("emoji are given to an %s and taken back", async (on) => {
  const given = { errors: [], awardEmoji: heart };
  expect(await change("Add", ids[on], "heart")).toEqual(given);
  expect(await change("Add", ids[on], "heart")).toEqual({
    errors: ["Name has already been taken"],
    awardEmoji: null,
  });
  expect(await change("Remove", ids[on], "heart")).toEqual({ errors: [], awardEmoji: null });
  expect(await change("Remove", ids[on], "heart")).toEqual({
    errors: ["Name was not given"],
    awardEmoji: null,
  });
  expect(await change("Toggle", ids[on], "heart")).toEqual({ ...given, toggledOn: true });
  expect(await change("Toggle", ids[on], "heart")).toEqual({
    errors: [],
    awardEmoji: null,
    toggledOn: false,
  });
});

it("emoji have to be known, and what they are given to visible", async () => {
  expect(await change("Toggle", ids.issue, "no_such_emoji")).toEqual({
    errors: ["Name is not included in the list"],
    awardEmoji: null,
    toggledOn: false,
  });
  for (const what of ["Add", "Remove", "Toggle"]) {
    expect(await change(what, ids.secret, "heart", "guest")).toBe(NOT_AVAILABLE);
    expect(await change(what, ids.internal, "heart", "guest")).toBe(NOT_AVAILABLE);
    expect(await change(what, ids.issue, "heart", "anonymous")).toBe(NOT_AVAILABLE);
    expect(await change(what, "gid://gitlab/Note/9999", "heart")).toBe(NOT_AVAILABLE);
  }
  expect(await change("Add", "gid://gitlab/Project/1", "heart")).toContain(
    "does not represent an instance of Awardable",
  );
});

it("emoji are listed, and agree with REST", async () => {
  await change("Add", ids.issue, "+1");
  await change("Add", ids.issue, "thumbsup", "guest");
  await change("Add", ids.note, "smile");
  const { project } = await ask(
    app,
    `{ project(fullPath: "acme/site") { issue(iid: "1") { upvotes
       awardEmoji { count nodes { name user { username } } }
       notes { nodes { awardEmoji { nodes { name } } } } } } }`,
  );
  const { json } = await app.call(`GET ${SITE}/issues/1/award_emoji`, { as: "owner" });
  const shown = json.map(({ name, user }: { name: string; user: { username: string } }) => ({
    name,
    user: { username: user.username },
  }));
  expect(project.issue).toEqual({
    upvotes: 2,
    awardEmoji: { count: 2, nodes: shown },
    notes: {
      nodes: [{ awardEmoji: { nodes: [{ name: "smile" }] } }, { awardEmoji: { nodes: [] } }],
    },
  });
});

it("records of each type with emoji are found by their ids, as far as the caller may see them", async () => {
  const query = `query ($id: AwardableID!) { awardable(id: $id) { __typename awardEmoji { nodes { name } } } }`;
  const found = async (id: string, as: As = "owner") =>
    (await ask(app, query, { id }, as)).awardable;
  await change("Add", ids.issue, "rocket");
  await change("Add", ids.internal, "eyes");
  const nodes = expect.arrayContaining([{ name: "rocket" }]);
  const given = { __typename: "Issue", awardEmoji: { nodes } };
  expect(await found(ids.issue)).toEqual(given);
  expect(await found(ids.issue.replace("Issue", "WorkItem"))).toEqual(given);
  expect(await found(ids.internal)).toEqual({
    __typename: "Note",
    awardEmoji: { nodes: [{ name: "eyes" }] },
  });
  expect(await found(ids.internal, "guest")).toBeNull();
  expect(await found(ids.secret, "guest")).toBeNull();
});
