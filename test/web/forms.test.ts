// Forms of groups and projects: what they ask for, what they do, and who may.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LIVE } from "../../src/pages/live.ts";
import { type CodeProject, newCodeProject } from "../api/_merge-requests.ts";
import { send } from "../graphql/ask.ts";
import { givePassword, PASSWORD, type Person, type TestApp, testApp } from "../helpers.ts";
import { Visitor } from "../visitor.ts";
import { type Forms, fieldsOf, HOSTILE, RUNS, visitForms } from "./_forms.ts";

let app: TestApp;
let forms: Forms;
beforeAll(async () => {
  app = await testApp();
  forms = await visitForms(app);
});
afterAll(() => app.dispose());

const as = (person: Person) => forms.as(person);

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
    const chosen = await reporter.get(`${base}/new?labels[]=in+review&issue[confidential]=true`);
    expect(fieldsOf(chosen.page)).toMatchObject({ "labels[]": "in review", confidential: "true" });
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
    const looked = await reporter.post(`${base}/1/edit`, {
      ...{ title: "Other", description: `**b** #1 ${HOSTILE}`, preview: "true" },
    });
    expect([looked.status, fieldsOf(looked.page)["title"]]).toEqual([200, "Other"]);
    expect(looked.page).toMatch(/aria-label="Preview: Description"[^>]*>.*<strong>b<\/strong> <a/s);
    expect(looked.page).not.toMatch(RUNS);
    const comment = await reporter.post(`${base}/1/notes`, { body: "_so_", preview: "true" });
    expect(comment.page).toMatch(/aria-label="Preview: Comment"[^>]*>.*<em>so<\/em>/s);
    expect([
      (await project.get("/issues/1")).json,
      (await project.get("/issues/1/notes")).json,
    ]).toEqual([issue, []]);
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
    expect(refused.page).toContain('<a href="#field-title">Title</a> can&#39;t be blank');
    expect(refused.page).toContain('id="field-title-error">Title can&#39;t be blank.');
    expect(fieldsOf(refused.page)).toMatchObject({
      ...{ title: "", description: HOSTILE, due_date: "2026-12-31", "labels[]": HOSTILE },
    });
    expect(refused.page).not.toMatch(RUNS);
    app.statements.length = 0;
    const saved = await reporter.post(`${base}/1/edit`, {
      ...{ title: "Second", description: "", confidential: "false", due_date: "" },
      ...{ "assignee_ids[]": "", "labels[]": "", milestone_id: "" },
    });
    expect([saved.status, saved.headers.get("location")]).toEqual([303, `${base}/1`]);
    expect(app.statements.length).toBeLessThan(80);
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
    await forms.answersFor(`${base}/1/edit`, form, { ...members, guest: may, ...others });
    await forms.answersFor(`${base}/2/edit`, form, { ...members, ...others });
    expect((await as("guest").get(`${base}/2/edit`)).status).toBe(404);
    await forms.answersFor(`${base}/new`, form, { ...members, guest: may, ...others });
    // Owners delete.
    expect((await as("owner").get(`${base}/2/edit`)).page).toContain(`${base}/2/delete`);
    expect((await as("reporter").get(`${base}/2/edit`)).page).not.toContain("/delete");
    expect((await as("reporter").post(`${base}/2/delete`)).status).toBe(404);
    const { json: third } = await project.send("POST", "/issues", { title: "To go" });
    const gone = await as("owner").post(`${base}/${third.iid}/delete`);
    expect(gone.headers.get("location")).toBe(base);
    expect((await project.get(`/issues/${third.iid}`)).status).toBe(404);
    // Guests write, and others plan.
    const guest = await as("guest").get(`${base}/1/edit`);
    expect(Object.keys(fieldsOf(guest.page))).toEqual(["title", "confidential", "description"]);
    expect((await as("guest").get(`${base}/2`)).page).not.toContain("/edit");
    expect((await as("reporter").post(`${base}/2/edit`, form, "")).status).toBe(422);
    const { json } = await project.get("/issues/2");
    expect(json.title).toBe("Changed");
  });
});

describe("an archived project", () => {
  it("has no forms", async () => {
    const project = await newCodeProject(app);
    await project.send("POST", "/issues", { title: "One" });
    await project.send("POST", "/archive", {}, "owner");
    const base = `/${project.fullPath}`;
    const owner = as("owner");
    for (const path of ["", "/-/issues", "/-/issues/1", "/-/tree/main", "/-/labels", "/-/wikis"]) {
      const { status, page } = await owner.get(base + path);
      expect([path, status]).toEqual([path, 200]);
      const main = page.slice(page.indexOf("<main"));
      expect([
        path,
        // Its settings are where it is unarchived.
        main.match(/<form method="post"[^>]*>|href="(?![^"]*\/-\/edit")[^"]*\/(new|edit)\b/)?.[0],
      ]).toEqual([
        path,
        path.endsWith("/1") ? `<form method="post" action="${base}/-/issues/1/todo">` : undefined,
      ]);
    }
    for (const path of ["/-/issues/new", "/-/issues/1/edit", "/-/new/main", "/-/labels/new"]) {
      expect([path, (await owner.get(base + path)).status]).toEqual([path, 404]);
      expect([path, (await owner.post(base + path, { title: "x" })).status]).toEqual([path, 404]);
    }
  });
});

