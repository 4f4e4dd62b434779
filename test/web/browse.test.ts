// The pages of what groups and projects have.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CodeProject, lines, newCodeProject } from "../api/_merge-requests.ts";
import { givePassword, PASSWORD, type Person, type TestApp, testApp } from "../helpers.ts";
import { Visitor } from "../visitor.ts";

let app: TestApp;
let project: CodeProject;
const visitors = new Map<Person, Visitor>();
beforeAll(async () => {
  app = await testApp();
  project = await newCodeProject(app);
  const people = ["owner", "developer", "reporter", "guest", "stranger"] as const;
  await givePassword(app, ...people);
  for (const person of people) {
    const visitor = new Visitor(app);
    expect((await visitor.signIn(person, PASSWORD)).status).toBe(303);
    visitors.set(person, visitor);
  }
  visitors.set("anonymous", new Visitor(app));
});
afterAll(() => app.dispose());

const open = (address: string, as: Person = "reporter") =>
  (visitors.get(as) as Visitor).get(address.replace(/^https?:\/\/[^/]+/, ""));

async function send(method: string, path: string, json: object) {
  const answer = await project.send(method, path, json);
  expect([path, answer.status < 300 || answer.text]).toEqual([path, true]);
  return answer.json;
}

/** What a page says, without its markup. */
const textOf = (page: string) =>
  page
    .slice(page.indexOf("<main"))
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ");

describe("the page of an issue", () => {
  it("shows what it is about, what was said of it, and what it has", async () => {
    await send("POST", "/labels", { name: "bug", color: "#cc0000" });
    const issue = await send("POST", "/issues", {
      ...{ title: "First", description: "It **matters**", labels: "bug", due_date: "2026-12-24" },
    });
    const note = await send("POST", `/issues/${issue.iid}/notes`, { body: `See #${issue.iid}` });
    const { status, headers, page } = await open(issue.web_url);
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(page).toContain(`<title>First (#${issue.iid}) · Issues · Secret / `);
    expect(page).toContain("It <strong>matters</strong>");
    expect(page).toContain(`<article id="note_${note.id}" class="said">`);
    for (const text of ["Open", "The developer", "Labels", "bug", "Due", "24 Dec 2026"]) {
      expect(textOf(page)).toContain(text);
    }
    expect(textOf(page)).not.toMatch(/null|undefined|\[object/);
  });

  it("opens for those who may read it, and asks visitors to sign in, whether or not there is one", async () => {
    const secret = await send("POST", "/issues", { title: "Hidden", confidential: true });
    const address = new URL(secret.web_url).pathname;
    for (const [as, status] of [
      ["owner", 200],
      ["reporter", 200],
      ["guest", 404],
      ["stranger", 404],
    ] as const) {
      const answer = await open(address, as);
      expect([as, answer.status, answer.page.includes("Hidden")]).toEqual([
        as,
        status,
        status === 200,
      ]);
    }
    for (const path of [address, address.replace(/\d+$/, "9999"), "/no/such/-/issues/1"]) {
      const { status, headers } = await open(path, "anonymous");
      const to = `/users/sign_in?return_to=${encodeURIComponent(path)}`;
      expect([path, status, headers.get("location")]).toEqual([path, 302, to]);
    }
  });

  it("shows what people have written as text, and loads nothing that runs", async () => {
    const hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>\"&'";
    const issue = await send("POST", "/issues", { title: hostile, description: hostile });
    await send("POST", `/issues/${issue.iid}/notes`, { body: hostile });
    const { page, headers } = await open(issue.web_url);
    expect(page).not.toMatch(/<script|<[^>]*onerror/i);
    expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; .*img-src \*/);
    expect(headers.get("content-security-policy")).not.toContain("script-src");
  });
});

