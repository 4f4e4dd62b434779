import type { MarkdownIt, Token } from "markdown-it";
import { digest } from "./digest.ts";
import { addBlocks } from "./markdown-blocks.ts";
import { addInline } from "./markdown-inline.ts";
import { paragraphs } from "./markup.ts";

/** A reference in a text, such as `#1`, `group/project!2`, `@ada`, `~"in review"`, the name of a commit, or `a..b`. */
export interface TextReference {
  readonly kind: "#" | "!" | "$" | "@" | "~" | "%" | "commit" | "range";
  /** The path of its project, as written; `undefined` for the project of the text. */
  readonly project: string | undefined;
  /** A number or name. */
  readonly name: string;
  /** Whether its title is shown, too: `#1+`. */
  readonly hasTitle?: boolean | undefined;
  /** Whether a milestone is named by its number. */
  readonly byNumber?: boolean | undefined;
  /** Of an address of this server: what follows the path of the page, and what is told of it. */
  readonly address?: { readonly rest: string; readonly about: string } | undefined;
}

/** What a reference is a link to. */
export interface ReferenceLink {
  readonly href: string;
  readonly title: string;
  /** GitLab's word for this kind of reference. */
  readonly className: string;
  /** More of its classes. */
  readonly classes?: string;
  /** What it is shown as. Default: as it was written. */
  readonly text?: string;
  /** What is shown with the title, if that is asked for. */
  readonly withTitle?: string;
  /** Attributes that GitLab's scripts, and clients, find things by: their names without `data-`. */
  readonly data?: Readonly<Record<string, string | number>>;
  /** A label is shown as one: its colour, whether texts on it are light, and where it is from, if that is elsewhere. */
  readonly label?: { readonly color: string; readonly isLight: boolean };
}

/** Longer texts are shown as they are, in paragraphs: rendering takes a thread as long as there are characters. */
export const MAX_MARKDOWN = 65_536;
/** How deep blocks nest; what is deeper stays text. */
const MAX_NESTING = 20;
/** How deep brackets do: each level reads the rest of the paragraph once more. */
const MAX_BRACKETS = 8;
/** A text of more blocks and cells is shown as it is: rows of a table get all cells that its head has. */
const MAX_BLOCKS = 40_000;
/** So is a text with a paragraph of more links, pieces of code and line breaks: parsing has no pauses. */
const MAX_PIECES = 20_000;

/** The protocols that links may have; addresses without one are relative. */
const PROTOCOL = /^(?:https?|mailto|ftp|xmpp|irc):/i;

