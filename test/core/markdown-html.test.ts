// What comes of hostile Markdown: whatever a text is made of, its HTML consists of tags, attributes and addresses that are
// on a list, each in quotes, and all that is opened is closed in its place.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseMarkdown } from "../../src/core/markdown.ts";
import { runs, tryRandomly } from "../forms.ts";

const PLACES = [
  {},
  {
    ...{ base: "http://pm.test", projectPath: "a/b", branch: "main", wikiPath: "a/b/-/wikis" },
    isGitLabs: true,
  },
  { base: "http://pm.test", wikiPath: "a/b/-/wikis", slug: "docs/home", isGitLabs: true },
];

const TAGS = new Set(
  `a abbr audio b bdo blockquote br caption cite code copy-code dd del details dfn div dl dt em figcaption figure gl-emoji h1
  h2 h3 h4 h5 h6 h7 h8 hr i img input insert-code-snippet ins kbd li mark ol p pre q rp rt ruby s samp section small span
  strike strong sub summary sup table task-button tbody td tfoot th thead time tr tt ul var video wbr`.split(
    /\s+/,
  ),
);
const VOID = new Set(["br", "hr", "img", "input", "wbr"]);
const ATTRIBUTE = / ([a-z][a-z\d-]*)(?:="([^"<>]*)")?/gy;
const ATTRIBUTES =
  /^(?:abbr|align|alt|aria-[a-z]+|axis|border|cell(?:padding|spacing)|char|charoff|checked|cite|class|clear|color|colspan|compact|controls|data-[a-z-]+|datetime|decoding|dir|disabled|headers|height|href|hreflang|hspace|id|itemprop|lang|media|name|nowrap|open|preload|progress|rel|role|rowspan|rules|scope|span|src|start|style|summary|target|title|type|v-pre|valign|value|vspace|width)$/;
