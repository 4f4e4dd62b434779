import type { IncludeSources } from "../../outgoing/includes.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
import { Budget } from "../../turns/budget.ts";
import type { Caller, Person } from "../access/caller.ts";
import { hasRole, type Role } from "../access/roles.ts";
import type { Source } from "../access/source.ts";
import type { Viewer } from "../access/visibility.ts";
import { clientLeft, queryTooLong, unavailable, unknownRoute } from "../errors.ts";
import type { View } from "../field.ts";
import type { Attributes } from "../input.ts";
import type { Outgoing } from "../outgoing.ts";
import {
  MAX_QUERY_LENGTH,
  type Page,
  type PageLimits,
  type RowPage,
  readPage,
} from "../pagination.ts";
import type { Presenter } from "../presenter.ts";
import type { Providers } from "../providers.ts";
import type { SignInLimits } from "../rate-limits.ts";
import {
  AfterCommit,
  AfterRoutes,
  type Answer,
  type Called,
  type Context,
  type HandlerResult,
  Json,
  RawReply,
  type Route,
  type RouteRunner,
} from "../resource.ts";
import type { Secrets } from "../secrets.ts";
import { dayOf } from "../time.ts";
import { type AnsweredRequest, type LogEntry, logEntryOf } from "./access-log.ts";
import {
  type AuthorizationSettings,
  authorizeCaller,
  findRouteSource,
  identify,
  mayCall,
  requireAccess,
  requirePermission,
} from "./authorize.ts";
import type { BodyLimits } from "./body.ts";
import { type Endpoint, endpointOf } from "./endpoint.ts";
import type { Exchange } from "./exchange.ts";
import { isSafe, type Reply, type Respond } from "./incoming.ts";
import type { Mount } from "./mount.ts";
import { decodePath, emptyParameters, type Parameters, parseQuery } from "./parameters.ts";
import { RawBody, takesRawBody } from "./raw-body.ts";
import { finish, type ReplySettings, replyOf, replyOfError } from "./reply.ts";
import { readSent, requestIdOf, requireUnmodified, viewOf } from "./request.ts";
import type { Retries } from "./retries.ts";
import { createMountRouter, type Router, type Answer as RouterAnswer } from "./router.ts";
import { csrfTokenOf } from "./session-cookie.ts";
import { requireStrict, type Strictness } from "./strict.ts";
import type { Turns } from "./turns.ts";
import { Upload, type UploadSpec } from "./upload.ts";

/** The settings of the pipeline. */
export interface PipelineSettings extends AuthorizationSettings, ReplySettings {
  store: Store;
  secrets: Secrets;
  routes: Routes;
  pages: PageLimits;
  body: BodyLimits;
  /** Maximum bytes of an uploaded file. */
  uploadBytes: number;
  signIns: SignInLimits;
  /** By what people sign in besides their password here. */
  providers: Providers;
  /** Shares the process between clients. */
  turns: Turns;
  /** Works again on what others have changed. */
  retries: Retries;
  /** Records that an administrator acts as another user, in the transaction of the change. */
  recordSudo: (
    db: Database,
    act: { sudoer: Person; userId: number; what: string; ip: string },
    now: number,
  ) => Promise<void>;
  /** What becomes of requests that the server sends. */
  outgoing: Outgoing;
  /** Where configurations of pipelines include files from. */
  includes: IncludeSources;
  /** What is refused that GitLab ignores or converts. Default: nothing. */
  strict?: Strictness | undefined;
  /** Whether the application is closing and accepts no new requests. */
  isClosing: () => boolean;
  log: ((entry: LogEntry) => void) | undefined;
  /** Called with each request that was answered, for metrics. */
  onRequest: (request: AnsweredRequest) => void;
  readMetrics: ReadMetrics;
}

/** Reads an application's metrics in Prometheus' text format. */
export type ReadMetrics = (db: Reader, now: number) => Promise<string>;

/** What answers which request: the same for any number of pipelines. */
export interface Routes {
  readonly mounts: readonly Mount[];
  readonly router: Router;
  /** What answers reads of a path that no route has. */
  readonly unknownPage: Endpoint | undefined;
}

