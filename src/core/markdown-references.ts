import type { MarkdownIt, Token } from "markdown-it";
import { isSafe } from "./markdown-links.ts";

// References in texts, found where no code and no link is. Each pattern takes time linear in the text: no part of one can
// match in two ways.

/** A reference in a text, such as `#1`, `group/project!2`, `@ada`, `~"in review"`, the name of a commit, or `a..b`. */
export interface TextReference {
  /** Its sigil; `>` is a project, `*` the page of a wiki. */
  readonly kind: "#" | "!" | "$" | "@" | "~" | "%" | "&" | ">" | "*" | "commit" | "range";
  /** The path of its project, or of an epic's group, as written; `undefined` for that of the text. */
  readonly project: string | undefined;
  /** A number or name. */
  readonly name: string;
  /** What is shown with it: its title (`#1+`), and who does it until when (`#1+s`). */
  readonly format?: "+" | "+s" | undefined;
  /** Whether a milestone is named by its number. */
  readonly byNumber?: boolean | undefined;
  /** Whether an issue is named as a work item: `[work_item:1]`. */
  readonly isWorkItem?: boolean | undefined;
  /** Whether the path begins with a slash: what it names is not said to be from elsewhere then. */
  readonly isAbsolute?: boolean | undefined;
  /** Of an address of this server: what follows the path of the page, and what is told of it. */
  readonly address?: PageAddress | undefined;
}

/** What the address of a page says besides what it is the page of. */
interface PageAddress {
  readonly rest: string;
  /** Such as `diffs` and `comment 3`. */
  readonly told: readonly string[];
  /** The commit whose changes a page of a merge request shows. */
  readonly commit?: string | undefined;
}

/** Makes a token of a type. */
export type Create = (type: string) => Token;

const BEFORE = String.raw`(?<![\w./@#!$~%&-])`;
const PATH = String.raw`(?:\w[\w.-]{0,99}\/){1,20}\w[\w.-]{0,99}`;