/** One reference: what stands before it, the path of a project, and the name. No part of it can match in two ways. */
const REFERENCE =
  /(?<![\w./@#!$~%&-])((?:[\w][\w.-]{0,99}\/){0,20}[\w][\w.-]{0,99})?(?:([#!$])(\d{1,9})(\+?)|@([a-z0-9_][\w.-]{0,254}(?:\/\w[\w.-]{0,254}){0,20})|([~%])(?:"([^"\n]{1,255})"|([\w?&:][\w?&:.-]{0,254})))(?![\w-])/gi;

/** Where a text is shown. */
interface Surroundings {
  /** The server's public address. Default: unknown. */
  readonly base?: string | undefined;
  /** The full path of the text's project, if it has one. */
  readonly projectPath?: string | undefined;
  /** The default branch of that project, which relative links are into. Default: they stay. */
  readonly branch?: string | undefined;
  /** Whether it is rendered as GitLab's Markdown, with emoji and the like. */
  readonly isGitLabs?: boolean | undefined;
  /** Whether the text is a comment: there its headings have no names, as others on the same page may. */
  readonly isComment?: boolean | undefined;
}

/** A Markdown text that was read, whose references can be looked up before it is written as HTML. */
export interface ParsedMarkdown {
  /** Its references outside of code and links, each once. */
  readonly references: readonly TextReference[];
  /** How long its HTML is, in characters, without links for its references. */
  readonly length: number;
  /**
   * @param linkOf what a reference is a link to; `undefined` if it stays text
   * @returns HTML without any markup but our own
   */
  html(linkOf?: (reference: TextReference) => ReferenceLink | undefined): string;
}

let renderer: Promise<MarkdownIt> | undefined;

/** A text has more blocks or pieces than are rendered. */
class TooManyPieces extends Error {
  override get name() {
    return "TooManyPieces" as const;
  }
}

/** The parser is loaded with the first text that is rendered. */
async function load(): Promise<MarkdownIt> {
  const { default: Markdown } = await import("markdown-it");
  // Raw HTML is text. Without typographic replacements, texts stay what people wrote.
  const markdown = new Markdown({ html: false, linkify: true, maxNesting: MAX_NESTING });
  const { block, inline } = markdown;
  block.State = class extends block.State {
    override push(...begun: Parameters<InstanceType<typeof block.State>["push"]>): Token {
      if (this.tokens.length >= MAX_BLOCKS) throw new TooManyPieces();
      return super.push(...begun);
    }
  };
  inline.State = class extends inline.State {
    override push(...begun: Parameters<InstanceType<typeof inline.State>["push"]>): Token {
      if (this.tokens.length >= MAX_PIECES) throw new TooManyPieces();
      return super.push(...begun);
    }
  };
  const skipToken = inline.skipToken.bind(inline);
  inline.skipToken = (state) => {
    if (state.level < MAX_BRACKETS) return skipToken(state);
    const { cache, pos, posMax } = state;
    cache[pos] ??= posMax + 1;
    state.pos = cache[pos];
  };
  markdown.validateLink = (url) => {
    const plain = url.trim();
    return !/^[a-z][a-z\d+.-]*:/i.test(plain) || PROTOCOL.test(plain);
  };
  addBlocks(markdown);
  markdown.core.ruler.before("text_join", "escapes", ({ tokens }) => {
    for (const { children } of tokens) {
      for (const token of children ?? []) {
        const isEscaped = token.info === "escape" && ESCAPED.test(token.content);
        if (token.type === "text_special" && isEscaped) token.type = "escaped";
      }
    }
  });
  markdown.core.ruler.push("references", ({ tokens, env, Token: Created }) => {
    const { base, isGitLabs } = env as Surroundings;
    for (const block of tokens) {
      if (block.type !== "inline" || !block.children) continue;
      const create = (type: string) => new Created(type, "", 0);
      if (isGitLabs && base && block.content.includes(base)) {
        block.children = withAddresses(block.children, base, create);
      }
      for (const [sign, replace] of REPLACED) {
        // Most texts have none, and a text may have thousands of tokens.
        if (!sign.test(block.content)) continue;
        block.children = outsideOfLinks(block.children, (token) => replace(token, create));
      }
    }
  });
  markdown.core.ruler.push("tasks", ({ tokens, Token: Created }) => {
    const lists: Token[] = [];
    tokens.forEach((block, index) => {
      if (block.type === "bullet_list_open" || block.type === "ordered_list_open")
        lists.push(block);
      if (block.type === "bullet_list_close" || block.type === "ordered_list_close") lists.pop();
      const first = block.type === "inline" ? block.children?.[0] : undefined;
      const item = tokens[index - 2];
      if (first?.type !== "text" || item?.type !== "list_item_open") return;
      const [mark] = /^\[[ xX~]\](?=\s)/.exec(first.content) ?? [];
      if (mark === undefined) return;
      first.content = first.content.slice(mark.length);
      const box = new Created("task", "input", 0);
      box.info = mark;
      const isLeftOut = mark === "[~]";
      item.attrSet("class", `task-list-item${isLeftOut ? " inapplicable" : ""}`);
      lists.at(-1)?.attrSet("class", "task-list");
      const all = block.children ?? [];
      block.children = isLeftOut
        ? [
            box,
            new Created("left_out_open", "s", 1),
            ...all,
            new Created("left_out_close", "s", -1),
          ]
        : [box, ...all];
    });
  });
  const { rules } = markdown.renderer;
  const { escapeHtml } = markdown.utils;
  rules["task"] = (tokens, index) =>
    `<input type="checkbox" class="task-list-item-checkbox"${TASKS[tokens[index]?.info ?? ""] ?? ""} disabled>`;
  rules["left_out_open"] = () => '<s class="inapplicable">';
  rules["s_open"] = () => "<del>";
  rules["s_close"] = () => "</del>";
  rules["escaped"] = (tokens, index) =>
    `<span data-escaped-char>${escapeHtml((tokens[index] as Token).content)}</span>`;
  rules["change"] = (tokens, index) => {
    const { content, info } = tokens[index] as Token;
    return `<span class="idiff left right ${info}">${escapeHtml(content)}</span>`;
  };
  rules["link_open"] = (tokens, index, options, environment, self) => {
    const token = tokens[index] as Token;
    const href = addressOf(token, "href", environment);
    const { base } = (environment ?? {}) as Partial<Surroundings>;
    const isOwn =
      base !== undefined && `${href}/`.toLowerCase().startsWith(`${base.toLowerCase()}/`);
    if (!isOwn && /^(?:https?:|mailto:|\/\/)/i.test(href)) {
      token.attrSet("rel", "nofollow noreferrer noopener");
      token.attrSet("target", "_blank");
    }
    return self.renderToken(tokens, index, options);
  };
  await addInline(markdown);
  const image = rules["image"];
  rules["image"] = (tokens, index, options, environment, self) => {
    addressOf(tokens[index] as Token, "src", environment);
    return image ? image(tokens, index, options, environment, self) : "";
  };
  // What is written is looked up, and put in, once all texts were read: their tokens take far more memory than HTML.
  rules["reference"] = (tokens, index, _, environment) => {
    const { content, meta } = tokens[index] as Token;
    const written = environment?.["written"] as Written[];
    const href = meta?.["href"] as string | undefined;
    written.push({ content, reference: meta?.["reference"] as TextReference, href });
    return `\0${written.length - 1}\0`;
  };
  // Addresses of links may bring the character that marks references.
  rules["text"] = (tokens, index) =>
    escapeHtml((tokens[index] as Token).content.replaceAll("\0", "\ufffd"));
  return markdown;
}

/** What a task's box says. */
const TASKS: Readonly<Record<string, string>> = {
  "[x]": " checked",
  "[X]": " checked",
  "[~]": " data-inapplicable",
};

/** Characters that begin references, which a backslash takes away from them. */
const ESCAPED = /^[#!$@~%&^:]$/;

/** Gives a link or picture of an uploaded file the address that it has from outside of the project, and returns it. */
function addressOf(token: Token, name: "href" | "src", environment: object | undefined): string {
  const address = String(token.attrGet(name) ?? "");
  const { base, projectPath, branch } = (environment ?? {}) as Partial<Surroundings>;
  if (base === undefined || projectPath === undefined) return address;
  const file = UPLOAD.test(address) ? address : branch && fileAt(address, name, branch);
  if (!file) return address;
  const absolute = `${base}/${projectPath}${file}`;
  token.attrSet(name, absolute);
  return absolute;
}

const UPLOAD = /^\/uploads\/[\da-f]{32}\/[^/]+$/;

/** Addresses that are no paths of files: those with a protocol or server, and parts of the page. */
const NO_FILE = /^(?:[a-z][a-z\d+.-]*:|\/\/|#|\?|$)/i;
const PICTURE =
  /\.(?:png|jpe?g|gif|svg|webp|bmp|ico|tiff?|mp4|m4v|mov|webm|ogv|mp3|oga|ogg|spx|wav)$/i;

/** The page of a file, or folder, of the project that a text is about, below the project's. */
function fileAt(address: string, name: "href" | "src", branch: string): string | undefined {
  if (NO_FILE.test(address)) return undefined;
  const [, path = "", rest = ""] = /^([^?#]*)(.*)$/s.exec(address) ?? [];
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  const isRaw = name === "src" || PICTURE.test(path);
  const page = isRaw ? "raw" : path.endsWith("/") || parts.length === 0 ? "tree" : "blob";
  const ref = branch.split("/").map(encodeURIComponent).join("/");
  return `/-/${page}/${[ref, ...parts].join("/")}${rest}`;
}

/** A reference, as it is written. */
interface Written {
  readonly content: string;
  readonly reference: TextReference;
  /** The address that it is a link to in any case. */
  readonly href: string | undefined;
}

type LinkOf = (reference: TextReference) => ReferenceLink | undefined;

/** A reference as HTML, with the attributes of GitLab's. */
function linkHtml(
  { href, title, className, classes, text, withTitle, data = {}, label }: ReferenceLink,
  { content, reference, href: written }: Written,
  escaped: (text: string) => string,
): string {
  const { hasTitle, address } = reference;
  const told = hasTitle ? (withTitle ?? text ?? content) : (text ?? content);
  const shown = `${told}${address?.about ?? ""}`;
  const all: Record<string, string | number> = {
    "reference-type": className === "project_member" ? "user" : className,
    original: content,
    link: "false",
    "link-reference": "false",
    ...(hasTitle && { "reference-format": "+" }),
    ...data,
    container: "body",
    placement: "top",
  };
  const attributes = Object.entries(all).map(
    ([name, value]) => ` data-${name}="${escaped(String(value))}"`,
  );
  const to = escaped(written?.replace(/\+$/, "") ?? `${href}${address?.rest ?? ""}`);
  const start = `<a href="${to}" title="${escaped(title)}"${attributes.join("")} class="gfm gfm-${className}${classes ?? ""}">`;
  if (!label) return `${start}${escaped(shown)}</a>`;
  const light = label.isLight ? "light" : "dark";
  return (
    `<span class="gl-label gl-label-sm">${start}<span class="gl-label-text gl-label-text-${light}" data-container="body" ` +
    `data-html="true" style="background-color: ${escaped(label.color)}">${escaped(shown)}</span></a></span>`
  );
}

/** A text shown as it is, in paragraphs. */
export function asText(text: string): ParsedMarkdown {
  const html = paragraphs(text);
  return { references: [], length: html.length, html: () => html };
}

/**
 * Reads a Markdown text: CommonMark with tables, strikethrough, tasks and plain addresses as links. Takes time linear in
 * its length.
 */
export async function parseMarkdown(
  text: string,
  surroundings: Surroundings = {},
): Promise<ParsedMarkdown> {
  if (text.length > MAX_MARKDOWN) return asText(text);
  renderer ??= load();
  const markdown = await renderer;
  const written: Written[] = [];
  let html: string;
  try {
    const id = digest("sha1", text).slice(0, 8);
    html = markdown.render(text, { ...surroundings, digest: id, written });
  } catch (error) {
    if (!(error instanceof TooManyPieces)) throw error;
    return asText(text);
  }
  const references = new Map(
    written.map(({ content, reference }) => [`${reference.kind} ${content}`, reference]),
  );
  const put = (at: number, linkOf: LinkOf | undefined) => {
    const { content, reference, href } = written[at] as Written;
    const { escapeHtml } = markdown.utils;
    const link = linkOf?.(reference);
    if (link) return linkHtml(link, written[at] as Written, escapeHtml);
    const shown = escapeHtml(content);
    return href === undefined ? shown : `<a href="${escapeHtml(href)}">${shown}</a>`;
  };
  return {
    references: [...references.values()],
    length: html.length,
    html: (linkOf) => html.replace(/\0(\d+)\0/g, (_, at: string) => put(Number(at), linkOf)),
  };
}

/** What text outside of links may have, and what replaces its tokens then. */
const REPLACED: readonly [sign: RegExp, replace: (token: Token, create: Create) => Token[]][] = [
  [/www\./i, withPlainLinks],
  [/[\da-f]{7}/, withCommits],
  [/[[{][+-]/, withChanges],
  [/[#!$@~%]/, divided],
];

/** Replaces the tokens of text that is in no link. */
function outsideOfLinks(children: readonly Token[], replace: (token: Token) => Token[]): Token[] {
  const replaced: Token[] = [];
  let depth = 0;
  for (const token of children) {
    if (token.type === "link_open") depth += 1;
    if (token.type === "link_close") depth -= 1;
    if (token.type === "text" && depth === 0) replaced.push(...replace(token));
    else replaced.push(token);
  }
  return replaced;
}

type Create = (type: string) => Token;

/** A token of text like another one. */
function textLike({ level }: Token, create: Create, content: string): Token {
  return Object.assign(create("text"), { content, level });
}

const PLAIN = /(?<![\w./@:-])www\.[\w-]+(?:\.[\w-]+)+(?:[/?#][^\s<]*)?/gi;

/** Makes links of addresses that begin with `www.`. Punctuation at their ends is no part of them. */
function withPlainLinks(token: Token, create: Create): Token[] {
  const { content } = token;
  if (!/www\./i.test(content)) return [token];
  const parts: Token[] = [];
  let end = 0;
  for (const { 0: written, index } of content.matchAll(PLAIN)) {
    let length = written.length;
    while (/[?!.,:*_~'")]/.test(written[length - 1] as string)) length -= 1;
    const address = written.slice(0, length);
    const open = create("link_open");
    open.tag = "a";
    open.nesting = 1;
    open.attrSet("href", `http://${encodeURI(address.toWellFormed())}`);
    const close = create("link_close");
    close.tag = "a";
    close.nesting = -1;
    parts.push(textLike(token, create, content.slice(end, index)));
    parts.push(open, textLike(token, create, address), close);
    end = index + length;
  }
  return [...parts, textLike(token, create, content.slice(end))];
}

/** The names of commits, shortened or not, one or two of them, and the path of their project before. */
const COMMITS =
  /(?<![\w./@#!$~%&+-])(?:((?:\w[\w.-]{0,99}\/){1,20}\w[\w.-]{0,99})@)?([\da-f]{7,40})(?:(\.{2,3})([\da-f]{7,40}))?(?![\w/@-]|\.\w)/g;

/** Makes references of what may be the names of commits. */
function withCommits(token: Token, create: Create): Token[] {
  const { content } = token;
  const parts: Token[] = [];
  let end = 0;
  for (const match of content.matchAll(COMMITS)) {
    const [written, project, first, dots, second] = match;
    const made = create("reference");
    made.content = written;
    const name = `${first}${dots ?? ""}${second ?? ""}`;
    made.meta = { reference: { kind: dots ? "range" : "commit", project, name } };
    parts.push(textLike(token, create, content.slice(end, match.index)), made);
    end = match.index + written.length;
  }
  return parts.length === 0 ? [token] : [...parts, textLike(token, create, content.slice(end))];
}

/** Pages of this server that addresses in texts are of, by the sigils of what they show. */
const PAGE =
  /^\/((?:\w[\w.-]{0,99}\/){1,20}\w[\w.-]{0,99})\/-\/(issues|work_items|merge_requests|snippets|milestones|commit)\/(\d{1,9}|[\da-f]{40})(\/(?:diffs|commits|pipelines)|\.patch|\.diff)?(#note_\d{1,15})?(\+?)$/;
const SIGILS: Readonly<Record<string, TextReference["kind"]>> = {
  issues: "#",
  work_items: "#",
  merge_requests: "!",
  snippets: "$",
  milestones: "%",
  commit: "commit",
};

/** What the address of a page of this server refers to. */
function referenceAt(address: string, base: string): TextReference | undefined {
  const [, project, page, name, below = "", note = "", plus] =
    PAGE.exec(address.slice(base.length)) ?? [];
  const kind = page === undefined ? undefined : SIGILS[page];
  if (!kind || name === undefined) return undefined;
  const told = below === "" ? [] : [below.slice(1)];
  if (note !== "") told.push(`comment ${note.slice("#note_".length)}`);
  const about = told.length === 0 ? "" : ` (${told.join(", ")})`;
  return {
    ...{ kind, project, name, byNumber: kind === "%" || undefined },
    hasTitle: plus === "+" || undefined,
    address: { rest: `${below}${note}`, about },
  };
}

/** Makes references of addresses of this server that were written as they are. */
function withAddresses(children: readonly Token[], base: string, create: Create): Token[] {
  const replaced: Token[] = [];
  for (let at = 0; at < children.length; at += 1) {
    const token = children[at] as Token;
    const href = token.type === "link_open" ? String(token.attrGet("href") ?? "") : "";
    const isPlain = token.markup === "linkify" || token.markup === "autolink";
    const isOwn = isPlain && href.startsWith(`${base}/`) && children[at + 2]?.type === "link_close";
    const reference = isOwn ? referenceAt(href, base) : undefined;
    if (!reference) {
      replaced.push(token);
      continue;
    }
    const made = create("reference");
    made.content = (children[at + 1] as Token).content;
    made.meta = { reference, href };
    replaced.push(made);
    at += 2;
  }
  return replaced;
}

/** Marks what was added, `{+ so +}` or `[+ so +]`, and what was removed, `[- so -]` or `{- so -}`. */
function withChanges(token: Token, create: Create): Token[] {
  const { content } = token;
  const parts: Token[] = [];
  const unclosed = new Set<string>();
  let end = 0;
  for (const { 0: opening, index } of content.matchAll(/[[{][+-]/g)) {
    const closing = `${opening[1]}${opening[0] === "[" ? "]" : "}"}`;
    if (index < end || unclosed.has(closing)) continue;
    const last = content.indexOf(closing, index + 2);
    if (last < 0) {
      unclosed.add(closing);
      continue;
    }
    const change = create("change");
    change.content = content.slice(index + 2, last);
    change.info = opening[1] === "+" ? "addition" : "deletion";
    parts.push(textLike(token, create, content.slice(end, index)), change);
    end = last + 2;
  }
  return parts.length === 0 ? [token] : [...parts, textLike(token, create, content.slice(end))];
}

function withoutStop(written: string): string {
  let end = written.length;
  while (/[.:-]/.test(written[end - 1] as string)) end -= 1;
  return written.slice(0, end);
}

/** Makes tokens of references. */
function divided(token: Token, create: Create): Token[] {
  const { content } = token;
  if (!/[#!$@~%]/.test(content)) return [token];
  const parts: Token[] = [];
  let end = 0;
  const add = (type: string, part: string, meta: Token["meta"] = null) => {
    const made = create(type);
    made.content = part;
    made.meta = meta;
    made.level = token.level;
    parts.push(made);
  };
  for (const match of content.matchAll(REFERENCE)) {
    const [whole, project, sigil, number, plus, user, mark, quoted, plain] = match;
    // Only issues and merge requests are named by the last part of their project's path alone.
    const isWhole = project === undefined || project.includes("/") || /[#!]/.test(sigil ?? "");
    if (!isWhole || (user !== undefined && project !== undefined)) continue;
    // The end of a sentence is not the end of a name.
    const written = user !== undefined || plain !== undefined ? withoutStop(whole) : whole;
    if (match.index > end) add("text", content.slice(end, match.index));
    const kind = (sigil ?? mark ?? "@") as TextReference["kind"];
    const name =
      number ??
      quoted ??
      (user ?? plain ?? "").slice(0, written.length - whole.length || undefined);
    const hasTitle = plus === "+" || undefined;
    const byNumber = (mark === "%" && plain !== undefined && /^\d{1,9}$/.test(name)) || undefined;
    const reference: TextReference = { kind, project, name, hasTitle, byNumber };
    add("reference", written, { reference });
    end = match.index + written.length;
  }
  if (parts.length === 0) return [token];
  if (end < content.length) add("text", content.slice(end));
  return parts;
}