/** Puts the routes of mounts in order. @throws TypeError if the declaration of a route contradicts itself */
export function routesOf(mounts: readonly Mount[]): Routes {
  const unknownPage = mounts.flatMap((mount) =>
    mount.unknownPage ? [endpointOf(mount.unknownPage, mount)] : [],
  )[0];
  return { mounts, router: createMountRouter(mounts), unknownPage };
}

/**
 * Creates the pipeline of all requests: match, authenticate, read and validate input, open the transaction, find the
 * group or project and check the role, handle, present, status and headers.
 */
export function createPipeline(settings: PipelineSettings): Respond {
  const { router, unknownPage } = settings.routes;
  const answering: RouterAnswer = (endpoint, exchange) => answer(settings, endpoint, exchange);
  return async (incoming) => {
    const started = performance.now();
    const mayBeOurs = router.mayOwn(incoming);
    if (!mayBeOurs && !incoming.isLast) return undefined;
    const budget = new Budget({
      throwIfAborted: () => {
        if (incoming.hasLeft?.()) throw clientLeft();
      },
    });
    const exchange: Exchange = { incoming, requestId: requestIdOf(incoming), budget, params: {} };
    let reply: Reply | undefined;
    try {
      if (settings.isClosing()) throw unavailable();
      reply = mayBeOurs ? await router.route(exchange, answering) : undefined;
      if (!reply) {
        if (!incoming.isLast) return undefined;
        if (!unknownPage || incoming.base === undefined || !isSafe(incoming)) {
          throw unknownRoute();
        }
        exchange.mount = unknownPage.mount;
        reply = await answer(settings, unknownPage, exchange);
      }
    } catch (error) {
      reply = replyOfError(error, exchange, settings);
    }
    finish(reply, exchange, settings.url);
    const took = performance.now() - started;
    if (!exchange.mount || exchange.mount.showsRuntime) {
      reply.headers["x-runtime"] = (took / 1000).toFixed(6);
    }
    if (mayBeOurs || incoming.ownsRoot) {
      settings.onRequest({
        incoming,
        caller: exchange.caller,
        route: exchange.pattern,
        status: reply.status,
        duration: took,
      });
    }
    if (settings.log && (mayBeOurs || incoming.ownsRoot)) {
      settings.log(logEntryOf(exchange, reply.status, took, settings.now()));
    }
    return reply;
  };
}

function answer(
  settings: PipelineSettings,
  endpoint: Endpoint,
  exchange: Exchange,
): Promise<Reply> {
  const now = settings.now();
  const { upload: spec, body } = endpoint.route;
  return spec || body === "file"
    ? answerUpload(settings, endpoint, exchange, now, spec)
    : answerWith(settings, endpoint, exchange, now, undefined);
}

async function answerUpload(
  settings: PipelineSettings,
  endpoint: Endpoint,
  exchange: Exchange,
  now: number,
  spec: UploadSpec | undefined,
): Promise<Reply> {
  const admit = (parameters: Parameters) => admitUpload(settings, endpoint, exchange, parameters);
  const bytes = spec?.maxBytes ?? settings.uploadBytes;
  const upload = new Upload(spec, settings.store, bytes, now, admit);
  try {
    return await answerWith(settings, endpoint, exchange, now, upload);
  } finally {
    await upload.settle().catch((error) => settings.outages.failed(error));
  }
}

/** Makes all checks that are possible before the file is received, so that no file is stored in vain. */
async function admitUpload(
  settings: PipelineSettings,
  endpoint: Endpoint,
  exchange: Exchange,
  parameters: Parameters,
): Promise<number | undefined> {
  const { route } = endpoint;
  const { incoming } = exchange;
  const now = settings.now();
  const sent = Object.assign(parseQuery(incoming.query, settings.body), parameters);
  addPathParameters(sent, exchange);
  const db = settings.store.reader();
  const caller = await authorizeCaller(settings, db, endpoint, exchange, sent, now);
  await admit(settings, db, route, sent["id"] as string, caller, now);
  const arrival = { db, request: incoming, caller, parameters: sent, now };
  return (await route.upload?.admit?.(arrival)) ?? undefined;
}

