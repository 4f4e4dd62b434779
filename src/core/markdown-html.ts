import type { MarkdownIt, StateCore, StateInline, Token } from "markdown-it";

// HTML in Markdown. No parser of HTML decides what is safe: each tag of an author is read by CommonMark's strict grammar, and
// if it is on a list, one of our own is written in its place, with the attributes that are on lists, in quotes. Everything
// else is text, or nothing. What is opened is closed where its block ends, and nothing is closed that is not open, so that
// a text cannot end the elements of the page that it is shown in (decision 58).

/** Tags that an author may write, besides links and pictures. */
const TAGS = new Set(
  `h1 h2 h3 h4 h5 h6 h7 h8 br b i strong em pre code tt div ins del sup sub p ol ul li table thead tbody tfoot tr td th
  blockquote dl dt dd kbd q samp var hr ruby rt rp s strike summary details caption figure figcaption abbr bdo cite dfn
  mark small span time wbr`.split(/\s+/),
);
const VOID = new Set(["br", "hr", "wbr"]);
/** What is inside of these is no text, even where they are not allowed. */
const WITHOUT_TEXT = new Set(
  "script style iframe noscript noembed noframes xmp template svg math object".split(" "),
);
/** Tags that would end elements around the text, if they were not in one of these. */
const PARENTS: Readonly<Record<string, readonly string[]>> = {
  li: ["ul", "ol"],
  ...Object.fromEntries(
    ["thead", "tbody", "tfoot", "tr", "td", "th", "caption"].map((tag) => [tag, ["table"]]),
  ),
  dt: ["dl"],
  dd: ["dl"],
  rt: ["ruby"],
  rp: ["ruby"],
};

/** Attributes that all tags may have. */
const ATTRIBUTES = new Set(
  `abbr align alt aria-describedby aria-hidden aria-label aria-labelledby axis border cellpadding cellspacing char charoff
  clear color colspan compact datetime dir headers height hreflang hspace itemprop lang media nowrap open progress role
  rowspan rules scope span start summary title type valign value vspace width`.split(/\s+/),
);
/** Classes that mean something in GitLab's pages. */
const CLASSES: Readonly<Record<string, RegExp>> = {
  a: /^anchor$/,
  div: /^markdown-alert(?:-[a-z]+)?$/,
  p: /^markdown-alert(?:-[a-z]+)?$/,
  span: /^(?:idiff|left|right|addition|deletion)$/,
  code: /^(?:idiff|left|right|addition|deletion)$/,
};
const ALIGNED = /(?:^|;)\s*text-align\s*:\s*(left|right|center|justify|start|end)\s*(?:;|$)/i;

/** How deep an author's tags nest; those that are deeper are left out. */
const MAX_DEPTH = 100;

