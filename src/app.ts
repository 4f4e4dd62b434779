import { existsSync, realpathSync } from "node:fs";
import type { HattipHandler } from "@hattip/core";
import { record } from "./accounts/audit.ts";
import { limitRequests } from "./accounts/requests.ts";
import { reseal } from "./accounts/sealed.ts";
import { watchUse } from "./accounts/watch.ts";
import { type Admin, createAdmin } from "./admin/index.ts";
import { type Swept, sweepInBackground } from "./background.ts";
import type { Authenticate } from "./core/auth.ts";
import { createPipeline, type LogEntry } from "./core/handler.ts";
import type { HostRequest, Respond } from "./core/incoming.ts";
import type { SignInLimits } from "./core/limits.ts";
import { Outages } from "./core/outages.ts";
import { PAGE_LIMITS, type PageLimits } from "./core/pagination.ts";
import { PARAMETER_LIMITS } from "./core/parameters.ts";
import { keepPasswordThreads } from "./core/password-threads.ts";
import type { Tier } from "./core/resource.ts";
import { createSecrets } from "./core/secrets.ts";
import { Turns } from "./core/turns.ts";
import { doors } from "./doors.ts";
import { createFetch, createHattipHandler, type FetchOptions } from "./fetch.ts";
import { type MailOptions, startMailer } from "./notifications/mailer.ts";
import { checkAppOptions } from "./options.ts";
import { Running } from "./running.ts";
import type { PostgresOptions } from "./store/drivers/postgres.ts";
import { migrate } from "./store/migrate.ts";
import { openStore } from "./store/open.ts";
import type { Store } from "./store/port.ts";
import { type SiteOptions, siteOf } from "./web/index.ts";

const MEBIBYTE = 1024 * 1024;

/** How an application is set up; every part has a default (docs/configuration.md). */
export interface AppOptions extends SiteOptions {
  /** A SQLite file, made when missing, a `postgres://` URL, or `":memory:"` (default). */
  database?: string;
  /** SQLite only: `"full"` also survives power loss, at one fsync a write. Default `"normal"`. */
  durability?: "normal" | "full";
  /** PostgreSQL only: connections and timeouts. */
  postgres?: PostgresOptions;
  /**
   * The address clients reach the API's mount by, such as `https://pm.example.com/prefix`: what links begin with.
   * Default: what each request says of itself.
   */
  url?: string;
  /**
   * What secrets that have to be known again, of two-factor sign-in, are encrypted with: 32 bytes in Base64 or
   * hexadecimal; older keys may follow, separated by commas. Default: `secretKeyFile`.
   */
  secretKey?: string;
  /**
   * A file of such keys, one a line; on SQLite it is made with the first secret. Default: the database's name and
   * `.key`, for a SQLite file; PostgreSQL has none.
   */
  secretKeyFile?: string;
  /** What may be used: `"free"`, `"premium"` or `"ultimate"` (default). */
  tier?: Tier;
  /** Whether impersonation tokens are accepted. Default true. */
  impersonation?: boolean;
  /** Flows of the OAuth2 provider that can be switched off; both are on by default. */
  oauth?: {
    /** The implicit grant, which gives tokens to pages in a browser. */
    implicit?: boolean;
    /** The password grant, for applications that users give their password to. */
    password?: boolean;
  };
  /**
   * The embedding app's own sign-in, in place of ours: tells who is signed in by its request, which is Express's or
   * Node's `req` where `createMiddleware` is used and the Fetch API's `Request` where `fetch` or `handler` is. Gives
   * their user name or id here, or `undefined` for nobody. Called where a request carries no token (docs/pages.md).
   */
  authenticate?(request: HostRequest): ReturnType<Authenticate>;
  /**
   * How long events and the audit log are kept: a number and `d`, `w`, `m` or `y`; `false` keeps them for ever. What is
   * older is removed once a day (`background`), and by `admin.purgeEvents()`. Default `"2y"`.
   */
  eventRetention?: string | false;
  /**
   * Whether the application looks after its database by itself: once a day, one of all processes on it removes events
   * that are too old and memberships that have run out. With `false`, call `admin.sweepDaily()`. Default true.
   */
  background?: boolean;
  /** Is given what the daily sweep removed. */
  onSwept?: (swept: Swept) => void;
  /** The clock, in epoch milliseconds. Default `Date.now`. */
  now?: () => number;
  /** Sends notifications by mail. Links in them begin with `url`, which is then needed. Default: none are sent. */
  mail?: MailOptions;
  limits?: Partial<PageLimits & SignInLimits> & {
    /** Bytes of a request body. Default 1 MiB. */
    bodyBytes?: number;
    /** Bytes of an uploaded file. Default 10 MiB. */
    attachmentBytes?: number;
    /** Tokens nobody has, from one address within ten minutes; `false` for any number. Default 100. */
    unknownTokens?: number | false;
    /** Requests in a minute by one user, and from one address without a token. Default: any number. */
    requestsPerMinute?: { user?: number; address?: number };
  };
  /** Is given what was asked and answered, without secrets. */
  log?: (entry: LogEntry) => void;
  /**
   * Is given every failure that is answered with a 500; of an outage of the database, whose requests are answered with
   * a 503, the first failure and its end. Default: `console.error`.
   */
  onError?: (error: unknown) => void;
}

