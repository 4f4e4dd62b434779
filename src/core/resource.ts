import type { Migration } from "../store/migrate.ts";
import type { Awaitable, Database, Reader, Store, Value } from "../store/port.ts";
import type { Role, Source, Viewer } from "./access.ts";
import type { Caller, Scope } from "./auth.ts";
import type { ApiError } from "./errors.ts";
import type { Bytes, Incoming } from "./incoming.ts";
import type { Attributes, Input } from "./input.ts";
import type { SignInLimits } from "./limits.ts";
import type { KeysetListed, Listed, Page } from "./pagination.ts";
import type { Shape, View } from "./present.ts";
import type { Secrets } from "./secrets.ts";
import type { UploadSpec } from "./upload.ts";

/** What a licence would allow: each tier has all of the one before. */
export const TIERS = ["free", "premium", "ultimate"] as const;
export type Tier = (typeof TIERS)[number];

/** A JSON value that no presenter makes, such as `true` or a message. */
export class Plain {
  constructor(readonly value: unknown) {}
}

/** A whole answer of the handler's own making: a page, a redirect, an error that must not undo what was written. */
export class Answer {
  /** @param headers by lower-case name; `content-type` among them where there is a body */
  constructor(
    readonly status: number,
    readonly headers: Readonly<Record<string, string>>,
    readonly body: string | null = null,
  ) {}
}

/**
 * An answer that is read when what was written is committed, so that others don't wait for that. By then others may have
 * changed it.
 */
export class Committed {
  /** @param read gives what the handler would have given */
  constructor(readonly read: (db: Reader) => Awaitable<Result>) {}
}

/** A file, sent piece by piece. Its headers hold `content-type` and a strong `etag`. */
export class Download {
  constructor(
    readonly headers: Readonly<Record<string, string>>,
    readonly body: Bytes,
  ) {}
}

/** What a handler gives: a row for its presenter, a page of rows, plain JSON, an answer of its own, or nothing. */
export type Result = Value[] | Listed | KeysetListed | Plain | Answer | Download | undefined;

/** A request as the few handlers see it that need more than its attributes. */
export type Asked = Pick<Incoming, "method" | "path" | "query" | "header" | "base" | "ip">;

/** What `prepare` has beside the input: it runs before the transaction opens, and may open its own. */
export interface Preparing {
  readonly store: Store;
  readonly asked: Asked;
  readonly caller: Caller | undefined;
  /** How often a password may be tried. */
  readonly signIns: SignInLimits;
  /** The instant of the request, in epoch milliseconds. */
  readonly now: number;
}

/** What a page knows of who looks at it. */
export interface Visit {
  readonly asked: Asked;
  readonly caller: Caller | undefined;
  readonly view: View;
  /** What every form sends back as `authenticity_token`. */
  readonly csrfToken: string;
  readonly site: Site;
}

/** What pages know of the application. */
export interface Site {
  /** The names of the pages there are. */
  readonly pages: readonly string[];
  /** The embedding app's sign-in page, where it has its own. */
  readonly signInUrl: string | undefined;
}

/** A way in: below which path, with which credentials, and how errors look there. The API is one; pages are another. */
export interface Door {
  /** What comes before the paths of its routes: `""` for none. */
  readonly base: string;
  /**
   * `"token"`: all of contract §5. `"session"`: the session cookie alone, and unsafe methods need the CSRF token.
   * `"none"`: the routes see to it themselves.
   */
  readonly credentials: "token" | "session" | "none";
  /** What an error becomes; default: its JSON body. */
  readonly showError?: (error: ApiError, visit: Visit) => Answer;
}

/** The API itself. */
export const API: Door = { base: "/api/v4", credentials: "token" };

/** What a handler gets. */
export interface Context<
  A extends Attributes = Attributes,
  Db extends Reader = Reader,
  P = unknown,