describe("the page of a merge request", () => {
  it("shows where it comes from and goes, and its discussions", async () => {
    await project.commit("change", { "a.txt": lines(20, { 5: "five" }) }, { from: "main" });
    const request = await project.open("change", { title: "A change", description: "See !1" });
    const { status, page } = await open(request.web_url);
    expect(status).toBe(200);
    expect(page).toContain(`<title>A change (!${request.iid}) · Merge requests · Secret / `);
    for (const text of ["From change Into main", "!1", "Open", "The developer opened it"]) {
      expect(textOf(page)).toContain(text);
    }
    const changes = await open(`${request.web_url}/diffs`);
    expect(changes.status).toBe(200);
    expect(changes.page).toContain("<td>−</td><td><code>line 5</code></td>");
    expect(changes.page).toContain("<td>+</td><td><code>five</code></td>");
    const beside = await open(`${request.web_url}/diffs?view=parallel`);
    expect(beside.page).toMatch(/<tr class="changed">.*line 5.*five.*<\/tr>/);
    expect((await open(`${request.web_url}/diffs?view=other`)).status).toBe(400);
    const { json: commit } = await project.get("/repository/commits/change");
    const shown = await open(commit.web_url);
    for (const text of [commit.title, commit.short_id, "+1 −1", "a.txt", "+ five"]) {
      expect(textOf(shown.page)).toContain(text);
    }
    expect((await open(commit.web_url, "guest")).status).toBe(404);
    await project.commit("topic/one", { "docs/a b.md": "# Hello\n\n*you*\n" }, { from: "main" });
    const base = `/${project.fullPath}/-`;
    const folder = await open(`${base}/tree/topic/one/docs`);
    expect(folder.page).toContain(`<a href="${base}/blob/topic/one/docs/a%20b.md">a b.md</a>`);
    const file = await open(`${base}/blob/topic/one/docs/a%20b.md`);
    expect([file.status, file.page.includes("<em>you</em>")]).toEqual([200, true]);
    expect(textOf((await open(`${base}/blob/main/a.txt`)).page)).toContain("line 1 line 2");
    for (const path of ["/blob/main/none", "/tree/none", "/blob/main"]) {
      expect([path, (await open(base + path)).status]).toEqual([path, 404]);
    }
  });
});

