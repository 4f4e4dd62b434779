import type { MarkdownIt, RendererRule, Token } from "markdown-it";
import type { ColorBlock } from "./code-colors.ts";

// Where links and pictures lead: to files of the repository, pages of the wiki, uploaded files, or away.

/** Where a text is shown. */
export interface Surroundings {
  /** The server's public address. Default: unknown. */
  readonly base?: string | undefined;
  /** The full path of the text's project, if it has one. */
  readonly projectPath?: string | undefined;
  /** The default branch of that project, which relative links are into. Default: they stay. */
  readonly branch?: string | undefined;
  /** The path of the wiki that `[[page]]` is a link into, such as `group/project/-/wikis`. Default: none. */
  readonly wikiPath?: string | undefined;
  /** The slug of the page of that wiki that the text is; relative links are into the wiki then. */
  readonly slug?: string | undefined;
  /** Whether it is rendered as GitLab's Markdown, with emoji and the like. */
  readonly isGitLabs?: boolean | undefined;
  /** Whether the text is a comment: there its headings have no names, as others on the same page may. */
  readonly isComment?: boolean | undefined;
  /** Whether it is shown on a page without a script that loads pictures. */
  readonly isPage?: boolean | undefined;
  /** Colours its blocks of code. Default: they have none. */
  readonly colorBlock?: ColorBlock | undefined;
}

/** Addresses without an authority whose protocol is known to do no harm. */
const KNOWN = /^(?:https?|mailto|ftp|xmpp|ircs?|tel|sms|news|magnet|geo|urn|matrix):/i;
/** Those with one: only these protocols run what an address says, or show it as a page of this server. */
const UNSAFE =
  /^(?:javascript|vbscript|livescript|mocha|data|blob|filesystem|file|jar|view-source|about):/i;

