// What merge requests change, and what is said about its lines.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CodeProject, newCodeProject } from "../api/_merge-requests.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { type Forms, fieldsOf, HOSTILE, RUNS, visitForms } from "./_forms.ts";

let app: TestApp;
let forms: Forms;
let project: CodeProject;
/** The page of the changes of a merge request, below the mount. */
let diffs: string;
const FILE = "a b.txt";
const NAME = createHash("sha1").update(FILE).digest("hex");
const lines = (...changed: (string | undefined)[]) =>
  Array.from({ length: 9 }, (_, at) => `${changed[at] ?? `line ${at + 1}`}\n`).join("");

beforeAll(async () => {
  app = await testApp();
  forms = await visitForms(app);
  project = await newCodeProject(app);
  await project.commit("main", { [FILE]: lines() });
  const text = lines(undefined, undefined, "line <3>", undefined, "five\nand more");
  await project.commit("change", { [FILE]: text }, { from: "main" });
  const request = await project.open("change", { title: "A change" });
  diffs = `/${project.fullPath}/-/merge_requests/${request.iid}/diffs`;
});
afterAll(() => app.dispose());

/** Of each row of a table, what its cells say. */
const rowsOf = (page: string) =>
  [...page.matchAll(/<tr(?: id="[^"]*")?(?: class="([^"]*)")?>(.*?)<\/tr>/gs)].map(
    ([, kind = "", cells = ""]) => [
      kind,
      ...[...cells.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = ""]) =>
        cell.replaceAll(/<\/?(?:a|code)\b[^>]*>/g, ""),
      ),
    ],
  );

it("are shown line by line, with what was changed within lines", async () => {
  const { page } = await forms.as("reporter").get(diffs);
  expect(rowsOf(page).filter(([kind]) => kind !== "place")).toEqual([
    [""],
    ["same", "1", "1", "", "line 1"],
    ["same", "2", "2", "", "line 2"],
    ["removed", "3", "", "−", "line <del>3</del>"],
    ["added", "", "3", "+", "line <ins>&lt;3&gt;</ins>"],
    ["same", "4", "4", "", "line 4"],
    ["removed", "5", "", "−", "line 5"],
    ["added", "", "5", "+", "five"],
    ["added", "", "6", "+", "and more"],
    ["same", "6", "7", "", "line 6"],
    ["same", "7", "8", "", "line 7"],
    ["same", "8", "9", "", "line 8"],
  ]);
  expect(page).toContain(`<tr id="${NAME}_3_3" class="removed">`);
  expect(page).toContain(`<tr id="${NAME}_4_3" class="added">`);
});

it("are shown side by side", async () => {
  const { page } = await forms.as("reporter").get(`${diffs}?view=parallel`);
  expect(rowsOf(page).filter(([kind]) => kind !== "place" && kind !== "")).toEqual([
    ["changed", "3", "−", "line <del>3</del>", "3", "+", "line <ins>&lt;3&gt;</ins>"],
    ["changed", "5", "−", "line 5", "5", "+", "five"],
    ["added", "", "", "", "6", "+", "and more"],
  ]);
  expect(page).toContain(`<td id="${NAME}_4_3">`);
  expect(page).toMatch(/<a href="[^"]*\?view=parallel" aria-current="true">Side by side<\/a>/);
});

