// Forms of wikis, releases, milestones, labels, snippets and pipelines.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newCodeProject } from "../api/_merge-requests.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { type Forms, fieldsOf, HOSTILE, RUNS, visitForms } from "./_forms.ts";

let app: TestApp;
let forms: Forms;
beforeAll(async () => {
  app = await testApp();
  forms = await visitForms(app);
});
afterAll(() => app.dispose());

const as = (person: Person) => forms.as(person);
const [NONE, MAY, SIGN_IN] = [[404, 404] as const, [200, 303] as const, [302, 303] as const];
const OTHERS = { stranger: NONE, anonymous: SIGN_IN };

describe("forms of wikis", () => {
  it("create, change, rename and delete pages", async () => {
    const project = await newCodeProject(app);
    const base = `/${project.fullPath}/-/wikis`;
    const developer = as("developer");
    expect((await developer.get(base)).page).toContain(`href="${base}/new"`);
    const refused = await developer.post(`${base}/new`, { title: "", content: HOSTILE });
    expect([refused.status, fieldsOf(refused.page)["content"]]).toEqual([422, HOSTILE]);
    expect(refused.page).not.toMatch(RUNS);
    const form = { title: "docs/Set up", content: "# One\r\n", format: "markdown" };
    const made = await developer.post(`${base}/new`, form);
    expect(made.headers.get("location")).toBe(`${base}/docs/Set-up`);
    const shown = await developer.follow(made);
    expect(shown.page).toContain(`href="${base}/docs/Set-up/edit"`);
    const edit = `${base}/docs/Set-up/edit`;
    expect(fieldsOf((await developer.get(edit)).page)).toMatchObject({
      ...{ content: "# One\n", format: "markdown" },
    });
    const fields = fieldsOf((await developer.get(edit)).page);
    const same = await developer.post(edit, { ...fields, content: HOSTILE });
    expect(same.headers.get("location")).toBe(`${base}/docs/Set-up`);
    expect((await developer.follow(same)).page).not.toMatch(RUNS);
    const twice = await developer.post(`${base}/new`, form);
    expect([twice.status, twice.page.includes("Duplicate page")]).toEqual([422, true]);
    const moved = await developer.post(edit, { ...fields, title: "docs/Begin" });
    expect(moved.headers.get("location")).toBe(`${base}/docs/Begin`);
    const page = `${base}/docs/Begin`;
    expect((await developer.get(`${page}/edit`)).page).not.toContain(`${page}/delete`);
    expect((await as("maintainer").get(`${page}/edit`)).page).toContain(`${page}/delete`);
    expect((await developer.post(`${page}/delete`)).status).toBe(404);
    const members = { developer: MAY, reporter: NONE, guest: NONE };
    await forms.answersFor(`${page}/edit`, { content: "x" }, { ...members, ...OTHERS });
    await forms.answersFor(`${base}/new`, { title: "x", content: "x" }, { ...members, ...OTHERS });
    expect((await as("maintainer").post(`${page}/delete`)).headers.get("location")).toBe(base);
    expect((await developer.get(page)).status).toBe(404);
    expect((await as("owner").get("/groups/secret/-/wikis/new")).status).toBe(200);
    const ofGroup = await as("owner").post("/groups/secret/-/wikis/new", form);
    expect(ofGroup.headers.get("location")).toBe("/groups/secret/-/wikis/docs/Set-up");
    expect((await as("owner").get("/groups/secret/-/wikis/docs/Set-up/edit")).status).toBe(200);
  });
});

