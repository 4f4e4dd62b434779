// Forms of groups and projects: what they ask for, what they do, and who may.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CodeProject, newCodeProject } from "../api/_merge-requests.ts";
import { givePassword, PASSWORD, type Person, type TestApp, testApp } from "../helpers.ts";
import { Visitor } from "../visitor.ts";

let app: TestApp;
const visitors = new Map<Person, Visitor>();
beforeAll(async () => {
  app = await testApp();
  const people = ["owner", "maintainer", "developer", "reporter", "guest", "stranger"] as const;
  await givePassword(app, ...people);
  for (const person of people) {
    const visitor = new Visitor(app);
    expect((await visitor.signIn(person, PASSWORD)).status).toBe(303);
    visitors.set(person, visitor);
  }
  const anonymous = new Visitor(app);
  await anonymous.get("/users/sign_in");
  visitors.set("anonymous", anonymous);
});
afterAll(() => app.dispose());

const as = (person: Person) => visitors.get(person) as Visitor;
const HOSTILE = `<script>alert(1)</script><img src=x onerror=alert(1)>"'&`;

/** What would run. */
const RUNS = /<script|<img src=x|<\w[^>"]*\sonerror/i;

/** What the fields of a page hold, by their names: of checkboxes and choices, those that are chosen. */
function fieldsOf(page: string): Record<string, string> {
  const fields: Record<string, string> = {};
  const main = page.slice(page.indexOf("<main"));
  const text = (markup: string) =>
    markup
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&quot;", '"')
      .replaceAll("&#39;", "'")
      .replaceAll("&amp;", "&");
  const attribute = (tag: string, name: string) =>
    text(new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? "");
  for (const [tag] of main.matchAll(/<input[^>]*>/g)) {
    const name = attribute(tag, "name");
    if (tag.includes('type="checkbox"') && !/\schecked/.test(tag)) continue;
    const value = attribute(tag, "value");
    if (name.endsWith("[]")) {
      fields[name] = [fields[name], value].filter(Boolean).join(",");
    } else if (name !== "authenticity_token") fields[name] = value;
  }
  for (const [, tag = "", value = ""] of main.matchAll(/<textarea([^>]*)>\n([^<]*)<\/textarea>/g)) {
    fields[attribute(tag, "name")] = text(value);
  }
  for (const [, tag = "", options = ""] of main.matchAll(/<select([^>]*)>(.*?)<\/select>/gs)) {
    const chosen = /<option value="([^"]*)" selected>/.exec(options);
    fields[attribute(tag, "name")] = text(chosen?.[1] ?? "");
  }
  return fields;
}

/** What each of some people gets for a form: the status of its page, and of sending it. */
async function answersFor(
  path: string,
  form: Record<string, string | string[]>,
  expected: Partial<Record<Person, readonly [shown: number, sent: number]>>,
) {
  const answers: Record<string, readonly [number, number]> = {};
  for (const person of Object.keys(expected) as Person[]) {
    const visitor = as(person);
    const shown = await visitor.get(path);
    answers[person] = [shown.status, (await visitor.post(path, form)).status];
  }
  expect(answers).toEqual(expected);
}

