import type { StoredFile } from "../files/write.ts";
import type { IncludeSources } from "../outgoing/includes.ts";
import type { Migration } from "../store/migrate.ts";
import type { Awaitable, Database, Reader, Store, Value } from "../store/port.ts";
import type { Budget } from "../turns/budget.ts";
import type { Caller } from "./access/caller.ts";
import type { Feature } from "./access/features.ts";
import type { Role } from "./access/roles.ts";
import type { Source } from "./access/source.ts";
import type { Viewer } from "./access/visibility.ts";
import type { View } from "./field.ts";
import type { Bytes, Incoming } from "./http/incoming.ts";
import type { Parameters } from "./http/parameters.ts";
import type { UploadSpec } from "./http/upload.ts";
import type { Attributes, Input } from "./input.ts";
import type { Outgoing } from "./outgoing.ts";
import type { KeysetPage, Page, RowPage } from "./pagination.ts";
import type { Presenter } from "./presenter.ts";
import type { NamedProvider, Providers } from "./providers.ts";
import type { SignInLimits } from "./rate-limits.ts";
import type { DeployScope, Scope } from "./scopes.ts";
import type { SealedColumn } from "./sealed.ts";
import type { Secrets } from "./secrets.ts";
import type { Edition } from "./version.ts";

/** GitLab's licence tiers: each includes all of the one before. */
export const TIERS = ["free", "premium", "ultimate"] as const;
export type Tier = (typeof TIERS)[number];

/** Whether a tier has what belongs to another one, or to all. */
export const hasTier = (tier: Tier, lowest: Tier = "free"): boolean =>
  TIERS.indexOf(tier) >= TIERS.indexOf(lowest);

/** A JSON value without a presenter, such as `true` or a message. */
export class Json {
  /** @param status of the answer, if it is not the route's */
  constructor(
    readonly value: unknown,
    readonly status?: number,
  ) {}
}

/**
 * A complete answer built by the handler: a page, a redirect, a file, or an error that must not roll back its writes.
 */
export class RawReply {
  /**
   * @param headers by lower-case name; with `content-type` if there is a body. Without an `etag`, a GET gets a digest
   *   of its body, unless that is streamed.
   */
  constructor(
    readonly status: number,
    readonly headers: Readonly<Record<string, string>>,
    readonly body: string | Uint8Array | Bytes | null = null,
  ) {}
}

/**
 * An answer that is read after the commit on PostgreSQL, so that other writers don't wait for the reading. By then others
 * may have changed the data. On SQLite it is read before the commit, unless it needs a repository: objects of these are
 * read by a connection of their own, which waits for the transaction if the database is in memory.
 */
export class AfterCommit {
  /** @param read returns what the handler would have returned */
  constructor(
    readonly read: (db: Reader) => Awaitable<Answer>,
    readonly needs: "rows" | "repository" = "rows",
  ) {}
}

/** What an answer that follows others is made with. */
export interface RouteRunner {
  /**
   * Performs a route for the same caller, with its own authorization and transaction.
   *
   * @param route its method and path, such as `PUT /projects/:id/issues/:issue_iid`; or itself, if it has no address
   * @param parameters of its path and body
   * @throws ApiError what the route answers to a client
   */
  readonly perform: (route: string | Route, parameters: object) => Promise<Called>;
  /** A reader that sees what they have changed. */
  readonly reader: () => Reader;
}

/**
 * An answer that is made after the commit, by performing other routes: for text that contains commands. What the handler
 * has written stays, whatever becomes of them (docs/decisions/0055).
 */
export class AfterRoutes {
  /** @param caller for whom the routes are performed, if not for the caller that the pipeline has found */
  constructor(
    readonly follow: (runner: RouteRunner) => Promise<Answer>,
    readonly caller?: Caller,
  ) {}
}

/** What a handler may return; an `AfterCommit` or `AfterRoutes` only if it writes. */
export type HandlerResult = Answer | AfterCommit | AfterRoutes;

/** What a handler returns: a row for its presenter, a page of rows, plain JSON, a complete answer, or nothing. */
export type Answer = Value[] | RowPage | KeysetPage | Json | RawReply | undefined;

/** The request, for the few handlers that need more than its attributes. */
export type RequestInfo = Pick<Incoming, "method" | "path" | "query" | "header" | "base" | "ip">;

