import { setTimeout as sleep } from "node:timers/promises";
import type { AdapterRequestContext, HattipHandler } from "@hattip/core";
import { record } from "./accounts/audit.ts";
import { limitRequests } from "./accounts/requests.ts";
import { watchTokens } from "./accounts/watch.ts";
import { type Admin, createAdmin } from "./admin.ts";
import { createPipeline, type LogEntry, type Respond } from "./core/handler.ts";
import type { Bytes, Incoming, Reply } from "./core/incoming.ts";
import type { SignInLimits } from "./core/limits.ts";
import { PAGE_LIMITS, type PageLimits } from "./core/pagination.ts";
import { PARAMETER_LIMITS } from "./core/parameters.ts";
import { keepPasswordThreads } from "./core/password-threads.ts";
import type { Tier } from "./core/resource.ts";
import { doors } from "./doors.ts";
import { type MailOptions, startMailer } from "./mail.ts";
import type { PostgresOptions } from "./store/drivers/postgres.ts";
import { migrate } from "./store/migrate.ts";
import { openStore } from "./store/open.ts";
import type { Store } from "./store/port.ts";

const MEBIBYTE = 1024 * 1024;

/** How an application is set up; every part has a default (docs/configuration.md). */
export interface AppOptions {
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
  /** For everything that speaks the Fetch API: Bun, Deno, tests. */
  fetch(request: Request): Promise<Response>;
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
  const { now = Date.now } = options;
  const { implicit = true, password = true } = options.oauth ?? {};
  const resources = doors({ implicit, password });
  try {
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

  const handler = async (context: AdapterRequestContext): Promise<Response> => {
    const reply = await respond(incomingOf(context));
    if (reply) return responseOf(reply, context.request);
    context.passThrough();
    return Response.json({ error: "404 Not Found" }, { status: 404 });
  };
  return {
    handler,
    respond,
    fetch: (request) =>
      handler({
        request,
        ip: "",
        platform: undefined,
        env: () => undefined,
        passThrough: () => undefined,
        waitUntil: () => undefined,
      }),
    admin: createAdmin(store, now, options.eventRetention ?? "2y"),
    close: async () => {
      await mailer?.stop();
      leavePasswordThreads();
      await watch.close();
      await store.close();
    },
  };
}

function incomingOf({ request, ip }: AdapterRequestContext): Incoming {
  const url = new URL(request.url);
  return {
    method: request.method,
    path: url.pathname,
    query: url.search.slice(1),
    header: (name) => request.headers.get(name) ?? undefined,
    body: () => request.body?.values({ preventCancel: true }) ?? undefined,
    base: url.origin,
    ip,
  };
}

function responseOf({ status, headers, body }: Reply, request: Request): Response {
  if (body !== null && typeof body !== "string") {
    headers["content-length"] = String(body.length);
    return new Response(request.method === "HEAD" ? null : streamOf(body), { status, headers });
  }
  const sent =
    body === null || request.method === "HEAD"
      ? null
      : headers["connection"] === "close" && request.body
        ? lingering(body, request.body)
        : body;
  return new Response(sent, { status, headers });
}

/** Milliseconds for which the rest of a refused body is read past. */
const LINGER = 1000;

/**
 * The body of an answer to a client that still sends: it ends when the client stops, or soon. Closing the connection
 * on it would take the answer away again (RFC 9112 §9.6).
 */
function lingering(body: string, upload: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const readPast = async () => {
    for await (const _ of upload);
  };
  return new ReadableStream({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode(body));
      await Promise.race([
        readPast().catch(() => undefined),
        sleep(LINGER, undefined, { ref: false }),
      ]);
      controller.close();
    },
  });
}

/** Pulls as the client reads; a client that goes away ends the reading. */
function streamOf(body: Bytes): ReadableStream<Uint8Array> {
  const chunks = body.chunks()[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
