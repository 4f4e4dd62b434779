import type { Reader, Store } from "../../store/port.ts";
import { type Caller, type JobProof, requireScope } from "../access/caller.ts";
import { hasFeature } from "../access/features.ts";
import { isInScope } from "../access/job-tokens.ts";
import { hasRole, type Role } from "../access/roles.ts";
import { findMoved, findVisible, hasCodeRole, homePlace, type Source } from "../access/source.ts";
import type { Viewer } from "../access/visibility.ts";
import {
  ApiError,
  basicAuthRequired,
  forbidden,
  notFound,
  ProjectMoved,
  unauthorized,
  unverified,
} from "../errors.ts";
import type { QuotaUsage } from "../rate-limits.ts";
import { hasTier, type Route, type Tier } from "../resource.ts";
import { dayOf } from "../time.ts";
import {
  type AuthSettings,
  areSame,
  type CredentialRequest,
  type Credentials,
  credentialsOf,
  findCaller,
  RevokedToken,
} from "./authenticator.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Exchange } from "./exchange.ts";
import { isSafe } from "./incoming.ts";
import type { Mount } from "./mount.ts";
import { decodePath, type Parameters } from "./parameters.ts";
import { identifiesFirst } from "./request.ts";
import { isVerified, newSessionToken, sessionOf } from "./session-cookie.ts";

/** What authorization needs of the application. */
export interface AuthorizationSettings extends AuthSettings {
  store: Store;
  tier: Tier;
  /** Counts a request; `undefined` if requests are not limited. @throws ApiError 429 */
  limitRequests:
    | ((caller: Caller | undefined, ip: string, now: number) => Promise<QuotaUsage | undefined>)
    | undefined;
}

/** The caller, found before the body is read: by headers, query or the embedding app. */
export interface Identified {
  readonly caller: Caller | undefined;
  readonly credentials: Credentials;
}

/**
 * Finds the caller before the body is read, so that no large body is read in vain.
 *
 * @param query the parameters of the query
 * @param now epoch milliseconds
 * @returns `undefined` if the mount needs the body first
 * @throws ApiError as {@link authorizeCaller}
 */
export async function identify(
  settings: AuthorizationSettings,
  endpoint: Endpoint,
  exchange: Exchange,
  query: Parameters,
  now: number,
): Promise<Identified | undefined> {
  const { route, mount } = endpoint;
  if (!identifiesFirst(mount)) return undefined;
  const { incoming, params } = exchange;
  const request = { incoming, params, parameters: query, route, isVerified: false };
  const credentials = credentialsOf(authenticatorsOf(endpoint), request, settings);
  const caller = await find(settings, settings.store.reader(), endpoint, request, now);
  const found = { caller, credentials };
  if (!caller) return found;
  exchange.caller = caller;
  await countRequest(settings, endpoint, exchange, caller, now);
  // With sudo the other user's rights count, and the body may ask for sudo.
  if (!caller.scopes.includes("sudo") && !mount.impersonation?.isAsked(incoming, query)) {
    requireAccess(endpoint, caller);
  }
  return found;
}

/**
 * Decides whether the caller may use a route at all: who they are, whether they have requests left, and whether the
 * route is open to them and their credential's scopes.
 *
 * @param parameters query and body
 * @param identified what {@link identify} found
 * @param now epoch milliseconds
 * @throws ApiError 401, 403, 422 without the CSRF token of a form, or 429
 */
