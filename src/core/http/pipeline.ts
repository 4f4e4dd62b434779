/*! Contains @hattip/compose and @hattip/router, (c) 2022 Fatih Aygün, under the MIT licence. */
import { randomUUID } from "node:crypto";
import { composePartial, type RequestContext } from "@hattip/compose";
import { createRouter } from "@hattip/router";
import {
  type AuthSettings,
  actAs,
  asksForSudo,
  findCaller,
  findSignedIn,
  isSameCredential,
  RevokedToken,
} from "../../auth/authenticate.ts";
import {
  ConstraintError,
  type Database,
  type Reader,
  type Store,
  UnavailableError,
} from "../../store/port.ts";
import { type Caller, type Person, requireScope } from "../access/caller.ts";
import { requireFeature } from "../access/features.ts";
import type { Role } from "../access/roles.ts";
import { findSource, requireRole, type Source } from "../access/source.ts";
import type { Viewer } from "../access/visibility.ts";
import { digest } from "../digest.ts";
import {
  ApiError,
  conflict,
  forbidden,
  internalError,
  keyMissing,
  methodNotAllowed,
  notAcceptable,
  preconditionFailed,
  queryTooLong,
  unauthorized,
  unavailable,
  unknownRoute,
  unreadable,
  unverified,
} from "../errors.ts";
import type { View } from "../field.ts";
import { type Attributes, type InputReader, inputReader, notesOf } from "../input.ts";
import type { Outages } from "../outages.ts";
import {
  keysetHeaders,
  LONGEST_QUERY,
  type Page,
  type PageLimits,
  pageHeaders,
  type RowPage,
  readPage,
} from "../pagination.ts";
import { type Presenter, presenter } from "../presenter.ts";
import { type QuotaUsage, type SignInLimits, usageHeaders } from "../rate-limits.ts";
import {
  AfterCommit,
  API,
  type Context,
  FileReply,
  Json,
  type Method,
  type Mount,
  RawReply,
  type RequestInfo,
  type Resource,
  type Result,
  type Route,
  type Site,
  type SourceKind,
  TIERS,
  type Tier,
} from "../resource.ts";
import type { Scope } from "../scopes.ts";
import { SecretKeyError, type Secrets } from "../secrets.ts";
import { dayOf } from "../time.ts";
import { type BodyLimits, readBody } from "./body.ts";
import type { Bytes, Incoming, Reply, Respond } from "./incoming.ts";
import { inPieces, partByPart } from "./large-replies.ts";
import { decodePath, type Parameters, parseQuery } from "./parameters.ts";
import {
  csrfTokenOf,
  isVerified,
  newSessionToken,
  sessionCookie,
  sessionOf,
} from "./session-cookie.ts";
import type { Turns } from "./turns.ts";
import { Upload, type UploadSpec } from "./upload.ts";

/** A request and its answer, for a log. It contains no secrets: no query, no headers. */
export interface LogEntry {
  /** When it was logged, as an ISO 8601 instant. */
  time: string;
  method: string;
  path: string;
  status: number;
  /** Milliseconds until the answer was ready. */
  duration: number;
  ip: string;
  request_id: string;
  /** The caller's user name, if there is a caller; with sudo the user they act as. */
  user?: string;
  /** The administrator who acts as `user` by sudo. */
  sudoer?: string;
}

/** A request that was answered, for metrics. */
export interface AnsweredRequest {
  method: string;
  /** The pattern of its path, such as `/api/v4/projects/:id`; `undefined` if there is none. */
  route: string | undefined;
  status: number;
  /** Milliseconds until the answer was ready. */
  duration: number;
}

/** The settings of the pipeline. */
export interface PipelineSettings extends AuthSettings {
  store: Store;
  resources: readonly Resource[];
  tier: Tier;
  now: () => number;
  pages: PageLimits;
  body: BodyLimits;
  /** Maximum bytes of an uploaded file. */
  uploadBytes: number;
  signIns: SignInLimits;
  /** Shares the process between clients. */
  turns: Turns;
  /** Counts a request; `undefined` if requests are not limited. @throws ApiError 429 */
  limitRequests:
    | ((caller: Caller | undefined, ip: string, now: number) => Promise<QuotaUsage | undefined>)
    | undefined;
  /** Records that an administrator acts as another user, in the transaction of the change. */
  recordSudo: (
    db: Database,
    act: { sudoer: Person; userId: number; what: string; ip: string },
    now: number,
  ) => Promise<void>;
  site: Site;
  secrets: Secrets;
  /** Whether the application is closing and accepts no new requests. */
  isClosing: () => boolean;
  log: ((entry: LogEntry) => void) | undefined;
  /** Called with each request that was answered, for metrics. */
  onRequest: (request: AnsweredRequest) => void;
  /** Notified of every failure that is not the client's. */
  outages: Outages;
}