> {
  /** The database; where the route writes, the transaction. */
  readonly db: Db;
  /** Path, query and body attributes, read by the route's schemas. */
  readonly input: Input<A>;
  /** What the route's `prepare` made. */
  readonly prepared: P;
  /** The group or project of a path that begins with one, which the caller may read. */
  readonly source: Source;
  /** Who calls; routes open to anyone may have nobody. */
  readonly caller: Caller | undefined;
  readonly viewer: Viewer;
  readonly page: Page;
  /** The route's presenter for this caller: which columns to select. */
  readonly shape: Shape;
  /** What presenters know besides their rows, for those a handler calls itself. */
  readonly view: View;
  /** The instant of the request, in epoch milliseconds. */
  readonly now: number;
  readonly tier: Tier;
  readonly asked: Asked;
  /** Where the door takes sessions, what every form sends back as `authenticity_token`; else `""`. */
  readonly csrfToken: string;
  readonly site: Site;
  /** Encrypts what has to be known again. */
  readonly secrets: Secrets;
  /**
   * Honours `If-Unmodified-Since` (contract §7).
   *
   * @param updatedAt when the record was last changed, in epoch milliseconds
   * @throws ApiError 412 where that is later
   */
  requireUnmodified(updatedAt: number): void;
}

/** A route as its resource declares it. */
interface RouteSpec<A extends Attributes, Db extends Reader, P = unknown> {
  /** One line for the reference. */
  summary: string;
  /** Who may call at all: `"anyone"`, `"user"` (default; else 401) or `"admin"` (else 403). */
  access?: "anyone" | "user" | "admin";
  /** Token scopes of which one is needed. Default: `api`, and `read_api` for GET. */
  scopes?: readonly Scope[];
  /** The role needed in the group or project. Default: none beyond reading it. */
  role?: Role | ((context: Context<A, Db, P>) => Role | undefined);
  /** Whether it is answered at once, however many requests of its client wait: it needs next to nothing. */
  immediate?: true;
  /** Whether CI job tokens are accepted, on a route below a project: they reach no other than their own. */
  jobTokens?: true;
  /** Is told of a revoked token that was sent here, before the answer is 401. */
  onRevoked?: (store: Store, tokenId: number, now: number) => Awaitable<void>;
  /** The tier the route belongs to. Default `"free"`. */
  tier?: Tier;
  /** Attributes of path, query and body. */
  input?: A;
  /** Names of attributes of which at least one must be sent. */
  atLeastOne?: readonly (keyof A & string)[];
  /** Takes one file part of a multipart body, which becomes an attribute: see `file()`. */
  upload?: UploadSpec;
  /** Does what takes long, before the transaction opens: hashing a password. */
  prepare?: (input: Input<A>, preparing: Preparing) => Awaitable<P>;
  /** Looks up what answers 400 or 404 before the role is checked (gitlab-facts §2). */
  before?: (context: Context<A, Db, P>) => Awaitable<void>;
  handle: (context: Context<A, Db, P>) => Awaitable<Result | Committed>;
  /**
   * Who else writes meanwhile (docs/decisions/0003): `"nobody"`; `"others"` who write to other projects; or `"anybody"`
   * whose routes say so too, for what single statements and constraints keep right. Default: `"others"` below a part of a
   * project, such as its issues, and `"nobody"` elsewhere.
   */
  beside?: "nobody" | "others" | "anybody";
  /** How a row becomes JSON; a function where it depends on the caller. */
  present?: Shape | ((context: Pick<Context<A, Db, P>, "caller" | "input">) => Shape);
  /** Examples of what is answered where no presenter makes it, for the reference; what one lacks is optional. */
  examples?: readonly unknown[];
  /** The status of success. Default: 200, 201 for POST, 204 without a result. */
  status?: number;
}

export type Method = "GET" | "POST" | "PUT" | "DELETE";

/** A route of any attributes, as the pipeline and the generators see it. */
export interface Route extends RouteSpec<Attributes, Database> {
  readonly method: Method;
  /** Path below its door's base (or below its resource, before {@link defineResource}), with `:name` parameters. `:name*` has slashes too. */
  readonly path: string;
}

/** All about one kind of thing. */
export interface Resource {
  /** Its heading in the reference. */
  readonly name: string;
  /** Default: {@link API}. */
  readonly door?: Door;
  readonly migrations: readonly Migration[];
  readonly routes: readonly Route[];
}

function method<Db extends Reader>(name: Method) {
  return <const A extends Attributes, P>(path: string, spec: RouteSpec<A, Db, P>): Route =>
    // Only the pipeline calls a route, with input that its own schemas read.
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