export async function authorizeCaller(
  settings: AuthorizationSettings,
  db: Reader,
  endpoint: Endpoint,
  exchange: Exchange,
  parameters: Parameters,
  now: number,
  identified?: Identified,
): Promise<Caller | undefined> {
  const { route, mount } = endpoint;
  const { incoming, params } = exchange;
  const request = { incoming, params, parameters, route, isVerified: false };
  const caller = mount.hasForms
    ? await findVisitor(settings, db, endpoint, exchange, request, now)
    : identified && hasSameCredentials(settings, endpoint, request, identified)
      ? identified.caller
      : await find(settings, db, endpoint, request, now);
  const acting =
    mount.impersonation && !route.ownCredentials
      ? await mount.impersonation.actAs(db, caller, incoming, parameters)
      : caller;
  exchange.caller = acting;
  if (settings.limitRequests) await countRequest(settings, endpoint, exchange, acting, now);
  const id = decodePath(params["id"] ?? "");
  const isNobody =
    acting?.by.kind === "job" && (await isPublicElsewhere(db, route, acting.by, id, now));
  const counted = isNobody ? undefined : acting;
  requireAccess(endpoint, counted);
  return counted;
}

/**
 * Finds the group or project of a route; the caller may read it, and it takes the token of a CI job.
 *
 * @param id the path's `:id`, decoded
 * @returns `undefined` for routes without a source
 * @throws ApiError 403 or 404; ProjectMoved
 */
export async function findRouteSource(
  db: Reader,
  { source: kind, isHome, basicAuth }: Route,
  id: string,
  viewer: Viewer,
  caller: Caller | undefined,
): Promise<Source | undefined> {
  if (!kind) return undefined;
  const source = await findVisible(db, kind, id, viewer);
  if (!source) {
    const moved = kind === "project" ? await findMoved(db, id, viewer) : undefined;
    if (!moved && !caller && basicAuth === "asked") throw basicAuthRequired();
    throw moved ? new ProjectMoved(moved.id) : notFound(kind === "group" ? "Group" : "Project");
  }
  if (caller?.by.kind === "job") await requireScopeOf(db, caller.by, source);
  return isHome ? homePlace(db, source) : source;
}

/**
 * Decides whether the caller may do what the route does: by their role, the project's features and code, and the tier.
 *
 * @param role the role the route needs in its source, if any
 * @throws ApiError 401 for anonymous callers where a role is needed, otherwise 403
 */
export function requirePermission(
  route: Route,
  role: Role | undefined,
  source: Source | undefined,
  caller: Caller | undefined,
  tier: Tier,
): void {
  if (source && !hasRoles(route, role, source)) {
    throw caller ? forbidden() : unidentified(route);
  }
  if (!isOffered(route, source, tier)) throw forbidden();
}

/** 401 for visitors. */
const unidentified = ({ basicAuth }: Route): ApiError =>
  basicAuth === "asked" ? basicAuthRequired() : unauthorized();

/** Whether a caller has the roles that a route needs in its source: the one it declares, and that for reading code. */
const hasRoles = (route: Route, role: Role | undefined, source: Source): boolean =>
  (role === undefined || hasRole(source, role)) && (!route.repository || hasCodeRole(source));

const isOffered = (route: Route, source: Source | undefined, tier: Tier): boolean =>
  (source === undefined || hasFeature(source, route)) && hasTier(tier, route.tier);

/**
 * Whether somebody may call a route in a group or project, as far as its declaration says it: for answers that tell what
 * the caller may do there. What is decided by the record, or by a function, is for an ability to say.
 *
 * @param isPage whether it is a page that shows what the route answers
 */
export function mayCall(route: Route, source: Source, tier: Tier, isPage: boolean): boolean {
  const { access, role } = route;
  const { caller } = source.viewer;
  const isOpen =
    access === "anyone" ||
    (isPage && route.isShownToVisitors) ||
    Boolean(access === "admin" ? caller?.admin : caller);
  const needed = typeof role === "string" ? role : undefined;
  return isOpen && hasRoles(route, needed, source) && isOffered(route, source, tier);
}

/** How callers of a route are found. */
export function authenticatorsOf({
  route,
  mount,
}: Pick<Endpoint, "route" | "mount">): Mount["authenticators"] {
  if (route.ownCredentials) return [];
  const { authenticators, basicAuthenticators = [] } = mount;
  return route.basicAuth ? [...authenticators, ...basicAuthenticators] : authenticators;
}

