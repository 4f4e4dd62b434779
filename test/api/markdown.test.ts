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
      '<p><strong>x</strong> <del>y</del></p>\n<ul class="task-list">\n<li class="task-list-item"><input type="checkbox" class="task-list-item-checkbox" checked disabled> done</li>\n<li class="task-list-item"><input type="checkbox" class="task-list-item-checkbox" disabled> open</li>\n</ul>\n',
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
      const tags = shown.replaceAll(/ (?:title|src)="[^"]*"/g, "").match(/<[^>]*>/g) ?? [];
      expect(tags.join(""), attack).not.toMatch(/<script|javascript:|vbscript:|data:|\son\w+=\S/i);
    }
    expect(await html("[a](https://b.example)")).toBe(
      '<p><a href="https://b.example" rel="nofollow noreferrer noopener" target="_blank">a</a></p>\n',
    );
  });

  it("makes links of references to what the caller may see", async () => {
    const text = '#1 #2 #9 !1 @guest @nobody ~UX ~none %"Version 1" owner/secret#1 `#1` [#1](/x)';
    const linked = (shown: string) =>
      [
        ...shown.matchAll(
          /<a href="([^"]*)"[^>]* class="gfm gfm-(\w+)[^"]*">(?:<span[^>]*>)?([^<]*)/g,
        ),
      ].map(([, href, kind, written]) => [href, kind, written]);
    const site = "http://pm.test/acme/site/-";
    const open = [
      [`${site}/issues/1`, "issue", "#1"],
      [`${site}/merge_requests/1`, "merge_request", "!1"],
      ["http://pm.test/guest", "project_member", "@guest"],
      [`${site}/issues?label_name=UX`, "label", "UX"],
      [`${site}/milestones/1`, "milestone", "%Version 1"],
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

const UPLOAD = "/uploads/0123456789abcdef0123456789abcdef/d.png";
const UPLOADED = `http://pm.test/acme/site${UPLOAD}`;
const CANONICAL = ` data-canonical-src="${UPLOAD}"`;

describe("GitLab's Markdown", () => {
  const anchor = (slug: string, text: string) =>
    `<a href="#${slug}" aria-label="Link to heading '${text}'" data-heading-content="${text}" class="anchor"></a>`;
  const heading = (level: number, slug: string, text: string) =>
    `<h${level} id="user-content-${slug}">${text}${anchor(slug.replace(/-1$/, "-1"), text)}</h${level}>\n`;
  const away = 'rel="nofollow noreferrer noopener" target="_blank"';
  const box = '<task-button></task-button><input type="checkbox" class="task-list-item-checkbox"';

  it.each([
    // Escaped references are text, other escaped characters are themselves.
    [
      "\\#1 \\@guest \\~UX \\*",
      "<p><span data-escaped-char>#</span>1 <span data-escaped-char>@</span>guest <span data-escaped-char>~</span>UX *</p>\n",
    ],
    [">>>\nq\n\nr\n>>>", "<blockquote>\n<p>q</p>\n<p>r</p>\n</blockquote>\n"],
    [
      ">>>\n```\n>>>\n```\n>>>",
      '<blockquote>\n<div class="gl-relative markdown-code-block js-markdown-code">\n<pre class="code highlight js-syntax-highlight language-plaintext" v-pre="true"><code><span id="LC1" class="line" data-lang="plaintext">&gt;&gt;&gt;</span></code></pre>\n<copy-code></copy-code><insert-code-snippet></insert-code-snippet>\n</div>\n</blockquote>\n',
    ],
    ["a[^nope]\n\n[^unused]: x", "<p>a[^nope]</p>\n"],
    [
      "> [!note]\n> hi",
      '<div class="markdown-alert markdown-alert-note">\n<p class="markdown-alert-title">Note</p>\n<p>hi</p>\n</div>\n',
    ],
    [
      "> [!WARNING] Data deletion\n> hi",
      '<div class="markdown-alert markdown-alert-warning">\n<p class="markdown-alert-title">Data deletion</p>\n<p>hi</p>\n</div>\n',
    ],
    ["> [!other] hi", "<blockquote>\n<p>[!other] hi</p>\n</blockquote>\n"],
    ["# A b\n# A b", heading(1, "a-b", "A b") + heading(1, "a-b-1", "A b")],
    [
      "## This has 3.5 in it (so)\n# 한글 ok",
      heading(2, "this-has-35-in-it-so", "This has 3.5 in it (so)") +
        heading(1, "한글-ok", "한글 ok"),
    ],
    [
      "[[_TOC_]]\n\n# Lorem\n\n## Ipsum",
      `<ul class="section-nav"><li><a href="#lorem">Lorem</a><ul><li><a href="#ipsum">Ipsum</a></li></ul></li></ul>\n${heading(1, "lorem", "Lorem")}${heading(2, "ipsum", "Ipsum")}`,
    ],
    ["[TOC]", ""],
    ["test [[_TOC_]]", "<p>test [[<em>TOC</em>]]</p>\n"],
    [
      "- [~] c",
      `<ul class="task-list">\n<li class="task-list-item inapplicable">${box} data-inapplicable disabled> <s class="inapplicable">c</s></li>\n</ul>\n`,
    ],
    [
      "4893. [x] hello",
      `<ol start="4893" class="task-list">\n<li class="task-list-item">${box} checked disabled> hello</li>\n</ol>\n`,
    ],
    [
      "{+ a +} [- b -] {+ a +] `{+ a +}`",
      '<p><span class="idiff left right addition"> a </span> <span class="idiff left right deletion"> b </span> {+ a +] <code>{+ a +}</code></p>\n',
    ],
    ["~~x~~", "<p><del>x</del></p>\n"],
    [
      "See www.example.com.",
      `<p>See <a href="http://www.example.com" ${away}>www.example.com</a>.</p>\n`,
    ],
    ["<http://PM.test/a>", '<p><a href="http://PM.test/a">http://PM.test/a</a></p>\n'],
    ["<irc://i.f.net/>", '<p><a href="irc://i.f.net/">irc://i.f.net/</a></p>\n'],
    [
      "![d](/uploads/0123456789abcdef0123456789abcdef/d.png)",
      `<p><a class="no-attachment-icon gfm" href="${UPLOADED}"${CANONICAL} data-link="true" target="_blank" rel="noopener noreferrer"><img src="data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==" alt="d"${CANONICAL} decoding="async" class="lazy gfm" data-src="${UPLOADED}"></a></p>\n`,
    ],
    ["<ul><li>a1b2 - &lt;b&gt; *x*</li></ul>", "<ul><li>a1b2 - &lt;b&gt; *x*</li></ul>"],
    ["<ul><li><b>x</b></li></ul>", "<ul><li><b>x</b></li></ul>"],
  ])("%j", async (text, expected) => {
    expect(await html(text, inSite)).toBe(expected);
  });

  it("has footnotes at the end, with what refers to them", async () => {
    const shown = await html(
      "x[^1] y[^😄two] z[^1]\n\n[^😄two]: other[^1]\n[^1]: note\n\n    more",
      inSite,
    );
    const id = /fn-1-(\d+)"/.exec(shown)?.[1];
    const two = "%F0%9F%98%84two";
    const reference = (name: string, number: number, nth = "") =>
      `<sup class="footnote-ref"><a href="#fn-${name}-${id}" id="fnref-${name}${nth}-${id}" data-footnote-ref>${number}</a></sup>`;
    const back = (name: string, number: number) =>
      `<a href="#fnref-${name}-${id}" data-footnote-backref data-footnote-backref-idx="${number}" aria-label="Back to reference ${number}" class="footnote-backref"><gl-emoji title="right arrow curving left" data-name="leftwards_arrow_with_hook">↩</gl-emoji></a>`;
    expect(shown).toBe(
      `<p>x${reference("1", 1)} y${reference(two, 2)} z${reference("1", 1, "-2")}</p>\n` +
        `<section data-footnotes class="footnotes">\n<ol>\n<li id="fn-1-${id}">\n<p>note</p>\n<p>more ${back("1", 1)}</p>\n</li>\n` +
        `<li id="fn-${two}-${id}">\n<p>other${reference("1", 1, "-3")} ${back(two, 2)}</p>\n</li>\n</ol>\n</section>\n`,
    );
  });

  it("ends names before the end of a sentence", async () => {
    const text = "Thanks @guest. It is ~UX. See ~UX: (@guest.) ~UX-";
    const written = [
      ...(await html(text, inSite)).matchAll(
        /class="gfm[^>]*>(?:<span[^>]*>)?([^<]*)(?:<\/\w+>)+(.)/g,
      ),
    ];
    expect(written.map(([, name, next]) => `${name}${next}`)).toEqual([
      ...["@guest.", "UX.", "UX:", "@guest.", "UX-"],
    ]);
  });

  it("mentions nobody, and refers to nothing, with what is escaped", async () => {
    const { json: issue } = await app.call(`POST ${SITE}/issues`, {
      as: "owner",
      json: { title: "Escaped", description: "see \\@maintainer and \\\\@developer" },
    });
    const todos = async (as: Person) =>
      (await app.call("GET /todos", { as })).json.filter(
        ({ target }: { target: { id: number } }) => target.id === issue.id,
      ).length;
    expect([await todos("maintainer"), await todos("developer")]).toEqual([0, 1]);
    const at = `${SITE}/issues/${issue.iid}`;
    await app.call(`POST ${at}/notes`, { as: "owner", json: { body: "and \\@maintainer" } });
    const participants = (await app.call(`GET ${at}/participants`, { as: "owner" })).json;
    const names = participants.map(({ username }: { username: string }) => username);
    expect(names).not.toContain("maintainer");
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
    ">>>\n",
    ">>>\n```\n",
    "- >>>\n",
    "[^a]: b\n",
    "[^a]: [^b]: ",
    "    b\n",
    "[^1]",
    "{+",
    "[- ",
    "www.a.",
    "\\#",
    "> [!note]\n",
    "# a\n",
    "[TOC]\n\n# b\n",
    "<ul><li>",
    "<ul><li>a</li></ul>\n",
    "<b>",
    "</b>",
    "<b>a</b>",
    "<b a='",
    '<b a="',
    "<b a a",
    "<b a=b\n",
    "<div>\n",
    "<div>\n\n",
    "<!--",
    "<!--a",
    "<?",
    "<!A",
    "<![CDATA[",
    "<script>",
    "<a href=b>",
    "<a href=b>c</a>",
    "<img src=a>",
    "<li>",
    "<td>",
    "&lt;",
    "~a..",
    "- [~] a\n",
  ];
  const gitLabs = [
    ":a:",
    ":tada:",
    "\u{1f600}",
    "\u{1f600}\u200d",
    "$`a`$",
    "$$\n",
    "- $$\n",
    "> $$\n",
    "1234567 ",
    "1234567..",
    "a/b@1234567 ",
    "@a/",
    "`#F00` ",
    "`rgb(1, ",
    "http://pm.test/a/b/-/issues/1 ",
    "http://pm.test/a/",
    "```js\na\n```\n",
    "    a\n",
    "---\n",
    "![](a){width=1",
    "![](a.mp4)",
    "[a](../",
    "[a](b/c)",
    "#1+",
    "#1+s ",
    "$a$",
    "$a\\$",
    "$$a",
    "$$ ",
    "a\n: b\n",
    "a\n\n: b\n\n",
    "- a\n  : b\n",
    "> a\n> : b\n",
    ": a\n",
    "[[a]] ",
    "[[a|",
    "[[",
    "[a](#1) ",
    "[a](http://pm.test/a/b/-/issues/1) ",
    "[issue:1] ",
    "[issue:a/",
    "[wiki_page:a/b:c] ",
    "[wiki_page:",
    "GL-1 ",
    "a/b> ",
    "a/b>",
    "/a/b~c ",
    "&1 ",
    "%{a} ",
    "%{",
    "a://b ",
    "a://b)",
    "a-",
    "http://b.c/((",
    "http://b.c/\u202e ",
    "<img src=a>",
    "<a href=b>#1</a>",
    "<div>#1</div>\n",
    "|[ ]",
    '```json:table\n{"items":[{"a":1}],"markdown":true}\n```\n',
  ];
  const surroundings = {
    base: "http://pm.test",
    projectPath: "a/b",
    branch: "main",
    wikiPath: "a/b/-/wikis",
    isGitLabs: true,
  };
  for (const part of gitLabs) {
    const show = async (length: number) =>
      (await parseMarkdown(fill(part, length), surroundings)).html();
    await expectLinear(show, MAX_MARKDOWN, part);
  }
  for (const part of [...parts, "@a.", "a/b#1 ", "_a*", "a\n=\n", "[a]: /b\n", "&amp;", "~a:"]) {
    const show = async (length: number) => (await parseMarkdown(fill(part, length))).html();
    await expectLinear(show, MAX_MARKDOWN, part);
  }
  const inBrackets = async (levels: number) =>
    (await parseMarkdown(`${"[".repeat(levels)}a${"]".repeat(levels)}(/b) *c*`)).html();
  expect(await inBrackets(8)).toBe('<p><a href="/b">[[[[[[[a]]]]]]]</a> <em>c</em></p>\n');
  expect(await inBrackets(9)).toBe("<p>[[[[[[[[[a]]]]]]]]](/b) <em>c</em></p>\n");
  const nested = `${"[".repeat(30_000)}a${"](b)".repeat(8000)}`;
  expect((await parseMarkdown(nested)).html().length).toBeLessThan(1_000_000);
});