describe("forms of releases", () => {
  it("create, change and delete them", async () => {
    const project = await newCodeProject(app);
    const base = `/${project.fullPath}/-/releases`;
    await project.send("POST", "/milestones", { title: "v1 <b>" });
    const developer = as("developer");
    expect((await developer.get(base)).page).toContain(`href="${base}/new"`);
    expect(fieldsOf((await developer.get(`${base}/new?tag_name=v1.0`)).page)).toEqual({
      ...{ tag_name: "v1.0", ref: "main", name: "", description: "", "milestones[]": "" },
    });
    const form = { tag_name: "v1.0", ref: "none", name: "", description: HOSTILE };
    const refused = await developer.post(`${base}/new`, form);
    expect([refused.status, fieldsOf(refused.page)["description"]]).toEqual([422, HOSTILE]);
    expect(refused.page).not.toMatch(RUNS);
    const sent = { ...form, ref: "main", "milestones[]": ["", "v1 <b>"] };
    const made = await developer.post(`${base}/new`, sent);
    expect(made.headers.get("location")).toBe(`${base}/v1.0`);
    const read = async () => (await project.get("/releases/v1.0")).json;
    expect(await read()).toMatchObject({
      ...{ name: "v1.0", description: HOSTILE, milestones: [{ title: "v1 <b>" }] },
    });
    const edit = `${base}/v1.0/edit`;
    const shown = await developer.follow(made);
    expect(shown.page).toContain(`href="${edit}"`);
    expect(shown.page).not.toMatch(RUNS);
    expect((await as("reporter").get(`${base}/v1.0`)).page).not.toContain("/edit");
    expect(fieldsOf((await developer.get(edit)).page)).toEqual({
      ...{ name: "v1.0", description: HOSTILE, "milestones[]": "v1 <b>" },
    });
    const members = { developer: MAY, reporter: NONE, guest: NONE };
    const changed = { name: "One", description: "", "milestones[]": "" };
    await forms.answersFor(edit, changed, { ...members, ...OTHERS });
    expect(await read()).toMatchObject({ name: "One", description: null });
    expect((await read()).milestones ?? []).toEqual([]);
    expect((await as("reporter").get(`${base}/new`)).status).toBe(404);
    expect((await as("reporter").post(`${base}/v1.0/delete`)).status).toBe(404);
    expect((await developer.post(`${base}/v1.0/delete`)).headers.get("location")).toBe(base);
    expect((await project.get("/releases/v1.0")).status).toBe(404);
  });
});