async function find(
  settings: AuthorizationSettings,
  db: Reader,
  endpoint: Endpoint,
  request: CredentialRequest,
  now: number,
): Promise<Caller | undefined> {
  try {
    return await findCaller(authenticatorsOf(endpoint), request, db, now, settings);
  } catch (error) {
    const { route } = endpoint;
    if (error instanceof RevokedToken) await route.onRevoked?.(settings.store, error.tokenId, now);
    const isRefused = error instanceof ApiError && error.status === 401;
    throw isRefused && route.basicAuth === "asked" ? basicAuthRequired() : error;
  }
}

/** Whether the body has brought no other credentials than those by which {@link identify} found the caller. */
function hasSameCredentials(
  settings: AuthorizationSettings,
  endpoint: Endpoint,
  request: CredentialRequest,
  { credentials }: Identified,
): boolean {
  return areSame(credentialsOf(authenticatorsOf(endpoint), request, settings), credentials);
}

/** The visitor of a mount with forms, whose unsafe requests must come from one of our own forms. */
async function findVisitor(
  settings: AuthorizationSettings,
  db: Reader,
  endpoint: Endpoint,
  exchange: Exchange,
  request: CredentialRequest,
  now: number,
): Promise<Caller | undefined> {
  const { incoming } = exchange;
  const { parameters } = request;
  const session = sessionOf(incoming) ?? newSessionToken();
  exchange.session = session;
  const token = parameters["authenticity_token"];
  if (!isSafe(incoming) && !isVerified(incoming, session, settings.url, token)) throw unverified();
  try {
    return await find(settings, db, endpoint, { ...request, isVerified: true }, now);
  } catch (error) {
    // A refused user gets a new cookie: otherwise they could not sign in as someone else.
    if (error instanceof ApiError) exchange.session = newSessionToken();
    throw error;
  }
}

async function countRequest(
  { limitRequests }: AuthorizationSettings,
  { mount }: Endpoint,
  exchange: Exchange,
  caller: Caller | undefined,
  now: number,
): Promise<void> {
  if (!limitRequests || !mount.countsRequests) return;
  exchange.usage ??= await limitRequests(caller, exchange.incoming.ip, now);
}

/**
 * Checks that a route is open to the caller and to their credential's scopes.
 *
 * @throws ApiError 401 or 403
 */
export function requireAccess({ route, scopes }: Endpoint, caller: Caller | undefined): void {
  if (!caller) {
    if (route.access === "anyone") return;
    throw unidentified(route);
  }
  const accepted = caller.by.kind === "deploy" && route.deployTokens;
  requireScope(caller, accepted ? [accepted] : scopes);
  if (route.access === "admin" && !caller.admin) throw forbidden();
}

/**
 * Checks that a CI job's token is valid for a project. What a group has is confined by the route.
 *
 * @throws ApiError 403
 */
async function requireScopeOf(db: Reader, job: JobProof, source: Source): Promise<void> {
  if (source.kind === "group" || (await isInScope(db, job, source))) return;
  throw forbidden(
    `Authentication by CI/CD job token not allowed from ${job.projectPath} to ${source.fullPath}.`,
  );
}

/**
 * Whether a route reads what everybody may read of a project that does not take the token of a CI job, which then counts as
 * nobody's: its user may be a member there.
 *
 * @param id the path's `:id`, decoded
 */
async function isPublicElsewhere(
  db: Reader,
  { source: kind, access, isReading }: Route,
  job: JobProof,
  id: string,
  now: number,
): Promise<boolean> {
  if (kind !== "project" || access !== "anyone" || !isReading) return false;
  if (id === String(job.projectId)) return false;
  const source = await findVisible(db, kind, id, { caller: undefined, today: dayOf(now) });
  return source !== undefined && !(await isInScope(db, job, source));
}