describe("addresses of forms", () => {
  it("that hold anything else are refused, or show the form", async () => {
    const project = await newCodeProject(app);
    const base = `/${project.fullPath}/-`;
    for (const [path, status] of [
      ["issues/new?issue[title][a]=1", 400],
      ["issues/new?issue=1", 400],
      ["issues/new?issue[]=1", 400],
      ["issues/new?issue[page]=2&issue[id]=3&issue[constructor]=4", 200],
      ["issues/new?title[]=1", 400],
      ["issues/new?labels=bug&labels[a]=1", 400],
      ["issues/new?milestone_id=%3Cb%3E&due_date=never", 200],
      [`issues/new?title=${"x".repeat(300)}`, 200],
      ["merge_requests/new?merge_request[source_branch]=%3Cb%3E", 200],
      ["pipelines/new?var[A][b]=1&var[B]=2", 200],
      ["pipelines/new?var=1", 200],
      ["pipelines/new?ref[a]=1", 400],
      ["new/main?content=%3Cscript%3E", 200],
    ] as const) {
      const { status: answered, page } = await as("developer").get(`${base}/${path}`);
      expect([path, answered]).toEqual([path, status]);
      expect(page).not.toMatch(RUNS);
    }
    for (const [path, form] of [
      ["issues/new", { "title[]": "x" }],
      ["issues/new", { "title[a]": "x" }],
      ["issues/new", { title: "x\0" }],
      ["issues/new", { title: "x", "assignee_ids[a]": "x" }],
    ] as const) {
      const { status } = await as("developer").post(`${base}/${path}`, form);
      expect([path, form, status]).toEqual([path, form, 400]);
    }
    expect((await as("developer").post(`${base}/issues/new`)).status).toBe(422);
    expect((await project.get("/issues")).json).toEqual([]);
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
    const compared = await developer.get(`/${project.fullPath}/-/compare/main...fix-login`);
    const link = `${base}/new?merge_request%5Bsource_branch%5D=fix-login&amp;merge_request%5Btarget_branch%5D=main`;
    expect(compared.page).toContain(`href="${link}"`);
    const refused = await developer.post(`${base}/new`, {
      ...{ title: "", source_branch: "none", target_branch: "main", description: HOSTILE },
    });
    expect([refused.status, fieldsOf(refused.page)["description"]]).toEqual([422, HOSTILE]);
    expect(refused.page).not.toMatch(RUNS);
    const made = await developer.post(`${base}/new`, {
      ...{ title: "Log in", source_branch: "fix-login", target_branch: "main" },
    });
    expect(made.status).toBe(303);
    expect(made.headers.get("location")).toBe(`${base}/1`);
    const again = await developer.post(`${base}/new`, {
      ...{ title: "Log in", source_branch: "fix-login", target_branch: "main" },
    });
    expect([again.status, again.page.includes('role="alert"')]).toEqual([422, true]);
    const form = { title: "No", source_branch: "next", target_branch: "main" };
    expect((await as("reporter").get(`${base}/new`)).status).toBe(404);
    expect((await as("reporter").post(`${base}/new`, form)).status).toBe(404);
    expect((await as("anonymous").get(`${base}/new`)).status).toBe(302);
  });

  it("leads from a fork to the project that it is of", async () => {
    const origin = await newCodeProject(app);
    await origin.send("POST", "/labels", { name: "theirs", color: "#cc0000" }, "maintainer");
    const { json: fork } = await origin.send("POST", "/fork", { namespace_path: "developer" });
    const commit = {
      ...{ branch: "fix", start_branch: "main", commit_message: "Fix" },
      actions: [{ action: "create", file_path: "fix.txt", content: "x" }],
    };
    const committed = await app.call(`POST /projects/${fork.id}/repository/commits`, {
      ...{ as: "developer", json: commit },
    });
    expect(committed.status).toBe(201);
    const developer = as("developer");
    const path = `/${fork.path_with_namespace}/-/merge_requests/new`;
    const input = `projectId: "gid://gitlab/Project/${origin.id}", name: "next-*", targetBranch: "next"`;
    const query = `mutation { projectTargetBranchRuleCreate(input: { ${input} }) { errors } }`;
    await send(app, "owner", query);
    const ruled = await developer.get(`${path}?merge_request[source_branch]=next-1`);
    expect(fieldsOf(ruled.page)).toMatchObject({ target_branch: "next" });
    const shown = await developer.get(`${path}?merge_request[source_branch]=fix`);
    const fields = fieldsOf(shown.page);
    expect(fields).toEqual({
      ...{ source_branch: "fix", target_project_id: String(origin.id), target_branch: "main" },
      ...{ title: "Fix", description: "", remove_source_branch: "false", squash: "false" },
    });
    const made = await developer.post(path, fields);
    expect(made.headers.get("location")).toBe(`/${origin.fullPath}/-/merge_requests/1`);
    expect((await developer.follow(made)).status).toBe(200);
    const own = await developer.post(path, { ...fields, target_project_id: String(fork.id) });
    expect(own.headers.get("location")).toBe(`/${fork.path_with_namespace}/-/merge_requests/1`);
  });

  it("takes the name of a branch where there are many, and says that there are more labels", async () => {
    const crowded = await newCodeProject(app);
    const numbers = Array.from({ length: 101 }, (_, at) => at);
    for (const at of numbers) {
      await crowded.send("POST", "/repository/branches", { branch: `b${at}`, ref: "main" });
      await crowded.send("POST", "/labels", { name: `l${at}`, color: "#cc0000" });
    }
    const path = `/${crowded.fullPath}/-/merge_requests/new`;
    app.statements.length = 0;
    const { page } = await as("developer").get(path);
    expect(app.statements.length).toBeLessThan(80);
    expect(page).toMatch(/<input type="text" id="field-source_branch"/);
    expect(page.match(/The first hundred are here/g)).toHaveLength(1);
    expect(page.match(/name="labels\[\]" value="[^"]/g)).toHaveLength(100);
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
    const form = {
      ...{ title: "After", "reviewer_ids[]": ["", of("reporter")] },
      ...{ squash: ["false", "true"], remove_source_branch: ["false", "true"] },
    };
    expect((await developer.post(`${path}/edit`, form)).status).toBe(303);
    const read = async () => (await project.get(`/merge_requests/${request.iid}`)).json;
    expect(await read()).toMatchObject({
      ...{ title: "After", reviewers: [{ username: "reporter" }] },
      ...{ squash: true, force_remove_source_branch: true },
    });
    expect(fieldsOf((await developer.get(`${path}/edit`)).page)).toMatchObject({
      ...{ squash: "true", remove_source_branch: "true" },
    });
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

describe("what is discussed", () => {
  it("is answered, resolved, changed and deleted by those who may", async () => {
    const project = await newCodeProject(app);
    await project.commit("next", { "c.txt": "new\n" }, { from: "main" });
    const request = await project.open("next");
    const path = `/${project.fullPath}/-/merge_requests/${request.iid}`;
    const below = `/merge_requests/${request.iid}/discussions`;
    expect((await as("reporter").get(path)).page).toContain(`formaction="${path}/discussions"`);
    const none = await as("reporter").post(`${path}/discussions`, { body: "" });
    expect([none.status, none.page.includes('role="alert"')]).toEqual([422, true]);
    const begun = await as("reporter").post(`${path}/discussions`, { body: "Why *so*?" });
    const { json: all } = await project.get(below);
    const thread = all.find(
      ({ notes }: { notes: { body: string }[] }) => notes[0]?.body === "Why *so*?",
    );
    const [note] = thread.notes;
    expect(begun.headers.get("location")).toBe(`${path}#note_${note.id}`);
    const own = `${path}/discussions/${thread.id}`;
    const shown = async (person: Person) => (await as(person).get(path)).page;
    for (const [person, reply, resolve, edit] of [
      ["guest", false, false, false],
      ["reporter", true, false, true],
      ["developer", true, true, false],
      ["maintainer", true, true, true],
    ] as const) {
      const page = await shown(person);
      const has = [`${own}/notes`, `${own}/resolve`, `${path}/notes/${note.id}/edit`].map((one) =>
        page.includes(`"${one}"`),
      );
      expect([person, ...has]).toEqual([person, reply, resolve, edit]);
    }
    const developer = as("developer");
    const refused = await developer.post(`${own}/notes`, { body: "" });
    expect([refused.status, refused.page.match(/<details open>/g)?.length]).toEqual([422, 1]);
    const replied = await developer.post(`${own}/notes`, { body: HOSTILE });
    expect(replied.headers.get("location")).toMatch(new RegExp(`${path}#note_\\d+$`));
    // The page of an open merge request has a script of its own.
    const followed = (await developer.follow(replied)).page.replace(LIVE.markup.text, "");
    expect(followed).not.toMatch(RUNS);
    expect((await developer.post(`${own}/resolve`, { resolved: "true" })).status).toBe(303);
    const read = async () => (await project.get(`${below}/${thread.id}`)).json.notes;
    expect((await read()).map(({ resolved }: { resolved: boolean }) => resolved)).toEqual([
      true,
      true,
    ]);
    expect(await shown("developer")).toContain(">Unresolve<span");
    expect((await developer.post(`${own}/resolve`, { resolved: "false" })).status).toBe(303);
    expect((await read())[0].resolved).toBe(false);

    const edit = `${path}/notes/${note.id}/edit`;
    const reporter = as("reporter");
    const may = [200, 303] as const;
    expect(fieldsOf((await reporter.get(edit)).page)).toEqual({ body: "Why *so*?" });
    expect((await reporter.get(edit)).page).toContain(`action="${path}/notes/${note.id}/delete"`);
    const empty = await reporter.post(edit, { body: " " });
    expect([empty.status, empty.page.includes('id="field-body-error"')]).toEqual([422, true]);
    await forms.answersFor(
      edit,
      { body: "Because" },
      {
        ...{ reporter: may, maintainer: may, developer: [404, 404], guest: [404, 404] },
        ...{ stranger: [404, 404], anonymous: [302, 303] },
      },
    );
    expect((await read())[0].body).toBe("Because");
    const remove = `${path}/notes/${note.id}/delete`;
    expect((await developer.post(remove)).status).toBe(404);
    expect((await reporter.post(remove)).headers.get("location")).toBe(path);
    expect(await read()).toHaveLength(1);
  });

  it("gets emoji, which are taken back by whoever gave them", async () => {
    const project = await newCodeProject(app);
    await project.send("POST", "/issues", { title: "One" });
    const path = `/${project.fullPath}/-/issues/1`;
    const guest = as("guest");
    const pressed = async (person: Person) =>
      [
        ...(await as(person).get(path)).page.matchAll(/aria-label="([^"]*)" aria-pressed="true"/g),
      ].map(([, said]) => said);
    const give = (name: string, person: Person = "guest") =>
      as(person).post(`${path}/award_emoji`, { name });
    expect((await give("tada")).headers.get("location")).toBe(path);
    expect((await give("tada", "reporter")).status).toBe(303);
    expect((await give("cactus")).status).toBe(303);
    expect(await pressed("guest")).toEqual(["tada, 2", "cactus, 1"]);
    expect(await pressed("developer")).toEqual([]);
    expect((await give("tada")).status).toBe(404);
    expect((await give("<b>")).status).toBe(404);
    expect((await give("tada", "stranger")).status).toBe(404);
    const { json: awards } = await project.get("/issues/1/award_emoji");
    const [own] = awards.filter(
      (one: { name: string; user: { username: string } }) =>
        one.name === "tada" && one.user.username === "guest",
    );
    expect((await as("reporter").post(`${path}/award_emoji/${own.id}/delete`)).status).toBe(404);
    expect((await guest.post(`${path}/award_emoji/${own.id}/delete`)).status).toBe(303);
    expect(await pressed("guest")).toEqual(["cactus, 1"]);
  });

  it("gets emoji on single comments, in as many statements for many as for one", async () => {
    const project = await newCodeProject(app);
    const issue = (await project.send("POST", "/issues", { title: "Talk" })).json;
    const api = `/issues/${issue.iid}/notes`;
    const { id } = (await project.send("POST", api, { body: "One" })).json;
    const path = `/${project.fullPath}/-/issues/${issue.iid}`;
    const give = (who: Person, name: string) =>
      as(who).post(`${path}/notes/${id}/award_emoji`, { name });
    const action = `action="${path}/notes/${id}/award_emoji"`;
    const shown = (await as("developer").get(path)).page;
    expect(shown).toContain(`href="?react=${id}#note_${id}"`);
    expect(shown).not.toContain(action);
    expect((await as("developer").get(`${path}?react=${id}`)).page).toContain(action);
    const given = await give("developer", "tada");
    expect([given.status, given.headers.get("location")]).toEqual([303, `${path}#note_${id}`]);
    await give("guest", "tada");
    expect((await as("guest").get(path)).page).toContain(
      'value="tada" aria-label="tada, 2" aria-pressed="true">',
    );
    expect((await as("reporter").get(path)).page).toContain(
      'aria-label="tada, 2" aria-pressed="false"',
    );
    await give("guest", "tada");
    const read = async () => (await project.get(`${api}/${id}/award_emoji`)).json;
    expect(await read()).toMatchObject([{ name: "tada", user: { username: "developer" } }]);
    expect((await give("developer", "nothing")).status).toBe(422);
    expect((await give("stranger", "tada")).status).toBe(404);
    const statements = async () => {
      app.statements.length = 0;
      await as("developer").get(path);
      return app.statements.length;
    };
    const before = await statements();
    for (const body of ["Two", "Three", "Four"]) await project.send("POST", api, { body });
    expect(await statements()).toBe(before);
  });

  it("shows visitors the emoji that it got", async () => {
    const json = { name: "Open", visibility: "public" };
    const { json: open } = await app.call("POST /projects", { as: "developer", json });
    const send = (path: string, sent: object) =>
      app.call(`POST /projects/${open.id}${path}`, { as: "developer", json: sent });
    await send("/issues", { title: "One" });
    await send("/issues/1/award_emoji", { name: "tada" });
    const { page } = await as("anonymous").get(`/${open.path_with_namespace}/-/issues/1`);
    expect(page).toContain('aria-label="tada, 1"');
    expect(page).not.toMatch(/<form[^>]*(award_emoji|todo|notes)/);
    // Whoever is no member may take part, but not change what others have written.
    const stranger = await as("stranger").get(`/${open.path_with_namespace}/-/issues/1`);
    expect(stranger.page).toMatch(/<form[^>]*notes/);
    expect(stranger.page).not.toMatch(/\/edit"|\/state"/);
  });

  it("goes on the to-do list and off it, there and on its own page", async () => {
    const project = await newCodeProject(app);
    for (const title of ["One", HOSTILE, "Three"]) await project.send("POST", "/issues", { title });
    const path = (iid: number) => `/${project.fullPath}/-/issues/${iid}`;
    const guest = as("guest");
    for (const iid of [1, 2, 3, 3]) {
      expect((await guest.post(`${path(iid)}/todo`)).headers.get("location")).toBe(path(iid));
    }
    const [, one] = /action="([^"]*\/todo\/\d+\/done)"/.exec((await guest.get(path(1))).page) ?? [];
    expect((await guest.post(String(one))).headers.get("location")).toBe(path(1));
    expect((await guest.get(path(1))).page).toContain("Add a to-do item");
    const list = (await guest.get("/dashboard/todos")).page;
    expect(list).not.toMatch(RUNS);
    const items = [...list.matchAll(/action="(\/dashboard\/todos\/\d+\/done)"/g)];
    expect(items).toHaveLength(2);
    const action = String(items[0]?.[1]);
    expect((await as("reporter").post(action)).status).toBe(404);
    const done = await guest.post(action);
    expect([done.status, done.headers.get("location")]).toEqual([303, "/dashboard/todos"]);
    expect((await guest.post("/dashboard/todos/done")).status).toBe(303);
    expect((await guest.get("/dashboard/todos")).page).toContain("There is nothing for you to do.");
    expect((await guest.get("/dashboard/todos?state=done")).page).toContain(">Three</a>");
    expect((await as("anonymous").post("/dashboard/todos/done")).status).toBe(303);
  });
});

