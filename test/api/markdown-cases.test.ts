// What GitLab makes of Markdown, case by case: requests in, HTML out. HTML is compared as trees: attributes in any order,
// ids in them as N, and without what says where in the text something is.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";

let app: TestApp;
const H = "http://pm.test";
const SITE = "/projects/acme%2Fkit";
let first = "";
let second = "";

beforeAll(async () => {
  app = await testApp();
  const call = async (request: string, json: object, as: Person = "owner") => {
    const answer = await app.call(request, { as, json });
    expect([request, answer.status < 300 || answer.text]).toEqual([request, true]);
    return answer.json;
  };
  const { json: group } = await app.call("GET /groups/acme", { as: "owner" });
  const inGroup = { namespace_id: group.id, visibility: "public" };
  await call("POST /projects", { name: "kit", ...inGroup });
  await call("POST /projects", { name: "other", ...inGroup });
  await call("POST /projects", { name: "Else", path: "else", visibility: "public" });
  await call(`POST ${SITE}/milestones`, { title: "v1 beta" });
  await call(`POST ${SITE}/labels`, { name: "bug", color: "#00cc00" });
  await call(`POST ${SITE}/labels`, { name: "in review", color: "#cc0000" });
  await call(`POST ${SITE}/labels`, { name: "pale", color: "#ffffcc", description: "Light" });
  await call(`POST ${SITE}/labels`, { name: "c_bug_", color: "#00cc00" });
  await call(`POST ${SITE}/issues`, { title: "First" });
  await call(`POST ${SITE}/issues`, { title: "Second", confidential: true });
  await call(`PUT ${SITE}/issues/2`, { state_event: "close" });
  await call(`POST ${SITE}/issues`, { title: "x".repeat(60) });
  const commit = async (branch: string, message: string, file_path: string, more = {}) =>
    (
      await call(`POST ${SITE}/repository/commits`, {
        ...{ branch, commit_message: message, ...more },
        actions: [{ action: "create", file_path, content: "a\n" }],
      })
    ).id as string;
  first = await commit("main", "Subject", "a.md");
  second = await commit("change", "More", "b.md", { start_branch: "main" });
  const change = { title: "Feature one", source_branch: "change", target_branch: "main" };
  await call(`POST ${SITE}/merge_requests`, change);
  await call(`PUT ${SITE}/merge_requests/1/merge`, {});
});
afterAll(() => app.dispose());

