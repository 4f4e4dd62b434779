import type { Migration } from "../store/migrate.ts";
import type { Awaitable, Database, Reader, Store, Value } from "../store/port.ts";
import type { Caller } from "./access/caller.ts";
import type { Role } from "./access/roles.ts";
import type { Source } from "./access/source.ts";
import type { Viewer } from "./access/visibility.ts";
import type { ApiError } from "./errors.ts";
import type { View } from "./field.ts";
import type { Bytes, Incoming } from "./http/incoming.ts";
import type { UploadSpec } from "./http/upload.ts";
import type { Attributes, Input } from "./input.ts";
import type { KeysetPage, Page, RowPage } from "./pagination.ts";
import type { Presenter } from "./presenter.ts";
import type { SignInLimits } from "./rate-limits.ts";
import type { Scope } from "./scopes.ts";
import type { Secrets } from "./secrets.ts";

/** GitLab's licence tiers: each includes all of the one before. */
export const TIERS = ["free", "premium", "ultimate"] as const;
export type Tier = (typeof TIERS)[number];

/** A JSON value without a presenter, such as `true` or a message. */
export class Json {
  constructor(readonly value: unknown) {}
}

/** A complete answer built by the handler: a page, a redirect, or an error that must not roll back its writes. */
export class RawReply {
  /** @param headers by lower-case name; with `content-type` if there is a body */
  constructor(
    readonly status: number,
    readonly headers: Readonly<Record<string, string>>,
    readonly body: string | null = null,
  ) {}
}

/**
 * An answer that is read after the commit, so that other writers don't wait for the reading. By then others may have
 * changed the data.
 */
export class AfterCommit {
  /** @param read returns what the handler would have returned */
  constructor(readonly read: (db: Reader) => Awaitable<Result>) {}
}

/** A file, sent piece by piece. Its headers include `content-type` and a strong `etag`. */
export class FileReply {
  constructor(
    readonly headers: Readonly<Record<string, string>>,
    readonly body: Bytes,
  ) {}
}

/** What a handler returns: a row for its presenter, a page of rows, plain JSON, a complete answer, or nothing. */
export type Result = Value[] | RowPage | KeysetPage | Json | RawReply | FileReply | undefined;

/** The request, for the few handlers that need more than its attributes. */
export type RequestInfo = Pick<Incoming, "method" | "path" | "query" | "header" | "base" | "ip">;

/** What `prepare` gets besides the input: it runs before the transaction opens, and may open its own. */
export interface PrepareContext {
  readonly store: Store;
  readonly request: RequestInfo;
  readonly caller: Caller | undefined;
  /** How often a password may be tried. */
  readonly signIns: SignInLimits;
  /** The instant of the request, in epoch milliseconds. */
  readonly now: number;
}

/** What a page knows about its visitor. */
export interface PageContext {
  readonly request: RequestInfo;
  readonly caller: Caller | undefined;
  readonly view: View;
  /** Every form sends it back as `authenticity_token`. */
  readonly csrfToken: string;
  readonly site: Site;
}

/** What pages know about the application. */
export interface Site {
  /** The names of the enabled pages. */
  readonly pages: readonly string[];
  /** The embedding app's own sign-in page, if it has one. */
  readonly signInUrl: string | undefined;
}

/**
 * A group of routes sharing a base path, accepted credentials and an error format. The API is one; pages are another.
 */
export interface Mount {
  /** The prefix of its routes' paths: `""` for none. */
  readonly base: string;
  /**
   * `"token"`: all credentials of the API (docs/authentication.md). `"session"`: only the session cookie, and unsafe
   * methods need the CSRF token. `"none"`: the routes authenticate callers themselves.
   */
  readonly credentials: "token" | "session" | "none";
  /** Turns an error into an answer. Default: its JSON body. */
  readonly showError?: (error: ApiError, visit: PageContext) => RawReply;
}

/** The API itself. */
export const API: Mount = { base: "/api/v4", credentials: "token" };

/** What a handler gets. */
export interface Context<
  A extends Attributes = Attributes,
  Db extends Reader = Reader,
  P = unknown,
