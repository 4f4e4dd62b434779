import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAX_MARKDOWN, parseMarkdown } from "../../src/core/markdown.ts";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { expectLinear } from "../relative-time.ts";

let app: TestApp;
const SITE = "/projects/acme%2Fsite";

beforeAll(async () => {
  app = await testApp();
  const issue = (json: object) => app.call(`POST ${SITE}/issues`, { as: "reporter", json });
  await issue({ title: 'Open "one"' });
  await issue({ title: "Hidden", confidential: true });
  await app.call(`POST ${SITE}/merge_requests`, {
    as: "developer",
    json: { title: "Change", source_branch: "a", target_branch: "main" },
  });
  await app.call(`POST ${SITE}/milestones`, { as: "owner", json: { title: "Version 1" } });
  await app.call("POST /projects", { as: "owner", json: { name: "Secret" } });
  await app.call("POST /projects/owner%2Fsecret/issues", {
    as: "owner",
    json: { title: "Plan" },
  });
});
afterAll(() => app.dispose());

const render = (json: object, as: Person = "guest") => app.call("POST /markdown", { as, json });
const html = async (text: string, more: object = {}, as: Person = "guest") => {
  const { status, json, text: answer } = await render({ text, ...more }, as);
  expect(status, answer).toBe(201);
  return json.html as string;
};
const inSite = { gfm: true, project: "acme/site" };

describe("POST /markdown", () => {
  it("renders CommonMark, tables and tasks", async () => {
    expect(await html("**x** ~~y~~\n\n- [x] done\n- [ ] open\n")).toBe(
      '<p><strong>x</strong> <s>y</s></p>\n<ul>\n<li><input type="checkbox" class="task-list-item-checkbox" checked disabled> done</li>\n<li><input type="checkbox" class="task-list-item-checkbox" disabled> open</li>\n</ul>\n',
    );
    expect(await html("|a|\n|-|\n|b|")).toContain("<td>b</td>");
    expect(await html("```js\n<b>\n```")).toBe(
      '<pre><code class="language-js">&lt;b&gt;\n</code></pre>\n',
    );
  });

  it("is for users, needs a text, and finds only projects that the caller may see", async () => {
    expect((await render({ text: "x" }, "anonymous")).status).toBe(401);
    expect((await render({})).status).toBe(400);
    const unseen = await render({ text: "x", project: "owner/secret" });
    expect([unseen.status, unseen.json]).toEqual([404, { message: "404 Project Not Found" }]);
    expect((await render({ text: "x".repeat(MAX_MARKDOWN + 1) })).status).toBe(400);
  });

  it("has no markup but its own, and no links to scripts", async () => {
    const attacks = [
      "<script>alert(1)</script>",
      "<img src=x onerror=alert(1)>",
      "<a href='javascript:alert(1)'>a</a>",
      "[a](javascript:alert(1))",
      "[a](JaVaScRiPt:alert(1))",
      "[a](&#x6A;avascript:alert(1))",
      "[a](java\tscript:alert(1))",
      "[a](data:text/html,<script>alert(1)</script>)",
      "![a](data:image/svg+xml;base64,PHN2Zz4=)",
      "[a](vbscript:x)",
      "<javascript:alert(1)>",
      '![a](x" onerror="alert(1))',
      "[a](http://b 'x\" onclick=\"alert(1)')",
      '```"><script>\nx\n```',
      '~"<script>"',
      '%"<img src=x>"',
    ];
    for (const attack of attacks) {
      const shown = await html(attack, inSite);
      const tags = shown.replaceAll(/ title="[^"]*"/g, "").match(/<[^>]*>/g) ?? [];
      expect(tags.join(""), attack).not.toMatch(/<script|javascript:|vbscript:|data:|\son\w+=\S/i);
    }
    expect(await html("[a](https://b.example)")).toBe(
      '<p><a href="https://b.example" rel="nofollow noreferrer noopener" target="_blank">a</a></p>\n',
    );
  });

  it("makes links of references to what the caller may see", async () => {
    const text = '#1 #2 #9 !1 @guest @nobody ~UX ~none %"Version 1" owner/secret#1 `#1` [#1](/x)';
    const linked = (shown: string) =>
      [...shown.matchAll(/<a href="([^"]*)"[^>]* class="gfm gfm-(\w+)">([^<]*)<\/a>/g)].map(
        ([, href, kind, written]) => [href, kind, written],
      );
    const site = "http://pm.test/acme/site/-";
    const open = [
      [`${site}/issues/1`, "issue", "#1"],
      [`${site}/merge_requests/1`, "merge_request", "!1"],
      ["http://pm.test/guest", "project_member", "@guest"],
      [`${site}/issues?label_name=UX`, "label", "~UX"],
      [`${site}/issues?milestone_title=Version%201`, "milestone", "%&quot;Version 1&quot;"],
    ];
    const shown = await html(text, inSite);
    expect(linked(shown)).toEqual(open);
    expect(shown).toContain('title="Open &quot;one&quot;"');
    const toOwner = linked(await html(text, inSite, "owner"));
    expect(toOwner).toEqual(
      expect.arrayContaining([
        ...open,
        [`${site}/issues/2`, "issue", "#2"],
        ["http://pm.test/owner/secret/-/issues/1", "issue", "owner/secret#1"],
      ]),
    );
    expect(toOwner).toHaveLength(open.length + 2);
    expect(linked(await html("#1 acme/site#1 @guest", { gfm: true }))).toEqual([
      [`${site}/issues/1`, "issue", "acme/site#1"],
      ["http://pm.test/guest", "project_member", "@guest"],
    ]);
    expect(linked(await html(text, { project: "acme/site" }))).toEqual([]);
  });
});

it("hostile texts take time linear in their length", async () => {
  const fill = (part: string, length: number) =>
    part.repeat(Math.ceil(length / part.length)).slice(0, length);
  const parts = [
    "[",
    "*a ",
    "![[]()",
    "- a\n",
    "> ",
    "`",
    "|",
    "<a ",
    "http://a(",
    "a/",
    "#1",
    '~"',
  ];
  for (const part of [...parts, "@a.", "a/b#1 ", "_a*", "a\n=\n", "[a]: /b\n", "&amp;", "~a:"]) {
    const show = async (length: number) => (await parseMarkdown(fill(part, length))).html();
    await expectLinear(show, MAX_MARKDOWN, part);
  }
  const nested = `${"[".repeat(30_000)}a${"](b)".repeat(8000)}`;
  expect((await parseMarkdown(nested)).html().length).toBeLessThan(1_000_000);
});
