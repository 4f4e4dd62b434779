/*! Contains @hattip/compose and @hattip/router, (c) 2022 Fatih Aygün, under the MIT licence. */
import type { RequestContext } from "@hattip/compose";
import { createRouter } from "@hattip/router";
import { methodNotAllowed, notAcceptable, unreadable } from "../errors.ts";
import type { Method } from "../resource.ts";
import { type Endpoint, endpointOf } from "./endpoint.ts";
import type { Exchange } from "./exchange.ts";
import { type Incoming, isSafe, type Reply } from "./incoming.ts";
import { type Mount, ownsPath, unknownIn } from "./mount.ts";

/** Answers a matched request. */
export type Answer = (endpoint: Endpoint, exchange: Exchange) => Promise<Reply>;

/** Which paths are ours, and which endpoint answers them. */
export interface Router {
  /** Whether a path may be ours; others are the embedding app's. */
  mayOwn(incoming: Incoming): boolean;
  /**
   * Finds the endpoint and answers with it.
   *
   * @returns `undefined` if the path is not ours
   * @throws ApiError 404, 405, 406, and whatever `answer` throws
   */
  route(exchange: Exchange, answer: Answer): Promise<Reply | undefined>;
}

/** What hattip needs to match, and what it found. No URL or Request is created. */
interface Matching {
  readonly url: { readonly pathname: string };
  readonly method: string;
  params: Record<string, string>;
  readonly exchange: Exchange;
  readonly answer: Answer;
  /** The methods of paths that matched but lack the request's method. */
  allowed?: string[];
  reply?: Reply;
}

const NO_PARAMS: Record<string, string> = {};

/** Creates the router. hattip finds the path, with one entry for each; the entry finds the method. */
export function createMountRouter(mounts: readonly Mount[]): Router {
  const byPath = new Map<string, Map<Method, Endpoint>>();
  for (const mount of mounts) {
    for (const route of mount.resources.flatMap(({ routes }) => routes)) {
      const path = mount.base + route.path;
      const methods = byPath.get(path) ?? new Map<Method, Endpoint>();
      methods.set(route.method, endpointOf(route, mount));
      byPath.set(path, methods);
    }
  }
  const paths = inPrecedence([...byPath.keys()]);
  const hattip = createRouter();
  /** What begins with the path of a group or project, or with another parameter. */
  const open: { pattern: Pattern; methods: ReadonlyMap<Method, Endpoint> }[] = [];
  for (const path of paths) {
    const methods = byPath.get(path) as Map<Method, Endpoint>;
    const find = finderOf(methods);
    const pattern = patternOf(path, takesFormat(path, methods));
    if (isOpen(path)) open.push({ pattern, methods });
    hattip.use(matcherOf(pattern, methods), async (context) => {
      const matching = context as unknown as Matching;
      matching.exchange.pattern = path;
      const endpoint = find(matching);
      if (!endpoint) return;
      const { exchange, answer } = matching;
      exchange.mount = endpoint.mount;
      exchange.params = matching.params;
      requireFormat(endpoint, exchange);
      matching.reply = await answer(endpoint, exchange);
    });
  }
  const matchersOf = grouped(paths, hattip.handlers);
  const words = new Set(paths.map(firstSegment).filter((word) => word !== ""));
  return {
    mayOwn: (incoming) => {
      const { path } = incoming;
      if (path === "/") return incoming.ownsRoot || (isMounted(incoming) && wantsPage(incoming));
      if (OF_ROOT.has(path)) return incoming.ownsRoot === true;
      return (
        words.has(firstSegment(path)) ||
        mounts.some((mount) => ownsPath(mount, path)) ||
        open.some(({ pattern, methods }) => isAnswered(methods, incoming) && pattern.exec(path))
      );
    },
    route: async (exchange, answer) => {
      const { incoming } = exchange;
      if (incoming.base === undefined) throw unreadable("malformed Host header");
      const path = withoutEndingSlashes(withoutDoubledSlashes(incoming.path));
      const matching: Matching = {
        url: { pathname: path },
        method: incoming.method,
        params: NO_PARAMS,
        exchange,
        answer,
      };
      await firstReply(matchersOf(path), matching);
      if (matching.reply) return matching.reply;
      const owner = mounts.find((mount) => ownsPath(mount, incoming.path));
      if (owner) exchange.mount = owner;
      if (matching.allowed) return replyToOtherMethod(incoming, matching.allowed);
      if (!owner) return undefined;
      throw unknownIn(owner, incoming.path);
    },
  };
}

