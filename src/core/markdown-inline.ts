import type { Env, MarkdownIt, StateBlock, StateCore, StateInline, Token } from "markdown-it";
import type { ColorBlock } from "./code-colors.ts";
import { isOutside, lineOf } from "./markdown-blocks.ts";
import { lazyPicture, type Surroundings } from "./markdown-links.ts";

// What GitLab adds to texts that CommonMark knows: emoji, colours, formulas, and what its scripts show code and media by.
// Each takes time linear in the text, and only texts that are rendered as GitLab's have it.

/** Whether a text is rendered as GitLab's Markdown. */
const isGitLabs = (env: Env | undefined): boolean => env?.["isGitLabs"] === true;

/** Emoji of a text that are shown as such, as in GitLab. */
const MOST_EMOJI = 1000;
/** Lines of a block of code that have a name each. */
const MOST_LINES = 2000;

/** An emoji. */
interface Emoji {
  readonly name: string;
  readonly emoji: string;
  readonly description: string;
}

interface EmojiTable {
  readonly byName: ReadonlyMap<string, Emoji>;
  readonly byText: ReadonlyMap<string, Emoji>;
}

/** Characters of texts that are emoji, but for those that are signs of trademarks. */
const CHARACTERS =
  /\p{RI}{2}|(?![\u00a9\u00ae\u2122])\p{Extended_Pictographic}(?:\p{EMod}|\ufe0f)*(?:\u200d\p{Extended_Pictographic}(?:\p{EMod}|\ufe0f)*)*/u;

/** A name between colons, which no letter and no other colon is beside; or the emoji itself. */
const EMOJI = new RegExp(
  `(?<![\\p{L}\\p{N}:"]):([a-z0-9_+-]{1,60}):(?![\\p{L}\\p{N}:])|${CHARACTERS.source}`,
  "gu",
);

async function loadEmoji(): Promise<EmojiTable> {
  const { gemoji } = await import("gemoji");
  const byName = new Map<string, Emoji>();
  const byText = new Map<string, Emoji>();
  for (const { emoji, names, description } of gemoji) {
    // `+1` is another name of `thumbsup`.
    const name = names.find((one) => /^[a-z]/.test(one)) ?? (names[0] as string);
    const found = { name, emoji, description };
    for (const one of names) byName.set(one, found);
    byText.set(emoji.replaceAll("\ufe0f", ""), found);
  }
  return { byName, byText };
}

/** Puts tokens of emoji into texts, also into those of links. */
function emojiIn({ tokens, env, Token: Created }: StateCore, table: EmojiTable): void {
  if (!isGitLabs(env)) return;
  let left = MOST_EMOJI;
  const divided = (token: Token): Token[] => {
    const parts: Token[] = [];
    let end = 0;
    for (const { 0: written, 1: name, index } of token.content.matchAll(EMOJI)) {
      const emoji = name
        ? table.byName.get(name)
        : table.byText.get(written.replaceAll("\ufe0f", ""));
      if (!emoji || left === 0) continue;
      left -= 1;
      const before = token.content.slice(end, index);
      if (before !== "") parts.push(Object.assign(new Created("text", "", 0), { content: before }));
      const made = new Created("emoji", "gl-emoji", 0);
      made.content = written;
      made.meta = { emoji };
      parts.push(made);
      end = index + written.length;
    }
    if (parts.length === 0) return [token];
    const rest = token.content.slice(end);
    if (rest !== "") parts.push(Object.assign(new Created("text", "", 0), { content: rest }));
    return parts;
  };
  for (const block of tokens) {
    if (block.type !== "inline" || !block.children) continue;
    if (!/:[a-z0-9_+-]+:/.test(block.content) && !CHARACTERS.test(block.content)) continue;
    block.children = block.children.flatMap((token) =>
      token.type === "text" ? divided(token) : [token],
    );
  }
}