/** The context of a request on its way through hattip's router. */
interface Exchange {
  incoming: Incoming;
  /** The mount of the matched route. */
  mount?: Mount;
  /** The pattern of the path, such as `/api/v4/projects/:id`. */
  route?: string;
  /** The session cookie's value, if the mount takes sessions; a new one for visitors without a cookie. */
  session?: string;
  requestId: string;
  params: Record<string, string>;
  /** The format at the end of the path, after a dot that is not part of the last segment. */
  format?: string | undefined;
  /** hattip only needs these two to match, so no URL or Request is created. */
  readonly url: { readonly pathname: string };
  readonly method: string;
  readonly next: () => Promise<undefined>;
  /** The methods of paths that matched but lack the request's method. */
  allowed?: string[];
  reply?: Reply;
  caller?: Caller | undefined;
  /** Usage of the request limit, if there is one. */
  usage?: QuotaUsage | undefined;
}

/** Unknown paths below the API get our 404, not the host's. */
const BELOW_API = /^\/api\/v[34](\/|$)/;
/**
 * Stands for the reply stored in the exchange, so that no Response is created if the adapter needs none. It is not an
 * instance of `Response` either: hattip would check for the global one, which a host may have replaced since.
 */
const ANSWERED = { toResponse: () => NO_RESPONSE };
const NO_RESPONSE = Promise.resolve(undefined as unknown as Response);
const NOTHING = presenter({});
/** Longer answers, in characters, are sent as the client reads them. */
const LARGE = 256 * 1024;
const NO_PARAMS: Record<string, string> = {};
const NOBODY_NEXT = () => Promise.resolve(undefined);
const READ_SCOPES: readonly Scope[] = ["api", "read_api"];
const WRITE_SCOPES: readonly Scope[] = ["api"];
const EXPOSED_HEADERS =
  "Link, X-Total, X-Total-Pages, X-Per-Page, X-Page, X-Next-Page, X-Prev-Page, ETag, X-Request-Id, Retry-After, " +
  "RateLimit-Limit, RateLimit-Name, RateLimit-Observed, RateLimit-Remaining, RateLimit-Reset";

/**
 * Creates the pipeline of all requests: match, authenticate, read and validate input, open the transaction, find the
 * group or project and check the role, handle, presenter, status and headers.
 */
export function createPipeline(settings: PipelineSettings): Respond {
  const route = createRouting(settings);
  const beside = new Set(settings.resources.flatMap(firstSegments));
  const pages = settings.resources.find(({ mount }) => mount?.showError)?.mount;
  return async (incoming) => {
    const started = performance.now();
    const { path } = incoming;
    const isOurs =
      path === "/"
        ? incoming.ownsRoot || (isMounted(incoming) && wantsPage(incoming))
        : beside.has(path.split("/", 2)[1] as string) || BELOW_API.test(path);
    if (!isOurs && !incoming.isLast) return undefined;
    const exchange: Exchange = {
      incoming,
      requestId: requestIdOf(incoming),
      params: {},
      url: { pathname: withoutEndingSlashes(path) },
      method: incoming.method,
      next: NOBODY_NEXT,
    };
    let reply: Reply | undefined;
    try {
      if (settings.isClosing()) throw unavailable();
      reply = isOurs ? await route(exchange) : undefined;
      if (!reply) {
        if (!incoming.isLast) return undefined;
        if (pages && incoming.base !== undefined && wantsPage(incoming)) exchange.mount = pages;
        throw unknownRoute();
      }
    } catch (error) {
      reply = replyOfError(error, exchange, settings);
    }
    finish(reply, exchange, settings.url);
    const took = performance.now() - started;
    // Not for pages, which check passwords.
    if ((exchange.mount ?? API) === API) reply.headers["x-runtime"] = (took / 1000).toFixed(6);
    if (isOurs || incoming.ownsRoot) {
      const { method } = incoming;
      settings.onRequest({ method, route: exchange.route, status: reply.status, duration: took });
    }
    if (settings.log && (isOurs || incoming.ownsRoot)) {
      settings.log({
        time: new Date(settings.now()).toISOString(),
        method: incoming.method,
        path,
        status: reply.status,
        duration: Math.round(took * 100) / 100,
        ip: incoming.ip,
        request_id: exchange.requestId,
        ...(exchange.caller ? { user: exchange.caller.username } : {}),
        ...(exchange.caller?.sudoer ? { sudoer: exchange.caller.sudoer.username } : {}),
      });
    }
    return reply;
  };
}

