import { existsSync, realpathSync } from "node:fs";
import type { HattipHandler } from "@hattip/core";
import { type Admin, createAdmin } from "./admin/index.ts";
import { record } from "./audit/log.ts";
import type { Authenticate } from "./auth/authenticate.ts";
import { keepPasswordThreads } from "./auth/password-pool.ts";
import { limitRequests } from "./auth/request-quota.ts";
import { reseal } from "./auth/reseal.ts";
import { recordUsage } from "./auth/token-usage.ts";
import { type Swept, sweepInBackground } from "./background.ts";
import { createFetch, createHattipHandler, type FetchOptions } from "./core/http/fetch.ts";
import type { HostRequest, Respond } from "./core/http/incoming.ts";
import { PARAMETER_LIMITS } from "./core/http/parameters.ts";
import { createPipeline, type LogEntry } from "./core/http/pipeline.ts";
import { Running } from "./core/http/running.ts";
import { Turns } from "./core/http/turns.ts";
import { Outages } from "./core/outages.ts";
import { PAGE_LIMITS, type PageLimits } from "./core/pagination.ts";
import type { SignInLimits } from "./core/rate-limits.ts";
import type { Tier } from "./core/resource.ts";
import { createSecrets } from "./core/secrets.ts";
import { Metrics, type ReadMetrics } from "./metrics/index.ts";
import { measured } from "./metrics/store.ts";
import { mounts } from "./mounts.ts";
import { type MailOptions, startMailer } from "./notifications/mailer.ts";
import { checkAppOptions } from "./options.ts";
import type { PostgresOptions } from "./store/drivers/postgres.ts";
import { migrate } from "./store/migrate.ts";
import { openStore } from "./store/open.ts";
import type { Store } from "./store/port.ts";
import { type SiteOptions, siteOf } from "./web/index.ts";

const MEBIBYTE = 1024 * 1024;

/** The options of an application; all are optional (docs/configuration.md). */
export interface AppOptions extends SiteOptions {
  /** A SQLite file, created if missing, a `postgres://` URL, or `":memory:"` (default). */
  database?: string;
  /** SQLite only: `"full"` also survives power loss, at the cost of one fsync per write. Default `"normal"`. */
  durability?: "normal" | "full";
  /** PostgreSQL only: connections and timeouts. */
  postgres?: PostgresOptions;
  /**
   * The public address of the API's mount, such as `https://pm.example.com/prefix`; links begin with it. Default: the
   * address of each request.
   */
  url?: string;
  /**
   * The key that encrypts the secrets of two-factor sign-in: 32 bytes in Base64 or hexadecimal. Older keys may follow,
   * separated by commas. Default: `secretKeyFile`.
   */
  secretKey?: string;
  /**
   * A file of such keys, one per line; on SQLite it is created with the first secret. Default: the SQLite file's name
   * plus `.key`; none for PostgreSQL.
   */
  secretKeyFile?: string;
  /** The GitLab tier whose features are enabled: `"free"`, `"premium"` or `"ultimate"` (default). */
  tier?: Tier;
  /** Whether impersonation tokens are accepted. Default true. */
  impersonation?: boolean;
  /** Optional flows of the OAuth2 provider; both are enabled by default. */
  oauth?: {
    /** The implicit grant, which issues tokens to pages in a browser. */
    implicit?: boolean;
    /** The password grant, for applications that users trust with their password. */
    password?: boolean;
  };
  /**
   * The embedding app's own sign-in, which replaces ours. It gets the app's request (with `createMiddleware`, Express's
   * or Node's `req`; with `fetch` or `handler`, the Fetch API's `Request`) and returns the user name or id here of the
   * signed-in user, or `undefined` for none. It is called for requests without a token (docs/pages.md).
   */
  authenticate?(request: HostRequest): ReturnType<Authenticate>;
  /**
   * How long events and the audit log are kept: a number and `d`, `w`, `m` or `y`; `false` keeps them forever. Older
   * ones are removed once a day (`background`), and by `admin.purgeEvents()`. Default `"2y"`.
   */
  eventRetention?: string | false;
  /**
   * Whether the application cleans up its database by itself: once a day, one of the processes that share it removes
   * events past their retention and expired memberships. With `false`, call `admin.sweepDaily()`. Default true.
   */
  background?: boolean;
  /** Called with what the daily sweep removed. */
  onSwept?: (swept: Swept) => void;
  /** The clock, in epoch milliseconds. Default `Date.now`. */
  now?: () => number;
  /** Sends notifications by mail. Requires `url`, with which their links begin. Default: none are sent. */
  mail?: MailOptions;
  limits?: Partial<PageLimits & SignInLimits> & {
    /** Maximum size of a request body, in bytes. Default 1 MiB. */
    bodyBytes?: number;
    /** Maximum size of an uploaded file, in bytes. Default 10 MiB. */
    attachmentBytes?: number;
    /** Unknown tokens accepted from one address within ten minutes; `false` for no limit. Default 100. */
    unknownTokens?: number | false;
    /** Requests of one address that may wait while others of it run; more get 503. `false` for no limit. Default 1000. */
    waitingRequests?: number | false;
    /** Requests per minute of one user, and of one address without a token. Default: no limit. */
    requestsPerMinute?: { user?: number; address?: number };
  };
  /** Called with each request and its answer, without secrets. */
  log?: (entry: LogEntry) => void;
  /**
   * Called with every failure that is answered with 500. During an outage of the database, whose requests are answered
   * with 503, it is called only at the first failure and at the end. Default: `console.error`.
   */
  onError?: (error: unknown) => void;
}

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
  /**
   * Shuts down: new requests are answered with 503, and running ones get up to ten seconds to finish. Then the database
   * is closed.
   */
  close(): Promise<void>;
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
 * @throws SecretKeyError if `secretKey` is malformed
 */