/** What browsers and robots look for at the root of a host: of an embedding app, unless it has none but us. */
const OF_ROOT = new Set(["/favicon.ico", "/robots.txt"]);

/** Whether a browser asks for a page; programs accept JSON or anything. */
export function wantsPage(incoming: Pick<Incoming, "method" | "header">): boolean {
  return isSafe(incoming) && /\btext\/html\b/i.test(incoming.header("accept") ?? "");
}

/** Whether a host mounts us below a prefix, so that no one else needs `/` there. */
function isMounted({ base }: Incoming): boolean {
  return base !== undefined && base.indexOf("/", base.indexOf("://") + 3) >= 0;
}

function firstSegment(path: string): string {
  return path.split("/", 2)[1] as string;
}

function replyToOtherMethod({ method }: Incoming, allowed: readonly string[]): Reply {
  const allow = [...new Set(["OPTIONS", ...allowed])].sort().join(", ");
  if (method !== "OPTIONS") throw methodNotAllowed(allow);
  return { status: 204, headers: { allow }, body: null };
}

/** Whether a request's query has what one of the routes of a path asks for, and the path is ours in this host. */
function isAnswered(methods: ReadonlyMap<Method, Endpoint>, incoming: Incoming): boolean {
  for (const { route, mount } of methods.values()) {
    const isAsked = route.asked === undefined || incoming.query.split("&").includes(route.asked);
    if (isAsked && (!mount.isOfSite || isWholeSite(incoming))) return true;
  }
  return false;
}

/** Whether no one else has pages where ours are. */
const isWholeSite = (incoming: Incoming): boolean =>
  Boolean(incoming.ownsRoot || incoming.isLast) || isMounted(incoming);

/** Finds the endpoint for the method; else another path may match, as `/wikis/:slug*` after `/wikis/attachments`. */
function finderOf(methods: ReadonlyMap<Method, Endpoint>) {
  const allow = [...methods.keys(), ...(methods.has("GET") ? ["HEAD"] : [])];
  return (matching: Matching): Endpoint | undefined => {
    const { method } = matching.exchange.incoming;
    const found = methods.get((method === "HEAD" ? "GET" : method) as Method);
    if (!found) matching.allowed = [...(matching.allowed ?? []), ...allow];
    return found;
  };
}

type Handlers = ReturnType<typeof createRouter>["handlers"];

/**
 * Tries handlers in their order until one has stored a reply. hattip's own `compose` would ask each time whether it got
 * a `Response`, for which Node loads its `fetch`.
 */
async function firstReply(handlers: Handlers, matching: Matching): Promise<void> {
  for (const handler of handlers) {
    const running = handler(matching as unknown as RequestContext);
    if (!running) continue;
    await running;
    if (matching.reply) return;
  }
}

/**
 * hattip tries hundreds of patterns one by one, so each path only gets those that fit the two segments that distinguish
 * most of them: `/api/v4/projects/:id/labels` by its third and fifth.
 */
function grouped(paths: readonly string[], handlers: Handlers): (path: string) => Handlers {
  const keyOf = (third: string | undefined, fifth: string | undefined) =>
    `${third ?? ""}/${fifth ?? ""}`;
  const fixed = paths.map((path) => [fixedSegment(path, 3), fixedSegment(path, 5)] as const);
  const words = new Set(fixed.flat());
  const known = (segment: string | undefined) => {
    const word = segment?.split(".", 1)[0];
    return words.has(word) ? word : undefined;
  };
  const groups = new Map<string, Handlers>();
  return (path) => {
    const segments = path.split("/", 6);
    const [third, fifth] = [known(segments[3]), known(segments[5])];
    const key = keyOf(third, fifth);
    let group = groups.get(key);
    if (!group) {
      group = handlers.filter((_, index) => {
        const [ownThird, ownFifth] = fixed[index] as (typeof fixed)[number];
        return (
          (ownThird === undefined || ownThird === third) &&
          (ownFifth === undefined || ownFifth === fifth)
        );
      });
      groups.set(key, group);
    }
    return group;
  };
}

/** A pattern's segment if it is a fixed word; `undefined` if it is a parameter or missing. */
function fixedSegment(pattern: string, at: number): string | undefined {
  const segments = pattern.split("/").slice(0, at + 1);
  const word = segments[at];
  if (segments.some((one) => one.includes("*"))) return undefined;
  return word && /^[\w-]+$/.test(word) ? word : undefined;
}

/** Whether a path begins with the path of a group or project, or with another parameter. */
const isOpen = (path: string) => path.startsWith("/:");

