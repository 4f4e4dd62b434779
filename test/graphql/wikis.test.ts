import { afterAll, beforeAll, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;
const WIKI = "/projects/acme%2Fsite/wikis";

beforeAll(async () => {
  app = await testApp();
  for (const title of ["Home", "docs/Set up", "About"]) {
    const json = { title, content: `# ${title}` };
    const { status, text } = await app.call(`POST ${WIKI}`, { as: "owner", json });
    if (status !== 201) throw new Error(text);
  }
});
afterAll(() => app.dispose());

const FIELDS = "id title name slug format content webUrl subscribed project { fullPath }";
const SITE = 'project(fullPath: "acme/site")';

it("wiki pages have the values that REST shows", async () => {
  const { project } = await ask(
    app,
    `{ ${SITE} { id wikiPages { count nodes { ${FIELDS} } }
      wikiPage(slug: "docs/Set-up") { ${FIELDS} } missing: wikiPage(slug: "x") { id } } }`,
    {},
    "anonymous",
  );
  const { json } = await app.call(`GET ${WIKI}?with_content=true`);
  const shown = json.map((page: Record<string, string>) => ({
    id: expect.stringMatching(/^gid:\/\/gitlab\/WikiPage::Meta\/\d+$/),
    title: page["title"],
    name: page["title"],
    slug: page["slug"],
    format: "MARKDOWN",
    content: page["content"],
    webUrl: `http://pm.test/acme/site/-/wikis/${page["slug"]}`,
    subscribed: false,
    project: { fullPath: "acme/site" },
  }));
  expect(project.wikiPages).toEqual({ count: 3, nodes: shown });
  expect(project.wikiPage).toEqual(shown[2]);
  expect(project.missing).toBeNull();
  const found = await ask(
    app,
    `query ($id: ProjectID) { wikiPage(slug: "Home", projectId: $id) { title }
      none: wikiPage(slug: "Home") { title } }`,
    { id: project.id },
  );
  expect(found).toEqual({ wikiPage: { title: "Home" }, none: null });
});

const change = async (name: string, input: object, as: Person = "developer") => {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input!`;
  const { data, errors } = await send(
    app,
    as,
    `mutation ($input: ${type}) { ${name}(input: $input) { errors wikiPage { id title slug content
      format } } }`,
    { input },
  );
  return { ...data[name], refused: errors?.[0].message };
};

it("they are created, renamed and removed by those who may", async () => {
  const input = { projectPath: "acme/team/core", title: "Plan", content: "One", format: "RDOC" };
  expect((await change("wikiPageCreate", input, "guest")).refused).toBe(NOT_AVAILABLE);
  const { wikiPage } = await change("wikiPageCreate", input);
  const page = { title: "Plan", slug: "Plan", content: "One", format: "RDOC" };
  expect(wikiPage).toMatchObject(page);
  expect((await change("wikiPageCreate", input)).errors).toEqual([
    "Duplicate page: A page with that title already exists",
  ]);
  const { id } = wikiPage;
  expect((await change("wikiPageUpdate", { id, content: "x" }, "guest")).refused).toBe(
    NOT_AVAILABLE,
  );
  const changed = await change("wikiPageUpdate", { id, title: "New plan", content: "Two" });
  expect(changed.wikiPage).toEqual({
    id,
    title: "New plan",
    slug: "New-plan",
    content: "Two",
    format: "RDOC",
  });
  expect((await change("wikiPageDestroy", { id })).refused).toBe(NOT_AVAILABLE);
  expect(await change("wikiPageDestroy", { id }, "maintainer")).toMatchObject({
    errors: [],
    wikiPage: null,
  });
  expect((await change("wikiPageDestroy", { id }, "maintainer")).refused).toBe(NOT_AVAILABLE);
});

it("users subscribe to wiki pages, each for themselves", async () => {
  await app.call(`POST ${WIKI}`, { as: "owner", json: { title: "Watched", content: "News" } });
  const { project } = await ask(app, `{ ${SITE} { wikiPage(slug: "Watched") { id } } }`);
  const subscribe = async (as: Person, subscribed: boolean) =>
    send(
      app,
      as,
      `mutation ($id: WikiPageMetaID!, $subscribed: Boolean!) {
        wikiPageSubscribe(input: { id: $id, subscribed: $subscribed }) { errors wikiPage { subscribed } } }`,
      { id: project.wikiPage.id, subscribed },
    );
  for (const subscribed of [true, true, false, true]) {
    const { data } = await subscribe("guest", subscribed);
    expect(data.wikiPageSubscribe).toEqual({ errors: [], wikiPage: { subscribed } });
  }
  const shown = `{ ${SITE} { wikiPage(slug: "Watched") { subscribed notes(filter: ALL_NOTES) { nodes { id } }
    discussions { nodes { id } } userPermissions { readWikiPage createNote markNoteAsInternal } } } }`;
  const rest = {
    notes: { nodes: [] },
    discussions: { nodes: [] },
    userPermissions: { readWikiPage: true, createNote: false, markNoteAsInternal: false },
  };
  const own = await ask(app, shown, {}, "guest");
  expect(own.project.wikiPage).toEqual({ subscribed: true, ...rest });
  const others = await ask(app, shown);
  expect(others.project.wikiPage).toEqual({ subscribed: false, ...rest });
  const { data, errors } = await subscribe("anonymous", true);
  expect([data.wikiPageSubscribe, errors?.[0].message]).toEqual([null, NOT_AVAILABLE]);
});

it("they are hidden with the wiki, and with a project that the caller may not see", async () => {
  const pages = async (path: string, as: Person) =>
    (await ask(app, `{ project(fullPath: "${path}") { wikiPages { count } } }`, {}, as)).project
      ?.wikiPages.count;
  expect(await pages("acme/team/core", "stranger")).toBeUndefined();
  const { project } = await ask(app, `{ ${SITE} { wikiPage(slug: "Home") { id } } }`);
  await app.call("PUT /projects/acme%2Fsite", {
    as: "owner",
    json: { wiki_enabled: false },
  });
  expect(await pages("acme/site", "owner")).toBe(0);
  const { id } = project.wikiPage;
  expect((await change("wikiPageUpdate", { id, content: "x" })).refused).toBe(NOT_AVAILABLE);
});