> {
  /** The database; for writing routes, the transaction. */
  readonly db: Db;
  /** Path, query and body attributes, read by the route's schemas. */
  readonly input: Input<A>;
  /** What the route's `prepare` returned. */
  readonly prepared: P;
  /** The group or project the path begins with, if it does; the caller may read it. */
  readonly source: Source;
  /** The caller; may be `undefined` on routes open to anyone. */
  readonly caller: Caller | undefined;
  readonly viewer: Viewer;
  readonly page: Page;
  /** The route's presenter for this caller: it names the columns to select. */
  readonly presenter: Presenter;
  /** What presenters need besides their rows, for handlers that call one themselves. */
  readonly view: View;
  /** The instant of the request, in epoch milliseconds. */
  readonly now: number;
  readonly tier: Tier;
  readonly request: RequestInfo;
  /** Every form sends it back as `authenticity_token`; `""` if the mount takes no sessions. */
  readonly csrfToken: string;
  readonly site: Site;
  /** Encrypts secrets that are needed in plain text again. */
  readonly secrets: Secrets;
  /**
   * Honours `If-Unmodified-Since`.
   *
   * @param updatedAt when the record was last changed, in epoch milliseconds
   * @throws ApiError 412 if that is later
   */
  requireUnmodified(updatedAt: number): void;
}

/** A route as its resource declares it. */
interface RouteSpec<A extends Attributes, Db extends Reader, P = unknown> {
  /** One line for the reference. */
  summary: string;
  /** Who may call: `"anyone"`, `"user"` (default; else 401) or `"admin"` (else 403). */
  access?: "anyone" | "user" | "admin";
  /** Token scopes, one of which is needed. Default: `api`, and `read_api` for GET. */
  scopes?: readonly Scope[];
  /** The role needed in the group or project. Default: none, being able to read it is enough. */
  role?: Role | ((context: Context<A, Db, P>) => Role | undefined);
  /** Whether it is answered at once, even if requests of the same client wait. For routes that cost next to nothing. */
  immediate?: true;
  /** Whether CI job tokens are accepted, on a route below a project: they reach only their own project. */
  jobTokens?: true;
  /** Called if a revoked token was sent here, before the 401 answer. */
  onRevoked?: (store: Store, tokenId: number, now: number) => Awaitable<void>;
  /** The tier the route belongs to. Default `"free"`. */
  tier?: Tier;
  /** Attributes of path, query and body. */
  input?: A;
  /** Names of attributes, at least one of which must be sent. */
  atLeastOne?: readonly (keyof A & string)[];
  /** Accepts one file part of a multipart body, which becomes an attribute: see `file()`. */
  upload?: UploadSpec;
  /** Does slow work before the transaction opens, such as hashing a password. */
  prepare?: (input: Input<A>, preparing: PrepareContext) => Awaitable<P>;
  /** For lookups that fail with 400 or 404 before the role is checked, in GitLab's order. */
  before?: (context: Context<A, Db, P>) => Awaitable<void>;
  handle: (context: Context<A, Db, P>) => Awaitable<Result | AfterCommit>;
  /**
   * Who else may write at the same time (docs/decisions/0003): `"nobody"`; `"others"`, which write to other projects;
   * or `"anybody"`, also other such routes in the same project, for work that single statements and constraints keep
   * consistent. Default: `"others"` below a project feature, such as its issues, and `"nobody"` elsewhere.
   */
  beside?: "nobody" | "others" | "anybody";
  /** How a row becomes JSON; a function if that depends on the caller. */
  presenter?: Presenter | ((context: Pick<Context<A, Db, P>, "caller" | "input">) => Presenter);
  /** Example answers of routes without a presenter, for the reference; a field missing from one of them is optional. */
  examples?: readonly unknown[];
  /** The status of success. Default: 200, 201 for POST, 204 without a result. */
  status?: number;
}

export type Method = "GET" | "POST" | "PUT" | "DELETE";

/** A route with any attributes, as the pipeline and the generators see it. */
export interface Route extends RouteSpec<Attributes, Database> {
  readonly method: Method;
  /** Path below its mount's base, with `:name` parameters; `:name*` also matches slashes. */
  readonly path: string;
}

/** Everything the API has for one kind of record: its tables and routes. */
export interface Resource {
  /** Its heading in the reference. */
  readonly name: string;
  /** Default: {@link API}. */
  readonly mount?: Mount;
  readonly migrations: readonly Migration[];
  readonly routes: readonly Route[];
}

function method<Db extends Reader>(name: Method) {
  return <const A extends Attributes, P>(path: string, spec: RouteSpec<A, Db, P>): Route =>
    // Only the pipeline calls a route, with input read by the route's own schemas.
    ({ ...spec, method: name, path }) as unknown as Route;
}

/** A reading route: it has no way to write. */
export const get = method<Reader>("GET");
/** A creating route, or an action. */
export const post = method<Database>("POST");
/** A changing route. */
export const put = method<Database>("PUT");
/** A deleting route. */
export const del = method<Database>("DELETE");

/** Routes below a path: `under("/groups/:id/badges", [get("", …)])`. */
export function under(prefix: string, routes: readonly Route[]): Route[] {
  return routes.map((route) => ({ ...route, path: prefix + route.path }));
}