describe("tasks of texts", () => {
  it("are ticked by those who may change the text, unless somebody else was faster", async () => {
    const project = await newCodeProject(app);
    const description =
      "# Plan\r\n\r\n> 1. [x] done\r\n\r\n- [ ] <b>one</b>\n  - [ ] two\n- [~] never\n";
    await project.send("POST", "/issues", { title: "Plan", description }, "reporter");
    const said = await project.send("POST", "/issues/1/notes", { body: "- [ ] asked" }, "reporter");
    const path = `/${project.fullPath}/-/issues/1`;
    const reporter = as("reporter");
    const boxes = async (person: Person = "reporter") => {
      const { page } = await as(person).get(path);
      return [
        ...page.matchAll(
          /<button class="task" name="line" value="(\d+)" role="checkbox" aria-checked="(\w+)" aria-label="([^"]*)"/g,
        ),
      ].map(([, line, state, label]) => [line, state, label]);
    };
    expect(await boxes()).toEqual([
      ["2", "true", "done"],
      ["4", "false", "&lt;b&gt;one&lt;/b&gt;"],
      ["5", "false", "two"],
      ["0", "false", "asked"],
    ]);
    expect(await boxes("guest")).toEqual([]);
    const of = fieldsOf((await reporter.get(path)).page)["of"] as string;
    const [, ofText = ""] = /name="of" value="(\w+)"/.exec((await reporter.get(path)).page) ?? [];
    expect(of).not.toBe(ofText);
    const ticked = await reporter.post(`${path}/tasks`, { line: "5", of: ofText });
    expect([ticked.status, ticked.headers.get("location")]).toEqual([303, path]);
    const text = async () => (await project.get("/issues/1")).json.description;
    expect(await text()).toBe(description.replace("[ ] two", "[x] two"));
    const late = await reporter.post(`${path}/tasks`, { line: "5", of: ofText });
    expect([late.status, late.page.includes("changed the text meanwhile")]).toEqual([422, true]);
    const [, now = ""] = /name="of" value="(\w+)"/.exec((await reporter.get(path)).page) ?? [];
    expect((await reporter.post(`${path}/tasks`, { line: "0", of: now })).status).toBe(422);
    await reporter.post(`${path}/tasks`, { line: "5", of: now });
    expect(await text()).toBe(description);
    expect((await as("guest").post(`${path}/tasks`, { line: "5", of: ofText })).status).toBe(404);
    await reporter.post(`${path}/notes/${said.json.id}/tasks`, { line: "0", of });
    expect((await project.get(`/issues/1/notes/${said.json.id}`)).json.body).toBe("- [x] asked");
  });
});