/** Whether a browser asks for a page; programs accept JSON or anything. */
function wantsPage(incoming: Incoming): boolean {
  return isReading(incoming) && /\btext\/html\b/i.test(incoming.header("accept") ?? "");
}

/** Whether a host mounts us below a prefix, so that no one else needs `/` there. */
function isMounted({ base }: Incoming): boolean {
  return base !== undefined && base.indexOf("/", base.indexOf("://") + 3) >= 0;
}

/** The first segments of paths outside the API, which tell them from the host's. */
function firstSegments({ mount = API, routes }: Resource): string[] {
  return routes
    .map(({ path }) => (mount.base + path).split("/", 2)[1] as string)
    .filter((segment) => segment !== "" && segment !== "api");
}

function requestIdOf(incoming: Incoming): string {
  const given = incoming.header("x-request-id");
  return given && /^[\w.-]{1,255}$/.test(given) ? given : randomUUID();
}

/** hattip finds the path, with one entry for each; the entry finds the method. */
function createRouting(
  settings: PipelineSettings,
): (exchange: Exchange) => Promise<Reply | undefined> {
  const router = createRouter();
  const byPath = new Map<string, Map<Method, Endpoint>>();
  for (const { mount = API, routes } of settings.resources) {
    for (const route of routes) {
      const path = mount.base + route.path;
      const methods = byPath.get(path) ?? new Map<Method, Endpoint>();
      methods.set(route.method, endpoint(route, mount));
      byPath.set(path, methods);
    }
  }
  const paths = [...byPath.keys()].sort(byPrecedence);
  for (const path of paths) {
    const methods = byPath.get(path) as Map<Method, Endpoint>;
    const answer = answerer(settings, methods);
    router.use(matcherOf(path, takesFormat(path, methods)), async (context) => {
      const exchange = context as unknown as Exchange;
      exchange.route = path;
      const reply = await answer(exchange);
      if (!reply) return undefined;
      exchange.reply = reply;
      return ANSWERED;
    });
  }
  const matching = grouped(paths, router.handlers);
  return async (exchange) => {
    const { incoming } = exchange;
    if (incoming.base === undefined) throw unreadable("malformed Host header");
    await matching(incoming.path)(exchange as unknown as RequestContext);
    if (exchange.reply) return exchange.reply;
    if (exchange.allowed) {
      const allow = [...new Set(["OPTIONS", ...exchange.allowed])].sort().join(", ");
      if (incoming.method !== "OPTIONS") throw methodNotAllowed(allow);
      return { status: 204, headers: { allow }, body: null };
    }
    if (/^\/api\/v3(\/|$)/.test(incoming.path)) {
      throw new ApiError(410, { error: "API V3 is no longer supported. Use API V4 instead." });
    }
    if (!BELOW_API.test(incoming.path)) return undefined;
    throw unknownRoute();
  };
}

type Match = ReturnType<typeof composePartial>;

/** The segments that distinguish most paths: `/api/v4/projects/:id/labels` by its third and fifth. */
const TELLING = [3, 5] as const;

/** hattip tries hundreds of patterns one by one, so each path only gets those that fit its {@link TELLING} segments. */
function grouped(
  paths: readonly string[],
  handlers: ReturnType<typeof createRouter>["handlers"],
): (path: string) => Match {
  const fixed = paths.map((path) => TELLING.map((at) => fixedSegment(path, at)));
  const words = new Set(fixed.flat());
  const groups = new Map<string, Match>();
  return (path) => {
    const segments = path.split("/", 6);
    const told = TELLING.map((at) => {
      const word = segments[at]?.split(".", 1)[0];
      return words.has(word) ? word : undefined;
    });
    const key = told.join("/");
    let match = groups.get(key);
    if (!match) {
      const fits = (_: unknown, index: number) =>
        fixed[index]?.every((word, at) => word === undefined || word === told[at]);
      match = composePartial(handlers.filter(fits));
      groups.set(key, match);
    }
    return match;
  };
}

/** A pattern's segment if it is a fixed word; `undefined` if it is a parameter or missing. */
function fixedSegment(pattern: string, at: number): string | undefined {
  const segments = pattern.split("/").slice(0, at + 1);
  const word = segments[at];
  if (segments.some((one) => one.includes("*"))) return undefined;
  return word && /^[\w-]+$/.test(word) ? word : undefined;
}

/** Sorts fixed segments before parameters, so that `/badges/render` is never taken for an id. */
function byPrecedence(a: string, b: string): number {
  const rank = (path: string) => path.replace(/:\w+\*/g, "~~").replace(/:\w+/g, "~");
  return rank(a) < rank(b) ? -1 : 1;
}

