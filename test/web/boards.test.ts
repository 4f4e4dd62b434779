// The pages of boards, whose cards are moved there.
import { afterAll, beforeAll, expect, it } from "vitest";
import { boardSeed } from "../boards.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type Forms, fieldsOf, visitForms } from "./_forms.ts";

let app: TestApp;
let forms: Forms;
const PAGES = { project: "", group: "" };
beforeAll(async () => {
  app = await testApp({ seed: boardSeed });
  forms = await visitForms(app);
  for (const kind of ["project", "group"] as const) {
    const at = kind === "project" ? "/projects/acme%2Fsite" : "/groups/acme";
    const { json } = await app.call(`GET ${at}/boards`, { as: "owner" });
    PAGES[kind] = `${kind === "project" ? "/acme/site" : "/groups/acme"}/-/boards/${json[0].id}`;
  }
});
afterAll(() => app.dispose());

/** The titles of the columns, each with those of its cards. */
async function columns(path: string, as: Person = "reporter"): Promise<Record<string, string[]>> {
  const { status, page } = await forms.as(as).get(path);
  expect(status).toBe(200);
  return Object.fromEntries(
    [...page.matchAll(/<section aria-labelledby.*?<\/section>/gs)].map(([section]) => [
      /<h2[^>]*>([^<]*)/.exec(section)?.[1],
      [...section.matchAll(/<h3><a[^>]*>([^<]*)/g)].map(([, title]) => title),
    ]),
  ) as Record<string, string[]>;
}

const issue = async (title: string) => {
  const { json } = await app.call(`GET /projects/acme%2Fsite/issues?search=${title}&in=title`, {
    as: "owner",
  });
  return json[0];
};

/** Moves a card by its form. */
async function move(path: string, title: string, form: Record<string, string>) {
  const { id } = await issue(title);
  const { page } = await forms.as("reporter").get(`${path}?move=${id}`);
  const main = page.slice(page.indexOf(`id="card-${id}"`));
  const fields = fieldsOf(`<main${main.slice(0, main.indexOf("</form>"))}`);
  const sent = await forms.as("reporter").post(`${path}/move`, { ...fields, ...form });
  expect([sent.status, sent.headers.get("location")]).toEqual([303, `${path}#card-${id}`]);
}

it("show the open list, those of labels and the closed one", async () => {
  expect(await columns(PAGES.project)).toEqual({
    Open: ["d", "e"],
    Development: ["a", "b", "f"],
    Testing: ["c"],
    Closed: ["h", "g"],
  });
  const { Development } = await columns(PAGES.project, "stranger");
  expect(Development).toEqual(["a", "b"]);
});

it.each(["project", "group"] as const)(
  "of a %s move cards between lists and within them",
  async (kind) => {
    const path = PAGES[kind];
    const { page } = await forms.as("reporter").get(path);
    const list = (title: string) =>
      new RegExp(`data-list="(\\d+)"><h2[^>]*>${title}<`).exec(page)?.[1] as string;
    await move(path, "e", { to: list("Testing"), position: "0" });
    expect((await issue("e")).labels).toEqual(["Testing"]);
    const mine = async () => (await columns(PAGES.project))["Testing"];
    expect(await mine()).toEqual(["e", "c"]);
    await move(path, "e", { position: "-1" });
    expect(await mine()).toEqual(["c", "e"]);
    await move(path, "e", { to: "closed", position: "0" });
    expect(await issue("e")).toMatchObject({ state: "closed", labels: [] });
    await move(path, "e", { to: "backlog", position: "-1" });
    expect(await issue("e")).toMatchObject({ state: "opened", labels: [] });
  },
);

it("offer it to those who may, and say why something is refused", async () => {
  const { id, iid, project_id } = await issue("a");
  const form = { issue: String(iid), project: String(project_id), from: "backlog", to: "closed" };
  for (const person of ["guest", "stranger"] as const) {
    const { page } = await forms.as(person).get(`${PAGES.project}?move=${id}`);
    expect(page).not.toMatch(/draggable="|<script|>Move</);
    const sent = await forms.as(person).post(`${PAGES.project}/move`, { ...form, position: "0" });
    expect([person, sent.status]).toEqual([person, 404]);
  }
  const reporter = forms.as("reporter");
  const board = (await reporter.get(PAGES.project)).headers.get("content-security-policy");
  expect(board).toMatch(/script-src 'sha256-[\w+/]{43}='/);
  for (const [change, status] of [
    [{ from: "9999" }, 404],
    [{ issue: "9999" }, 404],
    [{ position: "-2" }, 400],
    [{ to: "x" }, 422],
  ] as const) {
    const sent = await reporter.post(`${PAGES.project}/move`, {
      ...form,
      position: "0",
      ...change,
    });
    expect([change, sent.status]).toEqual([change, status]);
  }
  expect((await issue("a")).state).toBe("opened");
});

it("show lists of milestones and people, as far as the board is about them", async () => {
  const id = PAGES.project.split("/").at(-1);
  const [milestone] = (await app.call("GET /groups/acme/milestones?title=v1", { as: "owner" }))
    .json;
  const [person] = (await app.call("GET /users?username=developer", { as: "owner" })).json;
  for (const json of [{ milestone_id: milestone.id }, { assignee_id: person.id }]) {
    const at = `POST /projects/acme%2Fsite/boards/${id}/lists`;
    expect((await app.call(at, { as: "owner", json })).status).toBe(201);
  }
  const shown = await columns(PAGES.project);
  expect(shown).toMatchObject({ v1: ["d"], "@developer": ["d"] });
  expect(shown["Open"]).toEqual(["e"]);
  const board = `PUT /projects/acme%2Fsite/boards/${id}`;
  await app.call(board, { as: "owner", json: { assignee_id: person.id, labels: "UX" } });
  const scoped = await columns(PAGES.project);
  expect(scoped).toMatchObject({ Open: [], v1: ["d"], "@developer": ["d"], Development: [] });
  const path = PAGES.project;
  await move(path, "d", { to: "backlog", position: "-1" });
  await app.call(board, { as: "owner", json: { assignee_id: 0, labels: "" } });
  expect((await columns(path))["v1"]).toEqual([]);
});