describe("forms of files", () => {
  const COMMIT = { commit_message: "By hand", asks_to_merge: "true" };

  it("create, change, move and delete them on a branch", async () => {
    const project = await newCodeProject(app);
    const base = `/${project.fullPath}/-`;
    const maintainer = as("maintainer");
    const shown = (await maintainer.get(`${base}/tree/main`)).page;
    expect(shown).toContain(`href="${base}/new/main"`);
    const form = await maintainer.get(`${base}/new/main/docs/a%20b`);
    expect(fieldsOf(form.page)).toEqual({
      ...{ file_path: "docs/a b/", content: "", commit_message: "Add a b", branch: "main" },
      asks_to_merge: "true",
    });
    const content = `\n<b>${HOSTILE}\r\n\tend\r\n`;
    for (const file_path of ["", "docs/", "a.txt", "../x"]) {
      const refused = await maintainer.post(`${base}/new/main`, {
        ...{ ...COMMIT, branch: "main", file_path, content },
      });
      expect([file_path, refused.status]).toEqual([file_path, 422]);
      expect(refused.page).toContain('role="alert"');
      expect(refused.page).not.toMatch(RUNS);
      expect(fieldsOf(refused.page)["content"]).toBe(content.replaceAll("\r\n", "\n"));
    }
    const file_path = "docs/a b/<c>.txt";
    const made = await maintainer.post(`${base}/new/main`, {
      ...{ ...COMMIT, branch: "main", file_path, content },
    });
    const blob = `${base}/blob/main/docs/a%20b/%3Cc%3E.txt`;
    expect([made.status, made.headers.get("location")]).toEqual([303, blob]);
    const raw = (path: string, ref = "main") =>
      project.get(`/repository/files/${encodeURIComponent(path)}/raw?ref=${ref}`);
    expect((await raw(file_path)).text).toBe(content.replaceAll("\r\n", "\n"));
    const edit = blob.replace("/blob/", "/edit/");
    expect((await maintainer.get(blob)).page).toContain(`href="${edit}"`);
    const editing = await maintainer.get(edit);
    expect(editing.page).not.toMatch(RUNS);
    const fields = fieldsOf(editing.page);
    expect(fields).toMatchObject({ file_path, ends: "LF", commit_message: "Update <c>.txt" });
    expect(fields["content"]).toBe(content.replaceAll("\r\n", "\n"));
    const changed = await maintainer.post(edit, { ...fields, content: "one\r\ntwo\r\n" });
    expect([changed.status, changed.headers.get("location")]).toEqual([303, blob]);
    expect((await raw(file_path)).text).toBe("one\ntwo\n");
    // Somebody else was faster.
    const late = await maintainer.post(edit, { ...fields, content: "late" });
    expect([late.status, fieldsOf(late.page)["content"]]).toEqual([422, "late"]);
    expect(late.page).toMatch(/role="alert"[^>]*>This was refused:.*changed/s);
    // Whoever has seen that may go on.
    const again = fieldsOf(late.page);
    expect(again["last_commit_id"]).not.toBe(fields["last_commit_id"]);
    again["content"] = "one\ntwo\n";
    const moved = await maintainer.post(edit, { ...again, file_path: "moved.txt" });
    expect(moved.headers.get("location")).toBe(`${base}/blob/main/moved.txt`);
    expect((await raw("moved.txt")).text).toBe("one\ntwo\n");
    const remove = `${base}/delete/main/moved.txt`;
    const removing = fieldsOf((await maintainer.get(remove)).page);
    const removed = await maintainer.post(remove, removing);
    expect([removed.status, removed.headers.get("location")]).toEqual([303, `${base}/tree/main`]);
    expect((await raw("moved.txt")).status).toBe(404);
  });

  it("keep the ends of lines, and take only text", async () => {
    const project = await newCodeProject(app);
    await project.commit("main", { "dos.txt": "one\r\ntwo\r\n", "b.bin": "\0\x01" });
    const base = `/${project.fullPath}/-`;
    const maintainer = as("maintainer");
    const fields = fieldsOf((await maintainer.get(`${base}/edit/main/dos.txt`)).page);
    expect(fields).toMatchObject({ ends: "CRLF" });
    await maintainer.post(`${base}/edit/main/dos.txt`, { ...fields, content: "three\r\n" });
    const { text } = await project.get("/repository/files/dos.txt/raw?ref=main");
    expect(text).toBe("three\r\n");
    const binary = await maintainer.get(`${base}/blob/main/b.bin`);
    expect([binary.page.includes("/edit/main"), binary.page.includes("/delete/main")]).toEqual([
      false,
      true,
    ]);
    for (const path of ["edit/main/b.bin", "edit/main/none", "delete/main/none", "edit/main"]) {
      expect([path, (await maintainer.get(`${base}/${path}`)).status]).toEqual([path, 404]);
    }
  });

  it("begin a branch, and go on with a merge request", async () => {
    const project = await newCodeProject(app);
    const base = `/${project.fullPath}/-`;
    await project.send(
      "POST",
      "/protected_branches",
      { name: "main", push_access_level: 40 },
      "maintainer",
    );
    const developer = as("developer");
    const fields = fieldsOf((await developer.get(`${base}/edit/main/a.txt`)).page);
    expect(fields["branch"]).toMatch(/^developer-patch-\d+$/);
    const pushed = await developer.post(`${base}/edit/main/a.txt`, { ...fields, branch: "main" });
    expect([pushed.status, pushed.page.includes('role="alert"')]).toEqual([422, true]);
    const sent = { ...fields, branch: "topic/one", content: "new" };
    const made = await developer.post(`${base}/edit/main/a.txt`, sent);
    const to = `${base}/merge_requests/new?merge_request%5Bsource_branch%5D=topic%2Fone&merge_request%5Btarget_branch%5D=main`;
    expect([made.status, made.headers.get("location")]).toEqual([303, to]);
    expect(fieldsOf((await developer.follow(made)).page)).toMatchObject({
      ...{ source_branch: "topic/one", target_branch: "main", title: "Topic/one" },
    });
    const other = await developer.post(`${base}/new/main`, {
      ...{ ...COMMIT, asks_to_merge: "false", branch: "two", file_path: "b.txt", content: "b" },
    });
    expect(other.headers.get("location")).toBe(`${base}/blob/two/b.txt`);
  });

  it("take files from one's disk", async () => {
    const project = await newCodeProject(app);
    const base = `/${project.fullPath}/-`;
    const developer = as("developer");
    const upload = async (person: Person, name: string | undefined, csrf?: string) => {
      const visitor = as(person);
      await visitor.get(`${base}/upload/main/docs`);
      const body = new FormData();
      body.append("authenticity_token", csrf ?? visitor.csrf);
      if (name !== undefined) body.append("file", new Blob([new Uint8Array([0, 1, 255])]), name);
      for (const [key, value] of Object.entries({ ...COMMIT, branch: "main" })) {
        body.append(key, value);
      }
      const headers = { cookie: visitor.cookie };
      const url = `http://localhost${base}/upload/main/docs`;
      return app.fetch(new Request(url, { method: "POST", body, headers }));
    };
    const page = (await developer.get(`${base}/upload/main/docs`)).page;
    expect(page).toMatch(/enctype="multipart\/form-data".*type="file"/s);
    const made = await upload("developer", "<p>.bin");
    expect([made.status, made.headers.get("location")]).toEqual([303, `${base}/tree/main/docs`]);
    const { json } = await project.get(
      `/repository/files/${encodeURIComponent("docs/<p>.bin")}?ref=main`,
    );
    expect(json.content).toBe("AAH/");
    expect((await upload("developer", "<p>.bin")).status).toBe(422);
    expect((await upload("developer", undefined)).status).toBe(422);
    expect((await upload("developer", "x", "")).status).toBe(422);
    expect((await upload("reporter", "x")).status).toBe(404);
    expect((await upload("stranger", "x")).status).toBe(404);
    const [left] = await app.store.reader().rows("select count(*) from stored_files", []);
    expect(left).toEqual([0]);
  });

  it("are there for those who may push", async () => {
    const project = await newCodeProject(app);
    const base = `/${project.fullPath}/-`;
    const form = { ...COMMIT, branch: "main", content: "x" };
    const none = { reporter: [404, 404], guest: [404, 404], stranger: [404, 404] } as const;
    const anonymous = [302, 303] as const;
    for (const [path, file_path] of [
      ["new/main", "new.txt"],
      ["edit/main/a.txt", "a.txt"],
      ["delete/main/a.txt", ""],
    ] as const) {
      const expected = { ...none, anonymous, developer: [200, 303] as const };
      await forms.answersFor(`${base}/${path}`, { ...form, file_path }, expected);
    }
    for (const person of ["reporter", "anonymous"] as const) {
      const { page } = await as(person).get(`${base}/tree/main`);
      expect(page).not.toContain(`${base}/new/`);
    }
  });

  it("begin an empty repository", async () => {
    const json = { name: "Empty", path: "empty", namespace_path: "secret" };
    const { json: groups } = await app.call("GET /groups?search=secret", { as: "owner" });
    const namespace_id = groups[0].id;
    await app.call("POST /projects", { as: "owner", json: { ...json, namespace_id } });
    const owner = as("owner");
    expect((await owner.get("/secret/empty")).page).toContain('href="/secret/empty/-/new/main"');
    expect((await owner.get("/secret/empty/-/new/main")).status).toBe(200);
    const sent = { ...COMMIT, branch: "main", file_path: "README.md", content: "# Hello" };
    const made = await owner.post("/secret/empty/-/new/main", sent);
    expect(made.headers.get("location")).toBe("/secret/empty/-/blob/main/README.md");
    expect((await owner.follow(made)).page).toContain("Hello");
  });
});