/** Trailing slashes are ignored. */
function withoutEndingSlashes(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === "/") end -= 1;
  return path.slice(0, end);
}

/**
 * Whether a URL of the API may end in a format, such as `.json`: only if its last segment is a word or a number, since
 * names may contain dots.
 */
function takesFormat(path: string, methods: ReadonlyMap<Method, Endpoint>): boolean {
  if (!path.startsWith(`${API.base}/`)) return false;
  const name = /:(\w+\*?)$/.exec(path)?.[1];
  return (
    name === undefined ||
    [...methods.values()].some(({ route }) => {
      const schema = route.input?.[name];
      return schema !== undefined && notesOf(schema).type === "integer";
    })
  );
}

/** Replaces hattip's patterns, which are tried twice and have no named parameters with slashes, such as `:slug*`. */
function matcherOf(
  path: string,
  format: boolean,
): (exchange: unknown) => Record<string, string> | undefined {
  const pattern = path
    .replace(/[.]/g, "\\.")
    .replace(/:(\w+)\*/g, "(?<$1>.+)")
    .replace(/:(\w+)/g, format ? "(?<$1>[^/]+?)" : "(?<$1>[^/]+)");
  const matcher = new RegExp(`^${pattern}${format ? "(?:\\.(?<format>[a-z]+))?" : ""}$`);
  return (exchange) => {
    const match = matcher.exec((exchange as Exchange).url.pathname);
    if (!match) return undefined;
    // Another pattern may have matched before, for other methods.
    (exchange as Exchange).format = format ? match.groups?.["format"] : undefined;
    if (!format || !match.groups) return match.groups ?? NO_PARAMS;
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
  if (mount !== API || (format === undefined && incoming.query === "")) return;
  const isAttribute = route.input !== undefined && "format" in route.input;
  const asked =
    format ?? (isAttribute ? undefined : /(?:^|&)format=([^&]*)/.exec(incoming.query)?.[1]);
  if (asked !== undefined && asked !== "" && asked !== "json") throw notAcceptable(asked);
}

/** A route with everything that can be computed in advance. */
interface Endpoint {
  route: Route;
  mount: Mount;
  read: InputReader<Attributes>;
  scopes: readonly Scope[];
  beside: NonNullable<Route["beside"]>;
}

function endpoint(route: Route, mount: Mount): Endpoint {
  requireConsistent(route, mount);
  const isOfFeature = route.source === "project" && route.features !== undefined;
  return {
    route,
    mount,
    read: inputReader(route.input ?? {}, route.atLeastOne),
    scopes: route.scopes ?? (route.method === "GET" ? READ_SCOPES : WRITE_SCOPES),
    beside: route.beside ?? (isOfFeature ? "others" : "nobody"),
  };
}

/**
 * Checks what the types of a declaration can't, such as paths put together from variables.
 *
 * @throws TypeError naming the route
 */
function requireConsistent(route: Route, mount: Mount): void {
  const wrong = (problem: string) =>
    new TypeError(`${route.method} ${mount.base}${route.path}: ${problem}`);
  const attributes = Object.keys(route.input ?? {});
  const parameters = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  for (const name of route.source ? parameters.slice(1) : parameters) {
    if (!attributes.includes(name)) throw wrong(`input has no schema for :${name} of the path`);
  }
  if (!route.source) {
    for (const option of ["role", "jobTokens", "upload", "features", "whenArchived"] as const) {
      if (route[option] !== undefined) throw wrong(`${option} needs a source`);
    }
  }
}

/** Answers if the path has the method; else another path may, as `/wikis/:slug*` after `/wikis/attachments`. */
function answerer(settings: PipelineSettings, methods: ReadonlyMap<Method, Endpoint>) {
  const allow = [...methods.keys(), ...(methods.has("GET") ? ["HEAD"] : [])];
  return (exchange: Exchange): Promise<Reply> | undefined => {
    const { method } = exchange.incoming;
    const found = methods.get((method === "HEAD" ? "GET" : method) as Method);
    if (found) {
      exchange.mount = found.mount;
      requireFormat(found, exchange);
      return answer(settings, found, exchange);
    }
    exchange.allowed = [...(exchange.allowed ?? []), ...allow];
    return undefined;
  };
}

function answer(
  settings: PipelineSettings,
  endpoint: Endpoint,
  exchange: Exchange,
): Promise<Reply> {
  const now = settings.now();
  const { upload: spec } = endpoint.route;
  return spec
    ? answerUpload(settings, endpoint, exchange, now, spec)
    : answerWith(settings, endpoint, exchange, now, undefined);
}

async function answerUpload(
  settings: PipelineSettings,
  endpoint: Endpoint,
  exchange: Exchange,
  now: number,
  spec: UploadSpec,
): Promise<Reply> {
  const admit = (parameters: Parameters) => admitUpload(settings, endpoint, exchange, parameters);
  const upload = new Upload(spec, settings.store, settings.uploadBytes, now, admit);
  try {
    return await answerWith(settings, endpoint, exchange, now, upload);
  } finally {
    await upload.settle().catch((error) => settings.outages.failed(error));
  }
}

/** Makes all checks that are possible before the file is received, so that no file is stored in vain. */
async function admitUpload(
  settings: PipelineSettings,
  { route, mount, scopes }: Endpoint,
  exchange: Exchange,
  parameters: Parameters,
): Promise<Source> {
  const { incoming, params } = exchange;
  const now = settings.now();
  const today = dayOf(now);
  const sent = Object.assign(parseQuery(incoming.query, settings.body), parameters);
  const db = settings.store.reader();
  const caller = await readCaller(settings, db, route, mount, exchange, sent, now);
  requireAccess(route, scopes, caller);
  const id = decodePath(params["id"] as string);
  const source = await findSource(db, route.source as SourceKind, id, { caller, today });
  if (typeof route.role === "string") requireRoleOf(caller, source, route.role);
  requireFeature(source, route);
  return source;
}

async function answerWith(
  settings: PipelineSettings,
  { route, mount, read, scopes, beside }: Endpoint,
  exchange: Exchange,
  now: number,
  upload: Upload | undefined,
): Promise<Reply> {
  const { incoming } = exchange;
  if (isReading(incoming) && incoming.query.length > LONGEST_QUERY) throw queryTooLong();
  const today = dayOf(now);
  const identified = isReading(incoming)
    ? undefined
    : await identify(settings, route, mount, scopes, exchange, now);
  const parameters = isReading(incoming)
    ? parseQuery(incoming.query, settings.body)
    : await readParameters(settings, route, mount, incoming, identified, upload);
  // The pipeline looks up `:id` of a group or project; elsewhere it is an attribute like any other.
  for (const name of Object.keys(exchange.params)) {
    parameters[name] = decodePath(exchange.params[name] as string);
  }
  const reader = settings.store.reader();
  const caller = await readCaller(
    settings,
    reader,
    route,
    mount,
    exchange,
    parameters,
    now,
    identified,
  );
  exchange.caller = caller;
  if (settings.limitRequests && mount.credentials === "token") {
    exchange.usage ??= await settings.limitRequests(caller, incoming.ip, now);
  }
  requireAccess(route, scopes, caller);
  const input = read(parameters);
  const page = readPage(parameters, settings.pages);
  const { store, signIns } = settings;
  const preparing = { store, request: incoming, caller, signIns, now };
  const prepared = route.prepare && (await route.prepare(input, preparing));

  const viewer: Viewer = { caller, today };
  const view = viewOf(settings.url ?? (incoming.base as string), now);
  const presenter =
    typeof route.presenter === "function" ? route.presenter({ caller, input }) : route.presenter;
  const isWriting = route.method !== "GET";
  const run = async (db: Database, page: Page): Promise<Result | AfterCommit> => {
    const source =
      route.source && (await findSource(db, route.source, parameters["id"] as string, viewer));
    if (source && isWriting && beside !== "nobody") {
      await db.lock(source.id, { shared: beside === "anybody" });
    }
    requireOwnProject(caller, source);
    const context: Context<Attributes, Database> = {
      db,
      input,
      prepared,
      source: source as Source,
      caller: caller as Caller,
      viewer,
      page,
      presenter: presenter ?? NOTHING,
      view,
      now,
      tier: settings.tier,
      request: incoming,
      csrfToken: exchange.session === undefined ? "" : csrfTokenOf(exchange.session),
      site: settings.site,
      secrets: settings.secrets,
      requireUnmodified: (updatedAt) => requireUnmodified(incoming, updatedAt),
    };
    if (route.before) await route.before(context);
    const role = typeof route.role === "function" ? route.role(context) : route.role;
    if (role && source) requireRoleOf(caller, source, role);
    if (source) requireFeature(source, route);
    if (TIERS.indexOf(route.tier ?? "free") > TIERS.indexOf(settings.tier)) throw forbidden();
    if (caller?.sudoer && isWriting) {
      const { sudoer, id: userId } = caller;
      const what = `${route.method} ${incoming.path}`;
      await settings.recordSudo(db, { sudoer, userId, what, ip: incoming.ip }, now);
    }
    return route.handle(context);
  };
  const { turns } = settings;
  const rest = async (skip: number): Promise<Result> => {
    const turn = turns.begin(incoming.ip);
    try {
      await turn?.ready;
      // Only writing routes return a `Committed`.
      return (await run(store.reader() as Database, { ...page, skip })) as Result;
    } catch (error) {
      settings.outages.failed(error);
      throw error;
    } finally {
      turn?.end();
    }
  };
  const turn = route.immediate ? undefined : turns.begin(incoming.ip);
  try {
    if (turn?.ready) await turn.ready;
    const given = isWriting
      ? await store.transaction((db) => run(db, page), { shared: beside !== "nobody" })
      : await run(reader as Database, page);
    const result = given instanceof AfterCommit ? await given.read(store.reader()) : given;
    if (!route.immediate) settings.outages.succeeded();
    upload?.keep((input as Record<string, unknown>)[upload.part]);
    const answer = reply(route, result, presenter ?? NOTHING, view, page, incoming);
    if (!isPartOfPage(result)) return answer;
    return { ...answer, body: writeParts(result, rest, presenter ?? NOTHING, view) };
  } finally {
    turn?.end();
  }
}

/** The first rows of a page that is too large to read at once. */
type PartOfPage = RowPage & { read: number };

function isPartOfPage(result: Result): result is PartOfPage {
  return typeof result === "object" && "read" in result && result.read !== undefined;
}

/**
 * Writes a page whose rows are read as the client takes them, so that only one part is in memory. Each part shows the
 * database at the time it is read.
 */
function writeParts(
  first: PartOfPage,
  rest: (skip: number) => Promise<Result>,
  presenter: Presenter,
  view: View,
): Bytes {
  let text: string | undefined = writeList(first.rows, presenter, view).slice(0, -1);
  let next: number | undefined = first.read;
  let isEmpty = first.rows.length === 0;
  return partByPart(async () => {
    if (text === undefined && next !== undefined) {
      const result = (await rest(next)) as RowPage;
      const written = writeList(result.rows, presenter, view).slice(1, -1);
      text = `${isEmpty || written === "" ? "" : ","}${written}`;
      isEmpty &&= written === "";
      next = result.read;
      if (next === undefined) text += "]";
    }
    const part = text;
    text = undefined;
    return part;
  });
}

/** The caller, found before the body is read: by headers, query or the embedding app. */
interface Identified {
  caller: Caller | undefined;
  /** The parameters the caller was found by. */
  query: Parameters;
}

/**
 * Finds the caller before the body is read, so that no large body is read in vain.
 *
 * @throws ApiError as {@link findCaller} and {@link requireAccess}
 */
async function identify(
  settings: PipelineSettings,
  route: Route,
  mount: Mount,
  scopes: readonly Scope[],
  exchange: Exchange,
  now: number,
): Promise<Identified | undefined> {
  if (mount.credentials !== "token") return undefined;
  const { incoming } = exchange;
  const query = parseQuery(incoming.query, settings.body);
  const caller = await callerByToken(
    settings,
    settings.store.reader(),
    route,
    incoming,
    query,
    now,
  );
  if (!caller) return { caller, query };
  exchange.caller = caller;
  exchange.usage = await settings.limitRequests?.(caller, incoming.ip, now);
  // With sudo the other user's rights count, and the body may ask for sudo.
  if (!caller.scopes.includes("sudo") && !asksForSudo(incoming, query)) {
    requireAccess(route, scopes, caller);
  }
  return { caller, query };
}

function viewOf(base: string, now: number): View {
  const start = base.indexOf("//") + 2;
  const end = base.slice(start).search(/[:/]/);
  return { base, host: end < 0 ? base.slice(start) : base.slice(start, start + end), now };
}

const isReading = ({ method }: RequestInfo) => method === "GET" || method === "HEAD";

/** Maximum bytes of a body from callers not yet identified. It may hold a token, a sign-in or a form of a page. */
const UNIDENTIFIED_BYTES = 64 * 1024;

/**
 * Reads query and body.
 *
 * @throws ApiError 401 instead of a body's own error, if the route needs a caller and none is known yet
 */
async function readParameters(
  { body: limits }: PipelineSettings,
  route: Route,
  mount: Mount,
  incoming: Incoming,
  identified: Identified | undefined,
  upload: Upload | undefined,
): Promise<Parameters> {
  const body = () => uncut(incoming.body());
  const query = parseQuery(incoming.query, limits);
  if (identified?.caller) {
    return Object.assign(query, await readBody({ ...incoming, body }, limits, upload));
  }
  const bytes = Math.min(limits.bytes, UNIDENTIFIED_BYTES);
  try {
    return Object.assign(
      query,
      await readBody({ ...incoming, body }, { ...limits, bytes }, upload),
    );
  } catch (error) {
    const needsNobody = mount.credentials !== "token" || route.access === "anyone";
    if (needsNobody || !(error instanceof ApiError) || error.status >= 500) throw error;
    const { status, body: shown, headers } = unauthorized();
    throw new ApiError(status, shown, { ...headers, ...error.headers });
  }
}

/** Reports a truncated body as the client's error, not as a failure of the server. */
function uncut(body: AsyncIterable<Uint8Array> | undefined): AsyncIterable<Uint8Array> | undefined {
  if (!body) return undefined;
  return (async function* () {
    try {
      yield* body;
    } catch {
      throw unreadable("message body was cut short");
    }
  })();
}

async function callerByToken(
  settings: PipelineSettings,
  db: Reader,
  route: Route,
  incoming: Incoming,
  parameters: Parameters,
  now: number,
): Promise<Caller | undefined> {
  try {
    const options = { jobTokens: route.jobTokens === true };
    return await findCaller(settings, db, incoming, parameters, now, options);
  } catch (error) {
    if (error instanceof RevokedToken) {
      await route.onRevoked?.(settings.store, error.tokenId, now);
    }
    throw error;
  }
}

async function readCaller(
  settings: PipelineSettings,
  db: Reader,
  route: Route,
  mount: Mount,
  exchange: Exchange,
  parameters: Parameters,
  now: number,
  identified?: Identified,
): Promise<Caller | undefined> {
  const { incoming } = exchange;
  if (mount.credentials === "none") return undefined;
  if (mount.credentials === "token") {
    const caller =
      identified && isSameCredential(incoming, identified.query, parameters)
        ? identified.caller
        : await callerByToken(settings, db, route, incoming, parameters, now);
    return actAs(db, caller, incoming, parameters);
  }

  exchange.session = sessionOf(incoming) ?? newSessionToken();
  requireVerified(incoming, parameters, exchange.session, settings.url);
  try {
    return await findSignedIn(settings, db, incoming, now);
  } catch (error) {
    // A refused user gets a new cookie: otherwise they could not sign in as someone else.
    if (error instanceof ApiError) exchange.session = newSessionToken();
    throw error;
  }
}

/**
 * Checks that a request with an unsafe method comes from one of our own forms: with the CSRF token of the cookie.
 *
 * @throws ApiError 422
 */
function requireVerified(
  incoming: RequestInfo,
  parameters: Parameters,
  session: string,
  url: string | undefined,
): void {
  if (isReading(incoming)) return;
  if (!isVerified(incoming, session, url, parameters["authenticity_token"])) throw unverified();
}

function requireAccess(route: Route, scopes: readonly Scope[], caller: Caller | undefined): void {
  if (!caller) {
    if (route.access === "anyone") return;
    throw unauthorized();
  }
  requireScope(caller, scopes);
  if (route.access === "admin" && !caller.admin) throw forbidden();
}

/** Checks the role. Anonymous callers get 401 instead of 403. */
function requireRoleOf(caller: Caller | undefined, source: Source, role: Role): void {
  if (!caller) throw unauthorized();
  requireRole(source, role);
}

/**
 * Checks that a CI job stays in its project.
 *
 * @throws ApiError 403
 */
function requireOwnProject(caller: Caller | undefined, source: Source | undefined): void {
  if (
    caller?.by.kind !== "job" ||
    (source?.kind === "project" && source.id === caller.by.projectId)
  ) {
    return;
  }
  const { projectPath } = caller.by;
  throw forbidden(
    `Authentication by CI/CD job token not allowed from ${projectPath} to ${source?.fullPath}.`,
  );
}

function requireUnmodified(incoming: Incoming, updatedAt: number): void {
  const since = Date.parse(incoming.header("if-unmodified-since") ?? "");
  // HTTP dates have whole seconds (RFC 9110 §5.6.7); unparsable ones are ignored, as in GitLab.
  if (Math.floor(updatedAt / 1000) * 1000 > since) throw preconditionFailed();
}

function reply(
  route: Route,
  result: Result,
  presenter: Presenter,
  view: View,
  page: Page,
  incoming: Incoming,
): Reply {
  if (result === undefined) return { status: route.status ?? 204, headers: {}, body: null };
  const status = route.status ?? (route.method === "POST" ? 201 : 200);
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (result instanceof RawReply) return replyOfAnswer(result);
  if (result instanceof FileReply) {
    return { status, headers: { ...result.headers }, body: result.body };
  }
  if (result instanceof Json) return { status, headers, body: JSON.stringify(result.value) };
  if (Array.isArray(result)) return { status, headers, body: presenter.write(result, view) };

  const at = {
    url: view.base + incoming.path,
    query: new URLSearchParams(incoming.query),
  };
  Object.assign(
    headers,
    "next" in result ? keysetHeaders(result, at) : pageHeaders(page, result as RowPage, at),
  );
  return { status, headers, body: writeList(result.rows, presenter, view) };
}

function replyOfAnswer({ status, headers, body }: RawReply): Reply {
  return { status, headers: { ...headers }, body };
}

function writeList(rows: RowPage["rows"], presenter: Presenter, view: View): string {
  let body = "[";
  for (let index = 0; index < rows.length; index += 1) {
    if (index > 0) body += ",";
    body += presenter.write(rows[index] as RowPage["rows"][number], view);
  }
  return `${body}]`;
}

function replyOfError(error: unknown, exchange: Exchange, settings: PipelineSettings): Reply {
  const known = knownAs(error);
  const isFailure = error instanceof UnavailableError || error instanceof SecretKeyError;
  if (isFailure || !(known instanceof ApiError)) settings.outages.failed(error);
  const shown = known instanceof ApiError ? known : internalError();
  const { status, headers, body } = shown;
  const { incoming, mount, session } = exchange;
  if (mount?.showError && incoming.base !== undefined) {
    const view = viewOf(settings.url ?? incoming.base, settings.now());
    const csrfToken = session === undefined ? "" : csrfTokenOf(session);
    const visit = {
      request: incoming,
      caller: exchange.caller,
      view,
      csrfToken,
      site: settings.site,
    };
    return replyOfAnswer(mount.showError(shown, visit));
  }
  if (status === 304) return { status, headers: { ...headers }, body: null };
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
}

/** Translates the store's errors into answers. */
function knownAs(error: unknown): unknown {
  if (error instanceof UnavailableError) return unavailable();
  if (error instanceof SecretKeyError) return keyMissing();
  // A race that only the schema noticed: handlers check first and answer in more detail.
  const rule = error instanceof ConstraintError ? error.rule : undefined;
  return rule === "unique" || rule === "foreign key" ? conflict() : error;
}

/** Adds the headers of every answer, and handles conditional GET. */
function finish(
  reply: Reply,
  { incoming, mount, requestId, session, usage }: Exchange,
  url: string | undefined,
): void {
  const { headers } = reply;
  if (usage) Object.assign(headers, usageHeaders(usage));
  headers["x-request-id"] = requestId;
  headers["x-content-type-options"] = "nosniff";
  headers["x-frame-options"] ??= "SAMEORIGIN";
  if (session !== undefined && session !== sessionOf(incoming)) {
    headers["set-cookie"] ??= sessionCookie(session, url ?? (incoming.base as string));
  }
  headers["vary"] = "Origin";
  headers["cache-control"] ??= "max-age=0, private, must-revalidate";
  if (mount?.credentials !== "session" && incoming.header("origin") !== undefined) {
    allowOrigin(headers, incoming);
  }

  if (isReading(incoming) && reply.status === 200 && reply.body !== null) {
    if (typeof reply.body === "string" && headers["cache-control"] !== "no-store") {
      headers["etag"] = `W/"${digest("sha1", reply.body)}"`;
    }
    const etag = headers["etag"];
    if (etag !== undefined && matches(incoming.header("if-none-match"), etag)) {
      reply.status = 304;
      reply.body = null;
      delete headers["content-type"];
    }
  }
  // HEAD needs only the length.
  if (typeof reply.body === "string" && reply.body.length > LARGE && incoming.method !== "HEAD") {
    reply.body = inPieces(reply.body);
  }
}

/** Any origin may call the API, but without cookies; tokens are headers or parameters. */
function allowOrigin(headers: Record<string, string>, incoming: Incoming): void {
  headers["access-control-allow-origin"] = "*";
  headers["access-control-expose-headers"] = EXPOSED_HEADERS;
  if (incoming.method === "OPTIONS") {
    headers["access-control-allow-methods"] = headers["allow"] ?? "";
    headers["access-control-allow-headers"] =
      incoming.header("access-control-request-headers") ?? "*";
    headers["access-control-max-age"] = "7200";
  }
}

/** Weak comparison (RFC 9110 §13.1.2). */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === "*") return true;
  return ifNoneMatch
    .split(",")
    .some((one) => one.trim().replace(/^W\//, "") === etag.replace(/^W\//, ""));
}
