import type { MarkdownIt, Token } from "markdown-it";
import { digest } from "./digest.ts";
import { addBlocks } from "./markdown-blocks.ts";
import { addBalance, addHtml } from "./markdown-html.ts";
import { addInline } from "./markdown-inline.ts";
import { addLinks, addressOf, type Surroundings } from "./markdown-links.ts";
import { addFound, referencesIn, type TextReference } from "./markdown-references.ts";
import { paragraphs } from "./markup.ts";

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
  /** What is shown with the title (`#1+`), and with people and milestone besides (`#1+s`), if that is asked for. */
  readonly withTitle?: string;
  readonly withSummary?: string;
  /** Its state, if that is shown behind what is shown otherwise. */
  readonly state?: string | undefined;
  /** The commit that the address of a merge request's changes names, shortened. */
  readonly commit?: string | undefined;
  /** Where it is from, if that is elsewhere and said behind it. */
  readonly from?: string | undefined;
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

/** A Markdown text that was read, whose references can be looked up before it is written as HTML. */
export interface ParsedMarkdown {
  /** Its references outside of code, in their order. */
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
  // Without typographic replacements, texts stay what people wrote.
  const markdown = new Markdown({ html: true, linkify: true, maxNesting: MAX_NESTING });
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
  addHtml(markdown, MAX_PIECES, () => {
    throw new TooManyPieces();
  });
  addBlocks(markdown);
  addLinks(markdown);
  markdown.core.ruler.before("text_join", "escapes", ({ tokens }) => {
    for (const { children } of tokens) {
      for (const token of children ?? []) {
        const isEscaped = token.info === "escape" && ESCAPED.test(token.content);
        if (token.type === "text_special" && isEscaped) token.type = "escaped";
      }
    }
  });
  markdown.core.ruler.push("references", ({ tokens, env, Token: Created }) => {
    const create = (type: string) => new Created(type, "", 0);
    for (const block of tokens) {
      if (block.type === "inline" && block.children) {
        block.children = referencesIn(block, create, env as Surroundings);
      }
    }
  });
  markdown.core.ruler.push("tasks", ({ tokens, Token: Created }) => {
    const lists: Token[] = [];
    tokens.forEach((block, index) => {
      if (block.type === "bullet_list_open" || block.type === "ordered_list_open")
        lists.push(block);
      if (block.type === "bullet_list_close" || block.type === "ordered_list_close") lists.pop();
      const all = block.type === "inline" ? (block.children ?? []) : [];
      const [first] = all;
      if (first?.type !== "text") return;
      const isCell = tokens[index - 1]?.type === "td_open";
      const item = tokens[index - 2];
      const isItem = item?.type === "list_item_open";
      const [mark] = (isCell ? CELL_MARK : MARK).exec(first.content) ?? [];
      if (mark === undefined || (isCell ? all.length > 1 : !isItem)) return;
      const box = new Created("task", "input", 0);
      box.info = mark;
      if (!isCell) box.map = block.map;
      first.content = first.content.slice(mark.length);
      block.children = [box, ...all];
      if (isCell || !item) return;
      item.attrSet("class", `task-list-item${mark === "[~]" ? " inapplicable" : ""}`);
      lists.at(-1)?.attrSet("class", "task-list");
      if (mark !== "[~]") return;
      const space = Object.assign(new Created("text", "", 0), { content: first.content[0] });
      first.content = first.content.slice(1);
      const [open, close] = [1, -1].map((nesting) =>
        Object.assign(new Created(nesting > 0 ? "left_out_open" : "left_out_close", "s", 0), {
          nesting,
        }),
      ) as [Token, Token];
      block.children = [box, space, open, ...all, close];
    });
  });
  const { rules } = markdown.renderer;
  const { escapeHtml } = markdown.utils;
  rules["task"] = (tokens, index, _, environment) => {
    const { isGitLabs, isPage } = environment as Surroundings;
    const { info, map } = tokens[index] as Token;
    const button = isGitLabs ? "<task-button></task-button>" : "";
    const line = isPage && map && info !== "[~]" ? ` data-line="${map[0]}"` : "";
    return `${button}<input type="checkbox" class="task-list-item-checkbox"${TASKS[info] ?? ""}${line} disabled>`;
  };
  rules["left_out_open"] = () => '<s class="inapplicable">';
  rules["s_open"] = () => "<del>";
  rules["s_close"] = () => "</del>";
  rules["escaped"] = (tokens, index) =>
    `<span data-escaped-char>${escapeHtml((tokens[index] as Token).content)}</span>`;
  addFound(markdown);
  await addInline(markdown);
  addBalance(markdown);
  const image = rules["image"];
  rules["image"] = (tokens, index, options, environment, self) => {
    addressOf(tokens[index] as Token, "src", environment);
    return image ? image(tokens, index, options, environment, self) : "";
  };
  // What is written is looked up, and put in, once all texts were read: their tokens take far more memory than HTML.
  const noted = (environment: object | undefined, reference: Written) => {
    const written = (environment as { written: Written[] }).written;
    written.push(reference);
    return `\0${written.length - 1}\0`;
  };
  rules["reference"] = (tokens, index, _, environment) => {
    const { content, meta } = tokens[index] as Token;
    const href = meta?.["href"] as string | undefined;
    return noted(environment, { content, reference: meta?.["reference"] as TextReference, href });
  };
  // The link is an author's, and says what it is about itself.
  rules["reference_open"] = (tokens, index, options, environment, self) => {
    const { meta } = tokens[index] as Token;
    let end = index + 1;
    while (end < tokens.length && tokens[end]?.type !== "link_close") end += 1;
    const within = self.renderInline(tokens.slice(index + 1, end), options, environment ?? {});
    const otherwise = rules["link_open"]?.(tokens, index, options, environment ?? {}, self);
    return noted(environment, {
      ...{ content: within.replaceAll("\0", ""), reference: meta?.["reference"] as TextReference },
      otherwise,
    });
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

/** What stands before a task, and what a cell of a table that is a task consists of. */
const MARK = /^\[[ xX~]\](?=\s)/;
const CELL_MARK = /^\[[ xX~]\]$/;

/** Characters that begin references, which a backslash takes away from them. */
const ESCAPED = /^[#!$@~%&^:]$/;

/** A reference, as it is written. */
interface Written {
  /** What is shown: a text or, in a link, HTML. */
  readonly content: string;
  readonly reference: TextReference;
  /** The address that it is a link to in any case. */
  readonly href?: string | undefined;
  /** Of an author's link, how it begins if it refers to nothing. */
  readonly otherwise?: string | undefined;
}

type LinkOf = (reference: TextReference) => ReferenceLink | undefined;

/** A reference as HTML, with the attributes of GitLab's; of an author's link, only how it begins. */
function linkHtml(
  link: ReferenceLink,
  { content, reference, href: written, otherwise }: Written,
  escaped: (text: string) => string,
): string {
  const { href, title, className, classes, data = {}, label } = link;
  const { format, address } = reference;
  const isAuthors = otherwise !== undefined;
  const all: Record<string, string | number> = {
    "reference-type": className === "project_member" ? "user" : className,
    original: content,
    link: String(isAuthors),
    "link-reference": String(isAuthors && address !== undefined),
    ...(format && { "reference-format": format }),
    ...data,
    container: "body",
    placement: "top",
  };
  const attributes = Object.entries(all).map(
    ([name, value]) => ` data-${name}="${escaped(String(value))}"`,
  );
  const to = escaped(written?.replace(/\+s?$/, "") ?? `${href}${address?.rest ?? ""}`);
  const start = `<a href="${to}" title="${escaped(title)}"${attributes.join("")} class="gfm gfm-${className}${classes ?? ""}">`;
  if (isAuthors) return start;
  const from = link.from === undefined ? "" : ` <i>in ${escaped(link.from)}</i>`;
  if (!label) return `${start}${shownHtml(link, { content, reference }, escaped)}${from}</a>`;
  const light = label.isLight ? "light" : "dark";
  return (
    `<span class="gl-label gl-label-sm">${start}<span class="gl-label-text gl-label-text-${light}" data-container="body" ` +
    `data-html="true" style="background-color: ${escaped(label.color)}">${escaped(link.text ?? content)}${from}</span></a></span>`
  );
}

/** What a reference is shown as. */
function shownHtml(
  { text, withTitle, withSummary, state, commit }: ReferenceLink,
  { content, reference: { format, address } }: Written,
  escaped: (text: string) => string,
): string {
  const plain = text ?? content;
  const long = format === "+s" ? (withSummary ?? withTitle) : format && withTitle;
  const [page, ...told] = address?.told ?? [];
  const about = [page, ...told].flatMap((one) => (one === undefined ? [] : [escaped(one)]));
  if (commit !== undefined && page !== undefined) {
    about[0] = `<span class="gfm gfm-commit">${escaped(commit)}</span>`;
  }
  const shown = escaped(long ?? plain);
  if (about.length > 0) return `${shown} (${about.join(", ")})`;
  return state === undefined || format ? shown : `${shown} (${escaped(state)})`;
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
    const number = Number.parseInt(digest("sha1", text).slice(0, 8), 16);
    html = markdown.render(text, { ...surroundings, digest: number, written });
  } catch (error) {
    if (!(error instanceof TooManyPieces)) throw error;
    return asText(text);
  }
  const { escapeHtml } = markdown.utils;
  const put = (at: number, linkOf: LinkOf | undefined) => {
    const one = written[at] as Written;
    const link = linkOf?.(one.reference);
    if (link) return linkHtml(link, one, escapeHtml);
    if (one.otherwise !== undefined) return one.otherwise;
    const shown = escapeHtml(one.content);
    return one.href === undefined ? shown : `<a href="${escapeHtml(one.href)}">${shown}</a>`;
  };
  return {
    references: written.map(({ reference }) => reference),
    length: html.length,
    html: (linkOf) => html.replace(/\0(\d+)\0/g, (_, at: string) => put(Number(at), linkOf)),
  };
}