describe("forms of branches and tags", () => {
  it("create and delete them", async () => {
    const project = await newCodeProject(app);
    const base = `/${project.fullPath}/-`;
    const developer = as("developer");
    expect((await developer.get(`${base}/branches`)).page).toContain(`href="${base}/branches/new"`);
    expect(fieldsOf((await developer.get(`${base}/branches/new`)).page)).toEqual({
      ...{ branch: "", ref: "main" },
    });
    const refused = await developer.post(`${base}/branches/new`, { branch: "a b", ref: HOSTILE });
    expect([refused.status, fieldsOf(refused.page)["ref"]]).toEqual([422, HOSTILE]);
    expect(refused.page).not.toMatch(RUNS);
    const form = { branch: "topic/<b>", ref: "main" };
    const made = await developer.post(`${base}/branches/new`, form);
    expect(made.headers.get("location")).toBe(`${base}/tree/topic/%3Cb%3E`);
    const list = (await developer.get(`${base}/branches`)).page;
    expect(list).toContain(`action="${base}/branches/topic/%3Cb%3E/delete"`);
    expect(list).not.toContain(`action="${base}/branches/main/delete"`);
    expect(list).not.toContain("<b>");
    expect((await as("reporter").get(`${base}/branches`)).page).not.toContain("/delete");
    const remove = `${base}/branches/topic/%3Cb%3E/delete`;
    expect((await as("reporter").post(remove)).status).toBe(404);
    expect((await developer.post(remove)).headers.get("location")).toBe(`${base}/branches`);
    expect((await developer.post(remove)).status).toBe(404);

    const tag = { tag_name: "v1.0", ref: "main", message: "One\r\ntwo" };
    const wrong = await developer.post(`${base}/tags/new`, { ...tag, ref: "none" });
    expect([wrong.status, fieldsOf(wrong.page)["message"]]).toEqual([422, "One\ntwo"]);
    expect((await developer.post(`${base}/tags/new`, tag)).headers.get("location")).toBe(
      `${base}/tags/v1.0`,
    );
    expect((await project.get("/repository/tags/v1.0")).json.message).toBe("One\ntwo");
    const shown = await developer.get(`${base}/tags/v1.0`);
    expect(shown.page).toContain(`action="${base}/tags/v1.0/delete"`);
    expect((await as("reporter").get(`${base}/tags/v1.0`)).page).not.toContain("/delete");
    const none = [404, 404] as const;
    const expected = { reporter: none, stranger: none, anonymous: [302, 303] as const };
    await forms.answersFor(`${base}/tags/new`, { ...tag, tag_name: "v2.0" }, expected);
    await forms.answersFor(`${base}/branches/new`, { ...form, branch: "x" }, expected);
    expect((await as("reporter").post(`${base}/tags/v1.0/delete`)).status).toBe(404);
    const gone = await developer.post(`${base}/tags/v1.0/delete`);
    expect(gone.headers.get("location")).toBe(`${base}/tags`);
    expect((await project.get("/repository/tags")).json).toEqual([]);
  });
});

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
    // Whoever may writes what there is not yet, as in GitLab.
    const absent = await developer.get(page);
    const to = `${base}/new?title=docs%2FBegin`;
    expect([absent.status, absent.headers.get("location")]).toEqual([303, to]);
    expect(fieldsOf((await developer.follow(absent)).page)["title"]).toBe("docs/Begin");
    for (const [person, status] of [
      ["reporter", 404],
      ["stranger", 404],
      ["anonymous", 302],
    ] as const) {
      const answer = await as(person).get(page);
      expect([person, answer.status]).toEqual([person, status]);
      expect(answer.headers.get("location") ?? "").not.toContain("/new");
    }
    expect((await as("owner").get("/groups/secret/-/wikis/new")).status).toBe(200);
    const ofGroup = await as("owner").post("/groups/secret/-/wikis/new", form);
    expect(ofGroup.headers.get("location")).toBe("/groups/secret/-/wikis/docs/Set-up");
    expect((await as("owner").get("/groups/secret/-/wikis/docs/Set-up/edit")).status).toBe(200);
  });
});

