import type { MarkdownIt, Token } from "markdown-it";
import { paragraphs } from "./markup.ts";

/** A reference in a text, such as `#1`, `group/project!2`, `@ada` or `~"in review"`. */
export interface TextReference {
  readonly kind: "#" | "!" | "$" | "@" | "~" | "%";
  /** The path of its project, as written; `undefined` for the project of the text. */
  readonly project: string | undefined;
  /** A number or name. */
  readonly name: string;
}

/** What a reference is a link to. */
export interface ReferenceLink {
  readonly href: string;
  readonly title: string;
  /** GitLab's class for this kind of reference, without `gfm-`. */
  readonly className: string;
}

/** Longer texts are shown as they are, in paragraphs: rendering takes a thread as long as there are characters. */
export const MAX_MARKDOWN = 65_536;
/** How deep blocks and brackets nest; what is deeper stays text. */
const MAX_NESTING = 20;
/** A text of more blocks and cells is shown as it is: rows of a table get all cells that its head has. */
const MAX_BLOCKS = 40_000;

/** The protocols that links may have; addresses without one are relative. */
const PROTOCOL = /^(?:https?|mailto|ftp|xmpp|irc):/i;

/** One reference: what stands before it, the path of a project, and the name. No part of it can match in two ways. */
const REFERENCE =
  /(?<![\w./@#!$~%&-])((?:[\w][\w.-]{0,99}\/){1,20}[\w][\w.-]{0,99})?(?:([#!$])(\d{1,9})|@([a-z0-9_][\w.-]{0,254})|([~%])(?:"([^"\n]{1,255})"|([\w?&:][\w?&:.-]{0,254})))(?![\w-])/gi;

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

/** A text has more blocks than are rendered. */
class TooManyBlocks extends Error {
  override get name() {
    return "TooManyBlocks" as const;
  }
}

/** The parser is loaded with the first text that is rendered. */
async function load(): Promise<MarkdownIt> {
  const { default: Markdown } = await import("markdown-it");
  // Raw HTML is text. Without typographic replacements, texts stay what people wrote.
  const markdown = new Markdown({ html: false, linkify: true, maxNesting: MAX_NESTING });
  const { block } = markdown;
  block.State = class extends block.State {
    override push(...begun: Parameters<InstanceType<typeof block.State>["push"]>): Token {
      if (this.tokens.length >= MAX_BLOCKS) throw new TooManyBlocks();
      return super.push(...begun);
    }
  };
  markdown.validateLink = (url) => {
    const plain = url.trim();
    return !/^[a-z][a-z\d+.-]*:/i.test(plain) || PROTOCOL.test(plain);
  };
  markdown.core.ruler.push("references", ({ tokens, Token: Created }) => {
    for (const block of tokens) {
      if (block.type === "inline" && block.children) {
        block.children = withReferences(block.children, (type) => new Created(type, "", 0));
      }
    }
  });
  markdown.core.ruler.push("tasks", ({ tokens, Token: Created }) => {
    tokens.forEach((block, index) => {
      const first = block.type === "inline" ? block.children?.[0] : undefined;
      if (first?.type !== "text" || tokens[index - 2]?.type !== "list_item_open") return;
      const [mark] = /^\[[ xX]\](?=\s)/.exec(first.content) ?? [];
      if (mark === undefined) return;
      first.content = first.content.slice(mark.length);
      const box = new Created("task", "input", 0);
      box.hidden = mark === "[ ]";
      block.children?.unshift(box);
    });
  });
  const { rules } = markdown.renderer;
  const { escapeHtml } = markdown.utils;
  rules["task"] = (tokens, index) =>
    `<input type="checkbox" class="task-list-item-checkbox"${tokens[index]?.hidden ? "" : " checked"} disabled>`;
  rules["link_open"] = (tokens, index, options, _, self) => {
    const token = tokens[index] as Token;
    if (/^[a-z][a-z\d+.-]*:|^\/\//i.test(String(token.attrGet("href")))) {
      token.attrSet("rel", "nofollow noreferrer noopener");
      token.attrSet("target", "_blank");
    }
    return self.renderToken(tokens, index, options);
  };
  // What is written is looked up, and put in, once all texts were read: their tokens take far more memory than HTML.
  rules["reference"] = (tokens, index, _, environment) => {
    const { content, meta } = tokens[index] as Token;
    const written = environment?.["written"] as Written[];
    written.push({ content, reference: meta?.["reference"] as TextReference });
    return `\0${written.length - 1}\0`;
  };
  // Addresses of links may bring the character that marks references.
  rules["text"] = (tokens, index) =>
    escapeHtml((tokens[index] as Token).content.replaceAll("\0", "\ufffd"));
  return markdown;
}

/** A reference, as it is written. */
interface Written {
  readonly content: string;
  readonly reference: TextReference;
}

type LinkOf = (reference: TextReference) => ReferenceLink | undefined;

/** A text shown as it is, in paragraphs. */
export function asText(text: string): ParsedMarkdown {
  const html = paragraphs(text);
  return { references: [], length: html.length, html: () => html };
}

/**
 * Reads a Markdown text: CommonMark with tables, strikethrough, tasks and plain addresses as links. Takes time linear in
 * its length.
 */
export async function parseMarkdown(text: string): Promise<ParsedMarkdown> {
  if (text.length > MAX_MARKDOWN) return asText(text);
  renderer ??= load();
  const markdown = await renderer;
  const written: Written[] = [];
  let html: string;
  try {
    html = markdown.render(text, { written });
  } catch (error) {
    if (!(error instanceof TooManyBlocks)) throw error;
    return asText(text);
  }
  const references = new Map(written.map(({ content, reference }) => [content, reference]));
  const put = (at: number, linkOf: LinkOf | undefined) => {
    const { content, reference } = written[at] as Written;
    const { escapeHtml } = markdown.utils;
    const link = linkOf?.(reference);
    if (!link) return escapeHtml(content);
    const { href, title, className } = link;
    return `<a href="${escapeHtml(href)}" title="${escapeHtml(title)}" class="gfm gfm-${className}">${escapeHtml(content)}</a>`;
  };
  return {
    references: [...references.values()],
    length: html.length,
    html: (linkOf) => html.replace(/\0(\d+)\0/g, (_, at: string) => put(Number(at), linkOf)),
  };
}

/** Makes tokens of the references in text outside of links. */
function withReferences(children: Token[], create: (type: string) => Token): Token[] {
  let depth = 0;
  return children.flatMap((token) => {
    if (token.type === "link_open") depth += 1;
    if (token.type === "link_close") depth -= 1;
    return token.type === "text" && depth === 0 ? divided(token, create) : [token];
  });
}

function divided(token: Token, create: (type: string) => Token): Token[] {
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
    const [written, project, sigil, number, user, mark, quoted, plain] = match;
    if (user !== undefined && project !== undefined) continue;
    if (match.index > end) add("text", content.slice(end, match.index));
    const kind = (sigil ?? mark ?? "@") as TextReference["kind"];
    const name = number ?? user ?? quoted ?? plain ?? "";
    add("reference", written, { reference: { kind, project, name } satisfies TextReference });
    end = match.index + written.length;
  }
  if (parts.length === 0) return [token];
  if (end < content.length) add("text", content.slice(end));
  return parts;
}