describe("forms of milestones and labels", () => {
  it("create, change, close and delete them, in projects and groups", async () => {
    const project = await newCodeProject(app);
    for (const [base, person, api] of [
      [`/${project.fullPath}/-`, "developer", project.path],
      ["/groups/secret/-", "owner", "/groups/secret"],
    ] as const) {
      const visitor = as(person);
      const get = async (path: string) =>
        (await app.call(`GET ${api}${path}`, { as: person })).json;
      expect((await visitor.get(`${base}/milestones`)).page).toContain(`${base}/milestones/new`);
      const form = { title: HOSTILE, start_date: "2026-12-24", due_date: "2026-12-01" };
      const refused = await visitor.post(`${base}/milestones/new`, form);
      expect([refused.status, fieldsOf(refused.page)["due_date"]]).toEqual([422, "2026-12-01"]);
      expect(refused.page).not.toMatch(RUNS);
      const sent = { ...form, title: `By hand in ${person}`, due_date: "2026-12-31" };
      const made = await visitor.post(`${base}/milestones/new`, sent);
      const page = String(made.headers.get("location"));
      expect(page).toMatch(new RegExp(`${base}/milestones/\\d+$`));
      const fields = fieldsOf((await visitor.get(`${page}/edit`)).page);
      expect(fields).toMatchObject({ ...sent, description: "" });
      const { milestone_id = "" } = fields;
      expect((await visitor.post(`${page}/edit`, { ...fields, title: "" })).status).toBe(422);
      const changed = { ...fields, description: "*New*", due_date: "" };
      expect((await visitor.post(`${page}/edit`, changed)).headers.get("location")).toBe(page);
      const close = { milestone_id, state_event: "close" };
      expect((await visitor.post(`${page}/state`, close)).headers.get("location")).toBe(page);
      const milestone = `/milestones/${milestone_id}`;
      expect(await get(milestone)).toMatchObject({
        ...{ description: "*New*", due_date: null, state: "closed" },
      });
      expect((await as("reporter").get(page)).page).not.toContain("/edit");
      for (const path of [`${page}/edit`, `${base}/milestones/new`]) {
        expect((await as("guest").get(path)).status).toBe(404);
        expect((await as("guest").post(path, fields)).status).toBe(404);
        expect((await as("anonymous").get(path)).status).toBe(302);
      }
      expect((await as("guest").post(`${page}/delete`, { milestone_id })).status).toBe(404);
      const gone = await visitor.post(`${page}/delete`, { milestone_id });
      expect(gone.headers.get("location")).toBe(`${base}/milestones`);

      const labels = `${base}/labels`;
      expect((await visitor.get(labels)).page).toContain(`${labels}/new`);
      const wrong = await visitor.post(`${labels}/new`, { name: HOSTILE, color: "nothing" });
      expect([wrong.status, fieldsOf(wrong.page)["name"]]).toEqual([422, HOSTILE]);
      expect(wrong.page).toContain('id="field-color-error"');
      expect(wrong.page).not.toMatch(RUNS);
      const label = { name: `by ${person}`, color: "#cc0000", description: HOSTILE };
      expect((await visitor.post(`${labels}/new`, label)).headers.get("location")).toBe(labels);
      const list = (await visitor.get(labels)).page;
      expect(list).not.toMatch(RUNS);
      const { id } = await get(`/labels/${encodeURIComponent(label.name)}`);
      const edit = `${labels}/${id}/edit`;
      expect(list).toContain(`href="${edit}"`);
      const known = fieldsOf((await visitor.get(edit)).page);
      expect(known).toMatchObject({
        ...{ new_name: label.name, color: "#cc0000", description: HOSTILE },
      });
      expect((await visitor.post(edit, { ...known, new_name: "x", color: "#00cc00" })).status).toBe(
        303,
      );
      expect(await get("/labels/x")).toMatchObject({ id, color: "#00cc00" });
      expect((await as("guest").get(labels)).page).not.toContain("/edit");
      for (const path of [edit, `${labels}/new`]) {
        expect((await as("guest").get(path)).status).toBe(404);
        expect((await as("guest").post(path, { ...label, name: "y" })).status).toBe(404);
      }
      expect((await as("guest").post(`${labels}/${id}/delete`)).status).toBe(404);
      expect((await visitor.post(`${labels}/${id}/delete`)).headers.get("location")).toBe(labels);
    }
  });
});

describe("forms of snippets", () => {
  it("create, change and delete them, in projects and of people", async () => {
    const project = await newCodeProject(app);
    for (const [base, api, mayNot] of [
      [`/${project.fullPath}`, project.path, "guest"],
      ["", "", "guest"],
    ] as const) {
      const reporter = as("reporter");
      const form = { title: HOSTILE, description: "", visibility: "private", file_name: "a.txt" };
      const refused = await reporter.post(`${base}/-/snippets/new`, { ...form, content: "" });
      expect([refused.status, fieldsOf(refused.page)["title"]]).toEqual([422, HOSTILE]);
      expect(refused.page).not.toMatch(RUNS);
      const sent = { ...form, content: `${HOSTILE}\r\n` };
      const made = await reporter.post(`${base}/-/snippets/new`, sent);
      const page = String(made.headers.get("location"));
      expect(page).toMatch(new RegExp(`^${base}/-/snippets/\\d+$`));
      const shown = await reporter.follow(made);
      expect(shown.page).toContain(`href="${page}/edit"`);
      expect(shown.page).not.toMatch(RUNS);
      const fields = fieldsOf((await reporter.get(`${page}/edit`)).page);
      expect(fields).toEqual({ ...form, content: `${HOSTILE}\n` });
      const changed = await reporter.post(`${page}/edit`, { ...fields, content: "new" });
      expect(changed.headers.get("location")).toBe(page);
      const id = page.split("/").at(-1);
      const raw = await app.call(`GET ${api}/snippets/${id}/raw`, { as: "reporter" });
      expect(raw.text).toBe("new");
      const members = { [mayNot]: NONE };
      await forms.answersFor(`${page}/edit`, fields, { ...members, ...OTHERS });
      expect((await as(mayNot).post(`${page}/delete`)).status).toBe(404);
      expect((await reporter.post(`${page}/delete`)).status).toBe(303);
      expect((await reporter.get(page)).status).toBe(404);
    }
    const base = `/${project.fullPath}/-/snippets`;
    const two = ["a.md", "b.md"].map((file_path) => ({ file_path, content: "x" }));
    const json = { title: "Two", visibility: "private", files: two };
    const { json: several } = await project.send("POST", "/snippets", json, "reporter");
    const fields = fieldsOf((await as("reporter").get(`${base}/${several.id}/edit`)).page);
    expect(Object.keys(fields).sort()).toEqual(["description", "title", "visibility"]);
    expect((await as("guest").get(`${base}/new`)).status).toBe(404);
    expect((await as("anonymous").get("/-/snippets/new")).status).toBe(302);
  });
});