const ADDRESSES = new Set(["href", "src", "cite", "data-src", "data-canonical-src"]);
const PICTURE = /^data:image\/gif;base64,[\w+/=]+$/;
const STYLE =
  /^(?:text-align: ?(?:left|right|center|justify|start|end)|background-color: (?:#[\da-f]+|(?:rgb|hsl)a?\([\d.,% ]+\));?)$/i;

/** Throws if HTML has anything that is not on the lists, or is not balanced. */
function check(html: string): void {
  const open: string[] = [];
  for (let at = html.indexOf("<"); at >= 0; at = html.indexOf("<", at + 1)) {
    const [, slash, tag = ""] = /^<(\/?)([a-z][a-z\d-]*)/.exec(html.slice(at, at + 40)) ?? [];
    if (!TAGS.has(tag)) throw new Error(`tag ${html.slice(at, at + 40)}`);
    let end = at + 1 + (slash?.length ?? 0) + tag.length;
    ATTRIBUTE.lastIndex = end;
    for (let found = ATTRIBUTE.exec(html); found; found = ATTRIBUTE.exec(html)) {
      end = ATTRIBUTE.lastIndex;
      checkAttribute(tag, found[1] as string, found[2] ?? "");
    }
    if (html[end] !== ">") throw new Error(`end of ${html.slice(at, end + 40)}`);
    if (slash) {
      const last = open.pop();
      if (last !== tag) throw new Error(`</${tag}> closes ${last}`);
    } else if (!VOID.has(tag)) open.push(tag);
  }
  if (open.length > 0) throw new Error(`open: ${open.join()}`);
}

function checkAttribute(tag: string, name: string, value: string): void {
  if (!ATTRIBUTES.test(name)) throw new Error(`attribute ${name} of ${tag}`);
  if (name === "style" && !STYLE.test(value)) throw new Error(`style ${value}`);
  if (name === "id" && !/^(?:user-content-|fn-|fnref-|LC\d)/.test(value))
    throw new Error(`id ${value}`);
  if (!ADDRESSES.has(name) || PICTURE.test(value)) return;
  // As browsers read it: without what they leave out, and in small letters.
  const address = value
    .replaceAll("&amp;", "&")
    .replace(/[^!-~]/g, "")
    .toLowerCase();
  const [, protocol] = /^([a-z][a-z\d+.-]*):/.exec(address) ?? [];
  if (/script|^(?:data|blob|file|view-source|about|jar|filesystem|mocha)$/.test(protocol ?? "")) {
    throw new Error(`address ${value}`);
  }
}

const shown = async (text: string) => {
  for (const place of PLACES) {
    const parsed = await parseMarkdown(text, place);
    check(parsed.html());
    check(
      parsed.html(({ kind }) => ({
        ...{ href: "http://pm.test/x", title: '"><script>', className: "issue", text: "<b>" },
        ...{ withTitle: "<i>", withSummary: '"', state: "<u>", from: "<q>", data: { project: 1 } },
        ...(kind === "~" && { label: { color: "#00cc00", isLight: true } }),
      })),
    );
  }
};

const HOSTILE = [
  "<script>alert(1)</script>",
  "<ScRiPt src=//e.x></sCrIpT >",
  "<scr<script>ipt>alert(1)</scr</script>ipt>",
  "<img src=x onerror=alert(1)>",
  "<img src=x onerror=alert(1)//",
  "<img/src=x/onerror=alert(1)>",
  "<img src='x' alt='\" onerror=alert(1) x='>",
  '<img src="javascript:alert(1)">',
  "<img src='data:image/svg+xml,<svg onload=alert(1)>'>",
  "<a href='javascript:alert(1)'>x</a>",
  "<a href='java&#10;script:alert(1)'>x</a>",
  "<a href='java&Tab;script:alert(1)'>x</a>",
  "<a href='&#1;javascript:alert(1)'>x</a>",
  "<a href='JAVASCRIPT&colon;alert(1)'>x</a>",
  "<a href='javascript://%0aalert(1)'>x</a>",
  "<a href='vbscript:x' title='x\"onclick=alert(1)'>x</a>",
  "<a href=data:text/html,<script>alert(1)</script>>x</a>",
  "<svg onload=alert(1)>",
  "<svg><style><img src=x onerror=alert(1)></style></svg>",
  "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
  "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
  "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
  "<textarea><img title='</textarea><img src=x onerror=alert(1)>'></textarea>",
  "<title><img title='</title><img src=x onerror=alert(1)>'>",
  "<!--><img src=x onerror=alert(1)>-->",
  "<!-- --!><img src=x onerror=alert(1)> -->",
  "<![CDATA[<img src=x onerror=alert(1)>]]>",
  "<?xml <img src=x onerror=alert(1)> ?>",
  "<form action=//e.x><input type=submit></form><button onclick=alert(1)>",
  "<div style='background:url(javascript:alert(1))' class='modal' id='login'>",
  "<td style='text-align:center;background:url(//e.x)'>",
  "<p id=user-content-x name=y onmouseover=alert(1)>",
  "</div></section></body><p>",
  "<b><i></b></i><table><tr><td></table>x</td>",
  "<base href=//e.x><meta http-equiv=refresh content='0;url=//e.x'><link rel=stylesheet href=//e.x>",
  "<object data=//e.x><embed src=//e.x><param name=x>",
  '```"><script>:x" onload="x\na\n```',
  '~~~json:table\n{"markdown":true,"items":[{"<script>":"<img src=x onerror=alert(1)>","b":"\\u00000\\u0000"}]}\n~~~',
  '~~~json:table\n{"markdown":true,"caption":"<script>","fields":[{"key":"__proto__","label":"\\"><b>"}],"items":[{}]}\n~~~',
  "$`</code><script>`$ $</span><script>$ $$<b>$$",
  '`#F00;"><script>` `rgb(1,2,3)"`',
  '[["><script>|javascript:alert(1)]] [[javascript:alert(1)]] [[a"|b"onclick=x]]',
  '[[http://e.x/"><script>.png]] [[x|//e.x]]',
  '%{"><script>} %{a}',
  "term <script>\n: details <img src=x onerror=alert(1)>",
  "[<b>\"x</b>](#1) [x](#1 'y\"onclick=z') [](!1)",
  '[issue:1]"> [wiki_page:a"><b>] GL-1<b>',
  'a://"onclick=x javascript://%0aalert(1) x://<b>',
  '![a](/uploads/0123456789abcdef0123456789abcdef/"onerror="x)',
  '!["onerror=x](x.png){width=1"}',
  '![](x.mp4"onerror="x) <img src=x.mp4 alt=\'"><script>\'>',
  "<video src=x.mp4 onerror=alert(1)><audio autoplay>",
  'x[^"><script>]\n\n[^"><script>]: <script>',
  "> [!note] <script>\n> <img src=x onerror=alert(1)>",
  '# <script> <a name=x> "x\n\n[[_TOC_]]',
  "- [~] <b>x\n- [x] </li><script>",
  "\u0000 0 \u0000 &#0;0&#0; [x](a%000%00) http://e.x/%000%00",
  "<a title='&#0;0&#0;' href='x&#0;0&#0;'>&#0;0&#0;</a>",
];

describe("hostile Markdown", () => {
  it.each(HOSTILE)("%j", shown);

  it("is harmless in any order, and any part of it", async () => {
    const parts = [
      ...HOSTILE,
      ...HOSTILE.flatMap((text) => text.split(/(?<=[>"'=])/)),
      ..."\n,\n\n,> ,- ,    ,`,|,*,_,[,](,),<,>,\",',=,&,#,:,$,\\,{,},\t".split(","),
    ];
    const text = fc
      .array(fc.constantFrom(...parts), { minLength: 1, maxLength: 12 })
      .map((some) => some.join(""));
    await tryRandomly(fc.asyncProperty(text, shown), { numRuns: runs(1000, 20_000) });
  });
});

it("tags end where the element of Markdown ends that they are in", async () => {
  const html = async (text: string) => (await parseMarkdown(text)).html();
  expect(await html("- <b>a\n- </b></ul></li>c")).toBe(
    "<ul>\n<li><b>a</b></li>\n<li>c</li>\n</ul>\n",
  );
  expect(await html("<details>\n\n> </details>a\n\nb")).toBe(
    "<details>\n<blockquote>a\n</blockquote>\n<p>b</p>\n</details>",
  );
  expect(await html("<li>a</li><td>b</td><dd>c</dd>")).toBe("abc");
  expect(await html("<a href=/b>a<a href=/c>b</a>")).toBe('<p><a href="/b">ab</a></p>\n');
  expect((await html("<b>".repeat(1000))).match(/<b>/g)).toHaveLength(99);
});