/** The pipeline looks up `:id` of a group or project; elsewhere it is an attribute like any other. */
function addPathParameters(parameters: Parameters, { params }: Exchange): void {
  for (const name of Object.keys(params)) parameters[name] = decodePath(params[name] as string);
}

/** Makes all checks of a group or project that are possible before the input or the body is read. */
async function admit(
  { tier }: PipelineSettings,
  db: Reader,
  route: Route,
  id: string,
  caller: Caller | undefined,
  now: number,
): Promise<Source | undefined> {
  const viewer = { caller, today: dayOf(now) };
  const source = await findRouteSource(db, route, id, viewer, caller);
  const role =
    typeof route.role === "string"
      ? await roleFor(route.role, route, db, source, viewer)
      : undefined;
  requirePermission(route, role, source, caller, tier);
  return source;
}

/** The role that a caller needs: none if they may call the route without it. */
async function roleFor(
  role: Role | undefined,
  { orWho }: Route,
  db: Reader,
  source: Source | undefined,
  viewer: Viewer,
): Promise<Role | undefined> {
  const isBelow = role && source && !hasRole(source, role);
  return isBelow && orWho && (await orWho(db, source, viewer)) ? undefined : role;
}

async function answerWith(
  settings: PipelineSettings,
  endpoint: Endpoint,
  exchange: Exchange,
  now: number,
  upload: Upload | undefined,
): Promise<Reply> {
  const { route, mount } = endpoint;
  const { incoming } = exchange;
  const { store, turns } = settings;
  if (isSafe(incoming) && incoming.query.length > MAX_QUERY_LENGTH) throw queryTooLong();

  const query = parseQuery(incoming.query, settings.body);
  const identified = isSafe(incoming)
    ? undefined
    : await identify(settings, endpoint, exchange, query, now);
  const bytes = route.maxBodyBytes ?? mount.bodyBytes ?? settings.body.bytes;
  const limits = bytes === settings.body.bytes ? settings.body : { ...settings.body, bytes };
  const raw = takesRawBody(route) ? new RawBody(incoming, bytes) : undefined;
  if (raw) exchange.body = raw;
  const sent =
    isSafe(incoming) || raw
      ? undefined
      : await readSent(endpoint, incoming, limits, identified?.caller !== undefined, upload);
  const object = route.body === "object" ? sent : undefined;
  const own = settings.strict && { ...query };
  const parameters = object ? query : Object.assign(query, sent);
  addPathParameters(parameters, exchange);
  const reader = store.reader();
  const caller = await authorizeCaller(
    settings,
    reader,
    endpoint,
    exchange,
    parameters,
    now,
    identified,
  );
  if (settings.strict && own) {
    requireStrict(settings.strict, endpoint, exchange, own, object ? undefined : sent);
  }
  const key = exchange.params["id"] ?? "";
  const { result, reply } = await settings.retries.run(key, route, async (isLater) => {
    const db = isLater ? store.reader() : reader;
    const performance = await prepare(settings, db, endpoint, exchange, caller, parameters, now, {
      raw,
      object,
      upload,
    });
    const { presenter, view, page, run } = performance;
    const rest = async (left: Page): Promise<Answer> => {
      const turn = turns.begin(incoming.ip);
      try {
        await turn?.ready;
        // Only writing routes return anything else.
        return (await run(store.reader() as Database, left)) as Answer;
      } finally {
        turn?.end();
      }
    };
    const turn = route.immediate ? undefined : turns.begin(incoming.ip);
    try {
      if (turn?.ready) await turn.ready;
      const result = await perform(settings, endpoint, performance, db);
      const reply = (made: Answer) =>
        replyOf(endpoint, made, rest, presenter, view, page, incoming);
      return { result, reply };
    } finally {
      turn?.end();
    }
  });
  // Outside of the retries: what is written is not written again, and the routes that follow have their own.
  if (!(result instanceof AfterRoutes)) return reply(result);
  return reply(await followed(settings, exchange, caller, now, result));
}

