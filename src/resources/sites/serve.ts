import type { Viewer } from "../../core/access/visibility.ts";
import { contentReply } from "../../core/http/file-reply.ts";
import { RawReply, type RequestInfo } from "../../core/resource.ts";
import { readFile } from "../../files/read.ts";
import { unpacked } from "../../files/zip.ts";
import type { Reader, Store } from "../../store/port.ts";
import { isOpenSite, maySeeSite } from "./abilities.ts";
import { typeOf } from "./content-types.ts";
import {
  type Deployment,
  deploymentsAt,
  type FoundSite,
  filesAt,
  type SiteFile,
} from "./queries.ts";
import { type Redirect, redirected } from "./redirects.ts";

/** What a site is asked with. */
export interface Asking {
  readonly db: Reader;
  /** Reads for as long as the client does. */
  readonly store: Store;
  readonly request: RequestInfo;
  readonly viewer: Viewer;
  readonly now: number;
}

/** A path in a URL: its names, decoded, and whether a slash follows the last. */
export interface SitePath {
  readonly names: readonly string[];
  readonly isFolder: boolean;
  /** As it is in the URL, with the slash at its beginning. */
  readonly raw: string;
}

/** The path that follows a part of a URL; `undefined` for one that no file has. */
export function pathAfter(path: string, before: string): SitePath | undefined {
  const raw = path.slice(before.length) || "/";
  const names: string[] = [];
  for (const part of raw.split("/")) {
    if (part === "") continue;
    const name = decoded(part);
    if (name === undefined || name === "." || name === ".." || /[/\\\0]/.test(name))
      return undefined;
    names.push(name);
  }
  return { names, isFolder: raw.endsWith("/"), raw };
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** How sites are shown at an address. */
export interface Showing {
  /** What the paths of the address begin with; empty for a host of sites. */
  readonly before: string;
  /** Headers of each answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** Where the site is that is asked for, where it has to be asked for elsewhere: without a slash at the end. */
  readonly elsewhere?: (found: FoundSite, deployment: Deployment | undefined) => string | undefined;
}

/** What browsers keep of an open site, in seconds, as from GitLab Pages. */
const KEPT = "max-age=600";

const UNKNOWN = "The page you're looking for could not be found.\n";

/** The answer where there is nothing. */
export const unknownPage = (headers: Readonly<Record<string, string>>): RawReply =>
  new RawReply(404, { ...headers, "content-type": "text/plain; charset=utf-8" }, UNKNOWN);

/**
 * Answers what a site has at a path: a file, that of a folder, what its rules of redirects say, or its page for what there
 * is not.
 *
 * @returns `undefined` if the caller can't see it, or nothing is published
 */
export async function answerSite(
  asking: Asking,
  found: FoundSite,
  path: SitePath,
  showing: Showing,
): Promise<RawReply | undefined> {
  const { db, request, viewer, now } = asking;
  const { site, rest } = found;
  if (!(await maySeeSite(db, site, viewer))) return undefined;
  const published = await deploymentsAt(db, site.id, rest[0] ?? "", now);
  const beside = published.find(({ path_prefix: prefix }) => prefix !== "");
  const deployment = beside ?? published[0];
  if (!deployment) return undefined;
  const other = showing.elsewhere?.(found, beside);
  if (other !== undefined) {
    const below = beside ? rest.slice(1) : rest;
    return redirect(308, `${other}${urlOf(below, path.isFolder)}`, request, showing);
  }
  const within = { names: beside ? rest.slice(1) : rest, isFolder: path.isFolder };
  const shown = {
    ...showing,
    headers: {
      ...showing.headers,
      ...(isOpenSite(site) && { "cache-control": KEPT, "access-control-allow-origin": "*" }),
    },
  };
  const isFile = await answerFile(asking, deployment, within, path, shown);
  if (isFile) return isFile;
  const rule = await ruleFor(db, deployment, path, shown);
  if (rule && rule.status !== 200) return redirect(rule.status, rule.to, request, shown, true);
  if (rule) {
    const target = pathAfter(rule.to.split(/[?#]/, 1)[0] as string, "");
    const above = path.names.length - within.names.length;
    const own = target && { ...target, names: target.names.slice(above) };
    const rewritten = own && (await answerFile(asking, deployment, own, path, shown, true));
    if (rewritten) return rewritten;
  }
  return answerUnknown(asking, deployment, shown);
}

/** A path in a URL. */
const urlOf = (names: readonly string[], isFolder: boolean): string => {
  const path = names.map((name) => `/${encodeURIComponent(name)}`).join("");
  return isFolder ? `${path}/` : path;
};

function redirect(
  status: number,
  to: string,
  { query }: RequestInfo,
  { before, headers }: Showing,
  isRule = false,
): RawReply {
  const location = to.startsWith("/") ? before + to : to;
  const search = query === "" || isRule ? "" : `?${query}`;
  return new RawReply(status, { ...headers, location: location + search }, "");
}

/** The rule of a site's `_redirects` that fits a path. */
async function ruleFor(
  db: Reader,
  { id }: Deployment,
  { raw }: SitePath,
  { before }: Showing,
): Promise<Pick<Redirect, "to" | "status"> | undefined> {
  const [row] = await db.rows("select redirects from site_deployments where id = ?", [id]);
  if (!row?.[0]) return undefined;
  return redirected(JSON.parse(String(row[0])), raw, before === "" ? "any" : "this host");
}

/** Compressed forms of files that sites may have beside them, and what clients call them. */
const ENCODINGS = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

/** @param isRewritten whether a folder is shown without a slash at its end */
async function answerFile(
  asking: Asking,
  deployment: Deployment,
  { names, isFolder }: Pick<SitePath, "names" | "isFolder">,
  path: SitePath,
  showing: Showing,
  isRewritten = false,
): Promise<RawReply | undefined> {
  const { db, request } = asking;
  const name = names.join("/");
  const index = name === "" ? "index.html" : `${name}/index.html`;
  const isPlace = isFolder || name === "";
  const wanted = isPlace ? [index] : [name, index, `${name}.html`];
  const taken = ENCODINGS.filter(([encoding]) => accepts(request, encoding));
  const packed = wanted.flatMap((one) => taken.map(([, end]) => one + end));
  const files = await filesAt(db, deployment.id, [...wanted, ...packed]);
  const found = wanted.find((one) => files.has(one));
  if (found === undefined) return undefined;
  const isAsked = path.isFolder || isRewritten || found !== index;
  // The root of a site, too: links of its page are relative to it.
  if (!isAsked) return redirect(302, urlOf(path.names, true), request, showing);
  const form = taken.find(([, end]) => files.has(found + end));
  const file = files.get(form ? found + form[1] : found) as SiteFile;
  return fileOf(asking, deployment, file, 200, {
    ...showing.headers,
    "content-type": typeOf(found),
    vary: "Accept-Encoding",
    ...(form && { "content-encoding": form[0] }),
  });
}

/** Whether a client takes an encoding: one that it names, and not with `q=0`. */
function accepts({ header }: RequestInfo, encoding: string): boolean {
  const sent = (header("accept-encoding") ?? "").toLowerCase().split(",");
  return sent.some((one) => {
    const [name, quality = ""] = one.split(";", 2).map((part) => part.trim());
    return name === encoding && !/^q=0(?:\.0*)?$/.test(quality);
  });
}

/** The site's own page for what there is not, or ours. */
async function answerUnknown(
  asking: Asking,
  deployment: Deployment,
  { headers }: Showing,
): Promise<RawReply> {
  const { "cache-control": _, ...rest } = headers;
  const file = (await filesAt(asking.db, deployment.id, ["404.html"])).get("404.html");
  if (!file) return unknownPage(rest);
  return fileOf(asking, deployment, file, 404, { ...rest, "content-type": typeOf("404.html") });
}

function fileOf(
  { store, request }: Asking,
  deployment: Deployment,
  file: SiteFile,
  status: 200 | 404,
  headers: Readonly<Record<string, string>>,
): RawReply {
  const { length: size } = file;
  const chunks = (from: number, to: number) => contentOf(store, deployment, file, from, to);
  if (status === 404)
    return new RawReply(404, headers, { length: size, chunks: () => chunks(0, size) });
  return contentReply(request, { size, etag: `"${deployment.id}-${file.id}"`, chunks }, headers);
}

/** The content of a file from a byte to before another. */
async function* contentOf(
  store: Store,
  { file_id }: Deployment,
  { begins_at: begin, packed, length, deflated }: SiteFile,
  from: number,
  to: number,
): AsyncGenerator<Uint8Array> {
  const bytes = (first: number, end: number) =>
    readFile(store, { id: file_id, size: begin + packed }, begin + first, begin + end);
  if (deflated === 0 && packed === length) {
    yield* bytes(from, to);
    return;
  }
  let at = 0;
  for await (const piece of unpacked(bytes(0, packed), { length, isDeflated: deflated === 1 })) {
    const part = piece.subarray(Math.max(0, from - at), Math.max(0, to - at));
    if (part.length > 0) yield part;
    at += piece.length;
    if (at >= to) return;
  }
}
