import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;

beforeAll(async () => {
  app = await testApp();
  await app.call("POST /projects/acme%2Fsite/labels", {
    as: "owner",
    json: { name: "site", color: "#123456", description: "Of the site" },
  });
  await app.call("POST /groups/acme%2Fteam/labels", {
    as: "owner",
    json: { name: "team", color: "#abcdef" },
  });
});
afterAll(() => app.dispose());

const titles = async (place: string, args: string, as: Person = "owner") => {
  const data = await ask(app, `{ place: ${place} { labels${args} { nodes { title } } } }`, {}, as);
  return data.place.labels.nodes.map(({ title }: { title: string }) => title);
};
const SITE = 'project(fullPath: "acme/site")';
const ACME = 'group(fullPath: "acme")';
const OF_ACME = ["Development", "Testing", "UX"];

describe("a label", () => {
  it("has the values that REST shows, and tells where it belongs", async () => {
    const { project } = await ask(
      app,
      `{ ${SITE} { own: label(title: "site") { id title description color textColor createdAt archived lockOnMerge }
        above: label(title: "UX") { id color } none: label(title: "ux") { id } } }`,
    );
    const { json } = await app.call("GET /projects/acme%2Fsite/labels/site", { as: "owner" });
    const { json: ux } = await app.call("GET /groups/acme/labels/UX", { as: "owner" });
    expect(project).toEqual({
      own: {
        id: `gid://gitlab/ProjectLabel/${json.id}`,
        title: "site",
        description: "Of the site",
        color: "#123456",
        textColor: json.text_color,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        archived: false,
        lockOnMerge: false,
      },
      above: { id: `gid://gitlab/GroupLabel/${ux.id}`, color: "#ff0000" },
      none: null,
    });
  });
});

describe("lists of labels", () => {
  it.each([
    [SITE, "", ["site"]],
    [SITE, "(includeAncestorGroups: true)", [...OF_ACME, "site"]],
    [SITE, '(includeAncestorGroups: true, searchTerm: "s")', ["Testing", "site"].toSorted()],
    [SITE, '(includeAncestorGroups: true, searchTerm: "BEING built")', ["Development"]],
    [SITE, '(includeAncestorGroups: true, searchTerm: "being", searchIn: [TITLE])', []],
    [SITE, '(title: "site")', ["site"]],
    [ACME, "", OF_ACME],
    [ACME, "(includeDescendantGroups: true)", [...OF_ACME, "site", "team"]],
    [ACME, "(includeDescendantGroups: true, onlyGroupLabels: true)", [...OF_ACME, "team"]],
    ['group(fullPath: "acme/team")', "(includeAncestorGroups: true)", [...OF_ACME, "team"]],
    ['group(fullPath: "acme/team")', "", ["team"]],
  ])("%s %s", async (place, args, expected) => {
    expect((await titles(place, args)).sort()).toEqual(expected);
  });

  it("are in the order of REST", async () => {
    const { json } = await app.call("GET /projects/acme%2Fsite/labels", { as: "owner" });
    const listed = json.map(({ name }: { name: string }) => name);
    expect(await titles(SITE, "(includeAncestorGroups: true)")).toEqual(listed);
  });

  it("leave out those of places and features that the caller does not see", async () => {
    const below = "(includeDescendantGroups: true)";
    expect((await titles(ACME, below, "stranger")).sort()).toEqual([...OF_ACME, "site"]);
    const off = { issues_enabled: false, merge_requests_enabled: false };
    await app.call("PUT /projects/acme%2Fsite", { as: "owner", json: off });
    expect(await titles(SITE, "")).toEqual([]);
    const on = { issues_enabled: true, merge_requests_enabled: true };
    await app.call("PUT /projects/acme%2Fsite", { as: "owner", json: on });
    expect(await titles(SITE, "")).toEqual(["site"]);
  });
});