describe("the form of an issue", () => {
  it("has what the issue has, changes it, and keeps what was typed if the API refuses it", async () => {
    const project = await newCodeProject(app);
    const base = `/${project.fullPath}/-/issues`;
    const { json: label } = await project.send(
      "POST",
      "/labels",
      { name: "in review", color: "#cc0000" },
      "reporter",
    );
    await project.send("POST", "/labels", { name: HOSTILE, color: "#00cc00" }, "reporter");
    const { json: milestone } = await project.send(
      "POST",
      "/milestones",
      { title: "v1 <b>" },
      "developer",
    );
    const reporter = as("reporter");
    const asked = `?issue[title]=${encodeURIComponent(HOSTILE)}&issue[description]=Why`;
    const empty = await reporter.get(`${base}/new${asked}`);
    expect(fieldsOf(empty.page)).toEqual({
      ...{ title: HOSTILE, description: "Why", confidential: "false", due_date: "" },
      ...{ "assignee_ids[]": "", "labels[]": "", milestone_id: "" },
    });
    expect(empty.page).not.toMatch(RUNS);
    const { json: people } = await project.get("/members/all");
    const developer = people.find(({ username }: { username: string }) => username === "developer");
    const made = await reporter.post(`${base}/new`, {
      ...{ title: "First", description: "One\r\ntwo", confidential: ["false", "true"] },
      ...{ "assignee_ids[]": ["", String(developer.id)], "labels[]": ["", label.name] },
      ...{ milestone_id: String(milestone.id), due_date: "2026-12-24" },
    });
    expect([made.status, made.headers.get("location")]).toEqual([303, `${base}/1`]);
    const { json: issue } = await project.get("/issues/1");
    expect(issue).toMatchObject({
      ...{ title: "First", description: "One\ntwo", confidential: true, labels: ["in review"] },
      ...{ due_date: "2026-12-24", milestone: { id: milestone.id } },
      assignees: [{ username: "developer" }],
    });
    expect((await reporter.get(`${base}/1`)).page).toContain(`href="${base}/1/edit"`);
    const shown = await reporter.get(`${base}/1/edit`);
    const fields = fieldsOf(shown.page);
    expect(fields).toEqual({
      ...{ title: "First", description: "One\ntwo", confidential: "true", due_date: "2026-12-24" },
      ...{ "assignee_ids[]": String(developer.id), "labels[]": "in review" },
      milestone_id: String(milestone.id),
    });
    const refused = await reporter.post(`${base}/1/edit`, {
      ...{ title: "", description: HOSTILE, due_date: "2026-12-31", "labels[]": ["", HOSTILE] },
    });
    expect(refused.status).toBe(422);
    expect(refused.page).toContain('<a href="#title">Title</a> can&#39;t be blank');
    expect(refused.page).toContain('id="title-error">Title can&#39;t be blank.');
    expect(fieldsOf(refused.page)).toMatchObject({
      ...{ title: "", description: HOSTILE, due_date: "2026-12-31", "labels[]": HOSTILE },
    });
    expect(refused.page).not.toMatch(RUNS);
    const saved = await reporter.post(`${base}/1/edit`, {
      ...{ title: "Second", description: "", confidential: "false", due_date: "" },
      ...{ "assignee_ids[]": "", "labels[]": "", milestone_id: "" },
    });
    expect([saved.status, saved.headers.get("location")]).toEqual([303, `${base}/1`]);
    expect((await project.get("/issues/1")).json).toMatchObject({
      ...{ title: "Second", description: null, confidential: false, labels: [], assignees: [] },
      ...{ due_date: null, milestone: null },
    });
  });

  it("is there for those who may change the issue", async () => {
    const project = await newCodeProject(app);
    const base = `/${project.fullPath}/-/issues`;
    await project.send("POST", "/issues", { title: "Of a guest" }, "guest");
    await project.send("POST", "/issues", { title: "Of a developer" });
    const form = { title: "Changed" };
    const [none, may, signIn] = [[404, 404] as const, [200, 303] as const, [302, 303] as const];
    const members = { reporter: may, developer: may };
    const others = { stranger: none, anonymous: signIn };
    await answersFor(`${base}/1/edit`, form, { ...members, guest: may, ...others });
    await answersFor(`${base}/2/edit`, form, { ...members, ...others });
    expect((await as("guest").get(`${base}/2/edit`)).status).toBe(404);
    await answersFor(`${base}/new`, form, { ...members, guest: may, ...others });
    // Guests write, and others plan.
    const guest = await as("guest").get(`${base}/1/edit`);
    expect(Object.keys(fieldsOf(guest.page))).toEqual(["title", "confidential", "description"]);
    expect((await as("guest").get(`${base}/2`)).page).not.toContain("/edit");
    expect((await as("reporter").post(`${base}/2/edit`, form, "")).status).toBe(422);
    const { json } = await project.get("/issues/2");
    expect(json.title).toBe("Changed");
  });
});