/** One reference: the path of a project, and the name. */
const REFERENCE =
  /(?<![\w./@#!$~%&-])(\/)?((?:[\w][\w.-]{0,99}\/){0,20}[\w][\w.-]{0,99})?(?:([#!$&])(\d{1,9})(\+s?)?|@([a-z0-9_][\w.-]{0,254}(?:\/\w[\w.-]{0,254}){0,20})|([~%])(?:"([^"\n]{1,255})"|([\w?&:][\w?&:.-]{0,254})))(?![\w-])/gi;

/** Another way to name issues, and what is named by its kind. */
const NAMED = new RegExp(
  `${BEFORE}(?:GL-(\\d{1,9})(\\+s?)?(?![\\w-])|` +
    `\\[(issue|work_item|epic):((?:\\w[\\w.-]{0,99}\\/){0,20})(\\d{1,9})(\\+s?)?\\]|` +
    `\\[wiki_page:(?:(${PATH}):)?([^\\]:\\n]{1,255})\\])`,
  "g",
);

const PROJECT = new RegExp(`${BEFORE}(${PATH})>(?!>)`, "g");

/** Makes references of all names of one kind in a text. @param read what a match refers to; `undefined` for nothing */
function withReferences(
  token: Token,
  create: Create,
  pattern: RegExp,
  read: (match: RegExpExecArray) => { written: string; reference: TextReference } | undefined,
): Token[] {
  const { content } = token;
  const parts: Token[] = [];
  let end = 0;
  for (const match of content.matchAll(pattern)) {
    const found = read(match);
    if (!found) continue;
    if (match.index > end) parts.push(textLike(token, create, content.slice(end, match.index)));
    const made = create("reference");
    made.content = found.written;
    made.meta = { reference: found.reference };
    made.level = token.level;
    parts.push(made);
    end = match.index + found.written.length;
  }
  if (parts.length === 0) return [token];
  if (end < content.length) parts.push(textLike(token, create, content.slice(end)));
  return parts;
}

const formatOf = (written: string | undefined) => (written || undefined) as TextReference["format"];

/** What text outside of links may have, and what replaces its tokens then; some of it only in GitLab's Markdown. */
const REPLACED: readonly {
  readonly sign: RegExp;
  readonly replace: (token: Token, create: Create) => Token[];
  readonly isGitLabs?: true;
}[] = [
  { sign: /www\.|:\/\//i, replace: withPlainLinks },
  { sign: /%\{\w/, replace: withPlaceholders, isGitLabs: true },
  { sign: /GL-\d|\[(?:issue|work_item|epic|wiki_page):/, replace: withNames },
  { sign: /\w>/, replace: withProjects },
  { sign: /[\da-f]{7}/, replace: withCommits },
  { sign: /[[{][+-]/, replace: withChanges },
  { sign: /[#!$@~%&]/, replace: withSigils },
];

/** Makes references of what a paragraph refers to. @param base the server's public address, if its pages are known */
export function referencesIn(
  { content, children }: Token,
  create: Create,
  { base, isGitLabs }: { base?: string | undefined; isGitLabs?: boolean | undefined },
): Token[] {
  let found = children ?? [];
  if (isGitLabs) found = withAddresses(found, base, create);
  for (const { sign, replace, isGitLabs: isTheirs } of REPLACED) {
    // Most texts have none, and a text may have thousands of tokens.
    if (!sign.test(content) || (isTheirs && !isGitLabs)) continue;
    found = outsideOfLinks(found, (token) => replace(token, create));
  }
  return found;
}

/** An author's elements in which nothing is a reference. */
const LITERAL = new Set(["a", "pre", "code", "tt"]);

/** Replaces the tokens of text that is in no link and no code. */
function outsideOfLinks(children: readonly Token[], replace: (token: Token) => Token[]): Token[] {
  const replaced: Token[] = [];
  let depth = 0;
  for (const token of children) {
    if (LITERAL.has(token.tag)) depth = Math.max(0, depth + token.nesting);
    if (token.type === "text" && depth === 0) replaced.push(...replace(token));
    else replaced.push(token);
  }
  return replaced;
}

/** A token of text like another one. */
function textLike({ level }: Token, create: Create, content: string): Token {
  return Object.assign(create("text"), { content, level });
}

/** An address that begins with `www.` or with a protocol that others do not look for. */
const PLAIN =
  /(?<![\w./@:-])(?:www\.[\w-]+(?:\.[\w-]+)+(?:[/?#][^\s<]*)?|[a-z][a-z\d+.-]{1,30}:\/\/[^\s<]+)/gi;

/** Makes links of addresses that are written as they are. Punctuation at their ends is no part of them. */
function withPlainLinks(token: Token, create: Create): Token[] {
  const { content } = token;
  const parts: Token[] = [];
  let end = 0;
  for (const { 0: written, index } of content.matchAll(PLAIN)) {
    const address = written.slice(0, lengthOf(written));

    const to = /^www\./i.test(address) ? `http://${address}` : address;
    if (!isSafe(to) || to.endsWith("://")) continue;
    const open = create("link_open");
    open.tag = "a";
    open.nesting = 1;
    open.attrSet("href", encodeURI(to.toWellFormed()));
    const close = create("link_close");
    close.tag = "a";
    close.nesting = -1;
    parts.push(textLike(token, create, content.slice(end, index)));
    parts.push(open, textLike(token, create, address), close);
    end = index + address.length;
  }
  return [...parts, textLike(token, create, content.slice(end))];
}

/** How long an address is without the punctuation, and the brackets that were opened before it, at its end. */
function lengthOf(written: string): number {
  let unopened = 0;
  for (const character of written) {
    if (character === ")") unopened += 1;
    if (character === "(") unopened -= 1;
  }
  let length = written.length;
  for (;;) {
    const last = written[length - 1] as string;
    if (last === ")" && unopened > 0) unopened -= 1;
    else if (!/[?!.,:*_~'"]/.test(last)) return length;
    length -= 1;
  }
}

/** Marks names between `%{` and `}`, which GitLab can put values in the place of. */
function withPlaceholders(token: Token, create: Create): Token[] {
  const { content } = token;
  const parts: Token[] = [];
  let end = 0;
  for (const { 0: written, index } of content.matchAll(/%\{\w{1,100}\}/g)) {
    parts.push(textLike(token, create, content.slice(end, index)));
    parts.push(Object.assign(create("placeholder"), { content: written }));
    end = index + written.length;
  }
  return parts.length === 0 ? [token] : [...parts, textLike(token, create, content.slice(end))];
}

/** Makes references of `GL-1`, `[issue:1]`, `[work_item:group/project/1]`, `[epic:1]` and `[wiki_page:home]`. */
function withNames(token: Token, create: Create): Token[] {
  return withReferences(token, create, NAMED, (match) => {
    const [written, gl, glFormat, word, path, number, format, place, slug] = match;
    if (slug !== undefined) {
      return { written, reference: { kind: "*", project: place, name: slug } };
    }
    const kind = word === "epic" ? "&" : "#";
    const reference: TextReference = {
      ...{ kind, project: path?.slice(0, -1) || undefined, name: (gl ?? number) as string },
      ...{ format: formatOf(glFormat ?? format), isWorkItem: word === "work_item" || undefined },
    };
    return { written, reference };
  });
}

/** Makes references of `group/project>`. */
function withProjects(token: Token, create: Create): Token[] {
  return withReferences(token, create, PROJECT, ([written, path = ""]) => ({
    written,
    reference: { kind: ">", project: path, name: "" },
  }));
}

/** The names of commits, shortened or not, one or two of them, and the path of their project before. */
const COMMITS =
  /(?<![\w./@#!$~%&+-])(?:((?:\w[\w.-]{0,99}\/){1,20}\w[\w.-]{0,99})@)?([\da-f]{7,40})(?:(\.{2,3})([\da-f]{7,40}))?(?![\w/@-]|\.\w)/g;

/** Makes references of what may be the names of commits. */
function withCommits(token: Token, create: Create): Token[] {
  return withReferences(token, create, COMMITS, (match) => {
    const [written, project, first, dots, second] = match;
    const name = `${first}${dots ?? ""}${second ?? ""}`;
    return { written, reference: { kind: dots ? "range" : "commit", project, name } };
  });
}

/** Pages of this server that addresses in texts are of, by the sigils of what they show. */
const PAGE = new RegExp(
  `^\\/(${PATH})\\/-\\/(?:(issues|work_items|merge_requests|snippets|milestones|epics|commit)\\/` +
    "(\\d{1,9}|[\\da-f]{40})(\\/(?:diffs|commits|pipelines)|\\.patch|\\.diff)?(\\?[\\w=&%.-]{0,300})?(#note_\\d{1,15})?(\\+s?)?" +
    "|wikis\\/([\\w%./-]{1,1000}))$",
);
const SIGILS: Readonly<Record<string, TextReference["kind"]>> = {
  issues: "#",
  work_items: "#",
  merge_requests: "!",
  snippets: "$",
  milestones: "%",
  epics: "&",
  commit: "commit",
};

/** What the address of a page of this server refers to. */
function referenceAt(address: string, base: string): TextReference | undefined {
  const found = PAGE.exec(address.slice(base.length));
  if (!found) return undefined;
  const [, project, page = "", name, below = "", query = "", note = "", format, slug] = found;
  if (slug !== undefined) return { kind: "*", project, name: unescaped(slug) };
  const kind = SIGILS[page] as TextReference["kind"];
  const [, commit] = /[?&]commit_id=([\da-f]{40})(?:&|$)/.exec(query) ?? [];
  const told = below === "" ? [] : [below.slice(1)];
  if (note !== "") told.push(`comment ${note.slice("#note_".length)}`);
  return {
    ...{ kind, project: kind === "&" ? project?.replace(/^groups\//, "") : project },
    ...{ name: name as string, byNumber: kind === "%" || undefined },
    ...{ format: formatOf(format), isWorkItem: page === "work_items" || undefined },
    address: { rest: `${below}${query}${note}`, told, commit },
  };
}

function unescaped(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** What a link leads to that an author wrote: a reference instead of an address, or the address of a page of this server. */
function referenceOf(href: string, base: string | undefined): TextReference | undefined {
  if (base !== undefined && href.startsWith(`${base}/`)) return referenceAt(href, base);
  const found = /^(?:((?:\w[\w.-]{0,99}\/){0,20}\w[\w.-]{0,99}))?([#!$&])(\d{1,9})$/.exec(href);
  if (!found) return undefined;
  const [, project, kind, name] = found;
  return { kind: kind as TextReference["kind"], project, name: name as string };
}

/** Makes references of addresses of this server that were written as they are, and of links to what is referred to. */
function withAddresses(
  children: readonly Token[],
  base: string | undefined,
  create: Create,
): Token[] {
  const replaced: Token[] = [];
  for (let at = 0; at < children.length; at += 1) {
    const token = children[at] as Token;
    replaced.push(token);
    if (token.type !== "link_open") continue;
    const href = String(token.attrGet("href") ?? "");
    const reference = referenceOf(href, base);
    if (!reference) continue;
    const isPlain = token.markup === "linkify" || token.markup === "autolink";
    if (!isPlain) {
      token.type = "reference_open";
      token.meta = { reference };
    } else if (children[at + 2]?.type === "link_close") {
      const made = create("reference");
      made.content = (children[at + 1] as Token).content;
      made.meta = { reference, href };
      replaced.splice(-1, 1, made);
      at += 2;
    }
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

/** Makes references of what has a sigil. */
function withSigils(token: Token, create: Create): Token[] {
  return withReferences(token, create, REFERENCE, (match) => {
    const [whole, slash, project, sigil, number, format, user, mark, quoted, plain] = match;
    // Only what has a number is named by the last part of its project's path alone.
    const isWhole = project === undefined || project.includes("/") || /[#!&]/.test(sigil ?? "");
    if (!isWhole || (user !== undefined && project !== undefined)) return undefined;
    if (slash && (mark === undefined || project === undefined)) return undefined;
    // The end of a sentence is not the end of a name.
    const written = user !== undefined || plain !== undefined ? withoutStop(whole) : whole;
    const kind = (sigil ?? mark ?? "@") as TextReference["kind"];
    const name =
      number ??
      quoted ??
      (user ?? plain ?? "").slice(0, written.length - whole.length || undefined);
    const byNumber = (mark === "%" && plain !== undefined && /^\d{1,9}$/.test(name)) || undefined;
    const isAbsolute = slash !== undefined || undefined;
    const reference = { kind, project, name, format: formatOf(format), byNumber, isAbsolute };
    return { written, reference };
  });
}

/** Adds how what is found in texts is written as HTML, but for references. */
export function addFound({ renderer: { rules }, utils: { escapeHtml } }: MarkdownIt): void {
  rules["placeholder"] = (tokens, at) =>
    `<span data-placeholder>${escapeHtml((tokens[at] as Token).content)}</span>`;
  rules["change"] = (tokens, at) => {
    const { content, info } = tokens[at] as Token;
    return `<span class="idiff left right ${info}">${escapeHtml(content)}</span>`;
  };
}