describe("lists", () => {
  it("show what their address asks for, by the names of the API's filters that pages have", async () => {
    const other = await newCodeProject(app);
    const post = (path: string, json: object) => other.send("POST", path, json, "reporter");
    await post("/labels", { name: "in review", color: "#cc0000" });
    for (const title of ["One", "Two", "Three"]) await post("/issues", { title });
    await other.send("PUT", "/issues/2", { state_event: "close" }, "reporter");
    await other.send("PUT", "/issues/3", { labels: "in review" }, "reporter");
    const path = `/${other.fullPath}/-/issues`;
    const titles = async (query: string) => {
      const { status, page } = await open(path + query);
      expect([query, status]).toEqual([query, 200]);
      return [...page.matchAll(/<h2><a href="[^"]*">([^<]*)</g)].map(([, title]) => title);
    };
    expect(await titles("")).toEqual(["Three", "One"]);
    expect(await titles("?state=closed")).toEqual(["Two"]);
    expect(await titles("?state=all&search=O")).toEqual(["Two", "One"]);
    expect(await titles("?label_name[]=in+review")).toEqual(["Three"]);
    expect(await titles("?label_name=in+review&state=all")).toEqual(["Three"]);
    expect(await titles("?milestone_title=none&author_username=nobody")).toEqual([]);
    expect(await titles("?per_page=1&page=2")).toEqual(["One"]);
    const { page } = await open(`${path}?per_page=1&label_name=`);
    expect(page).toMatch(/<a href="[^"]*\/-\/issues\?[^"]*page=2#page" rel="next">/);
    expect(page).toContain('<option value="opened" selected>');
    const { page: requests } = await open(`/${project.fullPath}/-/merge_requests?state=all`);
    expect(requests).toContain(">A change</a>");
    expect((await open(path, "stranger")).status).toBe(404);
  });
});

describe("what else a project has", () => {
  it("opens where its links lead, for those who may read it", async () => {
    const other = await newCodeProject(app);
    const made = async (path: string, json: object) => {
      const answer = await other.send("POST", path, json, "maintainer");
      expect([path, answer.status, answer.text]).toEqual([path, 201, answer.text]);
      return answer.json;
    };
    await other.commit("main", { ".gitlab-ci.yml": "check:\n  script: make\n" });
    const pipeline = await made("/pipeline", { ref: "main" });
    const { json: jobs } = await other.get(`/pipelines/${pipeline.id}/jobs`);
    const milestone = await made("/milestones", { title: "v1 beta", description: "**Soon**" });
    const release = await made("/releases", {
      ...{ tag_name: "v1.0", ref: "main", name: "One", description: "_New_" },
    });
    const snippet = await made("/snippets", {
      ...{ title: "A text", visibility: "private", files: [{ file_path: "a.md", content: "Hi" }] },
    });
    const base = `/${other.fullPath}`;
    for (const [address, ...texts] of [
      [pipeline.web_url, `Pipeline #${pipeline.id}`, "check", "Source api"],
      [jobs[0].web_url, "check", "Stage test", "The whole log, as it is"],
      [milestone.web_url, "v1 beta", "Soon", "Its issues"],
      [release._links.self, "One", "New", "The code as zip"],
      [base + release.tag_path.slice(base.length), "v1.0", "Commit"],
      [`${base}/-/snippets/${snippet.id}`, "A text", "a.md"],
    ]) {
      const { status, page } = await open(address);
      expect([address, status]).toEqual([address, 200]);
      for (const text of texts) expect(textOf(page)).toContain(text);
      expect(textOf(page)).not.toMatch(/null|undefined|\[object/);
      expect([address, (await open(address, "stranger")).status]).toEqual([address, 404]);
      expect([address, (await open(address, "anonymous")).status]).toEqual([address, 302]);
    }
    expect((await open(`${base}/-/milestones/99`)).status).toBe(404);
  });
});

describe("addresses", () => {
  it("that are older, or have other capitals, redirect to where things are", async () => {
    const base = `/${project.fullPath}`;
    for (const [path, to] of [
      [`${base}/issues/1?x=1`, `${base}/-/issues/1?x=1`],
      [`${base}/tree/main/docs`, `${base}/-/tree/main/docs`],
      ["/groups/secret/issues", "/groups/secret/-/issues"],
      ["/snippets/7", "/-/snippets/7"],
      [base.toUpperCase(), base],
    ] as const) {
      const visitor = visitors.get("reporter") as Visitor;
      visitor.headers = { accept: "text/html" };
      const { status, headers } = await open(path);
      expect([path, status, headers.get("location")]).toEqual([path, 301, to]);
      visitor.headers = {};
    }
  });

  it("of what is nobody's are JSON for programs, and ask browsers to sign in", async () => {
    const programs = await open("/nobody/nothing", "anonymous");
    expect([programs.status, programs.page]).toEqual([404, '{"error":"404 Not Found"}']);
    const browser = new Visitor(app);
    browser.headers = { accept: "text/html" };
    expect((await browser.get("/nobody/nothing")).status).toBe(302);
    expect((await browser.get("/-/nothing")).status).toBe(404);
    expect((await browser.get("/robots.txt/x")).status).toBe(404);
    expect((await app.call("POST http://localhost/nobody/nothing")).status).toBe(404);
  });
});

describe("the page of a job", () => {
  it("shows the end of its log, without colours", async () => {
    const other = await newCodeProject(app);
    await other.commit("main", { ".gitlab-ci.yml": "check:\n  script: make\n" });
    const { json: pipeline } = await other.send("POST", "/pipeline", { ref: "main" });
    const { json: jobs } = await other.get(`/pipelines/${pipeline.id}/jobs`);
    const shown = async () => (await open(jobs[0].web_url)).page;
    expect(await shown()).toContain("There is no log yet.");
    const write = async (log: string) =>
      app.store.transaction(async (db) => {
        await db.run("delete from ci_trace_parts where job_id = ?", [jobs[0].id]);
        for (let start = 0; start < log.length; start += 65_536) {
          await db.run(
            `insert into ci_trace_parts (project_id, job_id, start, bytes)
               select project_id, id, ?, ? from ci_jobs where id = ?`,
            [start, Buffer.from(log.slice(start, start + 65_536)), jobs[0].id],
          );
        }
        await db.run("update ci_jobs set trace_bytes = ? where id = ?", [log.length, jobs[0].id]);
      });
    await write("section_start:1:make\r\u001b[0K\u001b[31mred\u001b[0m <b>\n");
    expect(await shown()).toContain(
      '<pre class="log" tabindex="0" role="region" aria-label="Log of check">red &lt;b&gt;\n</pre>',
    );
    // More than 4 MiB.
    await write(`${"a line of the log\n".repeat(240_000)}the end`);
    const page = await shown();
    expect(page).toContain("the end</pre>");
    expect(page.length).toBeLessThan(100_000);
    expect(page).toMatch(/<pre class="log" [^>]*>a line/);
  });
});

describe("searching", () => {
  it("finds what the caller may see, everywhere or in a project", async () => {
    const { title } = await send("POST", "/issues", { title: "A needle in the hay" });
    await project.commit("main", { "needle.txt": "A needle in a file\n" });
    const shown = async (query: string, as: Person = "reporter") =>
      textOf((await open(`/search?${query}`, as)).page);
    expect(await shown("search=needle&scope=issues")).toContain(title);
    expect(await shown("search=needle&scope=issues", "stranger")).toContain("Nothing was found.");
    const { json } = await project.get("");
    const code = await shown(`search=needle&scope=blobs&project_id=${json.id}`);
    expect(code).toContain("needle.txt");
    expect(code).toContain("A needle in a file");
    expect(await shown("")).not.toContain("Nothing was found.");
    // Visitors find what is public, and nobody but people who are signed in finds people.
    await app.call("POST /projects/acme%2Fsite/issues", {
      ...{ as: "owner", json: { title: "A needle for everybody" } },
    });
    const visitors = await shown("search=needle&scope=issues", "anonymous");
    expect(visitors).toContain("A needle for everybody");
    expect(visitors).not.toContain(title);
    expect(visitors).not.toContain("People");
    expect(await shown("search=owner&scope=users", "anonymous")).not.toContain("@owner");
    expect((await open(`/search?search=a&project_id=${json.id}`, "anonymous")).page).not.toContain(
      "Secret",
    );
    const blame = await open(`/${project.fullPath}/-/blame/main/needle.txt`);
    expect(textOf(blame.page)).toContain("A needle in a file");
  });
});

describe("forms", () => {
  it("create issues, comment on them, close and open them again, as the API does", async () => {
    const other = await newCodeProject(app);
    const base = `/${other.fullPath}`;
    const as = (person: Person) => visitors.get(person) as Visitor;
    const reporter = as("reporter");
    expect((await reporter.get(`${base}/-/issues`)).page).toContain(`href="${base}/-/issues/new"`);
    await reporter.get(`${base}/-/issues/new`);
    const refused = await reporter.post(`${base}/-/issues/new`, { title: "", description: "Kept" });
    expect([refused.status, textOf(refused.page).includes("Title can&#39;t be blank.")]).toEqual([
      422,
      true,
    ]);
    expect(refused.page).toContain("Kept</textarea>");
    const made = await reporter.post(`${base}/-/issues/new`, {
      title: "By hand",
      description: "*Yes*",
    });
    expect([made.status, made.headers.get("location")]).toEqual([303, `${base}/-/issues/1`]);
    const shown = await reporter.follow(made);
    expect(shown.page).toContain("<em>Yes</em>");
    const said = await reporter.post(`${base}/-/issues/1/notes`, { body: "A **comment**" });
    expect(said.headers.get("location")).toMatch(/\/-\/issues\/1#note_\d+$/);
    expect((await reporter.get(`${base}/-/issues/1`)).page).toContain("<strong>comment</strong>");
    const command = await reporter.post(`${base}/-/issues/1/notes`, { body: "/due 2026-12-24" });
    expect(command.headers.get("location")).toBe(`${base}/-/issues/1`);
    const state = { state_event: "close" };
    expect((await reporter.post(`${base}/-/issues/1/state`, state)).status).toBe(303);
    const { json } = await other.get("/issues/1");
    expect(json).toMatchObject({ state: "closed", due_date: "2026-12-24", user_notes_count: 1 });
    const empty = await reporter.post(`${base}/-/issues/1/notes`, { body: "" });
    expect([empty.status, empty.page.includes('role="alert"')]).toEqual([422, true]);
    expect((await reporter.post(`${base}/-/issues/1/notes`, { body: "x" }, "")).status).toBe(422);
    const stranger = as("stranger");
    await stranger.get("/explore/projects");
    expect((await stranger.post(`${base}/-/issues/1/notes`, { body: "x" })).status).toBe(404);
    const anonymous = as("anonymous");
    await anonymous.get("/users/sign_in");
    const asked = await anonymous.post(`${base}/-/issues/1/notes`, { body: "x" });
    expect([asked.status, asked.headers.get("location")?.startsWith("/users/sign_in")]).toEqual([
      303,
      true,
    ]);
    expect((await other.get("/issues/1/notes")).json).toHaveLength(1);
  });

  it("start, cancel and repeat jobs and pipelines, for those who may", async () => {
    const other = await newCodeProject(app);
    const configuration = "check:\n  script: make\nship:\n  script: make\n  when: manual\n";
    await other.commit("main", { ".gitlab-ci.yml": configuration });
    const { json: pipeline } = await other.send("POST", "/pipeline", { ref: "main" });
    const { json: jobs } = await other.get(`/pipelines/${pipeline.id}/jobs`);
    const idOf = (wanted: string) => jobs.find(({ name }: { name: string }) => name === wanted).id;
    const page = (path: string) => `/${other.fullPath}/-/${path}`;
    const developer = visitors.get("developer") as Visitor;
    const reporter = visitors.get("reporter") as Visitor;
    const [check, ship] = [`jobs/${idOf("check")}`, `jobs/${idOf("ship")}`];
    expect((await developer.get(page(ship))).page).toContain(`action="${page(ship)}/play"`);
    expect((await reporter.get(page(ship))).page).not.toContain("/play");
    expect((await reporter.post(`${page(ship)}/play`)).status).toBe(404);
    expect((await developer.post(`${page(ship)}/play`)).status).toBe(303);
    expect((await developer.post(`${page(check)}/cancel`)).status).toBe(303);
    const again = await developer.post(`${page(check)}/retry`);
    const retried = again.headers.get("location");
    expect(retried).toMatch(/\/-\/jobs\/\d+$/);
    expect(retried).not.toBe(page(check));
    const canceled = await developer.post(`${page(`pipelines/${pipeline.id}`)}/cancel`);
    expect(canceled.headers.get("location")).toBe(page(`pipelines/${pipeline.id}`));
    const shown = await developer.follow(canceled);
    expect(shown.page).toContain(`action="${page(`pipelines/${pipeline.id}`)}/retry"`);
    const refusal = await developer.post(`${page(ship)}/play`);
    expect([refusal.status, refusal.page.includes('role="alert"')]).toEqual([422, true]);
  });

  it("approve and merge, or say why that can't be", async () => {
    const other = await newCodeProject(app);
    await other.commit("change", { "b.txt": "new\n" }, { from: "main" });
    const request = await other.open("change", { title: "A change" });
    const path = `/${other.fullPath}/-/merge_requests/${request.iid}`;
    const as = (person: Person) => visitors.get(person) as Visitor;
    const owner = as("owner");
    expect((await owner.get(path)).page).toContain(`action="${path}/approve"`);
    expect((await owner.post(`${path}/approve`)).status).toBe(303);
    expect((await owner.get(path)).page).toContain(`action="${path}/unapprove"`);
    expect((await as("reporter").get(path)).page).not.toContain(`action="${path}/merge"`);
    await other.send("PUT", `/merge_requests/${request.iid}`, { title: "Draft: A change" });
    const draft = await owner.get(path);
    expect(textOf(draft.page)).toContain("be merged yet: draft status.");
    const refusal = await owner.post(`${path}/merge`);
    expect([refusal.status, refusal.page.includes('role="alert"')]).toEqual([422, true]);
    await other.send("PUT", `/merge_requests/${request.iid}`, { title: "A change" });
    expect((await owner.get(path)).page).toContain(`action="${path}/merge"`);
    expect((await owner.post(`${path}/merge`)).status).toBe(303);
    expect((await other.get(`/merge_requests/${request.iid}`)).json.state).toBe("merged");
    expect((await owner.get(path)).page).not.toContain(`action="${path}/merge"`);
  });
});

describe("activity", () => {
  it("shows what happened to those who may see it, by kind", async () => {
    const secret = await send("POST", "/issues", { title: "Quietly", confidential: true });
    const issue = await send("POST", "/issues", { title: "Loudly" });
    await send("POST", `/issues/${issue.iid}/notes`, { body: "What was said" });
    const shown = async (path: string, as: Person = "reporter") => {
      const { status, page } = await open(path, as);
      expect([path, as, status]).toEqual([path, as, 200]);
      return page;
    };
    const at = `/${project.fullPath}/activity`;
    const all = await shown(at);
    expect(all).toContain(
      `href="/${project.fullPath}/-/issues/${issue.iid}">#${issue.iid} Loudly</a>`,
    );
    expect(all).toContain(`/-/issues/${secret.iid}"`);
    expect(textOf(all)).toContain("pushed");
    expect(await shown(at, "guest")).not.toContain("Quietly");
    const comments = await shown(`${at}?event_filter=comments`);
    expect([comments.includes("What was said"), comments.includes("Loudly</a>")]).toEqual([
      true,
      false,
    ]);
    const group = project.fullPath.split("/")[0];
    for (const path of [`/groups/${group}/-/activity`, "/dashboard/activity"]) {
      expect(await shown(path)).toContain("Loudly");
    }
    expect((await open(`/groups/${group}/-/activity`, "stranger")).status).toBe(404);
    expect((await open(at, "stranger")).status).toBe(404);
    expect((await open(at, "anonymous")).status).toBe(404);
    expect(await shown("/users/developer/activity")).toContain("Loudly");
    expect(await shown("/users/developer/activity", "anonymous")).not.toContain("Loudly");
    // A project that is called so has its own page.
    const { json: acme } = await app.call("GET /groups/acme", { as: "owner" });
    const called = { name: "activity", namespace_id: acme.id, visibility: "public" };
    expect((await app.call("POST /projects", { as: "owner", json: called })).status).toBe(201);
    expect(await shown("/acme/activity", "anonymous")).toContain("<h1>Acme / activity</h1>");
  });

  it("counts how much somebody did each day, of what the visitor may see unless they want all to be counted", async () => {
    const total = async (as: Person) =>
      Number(
        /([\d,]+) contributions? in the last year/.exec((await open("/developer", as)).page)?.[1],
      );
    const [own, seen, hidden] = [
      await total("developer"),
      await total("reporter"),
      await total("anonymous"),
    ];
    expect([own >= seen, seen > hidden]).toEqual([true, true]);
    const developer = visitors.get("developer") as Visitor;
    await developer.get("/-/profile");
    const form = { include_private_contributions: "true" };
    expect((await developer.post("/-/profile/contributions", form)).status).toBe(303);
    expect(await total("anonymous")).toBe(own);
    expect((await developer.get("/-/profile")).page).toContain('value="true" checked');
    await developer.post("/-/profile/contributions", { include_private_contributions: "false" });
    expect(await total("anonymous")).toBe(hidden);
  });
});
