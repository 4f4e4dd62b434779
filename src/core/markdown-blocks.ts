import type { Env, MarkdownIt, StateBlock, StateCore, Token } from "markdown-it";

// Blocks of GitLab's Markdown that CommonMark does not have. Each takes time linear in the text.

/** The text of a line within its container. */
export const lineOf = ({ src, bMarks, tShift, eMarks }: StateBlock, line: number) =>
  src.slice((bMarks[line] as number) + (tShift[line] as number), eMarks[line]).trimEnd();

/** Whether a line is indented so far that it is code. */
const isCode = ({ sCount, blkIndent }: StateBlock, line: number) =>
  (sCount[line] as number) - blkIndent >= 4;

/** Whether a line that is not blank is left of the container. */
export const isOutside = (state: StateBlock, line: number) =>
  !state.isEmpty(line) && (state.sCount[line] as number) < state.blkIndent;

const FENCE = /^(`{3,}|~{3,})/;

/** A quote between two lines of `>>>`. */
function longQuote(state: StateBlock, start: number, end: number, isSilent: boolean): boolean {
  if (isCode(state, start) || lineOf(state, start) !== ">>>") return false;
  let fence: string | undefined;
  let last = start + 1;
  for (; last < end && !isOutside(state, last); last += 1) {
    const line = lineOf(state, last);
    const [, mark] = FENCE.exec(line) ?? [];
    if (fence === undefined && line === ">>>") break;
    if (mark === undefined) continue;
    if (fence === undefined) fence = mark;
    else if (line.startsWith(fence)) fence = undefined;
  }
  if (last >= end || lineOf(state, last) !== ">>>" || isOutside(state, last)) return false;
  if (isSilent) return true;
  const { lineMax } = state;
  state.push("blockquote_open", "blockquote", 1);
  state.lineMax = last;
  state.md.block.tokenize(state, start + 1, last);
  state.lineMax = lineMax;
  state.push("blockquote_close", "blockquote", -1);
  state.line = last + 1;
  return true;
}

const DEFINITION = /^\[\^([^\s\]^]{1,100})\]:[ \t]*(.*)$/;

/** What a text has of footnotes. */
interface Footnotes {
  /** The paragraphs of each that is defined, by its name. */
  readonly defined: Map<string, string[]>;
  /** Those that are referred to: their numbers, in the order in which they are first, and how often they are. */
  readonly used: Map<string, { readonly number: number; count: number }>;
}

/** A reference to a footnote. */
interface Reference {
  readonly name: string;
  readonly number: number;
  readonly count: number;
}

const footnotesOf = (env: Env): Footnotes => {
  env["footnotes"] ??= { defined: new Map(), used: new Map() } satisfies Footnotes;
  return env["footnotes"] as Footnotes;
};

const metaOf = <T>(tokens: readonly Token[], at: number) =>
  (tokens[at] as Token).meta as unknown as T;

/** The text of a footnote: `[^1]: a note`, with lines behind it that are indented. */
function definition(state: StateBlock, start: number, end: number, isSilent: boolean): boolean {
  if (isCode(state, start)) return false;
  const [, name, first = ""] = DEFINITION.exec(lineOf(state, start)) ?? [];
  if (name === undefined) return false;
  if (isSilent) return true;
  const paragraphs = [[first]];
  let next = start + 1;
  let isNew = false;
  for (let line = next; line < end; line += 1) {
    if (state.isEmpty(line)) {
      isNew = true;
      continue;
    }
    if (!isCode(state, line)) break;
    if (isNew) paragraphs.push([]);
    paragraphs.at(-1)?.push(lineOf(state, line));
    isNew = false;
    next = line + 1;
  }
  const { defined } = footnotesOf(state.env);
  const texts = paragraphs.map((lines) => lines.join("\n").trim());
  if (!defined.has(name)) defined.set(name, texts);
  state.line = next;
  return true;
}

/** Adds the footnotes that were referred to at the end; what they refer to themselves, too. */
function addFootnotes(state: StateCore): void {
  const { defined, used } = footnotesOf(state.env);
  if (used.size === 0) return;
  const push = (type: string, tag: string, nesting: -1 | 0 | 1) => {
    const token = new state.Token(type, tag, nesting);
    token.block = true;
    state.tokens.push(token);
    return token;
  };
  push("footnotes_open", "section", 1);
  // A map's loop reaches what is added meanwhile.
  for (const [name, { number }] of used) {
    push("footnote_open", "li", 1).meta = { name };
    const paragraphs = defined.get(name) ?? [];
    for (const [at, text] of paragraphs.entries()) {
      push("paragraph_open", "p", 1);
      const inline = push("inline", "", 0);
      inline.content = text;
      inline.children = [];
      state.md.inline.parse(text, state.md, state.env, inline.children);
      if (at === paragraphs.length - 1) {
        const back = new state.Token("footnote_back", "a", 0);
        back.meta = { name, number };
        inline.children.push(back);
      }
      push("paragraph_close", "p", -1);
    }
    push("footnote_close", "li", -1);
  }
  push("footnotes_close", "section", -1);
}

/** What describes the line before it. */
const DETAILS = /^:[ \t]+(?=\S)/;

/** The line at which a description of a line begins: the next one, or the one behind a blank one. */
function detailsOf(state: StateBlock, line: number, end: number): number | undefined {
  let next = line + 1;
  if (next < end && state.isEmpty(next)) next += 1;
  const isThere =
    next < end && !state.isEmpty(next) && !isOutside(state, next) && !isCode(state, next);
  return isThere && DETAILS.test(lineOf(state, next)) ? next : undefined;
}

/** Words, each with what it means in lines behind that begin with `: `. */
function descriptions(state: StateBlock, start: number, end: number, isSilent: boolean): boolean {
  if (isSilent || isCode(state, start) || detailsOf(state, start, end) === undefined) return false;
  const { md } = state;
  const others = md.block.ruler.getRules("paragraph");
  const add = (tag: "dt" | "dd", content: string) => {
    state.push(`${tag}_open`, tag, 1);
    const inline = state.push("inline", "", 0);
    inline.content = content;
    inline.children = [];
    state.push(`${tag}_close`, tag, -1);
  };
  state.push("dl_open", "dl", 1);
  let line = start;
  for (;;) {
    let next = detailsOf(state, line, end);
    if (next === undefined) break;
    add("dt", lineOf(state, line));
    while (next !== undefined) {
      line = next;
      const lines = [lineOf(state, line).replace(DETAILS, "")];
      for (line += 1; line < end && !state.isEmpty(line) && !isOutside(state, line); line += 1) {
        const text = lineOf(state, line);
        if (DETAILS.test(text) || detailsOf(state, line, end) === line + 1) break;
        lines.push(text);
      }
      add("dd", lines.join("\n"));
      next = detailsOf(state, line - 1, end);
    }
    let after = line;
    while (after < end && state.isEmpty(after)) after += 1;
    const isOther =
      after >= end ||
      isOutside(state, after) ||
      isCode(state, after) ||
      others.some((rule) => rule(state, after, end, true));
    if (isOther || detailsOf(state, after, end) === undefined) break;
    line = after;
  }
  state.push("dl_close", "dl", -1);
  state.line = line;
  return true;
}

/** Says how cells of tables are aligned as GitLab's engine does. */
function alignments({ tokens }: StateCore): void {
  for (const token of tokens) {
    if (token.type !== "th_open" && token.type !== "td_open") continue;
    const [, align] = /^text-align:(\w+)$/.exec(String(token.attrGet("style") ?? "")) ?? [];
    if (align) token.attrs = [["align", align]];
  }
}

const ALERT = /^\[!(note|tip|important|caution|warning)\][ \t]*([^\n]*)(?:\n|$)/i;

/** Makes alerts of quotes that begin with `[!note]`, `[!tip]`, `[!important]`, `[!caution]` or `[!warning]`. */
function alerts({ tokens, Token: Created }: StateCore): void {
  /** For each open quote whether it is an alert. */
  const open: boolean[] = [];
  for (const [at, token] of tokens.entries()) {
    if (token.type === "blockquote_close") {
      if (open.pop()) token.tag = "div";
      continue;
    }
    if (token.type !== "blockquote_open") continue;
    const inline = tokens[at + 1]?.type === "paragraph_open" ? tokens[at + 2] : undefined;
    const [written, kind, title] = ALERT.exec(inline?.content ?? "") ?? [];
    open.push(kind !== undefined);
    if (!inline || written === undefined || kind === undefined) continue;
    const name = kind.toLowerCase();
    token.tag = "div";
    token.attrSet("class", `markdown-alert markdown-alert-${name}`);
    const heading = new Created("alert_title", "p", 0);
    heading.content = title?.trim() || name.charAt(0).toUpperCase() + name.slice(1);
    token.meta = { heading };
    inline.content = inline.content.slice(written.length);
    if (inline.content === "") {
      for (const empty of tokens.slice(at + 1, at + 4)) empty.hidden = true;
    }
  }
}

const CONTENTS = /^\s*(?:\[\[_TOC_\]\]|\[TOC\])\s*$/i;

/** Finds the place for the table of contents: the first one, since tables can be as long as the text. */
function places({ tokens }: StateCore): void {
  for (const [at, token] of tokens.entries()) {
    const before = tokens[at - 1];
    if (token.type !== "inline" || before?.type !== "paragraph_open" || before.level > 0) continue;
    if (!CONTENTS.test(token.content)) continue;
    before.type = "contents";
    before.nesting = 0;
    token.content = "";
    Object.assign(tokens[at + 1] as Token, { hidden: true, nesting: 0 });
    return;
  }
}

/** A heading, for tables of contents. */
interface Heading {
  readonly level: number;
  readonly slug: string;
  readonly text: string;
}

/** Names headings by their texts, as GitLab does. */
function headings(state: StateCore): void {
  const counts = new Map<string, number>();
  const found: Heading[] = [];
  for (const [at, token] of state.tokens.entries()) {
    if (token.type !== "heading_open") continue;
    const inline = state.tokens[at + 1];
    const text = (inline?.children ?? [])
      .map(({ type, content }) => (type === "softbreak" ? " " : content))
      .join("")
      .trim();
    const plain = slugOf(text);
    const count = counts.get(plain) ?? 0;
    counts.set(plain, count + 1);
    const slug = count === 0 ? plain : `${plain}-${count}`;
    token.meta = { slug };
    const anchor = new state.Token("heading_anchor", "a", 0);
    anchor.meta = { slug, text };
    inline?.children?.push(anchor);
    found.push({ level: Number(token.tag.slice(1)), slug, text });
  }
  state.env["headings"] = found;
}

/** The name of a heading: lower case, of letters, digits, `-` and `_`. */
const slugOf = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
    .replaceAll(" ", "-");

/** A table of contents: lists in lists, by the levels of the headings. */
function contentsOf(found: readonly Heading[], escaped: (text: string) => string): string {
  let html = "";
  const open: number[] = [];
  for (const { level, slug, text } of found) {
    while (open.length > 1 && level < (open.at(-1) as number)) {
      html += "</li></ul>";
      open.pop();
    }
    if (open.length === 0 || level > (open.at(-1) as number)) {
      html += open.length === 0 ? '<ul class="section-nav">' : "<ul>";
      open.push(level);
    } else html += "</li>";
    html += `<li><a href="#${escaped(slug)}">${escaped(text)}</a>`;
  }
  return html + "</li></ul>".repeat(open.length);
}

const ARROW =
  '<gl-emoji title="right arrow curving left" data-name="leftwards_arrow_with_hook">↩</gl-emoji>';

/** Adds GitLab's blocks to a parser. */
export function addBlocks(markdown: MarkdownIt): void {
  const { block, core, inline, renderer, utils } = markdown;
  const interrupting = { alt: ["paragraph", "reference", "list"] };
  block.ruler.before("blockquote", "long_quote", longQuote, interrupting);
  block.ruler.before("reference", "footnote", definition, interrupting);
  inline.ruler.before("link", "footnote", (state, isSilent) => {
    if (!state.src.startsWith("[^", state.pos)) return false;
    const end = state.src.indexOf("]", state.pos);
    const name = end < 0 || end - state.pos > 102 ? "" : state.src.slice(state.pos + 2, end);
    const { defined, used } = footnotesOf(state.env);
    if (!defined.has(name)) return false;
    if (!isSilent) {
      const known = used.get(name) ?? { number: used.size + 1, count: 0 };
      known.count += 1;
      used.set(name, known);
      const { number, count } = known;
      state.push("footnote_reference", "sup", 0).meta = { name, number, count };
    }
    state.pos = end + 1;
    return true;
  });
  block.ruler.before("paragraph", "descriptions", descriptions);
  core.ruler.after("block", "alignments", alignments);
  core.ruler.after("block", "alerts", alerts);
  core.ruler.after("block", "contents", places);
  core.ruler.after("inline", "footnotes", addFootnotes);
  core.ruler.push("headings", headings);

  const { rules } = renderer;
  const { escapeHtml } = utils;
  rules["blockquote_open"] = (tokens, at, options, _, self) => {
    const heading = tokens[at]?.meta?.["heading"] as Token | undefined;
    const opening = self.renderToken(tokens, at, options);
    return heading
      ? `${opening}<p class="markdown-alert-title">${escapeHtml(heading.content)}</p>\n`
      : opening;
  };
  rules["contents"] = (_, __, ___, env) => {
    const found = (env?.["headings"] ?? []) as Heading[];
    return found.length === 0 ? "" : `${contentsOf(found, escapeHtml)}\n`;
  };
  rules["heading_open"] = (tokens, at, _, env) => {
    const { tag, meta } = tokens[at] as Token;
    const id = env?.["isComment"] ? "" : ` id="user-content-${escapeHtml(String(meta?.["slug"]))}"`;
    return `<${tag}${id}>`;
  };
  rules["heading_anchor"] = (tokens, at, _, env) => {
    if (env?.["isComment"]) return "";
    const { slug, text } = metaOf<Heading>(tokens, at);
    const [target, about] = [escapeHtml(slug), escapeHtml(text)];
    return `<a href="#${target}" aria-label="Link to heading '${about}'" data-heading-content="${about}" class="anchor"></a>`;
  };
  /** The ids of a footnote's text and of a reference to it: several texts may be on one page. */
  const idsOf = (env: object | undefined, name: string, count: number) => {
    const { digest = 0 } = (env ?? {}) as { digest?: number };
    const id = escapeHtml(encodeURIComponent(name.toWellFormed()));
    const nth = count > 1 ? `-${count}` : "";
    return { text: `fn-${id}-${digest}`, reference: `fnref-${id}${nth}-${digest}` };
  };
  rules["footnote_reference"] = (tokens, at, _, env) => {
    const { name, number, count } = metaOf<Reference>(tokens, at);
    const { text, reference } = idsOf(env, name, count);
    return `<sup class="footnote-ref"><a href="#${text}" id="${reference}" data-footnote-ref>${number}</a></sup>`;
  };
  rules["footnotes_open"] = () => '<section data-footnotes class="footnotes">\n<ol>\n';
  rules["footnotes_close"] = () => "</ol>\n</section>\n";
  rules["footnote_open"] = (tokens, at, _, env) =>
    `<li id="${idsOf(env, tokens[at]?.meta?.["name"] as string, 1).text}">\n`;
  rules["footnote_close"] = () => "</li>\n";
  rules["footnote_back"] = (tokens, at, _, env) => {
    const { name, number } = metaOf<Reference>(tokens, at);
    const { reference } = idsOf(env, name, 1);
    return ` <a href="#${reference}" data-footnote-backref data-footnote-backref-idx="${number}" aria-label="Back to reference ${number}" class="footnote-backref">${env?.["isGitLabs"] ? ARROW : "↩"}</a>`;
  };
}