/** Whether links and pictures may have an address: one that is relative, or of a protocol that is safe. */
export function isSafe(address: string): boolean {
  const plain = address.trim();
  if (!/^[a-z][a-z\d+.-]*:/i.test(plain)) return true;
  return KNOWN.test(plain) || (/^[^:]*:\/\//.test(plain) && !UNSAFE.test(plain));
}

const UPLOAD = /^\/uploads\/[\da-f]{32}\/[^/]+$/;

/** Addresses that are no paths of files: those with a protocol or server, and parts of the page. */
const NO_FILE = /^(?:[a-z][a-z\d+.-]*:|\/\/|#|\?|$)/i;
const PICTURE =
  /\.(?:png|jpe?g|gif|svg|webp|bmp|ico|tiff?|mp4|m4v|mov|webm|ogv|mp3|oga|ogg|spx|wav)$/i;

/**
 * Gives a link or picture the address that it has from outside of the place that its text is in, and returns it. What it
 * was before is told of uploaded files.
 */
export function addressOf(
  token: Token,
  name: "href" | "src",
  environment: object | undefined,
): string {
  const address = String(token.attrGet(name) ?? "");
  const around = (environment ?? {}) as Surroundings;
  const { base, projectPath, branch, wikiPath, slug } = around;
  if (base === undefined || NO_FILE.test(address)) return address;
  const isUpload = projectPath !== undefined && UPLOAD.test(address);
  let path: string | undefined;
  // What the server writes of changes links to pages of the project by their paths.
  const isPage = projectPath !== undefined && address.startsWith(`/${projectPath}/-/`);
  if (isUpload) path = `/${projectPath}${address}`;
  else if (isPage) path = address;
  else if (slug !== undefined && wikiPath) path = pageAt(address, slug, wikiPath);
  else if (branch && projectPath !== undefined)
    path = `/${projectPath}${fileAt(address, name, branch)}`;
  if (path === undefined) return address;
  if (around.isGitLabs && slug === undefined) token.attrJoin("class", "gfm");
  if (around.isGitLabs && isUpload) {
    token.attrSet("data-canonical-src", address);
    if (name === "href") token.attrSet("data-link", "true");
  }
  token.attrSet(name, base + path);
  return base + path;
}

/** The path that `.` and `..` lead to. */
function resolved(path: string): string[] {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return parts;
}

const divided = (address: string): [path: string, rest: string] => {
  const [, path = "", rest = ""] = /^([^?#]*)(.*)$/s.exec(address) ?? [];
  return [path, rest];
};

/** The page of a file, or folder, of the project that a text is about, below the project's. */
function fileAt(address: string, name: "href" | "src", branch: string): string {
  const [path, rest] = divided(address);
  const parts = resolved(path);
  const isRaw = name === "src" || PICTURE.test(path);
  const page = isRaw ? "raw" : path.endsWith("/") || parts.length === 0 ? "tree" : "blob";
  const ref = branch.split("/").map(encodeURIComponent).join("/");
  return `/-/${page}/${[ref, ...parts].join("/")}${rest}`;
}

/**
 * The page, or file, of a wiki that a link of a page leads to: names of files and paths that begin with a dot are relative to
 * the page, all others to the wiki.
 */
function pageAt(address: string, slug: string, wikiPath: string): string {
  const [path, rest] = divided(address);
  if (`${path}/`.startsWith(`/${wikiPath}/`)) return `${path}${rest}`;
  const isBeside = /^\.|^(?!uploads\/)(?!\/).*[^/]\.[^./]+$/s.test(path);
  const folder = isBeside ? slug.slice(0, slug.lastIndexOf("/") + 1) : "";
  const escaped = folder.split("/").map(encodeURIComponent).join("/");
  return `/${[wikiPath, ...resolved(escaped + path)].join("/")}${rest}`;
}

/** What links to somewhere else have, so that the page there learns nothing of this one. */
const AWAY = "nofollow noreferrer noopener";

/** Whether an address is below another one. */
const isBelow = (address: string, base: string | undefined) =>
  base !== undefined && `${address}/`.toLowerCase().startsWith(`${base.toLowerCase()}/`);

/** What a link to somewhere else says of itself. */
function markAway(link: Token, href: string): void {
  if (/^(?:https?:|\/\/)/i.test(href)) {
    link.attrSet("rel", link.attrGet("rel") === "license" ? `${AWAY} license` : AWAY);
    link.attrSet("target", "_blank");
  }
  // Names of servers, and texts, that look like others.
  if (/^[a-z]+:\/\/[^/?#]*xn--/i.test(href) || /%E2%80%AE/i.test(href)) {
    link.attrJoin("class", "has-tooltip");
    link.attrSet("title", href);
  }
}

/** What is between two pairs of brackets. */
const WIKI_LINK = /\[\[([^[\]|\n]{1,255})(?:\|([^[\]|\n]{1,255}))?\]\]/y;

/** What is shown in the place of a picture that is not loaded yet. */
const PLACEHOLDER = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==";

/** A picture as GitLab's script expects it, which loads it once it is seen; in a link to it, if it is in none. */
export function lazyPicture(
  token: Token,
  alt: string,
  environment: object | undefined,
  escaped: (text: string) => string,
): string {
  const { base } = (environment ?? {}) as Surroundings;
  const source = String(token.attrGet("src") ?? "");
  const canonical = token.attrGet("data-canonical-src");
  const own = canonical === null ? "" : ` data-canonical-src="${escaped(String(canonical))}"`;
  const isOfPlace = token.attrGet("class") !== null;
  const kept = (token.attrs ?? [])
    .filter(([name]) => !/^(?:src|alt|class|data-canonical-src)$/.test(name))
    .map(([name, value]) => ` ${name}="${escaped(String(value))}"`);
  const image =
    `<img src="${PLACEHOLDER}" alt="${escaped(alt)}"${kept.join("")}${own} decoding="async" ` +
    `class="lazy${isOfPlace ? " gfm" : ""}" data-src="${escaped(source)}">`;
  if (token.meta?.["isLinked"]) return image;
  const isAway = /^(?:https?:|\/\/)/i.test(source) && !isBelow(source, base);
  const link = canonical === null ? "" : `${own} data-link="true"`;
  return (
    `<a class="no-attachment-icon${isOfPlace ? " gfm" : ""}" href="${escaped(source)}"${link} target="_blank" ` +
    `rel="${isAway ? AWAY : "noopener noreferrer"}">${image}</a>`
  );
}

/** Adds to a parser where links lead. */
export function addLinks(markdown: MarkdownIt): void {
  const { core, inline, renderer } = markdown;
  const { rules } = renderer;
  markdown.validateLink = isSafe;
  inline.ruler.before("link", "wiki_link", (state, isSilent) => {
    const { wikiPath, isGitLabs } = state.env as Surroundings;
    if (!isGitLabs || !wikiPath || !state.src.startsWith("[[", state.pos)) return false;
    WIKI_LINK.lastIndex = state.pos;
    const [whole, first = "", second = first] = WIKI_LINK.exec(state.src) ?? [];
    const page = second.trim();
    if (whole === undefined || page === "" || /^_?toc_?$/i.test(page)) return false;
    const isAddress = /^https?:\/\//i.test(page);
    const href = markdown.normalizeLink(isAddress ? page : page.replaceAll(" ", "-"));
    if (!isAddress && NO_FILE.test(page)) return false;
    if (!isSilent && isAddress && PICTURE.test(page)) {
      const image = state.push("image", "img", 0);
      image.attrs = [
        ["src", href],
        ["alt", ""],
        ["class", "gfm"],
      ];
      image.children = [];
    } else if (!isSilent) {
      const open = state.push("link_open", "a", 1);
      open.markup = "wiki";
      open.attrs = Object.entries({
        href: isAddress ? href : `/${wikiPath}/${resolved(href).join("/")}`,
        class: `gfm${isAddress ? "" : " gfm-gollum-wiki-page"}`,
        "data-canonical-src": page,
        "data-link": "true",
        "data-gollum": "true",
        ...(!isAddress && { "data-reference-type": "wiki_page" }),
      });
      state.push("text", "", 0).content = first.trim();
      state.push("link_close", "a", -1).markup = "wiki";
    }
    state.pos += whole.length;
    return true;
  });
  core.ruler.push("within_links", ({ tokens }) => {
    for (const { children } of tokens) {
      let depth = 0;
      for (const token of children ?? []) {
        if (token.tag === "a") depth = Math.max(0, depth + token.nesting);
        if (depth === 0) continue;
        if (token.type === "image") token.meta = { isLinked: true };
        // What turns the order of letters round would show another address than that of the link.
        if (token.type === "text") token.content = token.content.replaceAll("\u202e", "%E2%80%AE");
      }
    }
  });
  const open: RendererRule = (tokens, index, options, environment, self) => {
    const token = tokens[index] as Token;
    const { base } = (environment ?? {}) as Surroundings;
    if (token.markup === "wiki" && base !== undefined) {
      const href = String(token.attrGet("href"));
      if (href.startsWith("/")) token.attrSet("href", base + href);
    }
    const href = addressOf(token, "href", environment);
    if (href !== "" && !isBelow(href, base)) markAway(token, href);
    return self.renderToken(tokens, index, options);
  };
  rules["link_open"] = open;
}