/** A running application. */
export interface App {
  /** For hattip's adapters. A path outside the API is passed through, where the adapter can. */
  readonly handler: HattipHandler;
  /**
   * Answers like the Fetch API's `fetch`, without a network: for route handlers of Hono, Next and others, and for tests.
   * Links begin with `url` where it is set, else with the request's origin and the prefix.
   *
   * @param input a request, or an address with what `new Request` takes beside it
   * @param init with a `Request`, only `prefix` is read: frameworks that mount a handler pass other things there
   * @example
   * hono.all("/pm/*", (context) => pm.fetch(context.req.raw, { prefix: "/pm" }));
   */
  fetch(input: Request | string | URL, init?: RequestInit & FetchOptions): Promise<Response>;
  /** For adapters: answers without making a `Response`; `undefined` where the path is outside the API. */
  readonly respond: Respond;
  /** What operators do: users, tokens, seeds. The CLI calls nothing else. */
  readonly admin: Admin;
  /**
   * Ends: requests that come from now on are answered with 503, those under way are waited for, ten seconds at most.
   * Then the database is closed.
   */
  close(): Promise<void>;
}

/**
 * Opens the database, brings its schema up to date and gives the API over it.
 *
 * @example
 * const app = await createApp({ database: "pm.db" });
 * const response = await app.fetch(new Request("http://localhost/api/v4/version"));
 *
 * @throws OptionError where an option is wrong, misspelt or missing
 * @throws StoreError when the database can't be opened or is newer than this version
 * @throws SecretKeyError where `secretKey` is malformed
 */
export async function createApp(options: AppOptions = {}): Promise<App> {
  checkAppOptions(options);
  const { database = ":memory:", durability = "normal", postgres } = options;
  return createAppOn(await openStore(database, { durability, ...postgres }), options);
}

/** {@link createApp} on a store that is open already, which the application then closes. */
export async function createAppOn(store: Store, options: AppOptions): Promise<App> {
  try {
    return await start(store, options);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function start(store: Store, options: AppOptions): Promise<App> {
  const { now = Date.now, authenticate, database = ":memory:" } = options;
  const { implicit = true, password = true } = options.oauth ?? {};
  const site = siteOf(options, authenticate === undefined);
  const resources = doors({ flows: { implicit, password }, pages: site.pages });
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
  // A database in memory is new: it holds no older secrets.
  if (database !== ":memory:" && secrets.mayEncrypt) {
    await reseal(store, secrets, { plainOnly: true });
  }
  const {
    bodyBytes = MEBIBYTE,
    attachmentBytes = 10 * MEBIBYTE,
    signInsPerAccount = 10,
    signInsPerAddress = 100,
    unknownTokens = 100,
    requestsPerMinute,
    ...pages
  } = options.limits ?? {};
  const watch = watchUse(store, unknownTokens, onError);
  const running = new Running();
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
    watch,
    turns: new Turns(),
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
    outages,
  });

  const respond = running.counted(pipeline);
  const retention = options.eventRetention ?? "2y";
  const admin = createAdmin({ store, now, retention, url, secrets });
  // Last, so that nothing is left running if anything before fails.
  const mailer =
    options.mail && (await startMailer({ ...options.mail, store, now, url: url ?? "", onError }));
  const leavePasswordThreads = keepPasswordThreads();
  const endSweeping =
    (options.background ?? true) ? sweepInBackground(admin, options.onSwept, onError) : undefined;
  const close = async () => {
    endSweeping?.();
    await running.end();
    await mailer?.stop();
    leavePasswordThreads();
    await watch.close();
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