/**
 * How a route takes its body: `"parsed"` into its attributes; as a JSON `"object"` apart from them, whose names and
 * values the route reads itself; as `"bytes"`; as a `"stream"`, which never is in memory as a whole; or as a `"file"`,
 * which is stored before the transaction opens, and deleted unless a record refers to it afterwards. The last three may be
 * of any type, and compressed with gzip.
 */
type BodyKind = "parsed" | "object" | "bytes" | "stream" | "file";

/**
 * What `prepare` gets besides the input: it runs before the transaction opens, and may open its own. A streamed body
 * can only be read here, so that no write waits for a client that sends slowly.
 */
export interface PrepareContext<
  C extends Caller | undefined = Caller | undefined,
  B extends BodyKind = BodyKind,
  S extends Source | undefined = Source | undefined,
> {
  /**
   * The body, unless it was parsed into attributes. A stream can be read once, and throws the client's errors (400, 413).
   * A file is not there yet: this is the time to refuse it.
   */
  readonly body: {
    parsed: undefined;
    object: Parameters;
    bytes: Uint8Array;
    stream: AsyncIterable<Uint8Array>;
    file: undefined;
  }[B];
  /** The group or project the path begins with. The caller's role has been checked, unless it depends on the context. */
  readonly source: S;
  readonly store: Store;
  /** Reads of this request. */
  readonly db: Reader;
  readonly request: RequestInfo;
  readonly caller: C;
  /** How often a password may be tried. */
  readonly signIns: SignInLimits;
  /** By what people sign in besides their password here. */
  readonly providers: Providers;
  /** Encrypts secrets that are needed in plain text again. */
  readonly secrets: Secrets;
  /** What becomes of requests that the server sends, such as to webhooks. */
  readonly outgoing: Outgoing;
  /** Where configurations of pipelines include files from. */
  readonly includes: IncludeSources;
  readonly tier: Tier;
  /** Which GitLab clients are told they speak to. */
  readonly edition: Edition;
  /** What presenters need besides their rows, such as the public address. */
  readonly view: View;
  readonly viewer: Viewer;
  /** The instant of the request, in epoch milliseconds. */
  readonly now: number;
  /** What the request's work may use: loops over what it sent, or a repository holds, pause with it. */
  readonly budget: Budget;
  /** Whether the application ends: then nothing is waited for. */
  readonly isClosing: () => boolean;
  /**
   * Makes sure that the LDAP server somebody comes from still knows them: for routes that find their caller themselves.
   *
   * @throws ApiError 403, 503
   */
  readonly requireStanding: (userId: number) => Promise<void>;
  /** Notes that a user is active today: for routes that find their caller themselves. */
  readonly userActive: (userId: number) => void;
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

/** A project whose code the caller may read. */
export interface CodeSource extends Source {
  readonly kind: "project";
  readonly column: "project_id";
}

/** What pages know about the application. */
export interface Site {
  /** The names of the enabled pages. */
  readonly pages: readonly string[];
  /** The embedding app's own sign-in page, if it has one. */
  readonly signInUrl: string | undefined;
  /** By what people sign in besides their password here. */
  readonly providers: readonly NamedProvider[];
}

/** Who may call a route: anyone, any signed-in user (else 401), or administrators (else 403). */
type Access = "anyone" | "user" | "admin";

/** What a route knows about its caller. */
type CallerOf<Who extends Access> = Who extends "anyone" ? Caller | undefined : Caller;

/** What a handler gets. */
export interface Context<
  A extends Attributes = Attributes,
  Db extends Reader = Reader,
  P = unknown,
  Who extends Access = "anyone",
  S extends Source | undefined = Source,
  B extends BodyKind = BodyKind,
> {
  /** The database; for writing routes, the transaction. */
  readonly db: Db;
  /** Path, query and body attributes, read by the route's schemas. */
  readonly input: Input<A>;
  /** The body, if the route takes it as an object, as bytes or as a file. */
  readonly body: {
    parsed: undefined;
    object: Parameters;
    bytes: Uint8Array;
    stream: undefined;
    file: StoredFile;
  }[B];
  /** What the route's `prepare` returned. */
  readonly prepared: P;
  /** The group or project the path begins with; the caller may read it. `undefined` on routes without a source. */
  readonly source: S;
  /** The caller; may be `undefined` only on routes open to anyone. */
  readonly caller: CallerOf<Who>;
  readonly viewer: Viewer;
  readonly page: Page;
  /** The route's presenter for this caller: it names the columns to select. */
  readonly presenter: Presenter;
  /** What presenters need besides their rows, for handlers that call one themselves. */
  readonly view: View;
  /** The instant of the request, in epoch milliseconds. */
  readonly now: number;
  /** What the request's work may use: loops over what it sent, or a repository holds, pause with it. */
  readonly budget: Budget;
  readonly tier: Tier;
  /** Which GitLab clients are told they speak to. */
  readonly edition: Edition;
  readonly request: RequestInfo;
  /** Every form sends it back as `authenticity_token`; `""` if the mount takes no sessions. */
  readonly csrfToken: string;
  /** The application's metrics in Prometheus' text format. */
  readonly readMetrics: () => Promise<string>;
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
  /**
   * Performs another route for the same caller, with its own authorization and transaction: for reading routes that
   * carry other requests, as a GraphQL document does.
   *
   * @param parameters of its path, query and body; `id` names the group or project
   * @throws ApiError what the route answers to a client
   */
  call(route: Route, parameters: object): Promise<Called>;
  /**
   * Whether a route's declaration lets the caller call it in a group or project: for answers that tell what they may do
   * there.
   *
   * @param route its method and path
   * @param source found for the caller
   */
  mayCall(route: string, source: Source): boolean;
}

/** What a route that was called gave: its answer as a value, and a reader that sees what it changed. */
export interface Called {
  /**
   * As its JSON is parsed: of a list, the rows of the page that was asked for. `undefined` if it is something else, or so
   * long that it is sent in pieces.
   */
  readonly value: unknown;
  /** Whether a list goes on after these rows. */
  readonly hasNext: boolean;
  /** Of an answer that is no JSON, what it consists of. */
  readonly body: RawReply["body"];
  readonly db: Reader;
}

/** A route as its resource declares it. */
interface RouteSpec<
  A extends Attributes,
  Db extends Reader,
  P = unknown,
  Who extends Access = Access,
  S extends Source | undefined = Source,
  B extends BodyKind = BodyKind,
> {
  /** One line for the reference. */
  summary: string;
  /** Default `"user"`. */
  access?: Who;
  /**
   * Whether visitors who are not signed in see its answer on pages, though the API refuses them, as in GitLab. Its handler
   * knows them by `viewer` alone.
   */
  isShownToVisitors?: true;
  /** Token scopes, one of which is needed. Default: `api`, and `read_api` for GET. */
  scopes?: readonly Scope[];
  /** Whether it finds out itself who calls: tokens and sessions of users are not looked at. */
  ownCredentials?: true;
  /**
   * Whether tokens are also accepted as the password of HTTP Basic, as package managers send them. `"asked"`: those that send
   * none are asked for it (RFC 9110 §11.6.1) wherever there is nothing for visitors, since they send it only then.
   */
  basicAuth?: true | "asked";
  /** Whether tokens are also accepted in `X-NuGet-ApiKey`, if no other credentials are sent. */
  apiKeys?: true;
  /**
   * Whether CI job tokens are accepted. Of projects they reach their own, and those that take them; elsewhere, the handler
   * shows nothing of others (`takesTokenOf` in access/job-tokens.ts).
   */
  jobTokens?: true;
  /** Whether the feed tokens of users are accepted, which open nothing else. */
  feedTokens?: true;
  /** Whether it is answered at once, even if requests of the same client wait. For routes that cost next to nothing. */
  immediate?: true;
  /** Called if a revoked token was sent here, before the 401 answer. */
  onRevoked?: (store: Store, tokenId: number, now: number) => Awaitable<void>;
  /** The tier the route belongs to. Default `"free"`. */
  tier?: Tier;
  /** Attributes of path, query and body. */
  input?: A;
  /** How the body is taken. Default `"parsed"`. */
  body?: B;
  /** Maximum bytes of the body, also after decompression. Default: the limit of all bodies. */
  maxBodyBytes?: number;
  /** Names of attributes, at least one of which must be sent. */
  atLeastOne?: readonly (keyof A & string)[];
  /** Does slow work before the transaction opens, such as hashing a password. */
  prepare?: (input: Input<A>, preparing: PrepareContext<CallerOf<Who>, B, S>) => Awaitable<P>;
  /** For lookups that fail with 400 or 404 before the role is checked, in GitLab's order. */
  before?: (context: Context<A, Db, P, Who, S, B>) => Awaitable<void>;
  handle: (context: Context<A, Db, P, Who, S, B>) => Awaitable<HandlerResult>;
  /**
   * Whether others may write at the same time (docs/decisions/0003): the route runs `"alone"`; `"per project"`, beside
   * writers to other projects; or `"free"`, also beside other such routes in the same project, for work that single
   * statements and constraints keep consistent. Default: `"per project"` for a project's feature, such as its issues, or
   * its repository, and `"alone"` elsewhere.
   */
  concurrency?: "alone" | "per project" | "free";
  /** Accepts one file part of a multipart body, which becomes an attribute: see `file()`. */
  upload?: UploadSpec;
  /** How a row becomes JSON; a function if that depends on the caller. */
  presenter?:
    | Presenter
    | ((context: Pick<Context<A, Db, P, Who, S>, "caller" | "input">) => Presenter);
  /** Example answers of routes without a presenter, for the reference; a field missing from one of them is optional. */
  examples?: readonly unknown[];
  /** The status of success. Default: 200, 201 for a writing POST, 204 without a result. */
  status?: number;
  /** The media type of an answer that is not the mount's JSON, for the reference. */
  answersWith?: string;
  /** What else is answered that is no error, for the reference: examples of the JSON by status; none for no body. */
  alsoAnswers?: Readonly<Record<number, readonly unknown[] | "the same">>;
}

/** What only routes of a group or project have. */
interface SourceSpec<A extends Attributes, Db extends Reader, P, Who extends Access> {
  /** The role needed in the group or project. Default: none, being able to read it is enough. */
  role?: Role | ((context: Context<A, Db, P, Who>) => Role | undefined);
  /** Whether somebody without that role, who can read the source, may call the route as well. The role is no function then. */
  orWho?: (db: Reader, source: Source, viewer: Viewer) => Awaitable<boolean>;
  /** The scope with which deploy tokens are accepted. Default: they are not. */
  deployTokens?: DeployScope;
  /**
   * Whether a changing route works in archived projects, since it affects only the caller. Default `"refuse"` (403) for
   * features and the repository.
   */
  whenArchived?: "refuse" | "allow";
}

/** The methods that routes can have. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The kinds of records a path can begin with. */
export type SourceKind = Source["kind"];

/** A route as the pipeline and the generators see it. */
export interface Route
  extends RouteSpec<Attributes, Database>,
    SourceSpec<Attributes, Database, unknown, Access> {
  readonly method: Method;
  /** Path below its mount's base, with `:name` parameters; `:name*` also matches slashes. */
  readonly path: string;
  /** What the query must have for the route to match, such as `go-get=1`. Default: nothing. */
  readonly asked?: string;
  /** The kind of record that `:id` at the path's start names, which the pipeline looks up. */
  readonly source?: SourceKind;
  /** Whether its source is the hidden project that has the epics and the wiki of the group in its path. */
  readonly isHome?: true;
  /** Whether it is of the project's Git repository: callers must be able to read its code. */
  readonly repository?: true;
  /** The project's features the route belongs to: it is available while one of them is enabled. */
  readonly features?: readonly Feature[];
  /** What a reading route does if these features are disabled. Default `"refuse"`. */
  readonly whenDisabled?: "refuse" | "leave out";
  /** Whether it answers a page of a list. */
  readonly isList: boolean;
  /** Whether it only reads: every GET but those declared by `arrive`, and a POST declared by `query`. It runs in no transaction. */
  readonly isReading: boolean;
}

/** Everything the API has for one kind of record: its tables and routes. */
export interface Resource {
  /** Its heading in the reference. */
  readonly name: string;
  readonly migrations: readonly Migration[];
  /** Where its encrypted secrets are: changes of the key reach them. Default: nowhere. */
  readonly sealed?: readonly SealedColumn[];
  readonly routes: readonly Route[];
}

/** The name of a path segment's parameter, if it is one. */
type ParameterOf<Segment extends string> = Segment extends
  | `:${infer Name}*`
  | `:${infer Name}.${string}`
  ? Name
  : Segment extends `:${infer Name}`
    ? Name
    : never;

/** The names of a path's parameters: `"topic_id"` for `"/topics/:topic_id"`. */
type ParametersOf<Path extends string> = Path extends `${infer Head}/${infer Rest}`
  ? ParameterOf<Head> | ParametersOf<Rest>
  : ParameterOf<Path>;

/** Requires `input` with a schema for each of a path's parameters. */
type WithParameters<Path extends string, A> = [ParametersOf<Path>] extends [never]
  ? unknown
  : { input: A & Record<ParametersOf<Path>, unknown> };

/** Declares one route below the builder's path. */
type Declare<Prefix extends string, Db extends Reader, S extends Source | undefined> = <
  const Path extends string,
  const A extends Attributes,
  P,
  const Who extends Access = "user",
  const B extends BodyKind = "parsed",
>(
  path: Path,
  spec: RouteSpec<A, Db, P, Who, S, B> &
    (S extends Source ? SourceSpec<A, Db, P, Who> : unknown) &
    WithParameters<`${Prefix}${Path}`, A>,
) => Route;

/** Declares the routes of one path. */
export interface RouteBuilder<Prefix extends string, S extends Source | undefined> {
  /** A reading route: it has no way to write. */
  readonly get: Declare<Prefix, Reader, S>;
  /** A GET that changes something: where a browser comes back to from elsewhere, with what counts once. */
  readonly arrive: Declare<Prefix, Database, S>;
  /** A reading route that answers a page of a list. */
  readonly list: Declare<Prefix, Reader, S>;
  /** A POST that only reads, such as a search whose conditions are in the body. */
  readonly query: Declare<Prefix, Reader, S>;
  /** A creating route, or an action. */
  readonly post: Declare<Prefix, Database, S>;
  /** A replacing or changing route. */
  readonly put: Declare<Prefix, Database, S>;
  /** A changing route that leaves the rest as it is. */
  readonly patch: Declare<Prefix, Database, S>;
  /** A deleting route. */
  readonly del: Declare<Prefix, Database, S>;
}

/** What the routes of a builder share. */
interface Shared<Prefix extends string> {
  /** The beginning of their paths, after the source's if there is one. Default: none. */
  readonly path?: Prefix;
}

/** What the routes of a group or project share. */
export interface SharedOfSource<Prefix extends string> extends Shared<Prefix> {
  /** Their paths begin with `/groups/:id` or `/projects/:id`, which the pipeline looks up. */
  readonly source: SourceKind;
  /** Whether they are about a group's epics or its wiki: their source is the hidden project that has these. */
  readonly isHome?: true;
  /** Whether their paths begin with the group's or project's own address, as in `/acme/site/-/raw/main/README.md`. */
  readonly isAddress?: true;
  /**
   * Whether they are of the project's Git repository: callers must be able to read its code. As in GitLab, that is
   * checked before the input is read.
   */
  readonly repository?: true;
  /** The features of a project they belong to: they are available while one of them is enabled. */
  readonly features?: readonly Feature[];
  /** What reading routes do in projects that have these features disabled. Default `"refuse"`: 403. */
  readonly whenDisabled?: "refuse" | "leave out";
}

/**
 * Creates the functions that declare routes. They check names of path parameters, that only routes with a source use
 * it, and that callers who may be anonymous are checked.
 *
 * @example
 * const { list, post } = routes({ source: "project", path: "/wikis", features: ["wiki"] });
 */
export function routes<const Prefix extends string = "">(
  shared: SharedOfSource<Prefix> & { readonly source: "project"; readonly repository: true },
): RouteBuilder<Prefix, CodeSource>;
export function routes<const Prefix extends string = "">(
  shared: SharedOfSource<Prefix>,
): RouteBuilder<Prefix, Source>;
export function routes<const Prefix extends string = "">(
  shared?: Shared<Prefix>,
): RouteBuilder<Prefix, undefined>;
export function routes({
  source,
  isAddress,
  path: prefix = "",
  ...rest
}: Partial<SharedOfSource<string>> = {}): unknown {
  const address = source === "group" ? "/groups/:id*" : "/:id*";
  const start = source ? (isAddress ? address : `/${source}s/:id`) : "";
  const declare =
    (method: Method, kind: Pick<Route, "isList" | "isReading">) =>
    (path: string, spec: object) => ({
      ...spec,
      ...(source && { source }),
      ...rest,
      method,
      ...kind,
      path: `${start}${prefix}${path}`,
    });
  const writing = { isList: false, isReading: false };
  return {
    get: declare("GET", { isList: false, isReading: true }),
    arrive: declare("GET", { isList: false, isReading: false }),
    list: declare("GET", { isList: true, isReading: true }),
    query: declare("POST", { isList: false, isReading: true }),
    post: declare("POST", writing),
    put: declare("PUT", writing),
    patch: declare("PATCH", writing),
    del: declare("DELETE", writing),
  };
}