describe("forms of pipelines and jobs", () => {
  it("start them with variables", async () => {
    const project = await newCodeProject(app);
    const configuration =
      "check:\n  script: make\nship:\n  script: make\n  when: manual\n  allow_failure: false\n";
    await project.commit("main", { ".gitlab-ci.yml": configuration });
    const base = `/${project.fullPath}/-`;
    const developer = as("developer");
    expect((await developer.get(`${base}/pipelines`)).page).toContain(`${base}/pipelines/new`);
    const asked = "?ref=topic&var[A]=1&var[B]=a%3Db";
    expect(fieldsOf((await developer.get(`${base}/pipelines/new${asked}`)).page)).toEqual({
      ...{ ref: "topic", variables: "A=1\nB=a=b" },
    });
    for (const form of [
      { ref: "none", variables: HOSTILE.replace("=", "") },
      { ref: "none", variables: "A=1" },
      { ref: "main", variables: "=x" },
    ]) {
      const refused = await developer.post(`${base}/pipelines/new`, form);
      expect([form, refused.status, fieldsOf(refused.page)]).toEqual([form, 422, form]);
      expect(refused.page).not.toMatch(RUNS);
    }
    const form = { ref: "main", variables: "A=1\r\n\r\nB=a=b" };
    const made = await developer.post(`${base}/pipelines/new`, form);
    const page = String(made.headers.get("location"));
    const id = page.split("/").at(-1);
    const { json: variables } = await project.get(`/pipelines/${id}/variables`);
    expect(variables).toMatchObject([
      { key: "A", value: "1" },
      { key: "B", value: "a=b" },
    ]);
    expect((await developer.get(page)).status).toBe(200);
    await forms.answersFor(`${base}/pipelines/new`, form, { reporter: NONE, ...OTHERS });

    const { json: jobs } = await project.get(`/pipelines/${id}/jobs`);
    const { id: ship } = jobs.find(({ name }: { name: string }) => name === "ship");
    const play = `${base}/jobs/${ship}/play`;
    expect((await developer.get(`${base}/jobs/${ship}`)).page).toContain("Play with variables");
    const wrong = await developer.post(play, { variables: "no" });
    expect([wrong.status, fieldsOf(wrong.page)["variables"]]).toEqual([422, "no"]);
    expect(wrong.page).toContain("must be lines such as NAME=value");
    expect((await as("reporter").post(play, { variables: "C=3" })).status).toBe(404);
    expect((await developer.post(play, { variables: "C=3\r\n" })).status).toBe(303);
    const [row] = await app.store
      .reader()
      .rows("select count(*) from pipeline_variables where job_id = ?", [ship]);
    expect(Number(row?.[0])).toBe(1);
  });

  it("show a pipeline that waits for somebody", async () => {
    const project = await newCodeProject(app);
    const configuration = "ship:\n  script: make\n  when: manual\n  allow_failure: false\n";
    await project.commit("main", { ".gitlab-ci.yml": configuration });
    const { json: pipeline } = await project.send("POST", "/pipeline", { ref: "main" });
    expect(pipeline.status).toBe("manual");
    expect(
      (await as("developer").get(pipeline.web_url.replace(/^https?:\/\/[^/]+/, ""))).status,
    ).toBe(200);
  });
});