it("are talked about where they are", async () => {
  const reporter = forms.as("reporter");
  const address = `${diffs}?view=parallel&line=${NAME}_4_3`;
  expect((await reporter.get(diffs)).page).toContain(`href="?line=${NAME}_4_3#${NAME}_4_3"`);
  const asked = await reporter.get(address);
  const { body, ...where } = fieldsOf(asked.page);
  expect([body, where["new_path"], where["new_line"], where["old_line"]]).toEqual([
    ...["", FILE, "3"],
    undefined,
  ]);
  const refused = await reporter.post(address, { ...where, body: "" });
  expect([refused.status, fieldsOf(refused.page)["new_line"]]).toEqual([422, "3"]);
  const wrong = await reporter.post(address, { ...where, body: "kept", new_line: "99" });
  expect([wrong.status, fieldsOf(wrong.page)["body"]]).toEqual([422, "kept"]);

  const previewed = await reporter.post(address, { ...where, body: "**b**", preview: "true" });
  expect([previewed.status, fieldsOf(previewed.page)["body"]]).toEqual([200, "**b**"]);
  expect(previewed.page).toContain("<strong>b</strong>");

  const sent = await reporter.post(address, { ...where, body: HOSTILE });
  expect(sent.status).toBe(303);
  expect(sent.headers.get("location")).toMatch(/\/diffs\?view=parallel#note_\d+$/);
  const [, note] = /#note_(\d+)/.exec(String(sent.headers.get("location"))) ?? [];
  const context = await reporter.get(`${diffs}?line=${NAME}_1_1`);
  await reporter.post(diffs, { ...fieldsOf(context.page), body: "about **both**" });
  for (const view of ["inline", "parallel"]) {
    const { page } = await reporter.get(`${diffs}?view=${view}`);
    expect(page).not.toMatch(RUNS);
    const at = page.indexOf(`<article id="note_${note}"`);
    expect(at).toBeGreaterThan(page.indexOf("&lt;3&gt;"));
    expect(at).toBeLessThan(page.indexOf("line 4"));
    expect(page.indexOf("about <strong>both</strong>")).toBeLessThan(page.indexOf("line 2"));
    expect(page).toContain("Your reply");
  }
});

it("are talked about by those who may, and read by who may read the code", async () => {
  const line = `${diffs}?line=${NAME}_4_3`;
  const { body: _, ...where } = fieldsOf((await forms.as("reporter").get(line)).page);
  expect((await forms.as("guest").get(line)).status).toBe(404);
  expect((await forms.as("stranger").post(line, { ...where, body: "x" })).status).toBe(404);
  const { json } = await project.get("/merge_requests/1/discussions");
  expect(json).toHaveLength(2);
});

it("show no threads about older versions", async () => {
  await project.commit("change", { [FILE]: lines("one") });
  const { page } = await forms.as("reporter").get(diffs);
  expect(page).not.toContain("<article");
});

it("are shown without white space, of older versions, and between two versions", async () => {
  const own = await newCodeProject(app);
  const read = async (path: string, person: "reporter" | "stranger" = "reporter") => {
    const { status, page } = await forms.as(person).get(path);
    return { status, page, rows: rowsOf(page).filter(([kind]) => kind && kind !== "place") };
  };
  await own.commit("main", { "a.txt": "if\n  one\n  two\nend\n", "b.txt": "same\n" });
  const text = "if\n    one\n    2\nend\n";
  await own.commit("change", { "a.txt": text, "b.txt": "sa me\n" }, { from: "main" });
  const request = await own.open("change", { title: "A change" });
  const path = `/${own.fullPath}/-/merge_requests/${request.iid}/diffs`;
  const all = await read(path);
  expect(all.page).toContain(`href="${path}?w=1"`);
  expect(all.page).not.toContain('name="diff_id"');
  const spaceless = await read(`${path}?w=1`);
  expect(spaceless.rows).toEqual([
    ["same", "1", "1", "", "if"],
    ["same", "2", "2", "", "    one"],
    ["removed", "3", "", "−", "  <del>two</del>"],
    ["added", "", "3", "+", "  <ins>  2</ins>"],
    ["same", "4", "4", "", "end"],
  ]);
  expect(spaceless.page).toContain("Only white space was changed.");
  await own.commit("change", { "b.txt": "same\n", "c.txt": "new\n" });
  const { json: versions } = await own.get(`/merge_requests/${request.iid}/versions`);
  expect(versions).toHaveLength(2);
  const [, first] = versions;
  const now = await read(path);
  expect([now.page.includes("c.txt"), now.page.includes("<code>b.txt</code>")]).toEqual([
    true,
    false,
  ]);
  expect(now.page).toContain('name="diff_id"');
  const older = await read(`${path}?diff_id=${first.id}`);
  expect([older.page.includes("c.txt"), older.page.includes("<code>b.txt</code>")]).toEqual([
    false,
    true,
  ]);
  const between = await read(
    `${path}?diff_id=${versions[0].id}&start_sha=${first.head_commit_sha}`,
  );
  expect(between.page).toContain("c.txt");
  expect(between.page).not.toContain("<code>a.txt</code>");
  expect((await read(`${path}?diff_id=999999`)).status).toBe(404);
  expect((await read(`${path}?start_sha=${"0".repeat(40)}`)).status).toBe(404);
  expect((await read(`${path}?diff_id=${first.id}`, "stranger")).status).toBe(404);
});

it("are shown to visitors as they were, where everybody may read the code", async () => {
  const json = { name: "Open code", visibility: "public", default_branch: "main" };
  const { json: open } = await app.call("POST /projects", { as: "developer", json });
  const commit = async (branch: string, content: string, action: string, start?: string) => {
    const actions = [{ action, file_path: "a.txt", content }];
    const sent = { branch, commit_message: "x", actions, ...(start && { start_branch: start }) };
    const path = `POST /projects/${open.id}/repository/commits`;
    expect((await app.call(path, { as: "developer", json: sent })).status).toBe(201);
  };
  await commit("main", "1\n", "create");
  await commit("topic", "2\n", "update", "main");
  const asked = { source_branch: "topic", target_branch: "main", title: "T" };
  await app.call(`POST /projects/${open.id}/merge_requests`, { as: "developer", json: asked });
  await commit("topic", "3\n", "update");
  const path = `/${open.path_with_namespace}/-/merge_requests/1/diffs`;
  const latest = await forms.as("anonymous").get(path);
  const [, id = ""] = /<option value="(\d+)">Version 1</.exec(latest.page) ?? [];
  expect(latest.page).toContain("<code>3</code>");
  const older = await forms.as("anonymous").get(`${path}?diff_id=${id}`);
  expect([
    older.status,
    older.page.includes("<code>2</code>"),
    older.page.includes("<code>3</code>"),
  ]).toEqual([...[200, true, false]]);
  expect((await app.call(`GET /projects/${open.id}/merge_requests/1/versions`)).status).toBe(401);
});

describe("code has colours", () => {
  const code = 'const one = "<b>"; // 1\nlet two = 2;\n';
  let base: string;

  beforeAll(async () => {
    const files = {
      "a.ts": code,
      "README.md": "```js\nconst one = 1;\n```\n",
      "long.c": "(\n".repeat(30_000),
    };
    await project.commit("main", files);
    await project.commit("colours", { "a.ts": code.replace("2;", "22;") }, { from: "main" });
    base = `/${project.fullPath}/-`;
  });

  it("in files, whose lines have numbers, in what was changed, and in blocks of Markdown", async () => {
    const reader = forms.as("reporter");
    const { page } = await reader.get(`${base}/blob/main/a.ts`);
    const [first, second] = [
      '<span class="k">const</span> <span class="nf">one</span> = <span class="s">&quot;&lt;b&gt;&quot;</span>; <span class="c">// 1</span>',
      '<span class="k">let</span> <span class="nf">two</span> = <span class="m">2</span>;',
    ];
    expect(page).toContain(`<a id="L2" href="#L2">2</a>\n</pre><pre>${first}\n${second}</pre>`);
    expect((await reader.get(`${base}/blame/main/a.ts`)).page).toContain(
      `${first}\n${second}</pre>`,
    );
    const compared = await reader.get(`${base}/compare/main...colours`);
    expect(compared.page).toContain(
      `<td>+</td><td><code>${second.replace("2</span>", '2</span><ins><span class="m">2</span></ins>')}</code>`,
    );
    expect((await reader.get(`${base}/blob/main/README.md`)).page).toContain(
      '<span class="k">const</span> <span class="nf">one</span> = <span class="m">1</span>;</span>',
    );
  });

  it("as far as their time lasts: what is left then stays as it is", async () => {
    const { page } = await forms.as("reporter").get(`${base}/blob/main/long.c`);
    expect(page).toContain(`<pre>${"(\n".repeat(29_999)}(</pre>`);
  });
});