describe("the form of a merge request", () => {
  let project: CodeProject;
  beforeAll(async () => {
    project = await newCodeProject(app);
    await project.commit("fix-login", { "b.txt": "new\n" }, { from: "main" });
    await project.commit("next", { "c.txt": "new\n" }, { from: "main" });
  });

  it("begins with what GitLab's links say, and makes what the API makes", async () => {
    const base = `/${project.fullPath}/-/merge_requests`;
    const developer = as("developer");
    expect((await developer.get(base)).page).toContain(`href="${base}/new"`);
    const asked = "?merge_request%5Bsource_branch%5D=fix-login";
    const shown = await developer.get(`${base}/new${asked}`);
    expect(fieldsOf(shown.page)).toMatchObject({
      ...{ source_branch: "fix-login", target_branch: "main" },
    });
    const refused = await developer.post(`${base}/new`, {
      ...{ title: "", source_branch: "none", target_branch: "main", description: HOSTILE },
    });
    expect([refused.status, fieldsOf(refused.page)["description"]]).toEqual([422, HOSTILE]);
    expect(refused.page).not.toMatch(RUNS);
    const made = await developer.post(`${base}/new`, {
      ...{ title: "Log in", source_branch: "fix-login", target_branch: "main" },
    });
    expect(made.status).toBe(303);
    expect(made.headers.get("location")).toMatch(new RegExp(`${base}/1$`));
    const again = await developer.post(`${base}/new`, {
      ...{ title: "Log in", source_branch: "fix-login", target_branch: "main" },
    });
    expect([again.status, again.page.includes('role="alert"')]).toEqual([422, true]);
    const form = { title: "No", source_branch: "next", target_branch: "main" };
    expect((await as("reporter").get(`${base}/new`)).status).toBe(404);
    expect((await as("reporter").post(`${base}/new`, form)).status).toBe(404);
    expect((await as("anonymous").get(`${base}/new`)).status).toBe(302);
  });

  it("changes one, makes it a draft and ready again", async () => {
    const request = await project.open("next", { title: "Next" });
    const path = `/${project.fullPath}/-/merge_requests/${request.iid}`;
    const developer = as("developer");
    expect(fieldsOf((await developer.get(`${path}/edit`)).page)).toMatchObject({
      ...{ title: "Next", target_branch: "main", "reviewer_ids[]": "" },
    });
    const { json: people } = await project.get("/members/all");
    const of = (name: string) =>
      String(people.find(({ username }: { username: string }) => username === name).id);
    const form = { title: "After", "reviewer_ids[]": ["", of("reporter")] };
    expect((await developer.post(`${path}/edit`, form)).status).toBe(303);
    const read = async () => (await project.get(`/merge_requests/${request.iid}`)).json;
    expect(await read()).toMatchObject({ title: "After", reviewers: [{ username: "reporter" }] });
    const buttons = async () =>
      [...(await developer.get(path)).page.matchAll(/action="[^"]*\/(draft|ready)"/g)].map(
        ([, what]) => what,
      );
    expect(await buttons()).toEqual(["draft"]);
    expect((await developer.post(`${path}/draft`)).headers.get("location")).toBe(path);
    expect(await read()).toMatchObject({ title: "Draft: After", draft: true });
    expect(await buttons()).toEqual(["ready"]);
    expect((await developer.post(`${path}/ready`)).status).toBe(303);
    expect(await read()).toMatchObject({ title: "After", draft: false });
    expect((await as("reporter").get(`${path}/edit`)).status).toBe(404);
    expect((await as("reporter").post(`${path}/edit`, { title: "No" })).status).toBe(404);
    expect((await as("stranger").post(`${path}/draft`)).status).toBe(404);
    expect((await read()).title).toBe("After");
  });
});