/** A colour in code: digits, or `rgb(…)` and `hsl(…)` with and without transparency. */
const COLOR =
  /^(?:#(?:[\da-f]{3,4}|[\da-f]{6}|[\da-f]{8})|(?:rgb|hsl)a?\([\d.]{1,6}%?(?:, ?[\d.]{1,6}%?){2,3}\))$/i;

/** Makes formulas of code between dollar signs: $`a^2`$. */
function formulas({ tokens, env }: StateCore): void {
  if (!isGitLabs(env)) return;
  for (const { type, children, content } of tokens) {
    if (type !== "inline" || !children || !content.includes("$`")) continue;
    for (const [at, token] of children.entries()) {
      const [before, after] = [children[at - 1], children[at + 1]];
      const isBetween =
        token.type === "code_inline" &&
        before?.type === "text" &&
        before.content.endsWith("$") &&
        after?.type === "text" &&
        after.content.startsWith("$");
      if (!isBetween) continue;
      token.type = "formula";
      before.content = before.content.slice(0, -1);
      after.content = after.content.slice(1);
    }
  }
}

/** A formula between dollar signs that no blank is within, `$a$`, or between two of them, `$$a$$`. */
const DOLLARS =
  /\$(?![\s$`])((?:[^$\\\n]|\\[^\n])+)(?<!\s)\$(?!\d)|\$\$((?:[^$\\\n]|\\[^\n])+)\$\$/y;

function shortFormula(state: StateInline, isSilent: boolean): boolean {
  if (!isGitLabs(state.env) || state.src[state.pos] !== "$") return false;
  DOLLARS.lastIndex = state.pos;
  const [written, short, long] = DOLLARS.exec(state.src) ?? [];
  if (written === undefined || state.pos + written.length > state.posMax) return false;
  if (!isSilent) {
    const token = state.push("dollars", "span", 0);
    token.content = (short ?? long ?? "").trim();
    token.info = short === undefined ? "display" : "inline";
  }
  state.pos += written.length;
  return true;
}

/** Formulas in a text that GitLab's script shows as such. */
const MOST_FORMULAS = 50;

/** The class that the script finds formulas by, as long as there are not too many. */
function formulaClass(env: Env | undefined): string {
  const count = Number(env?.["formulas"] ?? 0) + 1;
  if (env) env["formulas"] = count;
  return count > MOST_FORMULAS ? "code math" : "code math js-render-math";
}

/** Cells of a text's tables that are written as JSON. */
const MOST_CELLS = 10_000;

/** What JSON has of a table. */
interface JsonTable {
  readonly fields: readonly Readonly<Record<string, string | boolean>>[];
  readonly items: readonly Readonly<Record<string, unknown>>[];
  readonly caption: string;
  readonly filter: boolean;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A value in a cell: a text of one line. */
const cell = (value: unknown) =>
  /^(?:string|number|boolean)$/.test(typeof value)
    ? String(value)
        .replace(/[\s\0]+/g, " ")
        .trim()
    : "";

/** A table in JSON whose cells are Markdown; `undefined` if it is none. */
function tableIn(json: string): JsonTable | undefined {
  let read: unknown;
  try {
    read = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (!isRecord(read) || read["markdown"] !== true || !Array.isArray(read["items"]))
    return undefined;
  const items: unknown[] = read["items"];
  const [first] = items;
  if (!items.every(isRecord) || !isRecord(first)) return undefined;
  const given = Array.isArray(read["fields"]) ? read["fields"] : Object.keys(first);
  const fields = given.flatMap((one: unknown) => {
    const { key, label, sortable } = isRecord(one) ? one : { key: one };
    if (typeof key !== "string") return [];
    const named = typeof label === "string" ? { key, label } : { key };
    return [typeof sortable === "boolean" ? { ...named, sortable } : named];
  });
  const [filter, caption] = [read["filter"] === true, cell(read["caption"])];
  return fields.length === 0 ? undefined : { fields, items, caption, filter };
}

/** Makes tables of blocks of JSON that say that their cells are Markdown. */
function jsonTables(state: StateCore): void {
  if (!isGitLabs(state.env)) return;
  let left = MOST_CELLS;
  state.tokens = state.tokens.flatMap((token) => {
    const isTable = token.type === "fence" && /^json:table(?:\s|$)/.test(token.info.trim());
    const table = isTable ? tableIn(token.content) : undefined;
    const cells = table ? (table.items.length + 1) * table.fields.length : 0;
    if (!table || cells > left) return [token];
    left -= cells;
    return tableTokens(table, state);
  });
}

function tableTokens({ fields, items, caption, filter }: JsonTable, { Token: Created }: StateCore) {
  const made: Token[] = [];
  const push = (tag: string, nesting: -1 | 1) => {
    const token = new Created(`${tag}_${nesting > 0 ? "open" : "close"}`, tag, nesting);
    token.block = true;
    made.push(token);
    return token;
  };
  const add = (tag: string, content: string) => {
    push(tag, 1);
    made.push(Object.assign(new Created("inline", "", 0), { content, children: [] }));
    push(tag, -1);
  };
  push("div", 1);
  const table = push("table", 1);
  table.attrSet("data-table-fields", JSON.stringify(fields));
  if (filter) table.attrSet("data-table-filter", "true");
  table.attrSet("data-table-markdown", "true");
  if (caption !== "") add("caption", caption);
  push("thead", 1);
  push("tr", 1);
  for (const { key, label = key } of fields) add("th", cell(label));
  push("tr", -1);
  push("thead", -1);
  push("tbody", 1);
  for (const item of items) {
    push("tr", 1);
    for (const { key } of fields) {
      add("td", Object.hasOwn(item, String(key)) ? cell(item[String(key)]) : "");
    }
    push("tr", -1);
  }
  push("tbody", -1);
  push("table", -1);
  push("div", -1);
  return made;
}

/** A formula between two lines of `$$`. */
function longFormula(state: StateBlock, start: number, end: number, isSilent: boolean): boolean {
  if (!isGitLabs(state.env) || lineOf(state, start) !== "$$") return false;
  if ((state.sCount[start] as number) - state.blkIndent >= 4) return false;
  let last = start + 1;
  while (last < end && lineOf(state, last) !== "$$" && !isOutside(state, last)) last += 1;
  if (last >= end || isOutside(state, last)) return false;
  if (isSilent) return true;
  const token = state.push("fence", "code", 0);
  token.info = "math";
  token.content = state.getLines(start + 1, last, state.blkIndent, true);
  state.line = last + 1;
  return true;
}

/** What stands at the very beginning of a text, between lines of these, and in which language. */
const FRONT: Readonly<Record<string, string>> = { "---": "yaml", "+++": "toml", ";;;": "json" };

/** Settings of a page before its text. */
function frontMatter(state: StateBlock, start: number, end: number, isSilent: boolean): boolean {
  if (start !== 0 || isSilent || !isGitLabs(state.env) || state.level > 0) return false;
  const mark = state.src.slice(0, state.eMarks[0]).trimEnd();
  const language = Object.hasOwn(FRONT, mark) ? FRONT[mark] : undefined;
  if (language === undefined) return false;
  let last = 1;
  while (last < end && state.src.slice(state.bMarks[last], state.eMarks[last]).trimEnd() !== mark) {
    last += 1;
  }
  if (last >= end || last === 1) return false;
  const token = state.push("fence", "code", 0);
  token.info = `${language}:frontmatter`;
  token.content = state.getLines(1, last, 0, true);
  state.line = last + 1;
  return true;
}

/** What is often written for a language, and its name. */
const LANGUAGES = new Map(
  `js javascript, jsx jsx, mjs javascript, ts typescript, tsx tsx, py python, rb ruby, sh shell, bash shell, zsh shell,
  yml yaml, md markdown, rs rust, cs csharp, c++ cpp, h c, hpp cpp, kt kotlin, pl perl, ps1 powershell, docker dockerfile,
  golang go, htm html, ex elixir, exs elixir, hs haskell, clj clojure, erl erlang, tf hcl, terraform hcl, proto protobuf,
  patch diff, console console, text plaintext, txt plaintext, plain plaintext, viml vim, make makefile, objc objective_c,
  javascript, typescript, python, ruby, shell, yaml, markdown, rust, csharp, cpp, c, kotlin, perl, powershell, dockerfile,
  go, html, elixir, haskell, clojure, erlang, hcl, protobuf, diff, plaintext, vim, makefile, objective_c, java, json, xml,
  css, scss, sass, less, sql, php, swift, scala, lua, r, dart, groovy, toml, ini, nginx, apache, graphql, math, mermaid,
  plantuml, suggestion, julia, matlab, fortran, ocaml, fsharp, vb, tex, latex, cmake, haml, erb, vue, svelte, properties,
  puppet, nix, solidity, awk, lisp, scheme, prolog, tcl, smalltalk, coffeescript, http, jinja, twig, handlebars, liquid`
    .split(/,\s*/)
    .map((entry) => entry.trim().split(" "))
    .map(([written, name = written]) => [written, name] as [string, string]),
);

const FENCES = /^[ >]*(?:`{3}|~{3})[`~]*[ \t]*([\w+#-]{1,32})/gm;

/** The languages of the blocks of code that a text may have. */
export function languagesIn(text: string): ReadonlySet<string> {
  const written = [...text.matchAll(FENCES)].map(([, name = ""]) => name.toLowerCase());
  return new Set(written.flatMap((name) => LANGUAGES.get(name) ?? []));
}

/** A block of code, as GitLab's scripts expect it. @param info what follows the fence */
function codeBlock(
  content: string,
  info: string,
  escaped: (text: string) => string,
  colorBlock?: ColorBlock,
): string {
  const [, written = "", rest = ""] = /^([^\s:]*)[:\s]?(.*)$/s.exec(info.trim()) ?? [];
  const language = LANGUAGES.get(written.toLowerCase()) ?? "plaintext";
  const canonical = written === "" ? "" : ` data-canonical-lang="${escaped(written)}"`;
  const parameters = rest === "" ? "" : ` data-lang-params="${escaped(rest.trim())}"`;
  const style =
    language === "math" || language === "mermaid" ? ` data-${language}-style="display"` : "";
  const classes = `${language === "math" ? "js-render-math " : ""}code highlight js-syntax-highlight language-${language}`;
  const lines = content.replace(/\n$/, "").split("\n");
  const shown = colorBlock?.(language, lines) ?? lines.map(escaped);
  const named =
    lines.length > MOST_LINES
      ? shown
      : shown.map(
          (line, at) =>
            `<span id="LC${at + 1}" class="line" data-lang="${language}">${line}</span>`,
        );
  const code = language === "mermaid" ? '<code class="js-render-mermaid">' : "<code>";
  return (
    `<div class="gl-relative markdown-code-block js-markdown-code">\n` +
    `<pre${style}${canonical}${parameters} class="${classes}" v-pre="true">${code}${named.join("\n")}</code></pre>\n` +
    `<copy-code></copy-code><insert-code-snippet></insert-code-snippet>\n</div>\n`
  );
}

/** What a picture may say about its size: `{width=100 height=50%}`. */
const SIZE =
  /^\{((?:width|height)=[1-9]\d{0,3}(?:px|%)?(?: (?:width|height)=[1-9]\d{0,3}(?:px|%)?)?)\}/;

/** Gives pictures the sizes that are written behind them. */
function sizes({ tokens, env }: StateCore): void {
  if (!isGitLabs(env)) return;
  for (const { type, children, content } of tokens) {
    if (type !== "inline" || !children || !content.includes("){")) continue;
    for (const [at, token] of children.entries()) {
      const after = children[at + 1];
      if (token.type !== "image" || after?.type !== "text") continue;
      const [whole, written] = SIZE.exec(after.content) ?? [];
      if (whole === undefined || written === undefined) continue;
      for (const pair of written.split(" ")) {
        const [name, value] = pair.split("=") as [string, string];
        token.attrSet(name, value.replace(/px$/, ""));
      }
      after.content = after.content.slice(whole.length);
    }
  }
}

const VIDEO = /\.(?:mp4|m4v|mov|webm|ogv)$/i;
const AUDIO = /\.(?:mp3|oga|ogg|spx|wav)$/i;

/** A film or sound that is written like a picture; `undefined` for pictures. */
function media(
  source: string,
  title: string,
  escaped: (text: string) => string,
): string | undefined {
  const path = source.replace(/[?#].*$/s, "");
  const kind = VIDEO.test(path) ? "video" : AUDIO.test(path) ? "audio" : undefined;
  if (!kind) return undefined;
  const [address, name] = [escaped(source), escaped(title)];
  const size = kind === "video" ? ' preload="metadata" width="400"' : "";
  return (
    `<span class="media-container ${kind}-container"><${kind} src="${address}" controls="true" data-setup="{}" data-title="${name}"${size}></${kind}>` +
    `<a href="${address}" title="Download '${name}'" target="_blank" rel="nofollow noreferrer noopener">${name}</a></span>`
  );
}

/** Adds what GitLab shows otherwise than CommonMark to a parser. */
export async function addInline(markdown: MarkdownIt): Promise<void> {
  const table = await loadEmoji();
  const { block, core, inline, renderer, utils } = markdown;
  const { escapeHtml } = utils;
  block.ruler.before("code", "front_matter", frontMatter);
  block.ruler.before("fence", "long_formula", longFormula, { alt: ["paragraph"] });
  inline.ruler.before("escape", "short_formula", shortFormula);
  core.ruler.after("block", "json_tables", jsonTables);
  core.ruler.push("formulas", formulas);
  core.ruler.push("sizes", sizes);
  core.ruler.push("emoji", (state) => emojiIn(state, table));
  const { rules } = renderer;
  rules["emoji"] = (tokens, at) => {
    const { meta } = tokens[at] as Token & { meta: { emoji: Emoji } };
    const { name, emoji, description } = meta.emoji;
    return `<gl-emoji title="${escapeHtml(description)}" data-name="${name}">${emoji}</gl-emoji>`;
  };
  rules["formula"] = (tokens, at, _, env) =>
    `<code data-math-style="inline" class="${formulaClass(env)}">${escapeHtml((tokens[at] as Token).content)}</code>`;
  rules["dollars"] = (tokens, at, _, env) => {
    const { content, info } = tokens[at] as Token;
    return `<span data-math-style="${info}" class="${formulaClass(env)}">${escapeHtml(content)}</span>`;
  };
  const { code_inline: code, fence, code_block: indented, image } = rules;
  rules["code_inline"] = (tokens, at, options, env, self) => {
    const { content } = tokens[at] as Token;
    if (!isGitLabs(env) || !COLOR.test(content))
      return code?.(tokens, at, options, env, self) ?? "";
    return `<code>${content}<span class="gfm-color_chip"><span style="background-color: ${content};"></span></span></code>`;
  };
  rules["fence"] = (tokens, at, options, env, self) => {
    const { content, info } = tokens[at] as Token;
    if (!isGitLabs(env)) return fence?.(tokens, at, options, env, self) ?? "";
    return codeBlock(content, info, escapeHtml, (env as Surroundings).colorBlock);
  };
  rules["code_block"] = (tokens, at, options, env, self) => {
    if (!isGitLabs(env)) return indented?.(tokens, at, options, env, self) ?? "";
    return codeBlock((tokens[at] as Token).content, "", escapeHtml);
  };
  rules["image"] = (tokens, at, options, env, self) => {
    const token = tokens[at] as Token;
    const source = String(token.attrGet("src") ?? "");
    if (!isGitLabs(env) || env?.["isPage"]) return image?.(tokens, at, options, env, self) ?? "";
    const alt = self.renderInlineAsText(token.children ?? [], options, env ?? {});
    return media(source, token.content, escapeHtml) ?? lazyPicture(token, alt, env, escapeHtml);
  };
}