/** Does what follows a request. */
function followed(
  settings: PipelineSettings,
  exchange: Exchange,
  known: Caller | undefined,
  now: number,
  { follow, caller = known }: AfterRoutes,
): Promise<Answer> {
  const runner: RouteRunner = {
    perform: (route, sent) => {
      const found = typeof route === "string" ? routeNamed(settings.routes.mounts, route) : route;
      return call(settings, found, exchange, caller, sent, now);
    },
    reader: () => settings.store.reader(),
  };
  return follow(runner);
}

/** The routes of mounts, by method and path. The first of a name counts. */
const named = new WeakMap<readonly Mount[], ReadonlyMap<string, Route>>();

function routeNamed(mounts: readonly Mount[], name: string): Route {
  const known = named.get(mounts);
  if (!known) {
    const all = mounts.flatMap(({ resources }) => resources.flatMap(({ routes }) => routes));
    named.set(mounts, new Map(all.reverse().map((one) => [`${one.method} ${one.path}`, one])));
    return routeNamed(mounts, name);
  }
  const found = known.get(name);
  if (!found) throw new TypeError(`There is no route ${name}`);
  return found;
}

/** A request whose caller and input are known, ready to run. */
interface Performance {
  readonly input: object;
  readonly page: Page;
  readonly presenter: Presenter;
  readonly view: View;
  /** Makes the checks that need the database, and handles the request. */
  run(db: Database, page: Page): Promise<HandlerResult>;
}

/** The body of a request, unless it was parsed into attributes. */
interface Sent {
  readonly raw?: RawBody | undefined;
  readonly object?: Parameters | undefined;
  /** Where it goes if it is a file. */
  readonly upload?: Upload | undefined;
}

/** Reads a request's input, and does what comes before its transaction. */
async function prepare(
  settings: PipelineSettings,
  reader: Reader,
  endpoint: Endpoint,
  exchange: Exchange,
  caller: Caller | undefined,
  parameters: Parameters,
  now: number,
  { raw, object, upload }: Sent = {},
): Promise<Performance> {
  const { route, concurrency } = endpoint;
  const { incoming, budget } = exchange;
  const { store, signIns, tier } = settings;
  const id = parameters["id"] as string;
  const enter = () => admit(settings, reader, route, id, caller, now);
  const known = route.repository && (await enter());
  const input = endpoint.read(parameters);
  const page = readPage(parameters, settings.pages);
  raw?.requireReadable();
  const target = known ?? (route.source && (raw || route.prepare) && (await enter()));
  const bytes = route.body === "bytes" ? await raw?.bytes() : undefined;
  const view = viewOf(
    settings.url ?? (incoming.base as string),
    now,
    settings.secrets,
    settings.edition,
  );
  const viewer: Viewer = { caller, today: dayOf(now) };
  const preparing = {
    store,
    db: reader,
    request: incoming,
    caller: caller as Caller,
    body: object ?? bytes ?? (route.body === "stream" ? raw?.chunks() : undefined),
    source: target as Source,
    signIns,
    providers: settings.providers,
    secrets: settings.secrets,
    outgoing: settings.outgoing,
    includes: settings.includes,
    tier,
    edition: settings.edition,
    view,
    viewer,
    now,
    budget,
    isClosing: settings.isClosing,
    requireStanding: settings.requireStanding ?? (async () => undefined),
    userActive: (userId: number) => settings.tokenUsage.userActive(userId, now),
  };
  const prepared = route.prepare && (await route.prepare(input, preparing));
  const file =
    raw && upload && route.body === "file" ? await upload.body(() => raw.chunks()) : undefined;

  const presenter =
    typeof endpoint.presenter === "function"
      ? endpoint.presenter({ caller: caller as Caller, input })
      : endpoint.presenter;

  const run = async (db: Database, page: Page): Promise<HandlerResult> => {
    const source =
      (route.isReading && target) || (await findRouteSource(db, route, id, viewer, caller));
    if (source && !route.isReading && concurrency !== "alone") {
      db.lock(source.id, { shared: concurrency === "free" });
    }
    const context: Context<Attributes, Database> = {
      db,
      input,
      body: object ?? bytes ?? file,
      prepared,
      source: source as Source,
      caller,
      viewer,
      page,
      presenter,
      view,
      now,
      budget,
      tier,
      edition: settings.edition,
      request: incoming,
      csrfToken: exchange.session === undefined ? "" : csrfTokenOf(exchange.session),
      site: settings.site,
      secrets: settings.secrets,
      readMetrics: () => settings.readMetrics(db, now),
      requireUnmodified: (updatedAt) => requireUnmodified(incoming, updatedAt),
      call: (other, sent) => call(settings, other, exchange, caller, sent, now),
      mayCall: (name, place) =>
        mayCall(routeNamed(settings.routes.mounts, name), place, tier, isPage(exchange)),
    };
    if (route.before) await route.before(context);
    const declared = typeof route.role === "function" ? route.role(context) : route.role;
    const role = await roleFor(declared, route, db, source, viewer);
    requirePermission(route, role, source, caller, tier);
    if (caller?.sudoer && !route.isReading) {
      const { sudoer, id: userId } = caller;
      const what = `${route.method} ${incoming.path}`;
      await settings.recordSudo(db, { sudoer, userId, what, ip: incoming.ip }, now);
    }
    return route.handle(context);
  };
  return { input, page, presenter, view, run };
}