/** HTML as it is compared. */
const plain = (html: string) =>
  html
    .replace(/<([a-z][\w-]*)((?: [\w-]+(?:="[^"]*")?)+)>/g, (_, tag: string, written: string) => {
      const attributes = written.match(/[\w-]+(?:="[^"]*")?/g) ?? [];
      const kept = attributes
        .filter((attribute) => !/^(?:data-sourcepos|dir)=/.test(attribute))
        .map((attribute) =>
          attribute.replace(
            /^(data-(?:project|issue|merge-request|user|group|label|milestone|snippet)=)"\d+"$/,
            "$1N",
          ),
        );
      return `<${[tag, ...kept.sort()].join(" ")}>`;
    })
    .trim();

const render = async (text: string, project = "acme/kit", as: Person = "owner") => {
  const json = { text, gfm: true, project };
  const { status, json: answer, text: said } = await app.call("POST /markdown", { as, json });
  expect(status, said).toBe(201);
  return plain(answer.html as string);
};

interface Told {
  text?: string;
  title?: string;
  data?: string;
  classes?: string;
  type?: string;
}
/** A reference, as GitLab writes it. */
const link = (kind: string, href: string, original: string, told: Told = {}) => {
  const { text = original, title = "", data = "", classes = "", type = kind } = told;
  return (
    `<a href="${href}" title="${title}" class="gfm gfm-${kind}${classes}" data-reference-type="${type}" data-original="${original}" ` +
    `data-link="false" data-link-reference="false"${data} data-container="body" data-placement="top">${text}</a>`
  );
};
const N = ' data-project="1"';
const at = (path = "acme/kit") => `${H}/${path}/-`;
const issue = (iid: number, title: string, original: string, told: Told = {}) =>
  link("issue", `${at()}/issues/${iid}`, original, {
    title,
    ...told,
    data: `${told.data ?? ""}${N} data-issue="1" data-iid="${iid}" data-project-path="acme/kit" data-issue-type="issue"`,
  });
const request = (original: string, told: Told = {}, below = "") =>
  link("merge_request", `${at()}/merge_requests/1${below}`, original, {
    title: "Feature one",
    ...told,
    data: `${told.data ?? ""}${N} data-merge-request="1" data-iid="1" data-project-path="acme/kit"`,
  });
const milestone = (original: string) =>
  link("milestone", `${at()}/milestones/1`, original, {
    title: "v1 beta",
    text: "%v1 beta",
    classes: " has-tooltip",
    data: `${N} data-milestone="1"`,
  });
const label = (name: string, original: string, color: string, tone = "light", title = "") =>
  `<span class="gl-label gl-label-sm">${link(
    "label",
    `${at()}/issues?label_name=${name.replaceAll(" ", "+")}`,
    original,
    {
      title,
      classes: " has-tooltip gl-link gl-label-link",
      data: `${N} data-label="1"`,
      text: `<span class="gl-label-text gl-label-text-${tone}" data-container="body" data-html="true" style="background-color: ${color}">${name}</span>`,
    },
  )}</span>`;
const commit = (oid: string, original: string, told: Told = {}) =>
  link("commit", `${at()}/commit/${oid}`, original, {
    title: "Subject",
    text: oid.slice(0, 8),
    classes: " has-tooltip",
    data: `${N} data-commit="${oid}"`,
    ...told,
  });
const p = (html: string) => `<p>${html}</p>`;
const away = 'rel="nofollow noreferrer noopener" target="_blank"';
const code = (language: string, lines: readonly string[], more = "") =>
  `<div class="gl-relative markdown-code-block js-markdown-code">\n<pre${more} class="code highlight js-syntax-highlight language-${language}" v-pre="true"><code>${lines
    .map(
      (line, index) =>
        `<span id="LC${index + 1}" class="line" data-lang="${language}">${line}</span>`,
    )
    .join(
      "\n",
    )}</code></pre>\n<copy-code></copy-code><insert-code-snippet></insert-code-snippet>\n</div>`;
const emoji = (name: string, title: string, shown: string) =>
  `<gl-emoji title="${title}" data-name="${name}">${shown}</gl-emoji>`;

/** Cases by their numbers in the list that they were gathered in: a text, its HTML, and the project it is of. */
type Case = [text: () => string, html: () => string, project?: string];

const CASES: Readonly<Record<string, Case>> = {
  "an issue": [() => "#1", () => p(issue(1, "First", "#1"))],
  "an issue before a full stop": [
    () => "Fixed (#1.)",
    () => p(`Fixed (${issue(1, "First", "#1")}.)`),
  ],
  "an issue of a neighbour": [
    () => "acme/kit#1",
    () => p(issue(1, "First", "acme/kit#1", { text: "kit#1" })),
    "acme/other",
  ],
  "an issue of a neighbour, by the last part of its path": [
    () => "See kit#1, C#1 and a~bug or 50%1.",
    () => p(`See ${issue(1, "First", "kit#1")}, C#1 and a~bug or 50%1.`),
    "acme/other",
  ],
  "an issue of another namespace": [
    () => "acme/kit#1",
    () => p(issue(1, "First", "acme/kit#1")),
    "owner/else",
  ],
  "an issue of the project, named in full": [
    () => "acme/kit#1",
    () => p(issue(1, "First", "acme/kit#1", { text: "#1" })),
  ],
  "an unknown issue": [() => "#99", () => p("#99")],
  "an issue with its title": [
    () => "#1+",
    () => p(issue(1, "First", "#1+", { text: "First (#1)", data: ' data-reference-format="+"' })),
  ],
  "a closed issue with its title": [
    () => "#2+",
    () =>
      p(
        issue(2, "Second", "#2+", {
          text: "Second (#2 - closed)",
          data: ' data-reference-format="+"',
        }),
      ),
  ],
  "a long title": [
    () => "#3+",
    () =>
      p(
        issue(3, "x".repeat(60), "#3+", {
          text: `${"x".repeat(47)}... (#3)`,
          data: ' data-reference-format="+"',
        }),
      ),
  ],
  "the address of an issue": [
    () => `${at()}/issues/1`,
    () => p(issue(1, "First", `${at()}/issues/1`, { text: "#1" })),
  ],
  "the address of a comment": [
    () => `See ${at()}/issues/1#note_586.`,
    () =>
      p(
        `See ${issue(1, "First", `${at()}/issues/1#note_586`, { text: "#1 (comment 586)" }).replace('issues/1"', 'issues/1#note_586"')}.`,
      ),
  ],
  "an address with the title": [
    () => `${at()}/issues/1+`,
    () =>
      p(
        issue(1, "First", `${at()}/issues/1+`, {
          text: "First (#1)",
          data: ' data-reference-format="+"',
        }),
      ),
  ],
  "the address of an unknown issue": [
    () => `${at()}/issues/99`,
    () => p(`<a href="${at()}/issues/99">${at()}/issues/99</a>`),
  ],
  "an address that is a link already": [
    () => `[x](${at()}/issues/1)`,
    () => p(`<a href="${at()}/issues/1">x</a>`),
  ],
  "a merge request": [() => "!1", () => p(request("!1"))],
  "the changes of a merge request": [
    () => `${at()}/merge_requests/1/diffs#note_3`,
    () =>
      p(
        request(
          `${at()}/merge_requests/1/diffs#note_3`,
          { text: "!1 (diffs, comment 3)" },
          "/diffs#note_3",
        ),
      ),
  ],
  "a milestone": [() => '%"v1 beta"', () => p(milestone("%&quot;v1 beta&quot;"))],
  "a milestone by its number": [
    () => "%1, acme/kit%1. 100%",
    () => p(`${milestone("%1")}, ${milestone("acme/kit%1")}. 100%`),
  ],
  "the address of a milestone": [
    () => `${at()}/milestones/1`,
    () => p(milestone(`${at()}/milestones/1`)),
  ],
  "a label": [() => "~bug", () => p(label("bug", "~bug", "#00cc00"))],
  "labels of several words, and light ones": [
    () => 'See ~pale, ~"in review"',
    () =>
      p(
        `See ${label("pale", "~pale", "#ffffcc", "dark", "Light")}, ${label("in review", "~&quot;in review&quot;", "#cc0000")}`,
      ),
  ],
  "what looks like a label": [
    () => '(format nil "~0f" 3.0)',
    () => p("(format nil &quot;~0f&quot; 3.0)"),
  ],
  "a person": [
    () => "Thanks @owner.",
    () =>
      p(
        `Thanks ${link("project_member", `${H}/owner`, "@owner", {
          title: "The owner",
          classes: " js-user-link",
          data: ' data-user="1"',
          type: "user",
        })}.`,
      ),
  ],
  "a group": [
    () => "@acme, @acme/none @secret",
    () =>
      p(
        `${link("project_member", `${H}/groups/acme`, "@acme", {
          title: "Acme",
          classes: " js-user-link",
          data: ' data-group="1"',
          type: "user",
        })}, @acme/none ${link("project_member", `${H}/groups/secret`, "@secret", {
          title: "Secret",
          classes: " js-user-link",
          data: ' data-group="1"',
          type: "user",
        })}`,
      ),
  ],
  "a commit, in full": [() => first, () => p(commit(first, first))],
  "a commit, by its beginning": [
    () => `Since ${first.slice(0, 7)}.`,
    () => p(`Since ${commit(first, first.slice(0, 7))}.`),
  ],
  "a commit with its project": [
    () => `acme/kit@${first.slice(0, 8)}`,
    () => p(commit(first, `acme/kit@${first.slice(0, 8)}`)),
  ],
  "a commit of a neighbour": [
    () => `acme/kit@${first.slice(0, 8)}`,
    () => p(commit(first, `acme/kit@${first.slice(0, 8)}`, { text: `kit@${first.slice(0, 8)}` })),
    "acme/other",
  ],
  "what looks like a commit": [() => "deadbeef1 1234567", () => p("deadbeef1 1234567")],
  "a commit in code": [() => `\`${first}\``, () => p(`<code>${first}</code>`)],
  "a range of commits": [
    () => `${first.slice(0, 8)}...${second.slice(0, 8)}`,
    () =>
      p(
        link(
          "commit_range",
          `${at()}/compare/${first}...${second}`,
          `${first.slice(0, 8)}...${second.slice(0, 8)}`,
          { classes: " has-tooltip", data: `${N} data-commit-range="${first}...${second}"` },
        ),
      ),
  ],
  "the address of a patch": [
    () => `${at()}/commit/${first}.patch`,
    () =>
      p(
        commit(first, `${at()}/commit/${first}.patch`, {
          text: `${first.slice(0, 8)} (patch)`,
        }).replace(`commit/${first}"`, `commit/${first}.patch"`),
      ),
  ],
  "settings of a page": [
    () => "---\ntitle: a\n---\n\nText",
    () =>
      `${code("yaml", ["title: a"], ' data-canonical-lang="yaml" data-lang-params="frontmatter"')}\n<p>Text</p>`,
  ],
  "no settings of a page": [
    () => " ---\na: b\n---",
    () =>
      '<hr>\n<h2 id="user-content-a-b">a: b<a href="#a-b" aria-label="Link to heading \'a: b\'" data-heading-content="a: b" class="anchor"></a></h2>',
  ],
  code: [
    () => "```js\nvar a = '<'\n```",
    () => code("javascript", ["var a = '&lt;'"], ' data-canonical-lang="js"'),
  ],
  "code of an unknown language": [
    () => "```foobar\na\nb\n```\n\n    c",
    () =>
      `${code("plaintext", ["a", "b"], ' data-canonical-lang="foobar"')}\n${code("plaintext", ["c"])}`,
  ],
  "code with parameters": [
    () => "```js:x.js\na\n```\n\n```suggestion:-1+10\nb\n```",
    () =>
      `${code("javascript", ["a"], ' data-canonical-lang="js" data-lang-params="x.js"')}\n` +
      code("suggestion", ["b"], ' data-canonical-lang="suggestion" data-lang-params="-1+10"'),
  ],
  "a diagram": [
    () => "```mermaid\ngraph TD\n```",
    () =>
      code(
        "mermaid",
        ["graph TD"],
        ' data-mermaid-style="display" data-canonical-lang="mermaid"',
      ).replace("<code>", '<code class="js-render-mermaid">'),
  ],
  formulas: [
    () => "$`a^2`$ and $ 5 and $ 6\n\n$$\nb\n$$",
    () =>
      `<p><code data-math-style="inline" class="code math js-render-math">a^2</code> and $ 5 and $ 6</p>\n` +
      code("math", ["b"], ' data-math-style="display" data-canonical-lang="math"').replace(
        'class="code',
        'class="js-render-math code',
      ),
  ],
  emoji: [
    () => ":sparkles: :+1: :-1: ❤️ 👍🏽 ™",
    () =>
      p(
        `${emoji("sparkles", "sparkles", "✨")} ${emoji("thumbsup", "thumbs up", "👍")} ${emoji("thumbsdown", "thumbs down", "👎")} ${emoji("heart", "red heart", "❤️")} 👍🏽 ™`,
      ),
  ],
  "no emoji": [
    () => "a:heart:b :a::b: :nosuch: `:heart:`",
    () => p("a:heart:b :a::b: :nosuch: <code>:heart:</code>"),
  ],
  colours: [
    () => "`#F00` `RGB(0,255,0)` `HSLA(270, 30%, 50%, .7)` ` #F00 ` `red` `#F00; x`",
    () =>
      p(
        `${["#F00", "RGB(0,255,0)", "HSLA(270, 30%, 50%, .7)", "#F00"]
          .map(
            (color) =>
              `<code>${color}<span class="gfm-color_chip"><span style="background-color: ${color};"></span></span></code>`,
          )
          .join(" ")} <code>red</code> <code>#F00; x</code>`,
      ),
  ],
  "sizes of pictures": [
    () => "![](l.png){width=100 height=50%} ![](l.png) {width=1} ![](l.png){onclick=1}",
    () =>
      p(
        `<img src="${at()}/raw/main/l.png" alt="" width="100" height="50%"> <img src="${at()}/raw/main/l.png" alt=""> {width=1} <img src="${at()}/raw/main/l.png" alt="">{onclick=1}`,
      ),
  ],
  "films and sounds": [
    () => "![v](https://e.x/a.mp4) ![s](https://e.x/a.mp3)",
    () =>
      p(
        `<span class="media-container video-container"><video src="https://e.x/a.mp4" controls="true" data-setup="{}" data-title="v" preload="metadata" width="400"></video><a href="https://e.x/a.mp4" title="Download 'v'" ${away}>v</a></span> ` +
          `<span class="media-container audio-container"><audio src="https://e.x/a.mp3" controls="true" data-setup="{}" data-title="s"></audio><a href="https://e.x/a.mp3" title="Download 's'" ${away}>s</a></span>`,
      ),
  ],
  "files of the repository": [
    () => "[r](docs/b.md#s) [u](../x.md) [a](/x.md) [d](api/) [p](a.png) [s](#s) [o](//e.x/a)",
    () =>
      p(
        [
          `<a href="${at()}/blob/main/docs/b.md#s">r</a>`,
          `<a href="${at()}/blob/main/x.md">u</a>`,
          `<a href="${at()}/blob/main/x.md">a</a>`,
          `<a href="${at()}/tree/main/api">d</a>`,
          `<a href="${at()}/raw/main/a.png">p</a>`,
          '<a href="#s">s</a>',
          `<a href="//e.x/a" ${away}>o</a>`,
        ].join(" "),
      ),
  ],
};

describe("GitLab's Markdown", () => {
  it.each(Object.entries(CASES))("%s", async (_, [text, html, project]) => {
    expect(await render(text(), project)).toBe(plain(html()));
  });

  it("tells nobody of what they may not see", async () => {
    const shown = await render(
      `#2 #2+ ${at()}/issues/2 ${at()}/issues/2#note_1`,
      "acme/kit",
      "guest",
    );
    expect(shown).not.toContain("Second");
    expect(shown).toContain("#2 #2+ <a");
    expect(await render("@secret", "acme/kit", "stranger")).toBe(p("@secret"));
    await app.call(`PUT ${SITE}`, { as: "owner", json: { visibility: "private" } });
    expect(await render(first, "acme/kit", "guest")).toBe(p(first));
    expect(await render(first, "acme/kit", "reporter")).toContain("gfm-commit");
    expect(await render(`acme/kit#1 ${at()}/issues/1`, "acme/other", "stranger")).not.toContain(
      "First",
    );
    await app.call(`PUT ${SITE}`, { as: "owner", json: { visibility: "public" } });
  });

  it("has no scripts, styles or handlers of others", async () => {
    const attacks = [
      '```"><script>alert(1)</script>:" onload="x\na\n```',
      '```js:"><img src=x onerror=alert(1)>\na\n```',
      "`#F00; background: url(javascript:alert(1))`",
      '![a" onerror="alert(1)](x.mp4)',
      '![a](x.mp4" onerror="alert(1))',
      "![a](javascript:alert(1)//.mp4)",
      "---\n</code></pre><script>alert(1)</script>\n---\n",
      "$`</code><script>alert(1)</script>`$",
      `${at()}/issues/1#note_1"onclick="alert(1)`,
      '[a](docs/" onclick="alert(1)")',
    ];
    for (const attack of attacks) {
      const shown = await render(attack);
      const tags = shown.replaceAll(/ (?:title|data-[\w-]+)="[^"]*"/g, "").match(/<[^>]*>/g) ?? [];
      expect(tags.join(""), attack).not.toMatch(/<script|javascript:|\son\w+=|url\(/i);
    }
  });
});
