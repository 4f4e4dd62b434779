// What GitLab makes of Markdown, case by case: requests in, HTML out. HTML is compared as trees: attributes in any order,
// ids in them as N, and without what says where in the text something is.
//
// What is left out, and why (docs/guide.md#markdown says it to users):
// - the spans of Rouge in blocks of code: colours would need a highlighter of the same tokens for each language
// - `data-sourcepos` and `dir`: only GitLab's editor and its pages use them
// - `data-unicode-version` of emoji, and titles such as "heavy black heart": the table of emoji has other names and no versions
// - links relative to a file such as docs/a.md: nothing in the API renders files; texts are relative to the root
// - whether a link to the repository or `[[i.jpg]]` is to a file, a folder or nothing: no text opens a repository for it
// - a commit of a merge request as a page of it in its text (…/diffs?commit_id=…): texts do not know what they are of
// - `@all` as text where its author is no member: texts do not know who wrote them
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
  await call(`POST ${SITE}/wikis`, { title: "guide/first page", content: "x" });
  await call(`POST ${SITE}/snippets`, {
    ...{ title: "sn", file_name: "a", content: "b", visibility: "public" },
  });
  await call("POST /groups/acme/epics", { title: "Plan" });
  await call("POST /groups/acme/labels", { name: "of group", color: "#00cc00" });
  const { id: ada } = (await app.call("GET /user", { as: "owner" })).json;
  const { id: milestone } = (await app.call(`GET ${SITE}/milestones`, { as: "owner" })).json[0];
  await call(`PUT ${SITE}/issues/3`, { assignee_ids: [ada], milestone_id: milestone });
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
            /^(data-(?:project|issue|work-item|merge-request|user|group|label|milestone|snippet|epic)=)"\d+"$/,
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
const workItem = (original: string) =>
  link("work_item", `${at()}/work_items/1`, original, {
    ...{ title: "First", text: "#1" },
    data: `${N} data-work-item="1" data-iid="1" data-project-path="acme/kit" data-work-item-type="issue" data-namespace-path="acme/kit"`,
  });
const epic = (original: string) =>
  link("epic", `${H}/groups/acme/-/epics/1`, original, {
    ...{ title: "Plan", text: "&amp;1", classes: " has-tooltip" },
    data: ' data-group="1" data-epic="1" data-iid="1"',
  });
const page = (original: string) =>
  link("wiki_page", `${at()}/wikis/guide/first-page`, original, {
    ...{ title: "guide/first page", text: "guide/first page", classes: " has-tooltip" },
    data: `${N} data-wiki-page="guide/first-page"`,
  });
/** A link of an author that refers to an issue. */
const authors = (iid: number, title: string, html: string, isAddress: boolean) =>
  issue(iid, title, html.replaceAll("<", "&lt;").replaceAll(">", "&gt;"), { text: html })
    .replace('data-link="false"', 'data-link="true"')
    .replace('data-link-reference="false"', `data-link-reference="${isAddress}"`);
const PLACEHOLDER = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==";
/** A picture of the repository, or from elsewhere. */
const picture = (source: string, alt = "", more = "") => {
  const isOwn = source.startsWith(H);
  const gfm = isOwn ? " gfm" : "";
  const rel = isOwn ? "noopener noreferrer" : "nofollow noreferrer noopener";
  return `<a class="no-attachment-icon${gfm}" href="${source}" target="_blank" rel="${rel}"><img src="${PLACEHOLDER}" alt="${alt}"${more} decoding="async" class="lazy${gfm}" data-src="${source}"></a>`;
};
const math = (style: string, formula: string) =>
  `<span data-math-style="${style}" class="code math js-render-math">${formula}</span>`;
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

