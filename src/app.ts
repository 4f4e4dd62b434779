import { existsSync, realpathSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { HattipHandler } from "@hattip/core";
import { type Admin, createAdmin } from "./admin/index.ts";
import * as audit from "./audit/log.ts";
import { keepPasswordThreads } from "./auth/password-pool.ts";
import { limitRequests } from "./auth/request-quota.ts";
import { type FirstKey, keepFirst } from "./auth/signing-keys.ts";
import { recordUsage } from "./auth/token-usage.ts";
import { sweepInBackground } from "./background.ts";
import type { AnsweredRequest } from "./core/http/access-log.ts";
import { createFetch, createHattipHandler, type FetchOptions } from "./core/http/fetch.ts";
import type { Respond } from "./core/http/incoming.ts";
import type { Mount } from "./core/http/mount.ts";
import { PARAMETER_LIMITS } from "./core/http/parameters.ts";
import {
  createPipeline,
  type PipelineSettings,
  type ReadMetrics,
  type Routes,
  routesOf,
} from "./core/http/pipeline.ts";
import { Retries } from "./core/http/retries.ts";
import { Running } from "./core/http/running.ts";
import type { Strictness } from "./core/http/strict.ts";
import { Turns } from "./core/http/turns.ts";
import { Outages } from "./core/outages.ts";
import type { Outgoing } from "./core/outgoing.ts";
import { PAGE_LIMITS } from "./core/pagination.ts";
import { reencrypt } from "./core/sealed.ts";
import { createSecrets, type Secrets } from "./core/secrets.ts";
import { USUAL_PORT } from "./core/ssh-address.ts";
import { editionOf, GITLAB_VERSION, REVISION } from "./core/version.ts";
import { openBlank } from "./database/blank.ts";
import { removeAbandoned } from "./database/files.ts";
import { loadNewest, migrations } from "./database/schema.ts";
import { Leases } from "./jobs/leases.ts";
import { startAll } from "./jobs/services.ts";
import type { Working } from "./jobs/worker.ts";
import { Metrics } from "./metrics/index.ts";
import { measured } from "./metrics/store.ts";
import { type MountOptions, mounts } from "./mounts.ts";
import { startMailer } from "./notifications/mailer.ts";
import { type AppOptions, checkAppOptions, type SshOptions } from "./options.ts";
import { includeSources } from "./outgoing/includes.ts";
import { createProviders } from "./providers/index.ts";
import { createAccount } from "./resources/accounts/changes.ts";
import { importFromServers, startBulkImports } from "./resources/bulk-imports/worker.ts";
import { watchJobs } from "./resources/ci/timed.ts";
import { startTracer } from "./resources/discussions/worker.ts";
import { startArchivist, writeArchives } from "./resources/exports/worker.ts";
import { foreignArchive, foreignLines } from "./resources/gitlab-archives/foreign.ts";
import type { AppEventName, AppEventOf, AppListener } from "./resources/hooks/app-events.ts";
import { Listeners, type Unsubscribe } from "./resources/hooks/listeners.ts";
import { callHooks, startHookCaller } from "./resources/hooks/worker.ts";
import { makePipelines, startPipelines } from "./resources/pipelines/worker.ts";
import { startPullMirrors, updateFromMirrors } from "./resources/pull-mirrors/worker.ts";
import { startMirrors } from "./resources/remote-mirrors/worker.ts";
import { startRemover } from "./resources/remover.ts";
import { runDue, startScheduler } from "./resources/schedules/scheduler.ts";
import { checkAll, standingIn } from "./resources/sign-ins/directories.ts";
import { siteHosts } from "./resources/sites/hosts.ts";
import { find } from "./resources/templates/catalog.ts";
import { endTransfers, startMover } from "./resources/transfers/worker.ts";
import { importFromUrls, startUrlImports } from "./resources/url-imports/worker.ts";
import { reactivate } from "./resources/users/changes.ts";
import { startConverter } from "./resources/wikis/conversion.ts";
import { withCommits } from "./store/after-commit.ts";
import { type Migration, migrate } from "./store/migrate.ts";
import { openStore } from "./store/open.ts";
import type { Store } from "./store/port.ts";
import { siteOf } from "./web/index.ts";

const MEBIBYTE = 1024 * 1024;

/** A running application. */
export interface App {
  /** For hattip's adapters. Paths outside the API are passed through if the adapter supports it. */
  readonly handler: HattipHandler;
  /**
   * Answers like the Fetch API's `fetch`, without a network: for route handlers (Hono, Next and others) and tests.
   * Links begin with `url` if it is set, otherwise with the request's origin and the prefix.
   *
   * @param input a request, or an address; `init` then takes the options of `new Request`
   * @param init with a `Request`, only `prefix` is read: frameworks that mount a handler pass other things there
   * @example
   * hono.all("/pm/*", (context) => pm.fetch(context.req.raw, { prefix: "/pm" }));
   */
  fetch(input: Request | string | URL, init?: RequestInit & FetchOptions): Promise<Response>;
  /** For adapters: answers without creating a `Response`; `undefined` if the path is outside the API. */
  readonly respond: Respond;
  /** The operators' API: users, tokens, seeds and more. */
  readonly admin: Admin;
  /** Where Git is served over SSH; `undefined` without the option `ssh`. */
  readonly ssh: ListeningSsh | undefined;
  /**
   * Calls `listener` with what happens from now on: after the commit, once, whoever does it (a request, a push, a runner,
   * `pm-cli`, another process on the same database). Of several processes that listen for an event, one is told. What a
   * listener throws goes to `onError`, and is not told again.
   *
   * @param name as in webhooks: `issue`, `merge_request`, `note`, `push`, `pipeline`, `job`, `release`, `member` …
   * @param listener the next event of the same project and name waits for the promise that it returns
   * @returns what ends it, once everything that is committed from now on is told to it
   * @throws OptionError if there is no such event
   * @throws UnavailableError if the database can't be used
   * @example
   * await app.on("issue", ({ action, user, payload }) => {
   *   console.log(`${user?.username} ${action} ${payload.object_attributes.title}`);
   * });
   */
  on<Name extends AppEventName>(name: Name, listener: AppListener<Name>): Promise<Unsubscribe>;
  /**
   * What happens from now on, as {@link on} tells it, to iterate over. Events wait in the database until they are taken.
   *
   * @throws OptionError if there is no such event, or none is named
   * @example
   * for await (const event of app.events("push", "pipeline")) console.log(event.name, event.action);
   */
  events<Name extends AppEventName>(...names: Name[]): AsyncIterableIterator<AppEventOf<Name>>;
  /**
   * Shuts down: new requests are answered with 503, and running ones get up to ten seconds to finish. Then the database
   * is closed.
   */
  close(): Promise<void>;
}

/** Git over SSH, as it is served. */
export interface ListeningSsh {
  /** The port that it listens on. */
  readonly port: number;
  /** The fingerprints of the keys by which clients know the server, as `ssh-keygen -l` shows them. */
  readonly fingerprints: readonly string[];
}

/**
 * Opens the database, brings its schema up to date and returns the application.
 *
 * @example
 * const app = await createApp({ database: "pm.db" });
 * const response = await app.fetch(new Request("http://localhost/api/v4/version"));
 *
 * @throws OptionError if an option is wrong, misspelt or missing
 * @throws StoreError if the database can't be opened or is newer than this version
 * @throws SecretKeyError if `secretKey` is malformed, or what it encrypts can't be read
 * @throws the system's error if the address of `ssh` can't be listened on
 */
export async function createApp(options: AppOptions = {}): Promise<App> {
  checkAppOptions(options);
  const { database = ":memory:", durability = "normal", postgres } = options;
  const store =
    database === ":memory:"
      ? await openBlank(migrations)
      : await openStore(database, { durability, ...postgres });
  return createAppOn(store, options);
}

/** What a test server watches in an application, or puts in the place of its parts. */
export interface Doubles {
  /** Called with each request that was answered. */
  readonly onAnswered?: (request: AnsweredRequest) => void;
  /** Called after each change of the database. */
  readonly onChange?: () => void;
  /** What is refused that GitLab ignores or converts; it may change. */
  readonly strict?: Strictness;
  /** What becomes of the calls of webhooks. */
  readonly calls?: Omit<Outgoing, "allowLocal">;
  /** What remembers the first key that signs tokens. */
  readonly firstKey?: FirstKey;
  /** Called with what can be changed in the running application. */
  readonly onStart?: (controls: Controls) => void;
}

/** What a test server changes in a running application. */
export interface Controls {
  /** Puts other limits in the place of those of {@link ChangeableLimits}; counts of requests begin anew. */
  readonly setLimits: (limits: ChangeableLimits) => void;
  /** Calls the webhooks that are due. */
  readonly callHooks: () => Promise<number>;
  /** What workers share, for those of the test server. */
  readonly working: Working;
  /** Encrypts what mails have. */
  readonly secrets: Secrets;
}

/** The limits that are looked up for each request. */
export type ChangeableLimits = Omit<
  NonNullable<AppOptions["limits"]>,
  "unknownTokens" | "waitingRequests"
>;

/**
 * {@link createApp} on a store that is already open, which the application closes when it ends.
 *
 * @param extra mounts to add to our own
 * @param passwordCost bcrypt's logarithmic cost, which tests lower
 * @param doubles of a test server
 */
export async function createAppOn(
  store: Store,
  options: AppOptions,
  extra: readonly Mount[] = [],
  passwordCost?: number,
  doubles: Doubles = {},
): Promise<App> {
  try {
    const { steps, now, open } = prepareApp(options, extra, passwordCost, doubles);
    await migrate(store, steps, now(), loadNewest);
    return await open(store);
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The settings of the pipeline that follow from limits. */
function limitsOf(
  store: Store,
  {
    bodyBytes = MEBIBYTE,
    attachmentBytes = 10 * MEBIBYTE,
    signInsPerAccount = 10,
    signInsPerAddress = 100,
    requestsPerMinute,
    ...pages
  }: ChangeableLimits,
) {
  return {
    pages: { ...PAGE_LIMITS, ...pages },
    body: { ...PARAMETER_LIMITS, bytes: bodyBytes },
    uploadBytes: attachmentBytes,
    signIns: { signInsPerAccount, signInsPerAddress },
    limitRequests: requestsPerMinute && limitRequests(store, requestsPerMinute),
  } satisfies Partial<PipelineSettings>;
}

/** What applications with the same options share. */
export interface Prepared {
  /** Every step of the schema. */
  readonly steps: readonly Migration[];
  readonly now: () => number;
  /** Starts an application on a store that has the newest schema, and which it closes when it ends. */
  open(store: Store): Promise<App>;
}

/** The routes of our mounts for each choice of optional ones: putting them in order takes most of a start. */
const known = new Map<string, Routes>();

function knownRoutes(chosen: MountOptions): Routes {
  const key = JSON.stringify(chosen);
  const found = known.get(key) ?? routesOf(mounts(chosen));
  known.set(key, found);
  return found;
}

/**
 * Does what a start takes, but for what depends on the database. Whatever an application keeps in memory about its
 * database is made by `open`: a second one on the same store knows nothing of the first.
 *
 * @param extra mounts to add to our own
 * @param passwordCost bcrypt's logarithmic cost, which tests lower
 */
export function prepareApp(
  options: AppOptions,
  extra: readonly Mount[] = [],
  passwordCost?: number,
  doubles: Doubles = {},
): Prepared {
  const { now = Date.now, authenticate } = options;
  const { implicit = true, password = true } = options.oauth ?? {};
  const site = siteOf(options, authenticate === undefined);
  const chosen = { flows: { implicit, password }, pages: site.pages };
  const own = knownRoutes(chosen);
  const routes = extra.length === 0 ? own : routesOf([...own.mounts, ...extra]);
  const resources = routes.mounts.flatMap((mount) => mount.resources);
  const steps = resources.flatMap(({ migrations }) => migrations);
  return {
    steps,
    now,
    open: (store) => start(store, options, { routes, site }, passwordCost, doubles),
  };
}

/** What of an application does not depend on its database. */
interface Fixed {
  readonly routes: Routes;
  readonly site: ReturnType<typeof siteOf>;
}

/** Where clients find Git over SSH. Its port is 0 until it is known. */
function addressOf(
  { port, url }: SshOptions,
  base: string | undefined,
): { host: string | undefined; port: number } {
  const own = url === undefined ? undefined : new URL(url);
  const { hostname } = own ?? (base === undefined ? { hostname: undefined } : new URL(base));
  return {
    host: hostname?.replace(/^\[|\]$/g, ""),
    port: own ? Number(own.port || USUAL_PORT) : port,
  };
}

async function start(
  opened: Store,
  options: AppOptions,
  { routes, site }: Fixed,
  passwordCost: number | undefined,
  { onAnswered, onChange, onStart, calls, strict, firstKey }: Doubles,
): Promise<App> {
  const { now = Date.now, authenticate, database = ":memory:", tier = "ultimate" } = options;
  const reported = options.onError ?? ((error: unknown) => console.error(error));
  const outages = new Outages(reported, () => opened.rows("select 1"));
  const onError = (error: unknown) => outages.failed(error);
  const running = new Running(onError);
  const metrics = new Metrics(opened, () => running.count);
  const { store, onCommit } = withCommits(measured(opened, metrics.database));
  const readMetrics: ReadMetrics = (db, at) => metrics.text(db, at);
  const url = options.url?.replace(/\/+$/, "");
  const sealedColumns = routes.mounts.flatMap((mount) =>
    mount.resources.flatMap(({ sealed = [] }) => sealed),
  );
  const path = existsSync(database) ? realpathSync(database) : database;
  const secrets = createSecrets(options, path, store.dialect === "sqlite");
  if (firstKey) keepFirst(secrets, firstKey);
  // A database in memory is new, so it holds no unencrypted secrets.
  if (database !== ":memory:" && secrets.mayEncrypt) {
    await reencrypt(store, secrets, sealedColumns, { plainOnly: true });
  }
  const { unknownTokens = 100, waitingRequests = 1000, ...changeable } = options.limits ?? {};
  const tokenUsage = recordUsage(store, unknownTokens, onError);
  const sites = options.sites ? options.sites.replace(/\/+$/, "") : undefined;
  const sshAddress = options.ssh && addressOf(options.ssh, url);
  const edition = {
    ...editionOf(options.gitlabVersion ?? GITLAB_VERSION, tier),
    ...{ sites, ssh: sshAddress },
  };
  const allowLocal = options.webhooks?.allowLocalRequests ?? false;
  const outgoing: Outgoing = { allowLocal, ...calls };
  const own = async (name: string) => (await find("gitlab_ci_ymls", name))?.content;
  const includes = includeSources(options.includes ?? {}, { allowLocal, own, now });
  const providers = createProviders(options.signIn ?? {}, { allowLocal, now });
  const settings: PipelineSettings = {
    store,
    routes,
    site,
    secrets,
    providers,
    requireStanding:
      providers.directories.length > 0 ? standingIn(providers.directories, store, now) : undefined,
    outgoing,
    includes,
    strict,
    isClosing: running.isClosing,
    authenticate: authenticate?.bind(options),
    createAccount: async ({ username, name, email }) => {
      const by = { id: null, name: "authenticate", ip: "" };
      await store.transaction((db) => createAccount(db, by, { username, name, email }, now()));
    },
    reactivate: (userId) =>
      store.transaction(async (db) => {
        await reactivate(db, { id: null, name: "authenticate", ip: "" }, userId, now());
      }),
    now,
    tier,
    edition,
    impersonation: options.impersonation ?? true,
    tokenUsage,
    retries: new Retries(),
    turns: new Turns(waitingRequests === false ? Number.POSITIVE_INFINITY : waitingRequests),
    recordSudo: (db, { sudoer, userId, what, ip }, at) => {
      const by = { id: sudoer.id, name: sudoer.username, ip };
      return audit.log({ db, by, now: at }, "acted by sudo", { userId, target: what });
    },
    url,
    ...limitsOf(store, changeable),
    log: options.log,
    onRequest: (request) => {
      metrics.count(request);
      onAnswered?.(request);
    },
    readMetrics,
    outages,
  };
  const answering = createPipeline(settings);
  const toSite = siteHosts(store, { sites, url });
  // Without a pause where none is needed: what has begun before the application closes is answered.
  const pipeline: Respond = (incoming) => {
    const led = toSite(incoming);
    return led instanceof Promise ? led.then(answering) : answering(led);
  };

  const retention = options.eventRetention ?? "2y";
  const leases = new Leases({ store, now, onError });
  const working: Working = { store, now, leases, onError };
  const listeners = new Listeners({ ...working, secrets, base: url ?? "", edition });
  onCommit(() => {
    listeners.wake();
    onChange?.();
  });
  // What happens after a call of `on` is told, also where nobody has waited for it.
  const respond = running.counted((incoming) =>
    listeners.starting ? listeners.starting.then(() => pipeline(incoming)) : pipeline(incoming),
  );
  const scheduling = { ...working, secrets, base: url ?? "", edition, includes, tier };
  const { mail, background = true, onSwept } = options;
  const { deliver = background, interval } = options.webhooks ?? {};
  const mirroring = { ...working, secrets, outgoing, interval, url };
  const gitlab = { store, gitlab: edition.version, revision: REVISION };
  const archiving: Parameters<typeof startArchivist>[0] = {
    ...working,
    foreignLines,
    foreignArchive: ({ id: projectId }, now, signal) =>
      foreignArchive({ ...gitlab, projectId, now }, signal),
  };
  let made: Admin | undefined;
  // Made when it is first asked for: it has many functions.
  const admin = () => {
    made ??= createAdmin({
      store,
      now,
      leases,
      retention,
      url,
      secrets,
      sealedColumns,
      readMetrics,
      runSchedules: () => runDue(scheduling),
      checkDirectories: () => checkAll(providers.directories, store, now),
      runPipelines: () => makePipelines(scheduling),
      runArchives: () => writeArchives(archiving),
      gitlabArchive: (id) =>
        archiving.foreignArchive({ kind: "project", id }, now(), new AbortController().signal),
      updateMirrors: async () =>
        (await importFromUrls(mirroring)) +
        (await importFromServers(mirroring)) +
        (await updateFromMirrors(mirroring)),
      endTransfers: () => endTransfers(working),
    });
    return made;
  };
  const delivering = { ...working, secrets, url, outgoing, edition, interval };
  onStart?.({
    setLimits: (limits) => Object.assign(settings, limitsOf(store, limits)),
    callHooks: () => callHooks(delivering),
    working,
    secrets,
  });
  let ssh: ListeningSsh | undefined;
  const startSsh = async (given: SshOptions) => {
    const { port, host = "127.0.0.1", signInTimeout = 60_000 } = given;
    const { loadSsh2, startSshServer, sshPipeline } = await import("./ssh/index.ts");
    const answer = running.counted(sshPipeline(settings));
    const service = await startSshServer({
      ...{ store, secrets, now, tokenUsage, url, onError, log: options.log },
      ...{ host, port, signInTimeout, respond: answer, ssh2: loadSsh2(given.module) },
    });
    ssh = service;
    if (sshAddress) sshAddress.port ||= service.port;
    return service;
  };
  // Last, so that nothing is left running if an earlier step fails.
  const services = await startAll(
    [
      mail !== undefined && (() => startMailer({ ...mail, ...working, secrets, url: url ?? "" })),
      deliver && (() => startHookCaller(delivering)),
      deliver && (() => startMirrors(mirroring)),
      deliver && (() => startPullMirrors(mirroring)),
      deliver && (() => startUrlImports(mirroring)),
      deliver && (() => startBulkImports(mirroring)),
      options.ssh !== undefined && (() => startSsh(options.ssh as SshOptions)),
      ...(background
        ? [
            () => startRemover(working),
            () => startMover(working),
            () => startTracer(working),
            () => startConverter(working),
            () => startPipelines(scheduling),
            () => startArchivist(archiving),
            () => watchJobs(working),
            () => startScheduler(scheduling),
            () => sweepInBackground(admin(), onSwept, onError),
          ]
        : []),
    ],
    onError,
  );
  if (deliver || mail !== undefined || background) leases.start();
  if (background && store.dialect === "sqlite" && database !== ":memory:") {
    // Nobody waits for it.
    void removeAbandoned(dirname(path), (name) => name === basename(path)).catch(onError);
  }
  const leavePasswordThreads = keepPasswordThreads(passwordCost);
  const close = async () => {
    await running.end();
    await Promise.all([services.stop(), listeners.stop()]);
    await leases.close();
    outages.close();
    metrics.close();
    leavePasswordThreads();
    await tokenUsage.close();
    await store.close();
  };
  let closed: Promise<void> | undefined;
  return {
    handler: createHattipHandler(respond),
    respond,
    fetch: createFetch(respond, url),
    get admin() {
      return admin();
    },
    get ssh() {
      return ssh && { port: ssh.port, fingerprints: ssh.fingerprints };
    },
    on: (name, listener) => listeners.on(name, listener),
    events: (...names) => listeners.events(...names),
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}