export async function createApp(options: AppOptions = {}): Promise<App> {
  checkAppOptions(options);
  const { database = ":memory:", durability = "normal", postgres } = options;
  return createAppOn(await openStore(database, { durability, ...postgres }), options);
}

/** {@link createApp} on a store that is already open, which the application closes when it ends. */
export async function createAppOn(store: Store, options: AppOptions): Promise<App> {
  try {
    return await start(store, options);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function start(opened: Store, options: AppOptions): Promise<App> {
  const { now = Date.now, authenticate, database = ":memory:" } = options;
  const { implicit = true, password = true } = options.oauth ?? {};
  const site = siteOf(options, authenticate === undefined);
  const running = new Running();
  const metrics = new Metrics(opened, () => running.count);
  const store = measured(opened, metrics.database);
  const readMetrics: ReadMetrics = (db, at) => metrics.text(db, at);
  const resources = mounts({
    flows: { implicit, password },
    pages: site.pages,
    metrics: readMetrics,
  });
  const url = options.url?.replace(/\/+$/, "");
  const outages = new Outages(options.onError ?? ((error: unknown) => console.error(error)));
  const onError = (error: unknown) => outages.failed(error);
  await migrate(
    store,
    resources.flatMap((resource) => resource.migrations),
    now(),
  );
  const path = existsSync(database) ? realpathSync(database) : database;
  const secrets = createSecrets(options, path, store.dialect === "sqlite");
  // A database in memory is new, so it holds no unencrypted secrets.
  if (database !== ":memory:" && secrets.mayEncrypt) {
    await reseal(store, secrets, { plainOnly: true });
  }
  const {
    bodyBytes = MEBIBYTE,
    attachmentBytes = 10 * MEBIBYTE,
    signInsPerAccount = 10,
    signInsPerAddress = 100,
    unknownTokens = 100,
    waitingRequests = 1000,
    requestsPerMinute,
    ...pages
  } = options.limits ?? {};
  const tokenUsage = recordUsage(store, unknownTokens, onError);
  const pipeline = createPipeline({
    store,
    resources,
    site,
    secrets,
    isClosing: running.isClosing,
    authenticate: authenticate?.bind(options),
    now,
    tier: options.tier ?? "ultimate",
    impersonation: options.impersonation ?? true,
    tokenUsage,
    turns: new Turns(waitingRequests === false ? Number.POSITIVE_INFINITY : waitingRequests),
    signIns: { signInsPerAccount, signInsPerAddress },
    limitRequests: requestsPerMinute && limitRequests(store, requestsPerMinute),
    recordSudo: (db, { sudoer, userId, what, ip }, at) => {
      const author = { id: sudoer.id, name: sudoer.username };
      return record(db, { action: "acted by sudo", author, userId, target: what, ip }, at);
    },
    url,
    pages: { ...PAGE_LIMITS, ...pages },
    body: { ...PARAMETER_LIMITS, bytes: bodyBytes },
    uploadBytes: attachmentBytes,
    log: options.log,
    onRequest: metrics.count,
    outages,
  });

  const respond = running.counted(pipeline);
  const retention = options.eventRetention ?? "2y";
  const admin = createAdmin({ store, now, retention, url, secrets, readMetrics });
  // Last, so that nothing is left running if an earlier step fails.
  const mailer =
    options.mail && (await startMailer({ ...options.mail, store, now, url: url ?? "", onError }));
  const leavePasswordThreads = keepPasswordThreads();
  const endSweeping =
    (options.background ?? true) ? sweepInBackground(admin, options.onSwept, onError) : undefined;
  const close = async () => {
    endSweeping?.();
    await running.end();
    await mailer?.stop();
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
    admin,
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}