/** A tag as CommonMark has it. No part of it can match in two ways. */
const TAG =
  /<(\/?)([a-z][a-z\d-]*)((?:\s+[a-z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?)*)\s*\/?>/iy;
const ATTRIBUTE = /([a-z_:][\w.:-]*)(?:\s*=\s*(?:([^\s"'=<>`]+)|'([^']*)'|"([^"]*)"))?/gi;
/** What is in HTML but no tag: how it begins, and how it ends. */
const ASIDES: readonly [begin: RegExp, end: string][] = [
  [/<!--/y, "-->"],
  [/<\?/y, "?>"],
  [/<!\[CDATA\[/y, "]]>"],
  [/<![a-z]/iy, ">"],
];

/** An author's tag: its name, and attributes as they are written. */
interface Written {
  readonly name: string;
  readonly isClosing: boolean;
  readonly attributes: string;
}

/** Reads the tags, comments and the like of one text: ends that it does not have are looked for once. */
class Reader {
  readonly #text: string;
  readonly #missing = new Set<string>();

  constructor(text: string) {
    this.#text = text;
  }

  /** Where the HTML that begins at a `<` ends; `undefined` if it is none. */
  endOf(at: number): number | undefined {
    TAG.lastIndex = at;
    if (TAG.test(this.#text)) return TAG.lastIndex;
    for (const [begin, end] of ASIDES) {
      begin.lastIndex = at;
      if (!begin.test(this.#text) || this.#missing.has(end)) continue;
      const found = this.#text.indexOf(end, begin.lastIndex - (end === ">" ? 1 : 0));
      if (found >= 0) return found + end.length;
      this.#missing.add(end);
    }
    return undefined;
  }
}

/** The tag that a piece of HTML is; `undefined` for comments and the like. */
function tagOf(html: string): Written | undefined {
  TAG.lastIndex = 0;
  const [, slash, name, attributes = ""] = TAG.exec(html) ?? [];
  if (name === undefined) return undefined;
  return { name: name.toLowerCase(), isClosing: slash === "/", attributes };
}

/** What converts the HTML of one text. */
interface Converting {
  readonly markdown: MarkdownIt;
  create(type: string, tag: string, nesting: -1 | 0 | 1): Token;
}

/** Decodes the entities of a text in HTML. */
const decoded = ({ utils }: MarkdownIt, text: string) =>
  text
    .replace(/&(?:#x[\da-f]{1,6}|#\d{1,7}|[a-z][a-z\d]{1,31});/gi, utils.unescapeAll)
    .replaceAll("\0", "\ufffd");

/** An address as browsers read it, if it may be one: they leave out line breaks and tabs. */
function addressIn({ normalizeLink, validateLink }: MarkdownIt, written: string) {
  const address = normalizeLink(written.replace(/\p{Cc}/gu, "").trim());
  return validateLink(address) ? address : undefined;
}

/** The attributes of a tag that may stay. */
function attributesOf({ name, attributes }: Written, markdown: MarkdownIt): [string, string][] {
  const kept = new Map<string, string>();
  for (const [, written = "", bare, single, double] of attributes.matchAll(ATTRIBUTE)) {
    const attribute = written.toLowerCase();
    const value = decoded(markdown, bare ?? single ?? double ?? "");
    const shown = keptValue(name, attribute, value, markdown);
    if (shown !== undefined && !kept.has(attribute)) kept.set(attribute, shown);
  }
  return [...kept];
}

/** What stays of the value of an attribute; `undefined` if the tag may not have it. */
function keptValue(
  tag: string,
  name: string,
  value: string,
  markdown: MarkdownIt,
): string | undefined {
  if (name === "class") {
    const allowed = CLASSES[tag];
    const classes = allowed ? value.split(/\s+/).filter((one) => allowed.test(one)) : [];
    return classes.length === 0 ? undefined : classes.join(" ");
  }
  if (name === "style" && (tag === "td" || tag === "th")) {
    const [, align] = ALIGNED.exec(value) ?? [];
    return align && `text-align: ${align.toLowerCase()}`;
  }
  if ((name === "href" && tag === "a") || (name === "src" && tag === "img")) {
    return addressIn(markdown, value);
  }
  if (name === "cite" && /^(?:blockquote|q|del|ins)$/.test(tag)) return addressIn(markdown, value);
  if (tag === "a" && name === "rel") return value === "license" ? value : undefined;
  if (tag === "a" && name === "id") return /^user-content-[\w-]+$/.test(value) ? value : undefined;
  if (tag === "a" && name === "name") return value;
  return ATTRIBUTES.has(name) ? value : undefined;
}

/** The token that a tag becomes; `undefined` if nothing stays of it. */
function tokenOf(written: Written, { markdown, create }: Converting): Token | undefined {
  const { name, isClosing } = written;
  if (name === "a") {
    if (isClosing) return Object.assign(create("link_close", "a", -1), { markup: "html" });
    const open = Object.assign(create("link_open", "a", 1), { markup: "html" });
    open.attrs = attributesOf(written, markdown);
    return open;
  }
  if (name === "img" && !isClosing) {
    const attributes = new Map(attributesOf(written, markdown));
    const alt = attributes.get("alt") ?? "";
    const image = create("image", "img", 0);
    image.content = alt;
    image.children = [Object.assign(create("text", "", 0), { content: alt })];
    image.attrs = [...attributes.set("src", attributes.get("src") ?? "").set("alt", "")];
    return image;
  }
  if (!TAGS.has(name) || (VOID.has(name) && isClosing)) return undefined;
  if (isClosing) return create("html_close", name, -1);
  const open = create(VOID.has(name) ? "html_void" : "html_open", name, VOID.has(name) ? 0 : 1);
  open.attrs = attributesOf(written, markdown);
  return open;
}

/** The tokens of HTML among those of a paragraph, or of a block of HTML. */
function converted(tokens: readonly Token[], converting: Converting): Token[] {
  const kept: Token[] = [];
  /** The tag whose content is left out. */
  let hidden: string | undefined;
  for (const token of tokens) {
    const written = token.type === "html_inline" ? tagOf(token.content) : undefined;
    if (hidden !== undefined) {
      if (written?.name === hidden && written.isClosing) hidden = undefined;
      // Links and emphasis of Markdown are closed in any case.
      if (token.nesting !== 0) kept.push(token);
      continue;
    }
    if (token.type !== "html_inline") kept.push(token);
    else if (written && WITHOUT_TEXT.has(written.name)) {
      if (!written.isClosing) hidden = written.name;
    } else {
      const made = written && tokenOf(written, converting);
      if (made) kept.push(made);
    }
  }
  return kept;
}

/** A block of HTML as the tokens of its tags and of the texts between them. */
function divided(html: string, { markdown, create }: Converting): Token[] {
  const parts: Token[] = [];
  const reader = new Reader(html);
  let end = 0;
  const addText = (until: number) => {
    if (until === end) return;
    const content = decoded(markdown, html.slice(end, until));
    parts.push(Object.assign(create("text", "", 0), { content }));
  };
  for (let at = html.indexOf("<"); at >= 0; at = html.indexOf("<", Math.max(end, at + 1))) {
    const after = reader.endOf(at);
    if (after === undefined) continue;
    addText(at);
    parts.push(Object.assign(create("html_inline", "", 0), { content: html.slice(at, after) }));
    end = after;
  }
  addText(html.length);
  return parts;
}

/** An element that is open: an author's, or one of Markdown's. */
interface Open {
  readonly tag: string;
  readonly close: Token | undefined;
}

const isAuthors = ({ type, markup }: Token) => type.startsWith("html_") || markup === "html";

/** Closes what authors opened where the element of Markdown ends that it is in, and leaves out what closes nothing. */
class Balance {
  readonly #create: Converting["create"];
  readonly #open: Open[] = [];

  constructor(create: Converting["create"]) {
    this.#create = create;
  }

  /** @returns tokens that are balanced with those before */
  tokens(tokens: readonly Token[]): Token[] {
    const kept: Token[] = [];
    for (const token of tokens) {
      if (token.type === "inline") {
        if (token.children) token.children = this.tokens(token.children);
        kept.push(token);
      } else if (isAuthors(token)) this.#authors(token, kept);
      else {
        if (token.nesting < 0) this.#closeTo(this.#ownDepth(), kept);
        if (token.nesting < 0) this.#open.pop();
        kept.push(token);
        if (token.nesting > 0) this.#open.push({ tag: token.tag, close: undefined });
      }
    }
    return kept;
  }

  /** Closes everything. */
  end(): Token[] {
    const kept: Token[] = [];
    this.#closeTo(0, kept);
    return kept;
  }

  #authors(token: Token, kept: Token[]): void {
    const { tag, nesting } = token;
    if (nesting < 0) {
      const at = this.#open.findLastIndex((one) => one.tag === tag || !one.close);
      if (at < 0 || !this.#open[at]?.close) return;
      this.#closeTo(at, kept);
      return;
    }
    const parents = PARENTS[tag];
    const isAlone = parents && !this.#open.some((one) => parents.includes(one.tag));
    const isNested = tag === "a" && this.#open.some((one) => one.tag === "a");
    if (isAlone || isNested || this.#open.length >= MAX_DEPTH) return;
    kept.push(token);
    if (nesting === 0) return;
    const closeType = tag === "a" ? "link_close" : "html_close";
    this.#open.push({ tag, close: this.#create(closeType, tag, -1) });
  }

  /** How many elements are open with the innermost one of Markdown. */
  #ownDepth(): number {
    return this.#open.findLastIndex(({ close }) => !close) + 1;
  }

  #closeTo(depth: number, kept: Token[]): void {
    while (this.#open.length > depth) {
      const { close } = this.#open.pop() as Open;
      if (close) kept.push(close);
    }
  }
}

/**
 * Adds the HTML that authors may write to a parser.
 *
 * @param mostPieces of one text: what has more is refused with `refuse`
 */
export function addHtml(markdown: MarkdownIt, mostPieces: number, refuse: () => never): void {
  const { core, inline } = markdown;
  const readers = new WeakMap<StateInline, Reader>();
  inline.ruler.at("html_inline", (state, isSilent) => {
    const { src, pos } = state;
    if (src[pos] !== "<") return false;
    const reader = readers.get(state) ?? new Reader(src);
    readers.set(state, reader);
    const end = reader.endOf(pos);
    if (end === undefined || end > state.posMax) return false;
    if (!isSilent) {
      const content = src.slice(pos, end);
      state.push("html_inline", "", 0).content = content;
      if (/^<a[\s>]/i.test(content)) state.linkLevel += 1;
      if (/^<\/a\s*>/i.test(content)) state.linkLevel -= 1;
    }
    state.pos = end;
    return true;
  });
  core.ruler.push("html", (state: StateCore) => {
    const create = (type: string, tag: string, nesting: -1 | 0 | 1) =>
      new state.Token(type, tag, nesting);
    const converting = { markdown, create };
    let pieces = 0;
    for (const token of state.tokens) {
      if (token.type === "html_block") {
        token.type = "inline";
        token.children = divided(token.content, converting);
        pieces += token.children.length;
        if (pieces > mostPieces) refuse();
      }
      if (!token.children?.some(({ type }) => type === "html_inline")) continue;
      token.children = converted(token.children, converting);
      state.env["hasTags"] = true;
    }
  });
}

/** Closes what authors opened, once everything else is in its place. */
export function addBalance({ core }: MarkdownIt): void {
  core.ruler.push("balance", (state) => {
    if (!state.env["hasTags"]) return;
    const balance = new Balance((type, tag, nesting) => new state.Token(type, tag, nesting));
    state.tokens = [...balance.tokens(state.tokens), ...balance.end()];
  });
}
