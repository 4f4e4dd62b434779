import type { HattipHandler } from "@hattip/core";
import { record } from "./accounts/audit.ts";
import { limitRequests } from "./accounts/requests.ts";
import { watchTokens } from "./accounts/watch.ts";
import { type Admin, createAdmin } from "./admin.ts";
import type { Authenticate } from "./core/auth.ts";
import { createPipeline, type LogEntry } from "./core/handler.ts";
import type { HostRequest, Respond } from "./core/incoming.ts";
import type { SignInLimits } from "./core/limits.ts";
import { PAGE_LIMITS, type PageLimits } from "./core/pagination.ts";
import { PARAMETER_LIMITS } from "./core/parameters.ts";
import { keepPasswordThreads } from "./core/password-threads.ts";
import type { Tier } from "./core/resource.ts";
import { doors } from "./doors.ts";
import { createFetch, createHattipHandler, type FetchOptions } from "./fetch.ts";
import { type MailOptions, startMailer } from "./mail.ts";
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
   * How long events are kept: a number and `d`, `w`, `m` or `y`; `false` keeps them for ever. `admin.purgeEvents()`
   * removes what is older. Default `"2y"`.
   */
  eventRetention?: string | false;
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
  /** Is given every failure that is answered with a 500 or a 503. Default: `console.error`. */
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
  /** Ends what runs and closes the database. */
  close(): Promise<void>;
}

/**
 * Opens the database, brings its schema up to date and gives the API over it.
 *
 * @example
 * const app = await createApp({ database: "pm.db" });
 * const response = await app.fetch(new Request("http://localhost/api/v4/version"));
 *
 * @throws StoreError when the database can't be opened or is newer than this version
 */
export async function createApp(options: AppOptions = {}): Promise<App> {
  const { database = ":memory:", durability = "normal", postgres } = options;
  return createAppOn(await openStore(database, { durability, ...postgres }), options);
}

/** {@link createApp} on a store that is open already, which the application then closes. */
export async function createAppOn(store: Store, options: AppOptions): Promise<App> {
  const { now = Date.now, authenticate } = options;
  const { implicit = true, password = true } = options.oauth ?? {};
  let site: ReturnType<typeof siteOf>;
  let resources: ReturnType<typeof doors>;
  try {
    site = siteOf(options, authenticate === undefined);
    resources = doors({ flows: { implicit, password }, pages: site.pages });
    await migrate(
      store,
      resources.flatMap((resource) => resource.migrations),
      now(),
    );
  } catch (error) {
    await store.close();
    throw error;
  }
  const url = options.url?.replace(/\/+$/, "");
  const onError = options.onError ?? ((error: unknown) => console.error(error));
  if (options.mail && url === undefined) {
    await store.close();
    throw new TypeError("mail needs `url`: the address that links in mails begin with");
  }
  const mailer =
    options.mail && (await startMailer({ ...options.mail, store, now, url: url ?? "", onError }));
  const {
    bodyBytes = MEBIBYTE,
    attachmentBytes = 10 * MEBIBYTE,
    signInsPerAccount = 10,
    signInsPerAddress = 100,
    unknownTokens = 100,
    requestsPerMinute,
    ...pages
  } = options.limits ?? {};
  const leavePasswordThreads = keepPasswordThreads();
  const watch = watchTokens(store, unknownTokens, onError);
  const respond = createPipeline({
    store,
    resources,
    site,
    authenticate: authenticate?.bind(options),
    now,
    tier: options.tier ?? "ultimate",
    impersonation: options.impersonation ?? true,
    watch,
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
    onError,
  });

  return {
    handler: createHattipHandler(respond),
    respond,
    fetch: createFetch(respond, url),
    admin: createAdmin(store, now, options.eventRetention ?? "2y"),
    close: async () => {
      await mailer?.stop();
      leavePasswordThreads();
      await watch.close();
      await store.close();
    },
  };
}