describe("pages of wikis", () => {
  it("tell what they were, what was changed, and what is beside them", async () => {
    const project = await newCodeProject(app);
    const base = `/${project.fullPath}/-/wikis`;
    const [developer, reporter] = [as("developer"), as("reporter")];
    const form = { title: "docs/Set up", content: "first <b>\n", format: "markdown" };
    await developer.post(`${base}/new`, form);
    const page = `${base}/docs/Set-up`;
    await developer.post(`${page}/edit`, { ...form, content: "second\n" });
    expect((await reporter.get(page)).page).toContain(`href="${page}/history"`);
    const history = await reporter.get(`${page}/history`);
    expect(history.status).toBe(200);
    const versions = [...history.page.matchAll(/diff\?version_id=([0-9a-f]{40})/g)];
    expect(versions).toHaveLength(2);
    const [[, newest], [, oldest]] = versions as unknown as [string[], string[]];
    const old = await reporter.get(`${page}?version_id=${oldest}`);
    expect(old.page).toMatch(/first <b>.*<aside/s);
    expect(old.page).toContain("This is what the page was once.");
    expect(old.page).not.toContain(`${page}/edit`);
    const changed = await reporter.get(`${page}/diff?version_id=${newest}`);
    expect(changed.page).toContain("<td>−</td><td><code>first &lt;b&gt;</code></td>");
    expect(changed.page).toContain("<td>+</td><td><code>second</code></td>");
    for (const path of ["none/history", "none/diff?version_id=0000", "docs/Set-up/diff"]) {
      expect([path, (await reporter.get(`${base}/${path}`)).status]).toEqual([path, 404]);
    }
    for (const path of [`${page}/history`, `${page}/diff?version_id=${newest}`]) {
      expect((await as("stranger").get(path)).status).toBe(404);
      expect((await as("anonymous").get(path)).status).toBe(302);
    }
    // The first pages are beside it, unless there is a sidebar.
    expect((await reporter.get(page)).page).toContain(
      `<li><a href="${page}">docs/Set up</a></li></ul><p>`,
    );
    await developer.post(`${base}/new`, { ...form, title: "_sidebar", content: "*Mine*" });
    const shown = (await reporter.get(page)).page;
    expect(shown).toMatch(/<aside aria-label="Sidebar" class="text"><p[^>]*><em>Mine<\/em>/);
    expect(shown).not.toContain("All pages");
  });

  it("have files attached to them", async () => {
    const project = await newCodeProject(app);
    const base = `/${project.fullPath}/-/wikis`;
    const developer = as("developer");
    await developer.get(`${base}/new`);
    const attach = async (path: string, name: string, content: string) => {
      const body = new FormData();
      const fields = { title: "home", content: "See", format: "markdown" };
      for (const [key, value] of Object.entries(fields)) body.append(key, value);
      body.append("authenticity_token", developer.csrf);
      body.append("file", new Blob([content]), name);
      const headers = { cookie: developer.cookie };
      return app.fetch(
        new Request(`http://localhost${base}/${path}`, { method: "POST", body, headers }),
      );
    };
    const made = await attach("new", "a b.txt", "attached");
    expect([made.status, made.headers.get("location")]).toEqual([303, `${base}/home`]);
    const { page } = await developer.get(`${base}/home`);
    const [, address = ""] = /href="([^"]*uploads[^"]*)"/.exec(page) ?? [];
    const file = await developer.get(address.replace(/^http:\/\/localhost/, ""));
    expect([file.status, file.page]).toEqual([200, "attached"]);
    // Browsers send an empty file where none was chosen.
    expect((await attach("home/edit", "", "")).status).toBe(303);
    const { json } = await project.get("/wikis/home");
    expect(json.content).toBe("See");
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
    const link = { name: HOSTILE, url: "https://files.example/a.zip", link_type: "package" };
    expect((await developer.get(`${base}/v1.0`)).page).toContain("Add a link");
    const wrong = await developer.post(`${base}/v1.0/links`, { ...link, url: "nowhere" });
    expect([wrong.status, RUNS.test(wrong.page)]).toEqual([422, false]);
    expect((await developer.post(`${base}/v1.0/links`, link)).status).toBe(303);
    const linked = async () => (await read()).assets.links;
    const [{ id: link_id }] = await linked();
    expect(await linked()).toMatchObject([{ name: HOSTILE, link_type: "package" }]);
    expect((await developer.get(`${base}/v1.0`)).page).not.toMatch(RUNS);
    const renamed = { ...link, name: "All" };
    expect((await developer.post(`${base}/v1.0/links/${link_id}/edit`, renamed)).status).toBe(303);
    expect(await linked()).toMatchObject([{ name: "All" }]);
    expect((await as("reporter").post(`${base}/v1.0/links`, link)).status).toBe(404);
    expect((await developer.post(`${base}/v1.0/links/${link_id}/delete`)).status).toBe(303);
    expect(await linked()).toEqual([]);
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
      const empty = (await reporter.get(`${base}/-/snippets/new`)).page;
      expect(empty).toContain('name="visibility"><option value="private">');
      expect(empty).not.toContain('aria-label="Your account"');
      const refused = await reporter.post(`${base}/-/snippets/new`, { ...form, content: "" });
      expect([refused.status, fieldsOf(refused.page)["title"]]).toEqual([422, HOSTILE]);
      expect(refused.page).not.toMatch(RUNS);
      const sent = { ...form, content: `${HOSTILE}\r\n` };
      const made = await reporter.post(`${base}/-/snippets/new`, sent);
      const page = String(made.headers.get("location"));
      expect(page).toMatch(new RegExp(`^${base}/-/snippets/\\d+$`));
      const list = (await reporter.get(base ? `${base}/-/snippets` : "/dashboard/snippets")).page;
      expect(list).toContain(`href="${page}"`);
      expect(list).toContain(`href="${base}/-/snippets/new"`);
      expect(list).not.toMatch(RUNS);
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

describe("forms below a path of a public address", () => {
  it("are sent there, and lead to pages there", async () => {
    const other = await testApp({ url: "https://pm.example.com/x/" });
    await givePassword(other, "owner");
    const project = await newCodeProject(other);
    await project.commit("fix", { "b.txt": "new\n" }, { from: "main" });
    const visitor = new Visitor(other);
    visitor.headers["origin"] = "https://pm.example.com";
    expect((await visitor.signIn("owner", PASSWORD)).status).toBe(303);
    const path = `/${project.fullPath}/-/merge_requests/new`;
    expect((await visitor.get(path)).page).toContain(`action="/x${path}"`);
    const form = { title: "Fix", source_branch: "fix", target_branch: "main" };
    const made = await visitor.post(path, form);
    expect(made.headers.get("location")).toBe(`/x/${project.fullPath}/-/merge_requests/1`);
    const branch = await visitor.post(`/${project.fullPath}/-/branches/new`, {
      ...{ branch: "two", ref: "main" },
    });
    expect(branch.headers.get("location")).toBe(`/x/${project.fullPath}/-/tree/two`);
    expect((await visitor.post("/dashboard/todos/done")).headers.get("location")).toBe(
      "/x/dashboard/todos",
    );
    await other.dispose();
  });
});