/** Runs a request: reading ones with `reader`, others in a transaction. */
async function perform(
  { store }: PipelineSettings,
  { route, concurrency }: Endpoint,
  { page, run }: Performance,
  reader: Reader,
): Promise<Answer | AfterRoutes> {
  if (route.isReading) return (await run(reader as Database, page)) as Answer;
  const given = await store.transaction(
    async (db) => {
      const given = await run(db, page);
      // On SQLite others wait less if it is read by the connection that has written it: no other knows the new pages.
      const isReadAtOnce = given instanceof AfterCommit && given.needs === "rows";
      return isReadAtOnce && db.dialect === "sqlite" ? given.read(db) : given;
    },
    { shared: concurrency !== "alone" },
  );
  return given instanceof AfterCommit ? given.read(store.reader()) : given;
}

const isPage = ({ mount }: Exchange): boolean => mount?.hasForms === true;

/** The endpoints of routes that were called by others. */
const called = new WeakMap<Route, Endpoint>();

/** Performs another route for the caller of a request, without the request's own body and turn. */
async function call(
  settings: PipelineSettings,
  route: Route,
  exchange: Exchange,
  caller: Caller | undefined,
  sent: object,
  now: number,
): Promise<Called> {
  const endpoint = called.get(route) ?? endpointOf(route, exchange.mount as Mount);
  called.set(route, endpoint);
  const isShown = caller === undefined && route.isShownToVisitors && isPage(exchange);
  if (!isShown) requireAccess(endpoint, caller);
  const parameters: Parameters = Object.assign(emptyParameters(), sent);
  if (parameters["id"] !== undefined) parameters["id"] = String(parameters["id"]);
  const { store } = settings;
  const key = String(parameters["id"] ?? "");
  const { given, presenter, view } = await settings.retries.run(key, route, async () => {
    const reader = store.reader();
    const prepared = await prepare(settings, reader, endpoint, exchange, caller, parameters, now);
    const given = await perform(settings, endpoint, prepared, reader);
    return { given, presenter: prepared.presenter, view: prepared.view };
  });
  const result =
    given instanceof AfterRoutes ? await followed(settings, exchange, caller, now, given) : given;
  const hasNext = isRowPage(result) && (result.hasNext || result.read !== undefined);
  const body = result instanceof RawReply ? result.body : null;
  return { value: valueIn(result, presenter, view), hasNext, body, db: store.reader() };
}

const isRowPage = (result: Answer): result is RowPage =>
  result !== undefined && "hasNext" in result;

/** What an answer says, as its JSON is parsed. */
function valueIn(result: Answer, presenter: Presenter, view: View): unknown {
  if (Array.isArray(result)) return presenter.value(result, view);
  if (result instanceof Json) return result.value;
  if (result instanceof RawReply) {
    const isJson = result.headers["content-type"]?.startsWith("application/json");
    return isJson && typeof result.body === "string" ? JSON.parse(result.body) : undefined;
  }
  return result && "rows" in result
    ? result.rows.map((row) => presenter.value(row, view))
    : undefined;
}