const UPLOAD = "/uploads/0123456789abcdef0123456789abcdef/d.png";

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
    () => p(authors(1, "First", "x", true)),
  ],
  "a reference that is a link already": [
    () => "[some `code` inside](#1) [x](#99) [y](other#1)",
    () =>
      p(
        `${authors(1, "First", "some <code>code</code> inside", false)} <a href="#99">x</a> <a href="${at()}/blob/main/other#1" class="gfm">y</a>`,
      ),
  ],
  "references where none are": [
    () => "    #1\n\n[x](http://e.x/#1) foo@owner",
    () => `${code("plaintext", ["#1"])}\n<p><a href="http://e.x/#1" ${away}>x</a> foo@owner</p>`,
  ],
  "an issue with who does it until when": [
    () => "#3+s #1+s",
    () =>
      p(
        [
          issue(3, "x".repeat(60), "#3+s", {
            text: `${"x".repeat(47)}... (#3) • The owner • v1 beta`,
            data: ' data-reference-format="+s"',
          }),
          issue(1, "First", "#1+s", {
            text: "First (#1) • Unassigned",
            data: ' data-reference-format="+s"',
          }),
        ].join(" "),
      ),
  ],
  "an issue by other names": [
    () => "GL-1, [issue:1] [issue:acme/kit/1] XGL-1 GL-1x [issue:99]",
    () =>
      p(
        `${issue(1, "First", "GL-1", { text: "#1" })}, ${issue(1, "First", "[issue:1]", { text: "#1" })} ${issue(1, "First", "[issue:acme/kit/1]", { text: "#1" })} XGL-1 GL-1x [issue:99]`,
      ),
  ],
  "an issue as a work item": [
    () => `[work_item:1] ${at()}/work_items/1`,
    () => p(`${workItem("[work_item:1]")} ${workItem(`${at()}/work_items/1`)}`),
  ],
  "a snippet": [
    () => "$1",
    () =>
      p(
        link("snippet", `${at()}/snippets/1`, "$1", {
          ...{ title: "sn", classes: " has-tooltip", data: `${N} data-snippet="1"` },
        }),
      ),
  ],
  "an epic": [
    () => `&1, [epic:1] acme&1 R&D, &99 ${H}/groups/acme/-/epics/1`,
    () =>
      p(
        `${epic("&amp;1")}, ${epic("[epic:1]")} ${epic("acme&amp;1")} R&amp;D, &amp;99 ${epic(`${H}/groups/acme/-/epics/1`)}`,
      ),
  ],
  "a page of the wiki": [
    () => `[wiki_page:guide/first-page] [wiki_page:acme/kit:guide/first-page] [wiki_page:nope]`,
    () =>
      p(
        `${page("[wiki_page:guide/first-page]")} ${page("[wiki_page:acme/kit:guide/first-page]")} [wiki_page:nope]`,
      ),
  ],
  "links into the wiki": [
    () => "[[home]] [[Text|guide/first]] [[http://e.x/i.jpg]]",
    () => {
      const wiki = (text: string, page: string) =>
        `<a href="${at()}/wikis/${page}" class="gfm gfm-gollum-wiki-page" data-canonical-src="${page}" data-link="true" data-gollum="true" data-reference-type="wiki_page">${text}</a>`;
      const image = picture("http://e.x/i.jpg")
        .replace("no-attachment-icon", "no-attachment-icon gfm")
        .replace('"lazy"', '"lazy gfm"');
      return p(`${wiki("home", "home")} ${wiki("Text", "guide/first")} ${image}`);
    },
  ],
  "a project": [
    () => "acme/kit> acme/nope> 1>0",
    () =>
      p(
        `${link("project", `${H}/acme/kit`, "acme/kit&gt;", { title: "kit", classes: " has-tooltip", data: N })} acme/nope&gt; 1&gt;0`,
      ),
  ],
  everybody: [
    () => "@all",
    () =>
      p(
        link("project_member", `${H}/acme/kit`, "@all", {
          ...{ title: "All Project and Group Members", classes: " js-user-link" },
          ...{ data: N, type: "user" },
        }),
      ),
  ],
  "labels with escaped letters": [
    () => "~c_bug\\_ _@owner_",
    () =>
      p(
        `${label("c_bug_", "~c_bug_", "#00cc00")} <em>${link(
          "project_member",
          `${H}/owner`,
          "@owner",
          {
            ...{
              title: "The owner",
              classes: " js-user-link",
              data: ' data-user="1"',
              type: "user",
            },
          },
        )}</em>`,
      ),
  ],
  "labels and milestones of another namespace": [
    () => 'acme/kit~bug acme/kit~"of group" acme/kit%1 /acme/kit~bug /acme/kit%1',
    () =>
      p(
        [
          label("bug", "acme/kit~bug", "#00cc00").replace(">bug<", ">bug <i>in Acme / kit</i><"),
          label("of group", "acme/kit~&quot;of group&quot;", "#00cc00").replace(
            ">of group<",
            ">of group <i>in Acme / kit</i><",
          ),
          milestone("acme/kit%1").replace(">%v1 beta<", ">%v1 beta <i>in acme/kit</i><"),
          label("bug", "/acme/kit~bug", "#00cc00"),
          milestone("/acme/kit%1"),
        ].join(" "),
      ),
    "owner/else",
  ],
  "labels of a neighbour": [
    () => "acme/kit~bug",
    () => p(label("bug", "acme/kit~bug", "#00cc00").replace(">bug<", ">bug <i>in kit</i><")),
    "acme/other",
  ],
  "the changes of a merge request, and of a commit in it": [
    () =>
      `${at()}/merge_requests/1/diffs ${at()}/merge_requests/1/diffs?commit_id=${second} ${at()}/merge_requests/1/diffs?commit_id=${"0".repeat(40)}`,
    () => {
      const diffs = (query: string, text: string) =>
        request(`${at()}/merge_requests/1/diffs${query}`, { text }, `/diffs${query}`);
      return p(
        [
          diffs("", "!1 (diffs)"),
          diffs(
            `?commit_id=${second}`,
            `!1 (<span class="gfm gfm-commit">${second.slice(0, 8)}</span>)`,
          ),
          diffs(`?commit_id=${"0".repeat(40)}`, "!1 (diffs)"),
        ].join(" "),
      );
    },
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
        `${picture(`${at()}/raw/main/l.png`, "", ' width="100" height="50%"')} ${picture(`${at()}/raw/main/l.png`)} {width=1} ${picture(`${at()}/raw/main/l.png`)}{onclick=1}`,
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
  pictures: [
    () => "![alt](https://e.x/l.png) [![b](https://e.x/b.png)](https://e.x)",
    () =>
      p(
        `${picture("https://e.x/l.png", "alt")} <a href="https://e.x" ${away}><img src="${PLACEHOLDER}" alt="b" decoding="async" class="lazy" data-src="https://e.x/b.png"></a>`,
      ),
  ],
  "an uploaded file": [
    () => `[d](${UPLOAD}) ![d](${UPLOAD})`,
    () => {
      const [to, from] = [`${H}/acme/kit${UPLOAD}`, `data-canonical-src="${UPLOAD}"`];
      return p(
        `<a href="${to}" class="gfm" ${from} data-link="true">d</a> ` +
          picture(to, "d", ` ${from}`).replace("<a ", `<a ${from} data-link="true" `),
      );
    },
  ],
  "formulas between dollar signs": [
    () => "$a$ $$b$$ $1+2\\$$ $20,000 and $30,000 $ a $ `$a$`",
    () =>
      p(
        `${math("inline", "a")} ${math("display", "b")} ${math("inline", "1+2\\$")} $20,000 and $30,000 $ a $ <code>$a$</code>`,
      ),
  ],
  "descriptions of words": [
    () => "Fruits\n: apple\n: orange\n\nRoots\n\n: carrot",
    () =>
      "<dl>\n<dt>Fruits</dt>\n<dd>apple</dd>\n<dd>orange</dd>\n<dt>Roots</dt>\n<dd>carrot</dd>\n</dl>",
  ],
  "a table": [
    () => "| a | b |\n|---|:-:|\n| 1 | [x] |",
    () =>
      '<table>\n<thead>\n<tr>\n<th>a</th>\n<th align="center">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n' +
      '<td align="center"><task-button></task-button><input type="checkbox" class="task-list-item-checkbox" checked disabled></td>\n</tr>\n</tbody>\n</table>',
  ],
  "a table in JSON": [
    () =>
      '```json:table\n{"items":[{"a":"#99 **x**"}],"markdown":true}\n```\n\n```json:table\n{"items":[{"a":1}]}\n```',
    () =>
      '<div>\n<table data-table-fields="[{&quot;key&quot;:&quot;a&quot;}]" data-table-markdown="true">\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n' +
      "<tbody>\n<tr>\n<td>#99 <strong>x</strong></td>\n</tr>\n</tbody>\n</table>\n</div>\n" +
      code(
        "json",
        ["{&quot;items&quot;:[{&quot;a&quot;:1}]}"],
        ' data-canonical-lang="json" data-lang-params="table"',
      ),
  ],
  "names that have a value": [
    () => "%{project_name} `%{a}` %{}",
    () => p("<span data-placeholder>%{project_name}</span> <code>%{a}</code> %{}"),
  ],
  "addresses as they are": [
    () =>
      "smb://foo/bar irc://i.f.net/ rdar://localhost.com/blah http://e.x/. http://e.x/(a) javascript://x (smb://a)",
    () =>
      p(
        [
          '<a href="smb://foo/bar">smb://foo/bar</a>',
          '<a href="irc://i.f.net/">irc://i.f.net/</a>',
          '<a href="rdar://localhost.com/blah">rdar://localhost.com/blah</a>',
          `<a href="http://e.x/" ${away}>http://e.x/</a>.`,
          `<a href="http://e.x/(a)" ${away}>http://e.x/(a)</a>`,
          "javascript://x",
          '(<a href="smb://a">smb://a</a>)',
        ].join(" "),
      ),
  ],
  "addresses that look like others": [
    () => "http://example.com/evil\u202e3pm.exe http://exämple.com",
    () => {
      const shown = (href: string, text = href) =>
        `<a href="${href}" ${away} class="has-tooltip" title="${href}">${text}</a>`;
      return p(
        `${shown("http://example.com/evil%E2%80%AE3pm.exe")} ${shown("http://xn--exmple-cua.com", "http://exämple.com")}`,
      );
    },
  ],
  "what opens and closes": [
    () => "<details><summary>#1</summary>\n\n1. x\n\n</details>",
    () =>
      `<details><summary>${issue(1, "First", "#1")}</summary>\n<ol>\n<li>x</li>\n</ol>\n</details>`,
  ],
  "HTML in a line": [
    () =>
      'H<sub>2</sub>O <kbd>x</kbd> <abbr title="t">a</abbr> <mark>m</mark> <code>#1</code> <a href="x.md">#1</a>',
    () =>
      p(
        `H<sub>2</sub>O <kbd>x</kbd> <abbr title="t">a</abbr> <mark>m</mark> <code>#1</code> <a href="${at()}/blob/main/x.md" class="gfm">#1</a>`,
      ),
  ],
  "attributes that are left out": [
    () =>
      '<pre class="x">a</pre>\n\n<span class="k" name="n">b</span>\n\n<div style="text-align:center">c</div>\n\n<table><tr><td style="position:fixed; text-align: center">d</td></tr></table>',
    () =>
      '<pre>a</pre>\n<p><span>b</span></p>\n<div>c</div>\n<table><tr><td style="text-align: center">d</td></tr></table>',
  ],
  "scripts and comments": [
    () =>
      "<script>alert(1)</script><img src=https://e.x/a onerror=alert(1)>\n\na <script>alert(1)</script><!-- c -->b\n\n<!-- c -->x",
    () => `${picture("https://e.x/a")}\n<p>a b</p>\nx`,
  ],
  "what a link says of a licence": [
    () =>
      '<a rel="license nofollow" href="http://e.x">a</a> <a rel="license" href="http://e.x">b</a>',
    () =>
      p(
        `<a href="http://e.x" ${away}>a</a> <a href="http://e.x" rel="nofollow noreferrer noopener license" target="_blank">b</a>`,
      ),
  ],
  "files of the repository": [
    () => "[r](docs/b.md#s) [u](../x.md) [a](/x.md) [d](api/) [p](a.png) [s](#s) [o](//e.x/a)",
    () =>
      p(
        [
          `<a href="${at()}/blob/main/docs/b.md#s" class="gfm">r</a>`,
          `<a href="${at()}/blob/main/x.md" class="gfm">u</a>`,
          `<a href="${at()}/blob/main/x.md" class="gfm">a</a>`,
          `<a href="${at()}/tree/main/api" class="gfm">d</a>`,
          `<a href="${at()}/raw/main/a.png" class="gfm">p</a>`,
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
      `#2 #2+ ${at()}/issues/2 ${at()}/issues/2#note_1 [issue:2] [work_item:2] [Text](#2) GL-2 #2+s`,
      "acme/kit",
      "guest",
    );
    expect(shown).not.toContain("Second");
    expect(shown).toContain('[issue:2] [work_item:2] <a href="#2">Text</a> GL-2 #2+s');
    expect(shown).toContain("#2 #2+ <a");
    expect(await render("@secret", "acme/kit", "stranger")).toBe(p("@secret"));
    await app.call(`PUT ${SITE}`, { as: "owner", json: { visibility: "private" } });
    expect(await render(first, "acme/kit", "guest")).toBe(p(first));
    const unseen =
      'acme/kit> acme/kit~bug acme/kit%"v1 beta" [wiki_page:acme/kit:guide/first-page]';
    expect(await render(unseen, "acme/other", "stranger")).toBe(
      p(unseen.replaceAll('"', "&quot;").replaceAll(">", "&gt;")),
    );
    expect(await render(first, "acme/kit", "reporter")).toContain("gfm-commit");
    expect(await render(`acme/kit#1 ${at()}/issues/1`, "acme/other", "stranger")).not.toContain(
      "First",
    );
    await app.call(`PUT ${SITE}`, { as: "owner", json: { visibility: "public" } });
    const features = (enabled: boolean) =>
      app.call(`PUT ${SITE}`, {
        as: "owner",
        json: { issues_enabled: enabled, merge_requests_enabled: enabled, wiki_enabled: enabled },
      });
    await features(false);
    const off = "#1 !1 ~bug %1 [wiki_page:guide/first-page] [[home]]";
    expect(await render(off)).toBe(p(off));
    await features(true);
  });

  it("knows references in texts of no project by full paths", async () => {
    const json = { text: "acme/kit#1 #1 kit#1", gfm: true };
    const { html } = (await app.call("POST /markdown", { as: "owner", json })).json;
    expect(plain(html)).toBe(plain(p(`${issue(1, "First", "acme/kit#1")} #1 kit#1`)));
  });

  it("says in descriptions and comments what is closed or merged", async () => {
    const { iid } = (
      await app.call(`POST ${SITE}/issues`, {
        as: "owner",
        json: { title: "Text", description: `#2 #2+ !1 #1 [x](!1) ${at()}/issues/2#note_1` },
      })
    ).json;
    const query = `{ project(fullPath: "acme/kit") { issue(iid: "${iid}") { descriptionHtml } } }`;
    const { data } = (await app.call("POST /api/graphql", { as: "owner", json: { query } })).json;
    const html = data.project.issue.descriptionHtml as string;
    const shown = [...html.matchAll(/<a [^>]*>([^<]*)</g)].map(([, text]) => text);
    expect(shown).toEqual([
      ...["#2 (closed)", "Second (#2 - closed)", "!1 (merged)", "#1", "x", "#2 (comment 1)"],
    ]);
  });

  it("has links of pages of wikis", async () => {
    await app.call(`POST ${SITE}/wikis`, {
      as: "owner",
      json: {
        title: "documentation/main",
        content:
          "[a](./related) [b](documentation) [c](file.md) [d](/x) [e](../up#y) [f](#x) [g](http://e.x) [[home]] ![h](uploads/ab/c.png) #1",
      },
    });
    const { content } = (
      await app.call(`GET ${SITE}/wikis/documentation%2Fmain?render_html=true`, { as: "owner" })
    ).json;
    const links = [...content.matchAll(/ href="([^"]*)"/g)].map(([, href]) =>
      href.replace(`${at()}/wikis/`, ""),
    );
    expect(links).toEqual([
      ...["documentation/related", "documentation", "documentation/file.md", "x", "up#y", "#x"],
      ...["http://e.x", "home", "uploads/ab/c.png", `${at()}/issues/1`],
    ]);
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
      const tags =
        shown.replaceAll(/ (?:title|alt|data-[\w-]+)="[^"]*"/g, "").match(/<[^>]*>/g) ?? [];
      expect(tags.join(""), attack).not.toMatch(/<script|javascript:|\son\w+=|url\(/i);
    }
  });
});