/**
 * Sorts fixed segments before parameters, so that `/badges/render` is never taken for an id, and more fixed segments
 * after a parameter with slashes before fewer. `/archive.:format` comes before `/archive`, whose format it would be. Paths
 * that begin with a parameter come last.
 */
function inPrecedence(paths: readonly string[]): string[] {
  const ranked = paths.map((path) => ({
    path,
    open: Number(isOpen(path)),
    fixed: path.slice(path.indexOf("*") + 1 || path.length).match(/\/[^:]/g)?.length ?? 0,
    rank: `${path.replace(/:\w+\*/g, "~~").replace(/:\w+/g, "~")}/`,
  }));
  return ranked
    .sort((a, b) => a.open - b.open || b.fixed - a.fixed || (a.rank < b.rank ? -1 : 1))
    .map(({ path }) => path);
}

/** A path with single slashes only: addresses that are put together have doubled ones, such as `/api/v4//user`. */
const withoutDoubledSlashes = (path: string): string =>
  path.includes("//") ? path.replace(/\/{2,}/g, "/") : path;

/** Trailing slashes are ignored. */
function withoutEndingSlashes(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === "/") end -= 1;
  return path.slice(0, end);
}

/**
 * Whether a path may end in a format, such as `.json`: only if its last segment is a word or a number, since names may
 * contain dots.
 */
function takesFormat(path: string, methods: ReadonlyMap<Method, Endpoint>): boolean {
  const endpoints = [...methods.values()];
  if (!endpoints.some(({ mount }) => mount.takesFormat)) return false;
  const name = /:(\w+\*?)$/.exec(path)?.[1];
  return (
    name === undefined ||
    endpoints.some(({ route }) => route.input?.[name]?.notes.type === "integer")
  );
}

/** The pattern of a path. */
interface Pattern {
  readonly takesFormat: boolean;
  exec(path: string): RegExpExecArray | null;
}

function patternOf(path: string, format: boolean): Pattern {
  // Most patterns are never tried: compiling all of them would take a tenth of the time until the first answer.
  let compiled: RegExp | undefined;
  return {
    takesFormat: format,
    exec: (tried) => {
      compiled ??= compile(path, format);
      return compiled.exec(tried);
    },
  };
}

/** A part of the path of a group or project: it is never `-`, which ends such a path in addresses. */
const NAME = "(?:[^/-][^/]*|-[^/]+)";

function compile(path: string, format: boolean): RegExp {
  // What follows the path of a project may be reserved as a name: then it ends where that first stands.
  const reserved = /^\/:id\*\/(\w+)\/.*\*/.exec(path)?.[1];
  const next = reserved === undefined ? NAME : `(?!${reserved}/)${NAME}`;
  const pattern = path
    .replace(/[.]/g, "\\.")
    // What has a path of its own is found without trying each place where it could end.
    .replace(/^\/:id\*/, `/(?<id>${NAME}(?:/${next})*)`)
    .replace(/:(\w+)\*/g, "(?<$1>.+?)")
    .replace(/:(\w+)/g, format ? "(?<$1>[^/]+?)" : "(?<$1>[^/]+)");
  return new RegExp(`^${pattern}${format ? "(?:\\.(?<format>[a-z]+))?" : ""}$`);
}

/** Replaces hattip's patterns, which are tried twice and have no named parameters with slashes, such as `:slug*`. */
function matcherOf(
  pattern: Pattern,
  methods: ReadonlyMap<Method, Endpoint>,
): (matching: unknown) => Record<string, string> | undefined {
  return (given) => {
    const { url, exchange } = given as Matching;
    const match = pattern.exec(url.pathname);
    if (!match || !isAnswered(methods, exchange.incoming)) return undefined;
    // Another pattern may have matched before, for other methods.
    exchange.format = pattern.takesFormat ? match.groups?.["format"] : undefined;
    if (!pattern.takesFormat || !match.groups) return match.groups ?? NO_PARAMS;
    const { format: _, ...params } = match.groups;
    return params;
  };
}

/**
 * Checks that the requested format, if there is one, is JSON: after the path's last dot, or as the parameter `format`.
 *
 * @throws ApiError 406
 */
function requireFormat({ route, mount }: Endpoint, { incoming, format }: Exchange): void {
  if (!mount.takesFormat || (format === undefined && incoming.query === "")) return;
  const isAttribute = route.input !== undefined && "format" in route.input;
  const asked =
    format ?? (isAttribute ? undefined : /(?:^|&)format=([^&]*)/.exec(incoming.query)?.[1]);
  if (asked !== undefined && asked !== "" && asked !== "json") throw notAcceptable(asked);
}