describe("labelCreate", () => {
  const create = (input: object, as: Person = "reporter") =>
    send(
      app,
      as,
      "mutation ($input: LabelCreateInput!) { labelCreate(input: $input) { errors label { id title color } } }",
      { input },
    );

  it("creates labels of projects and groups", async () => {
    const { data } = await create({ projectPath: "acme/site", title: "new" });
    expect(data.labelCreate).toMatchObject({ errors: [], label: { title: "new" } });
    const { json } = await app.call("GET /projects/acme%2Fsite/labels/new", { as: "owner" });
    expect(json.color).toBe(data.labelCreate.label.color);
    const { data: group } = await create({ groupPath: "acme", title: "wide", color: "#010203" });
    expect(group.labelCreate.label).toMatchObject({
      id: expect.stringMatching(/^gid:\/\/gitlab\/GroupLabel\/\d+$/),
      color: "#010203",
    });
  });

  it("refuses what REST refuses", async () => {
    const { data } = await create({ projectPath: "acme/site", title: "site" });
    expect(data.labelCreate).toEqual({ errors: ["Label already exists"], label: null });
    const { errors } = await create({ projectPath: "acme/site", title: "x" }, "guest");
    expect(errors?.[0].message).toBe(NOT_AVAILABLE);
    for (const places of [{}, { groupPath: "acme", projectPath: "acme/site" }]) {
      const { errors } = await create({ ...places, title: "x" });
      expect(errors?.[0].message).toBe(
        "Exactly one of group_path or project_path arguments is required.",
      );
    }
  });
});

describe("ids of labels", () => {
  it("name only those that the caller may see", async () => {
    const { group } = await ask(
      app,
      '{ group(fullPath: "secret") { label(title: "Hidden") { id } } }',
    );
    const own = await app.call("POST /projects", { as: "stranger", json: { name: "Own" } });
    expect(own.status).toBe(201);
    const { data } = await send(
      app,
      "stranger",
      `mutation ($ids: [LabelID!]) { createIssue(input: {projectPath: "stranger/own", title: "Guess", labelIds: $ids}) {
        errors issue { labels { nodes { title } } } } }`,
      { ids: [group.label.id] },
    );
    expect(data.createIssue).toEqual({ errors: [], issue: { labels: { nodes: [] } } });
  });
});

it("labelUpdate changes and archives labels of groups and projects", async () => {
  const { group, project } = await ask(
    app,
    `{ group: ${ACME} { label(title: "Testing") { id } } project: ${SITE} { label(title: "site") { id } } }`,
  );
  const update = (as: Person, input: object) =>
    send(
      app,
      as,
      `mutation ($input: LabelUpdateInput!) { labelUpdate(input: $input) {
        errors label { title color description archived } } }`,
      { input },
    );
  const { data } = await update("owner", {
    id: project.label.id,
    title: "page",
    color: "#000000",
    description: null,
  });
  expect(data.labelUpdate).toEqual({
    errors: [],
    label: { title: "page", color: "#000000", description: null, archived: false },
  });
  const archived = await update("owner", { id: group.label.id, archived: true });
  expect(archived.data.labelUpdate.label).toMatchObject({ title: "Testing", archived: true });
  expect(await titles(ACME, "(archived: true)")).toEqual(["Testing"]);
  expect(await titles(ACME, "(archived: false)")).not.toContain("Testing");
  expect(await titles(ACME, "")).toContain("Testing");
  const wrong = await update("owner", { id: project.label.id, color: "reddish" });
  expect(wrong.data.labelUpdate).toEqual({
    errors: ["Color must be a valid color code"],
    label: null,
  });
  for (const as of ["guest", "anonymous"] as const) {
    const { data: refused, errors } = await update(as, { id: project.label.id, archived: true });
    expect([as, refused.labelUpdate, errors?.[0].message]).toEqual([as, null, NOT_AVAILABLE]);
  }
  await update("owner", { id: group.label.id, archived: false });
});
