import { ConstraintError, UnavailableError } from "../../store/port.ts";
import { digest } from "../digest.ts";
import {
  ApiError,
  conflict,
  internalError,
  keyMissing,
  ProjectMoved,
  unavailable,
} from "../errors.ts";
import type { View } from "../field.ts";
import type { Outages } from "../outages.ts";
import {
  keysetHeaders,
  type Page,
  pageHeaders,
  type RowPage,
  withoutCredentials,
} from "../pagination.ts";
import type { Presenter } from "../presenter.ts";
import { usageHeaders } from "../rate-limits.ts";
import { type Answer, Json, RawReply, type Site } from "../resource.ts";
import { SecretKeyError, type Secrets } from "../secrets.ts";
import { type Edition, VERSION } from "../version.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Exchange } from "./exchange.ts";
import { type Incoming, isSafe, isStreamed, type Reply } from "./incoming.ts";
import { isPartOfPage, writeParts } from "./large-page.ts";
import { inPieces } from "./large-replies.ts";
import { viewOf } from "./request.ts";
import { csrfTokenOf, sessionCookie, sessionOf } from "./session-cookie.ts";

const JSON_TYPE = "application/json";
/** What the header of this name says. */
const SERVER = `pm-api/${VERSION}`;
/** Longer answers, in characters or bytes, are sent as the client reads them. */
const LARGE = 256 * 1024;
const EXPOSED_HEADERS =
  "Link, X-Total, X-Total-Pages, X-Per-Page, X-Page, X-Next-Page, X-Prev-Page, ETag, X-Request-Id, Retry-After, " +
  "RateLimit-Limit, RateLimit-Name, RateLimit-Observed, RateLimit-Remaining, RateLimit-Reset, X-Gitlab-Blob-Id, " +
  "X-Gitlab-Commit-Id, X-Gitlab-Content-Sha256, X-Gitlab-Encoding, X-Gitlab-Execute-Filemode, X-Gitlab-File-Name, " +
  "X-Gitlab-File-Path, X-Gitlab-Last-Commit-Id, X-Gitlab-Ref, X-Gitlab-Size";

/** What errors need of the application. */
export interface ReplySettings {
  site: Site;
  /** The public address, if it differs from the request's. */
  url: string | undefined;
  /** Which GitLab clients are told they speak to. */
  edition: Edition;
  now: () => number;
  /** Notified of every failure that is not the client's. */
  outages: Outages;
  secrets: Secrets;
}

/**
 * Turns what a handler returned into a reply.
 *
 * @param rest runs the handler again for the part of the page that is left
 */
export function replyOf(
  { route, mount }: Endpoint,
  result: Answer,
  rest: (left: Page) => Promise<Answer>,
  presenter: Presenter,
  view: View,
  page: Page,
  incoming: Incoming,
): Reply {
  if (result === undefined) return { status: route.status ?? 204, headers: {}, body: null };
  const status = route.status ?? (route.method === "POST" && !route.isReading ? 201 : 200);
  const headers: Record<string, string> = { "content-type": mount.contentType ?? JSON_TYPE };
  if (result instanceof RawReply) return replyOfAnswer(result);
  if (result instanceof Json) {
    return { status: result.status ?? status, headers, body: JSON.stringify(result.value) };
  }
  if (Array.isArray(result)) return { status, headers, body: presenter.write(result, view) };

  const at = {
    url: view.base + incoming.path,
    query: new URLSearchParams(incoming.query),
  };
  Object.assign(
    headers,
    "next" in result ? keysetHeaders(result, at) : pageHeaders(page, result as RowPage, at),
  );
  const body = isPartOfPage(result)
    ? writeParts(result, page, rest, presenter, view)
    : writeList(result.rows, presenter, view);
  return { status, headers, body };
}

function replyOfAnswer({ status, headers, body }: RawReply): Reply {
  return { status, headers: { ...headers }, body };
}

function writeList(rows: RowPage["rows"], presenter: Presenter, view: View): string {
  let body = "[";
  for (let index = 0; index < rows.length; index += 1) {
    if (index > 0) body += ",";
    body += presenter.write(rows[index] as RowPage["rows"][number], view);
  }
  return `${body}]`;
}

/** Turns an error into a reply in the form of its mount. Failures that are not the client's are reported. */
export function replyOfError(error: unknown, exchange: Exchange, settings: ReplySettings): Reply {
  const known = knownAs(error);
  const isFailure = error instanceof UnavailableError || error instanceof SecretKeyError;
  if (isFailure || !(known instanceof ApiError)) settings.outages.failed(error);
  const found = known instanceof ApiError ? known : internalError();
  const shown = found instanceof ProjectMoved ? redirection(found, exchange, settings) : found;
  const { status, headers, body } = shown;
  const { incoming, mount, session } = exchange;
  if (mount?.showError && incoming.base !== undefined) {
    const view = viewOf(
      settings.url ?? incoming.base,
      settings.now(),
      settings.secrets,
      settings.edition,
    );
    const csrfToken = session === undefined ? "" : csrfTokenOf(session);
    const visit = {
      request: incoming,
      caller: exchange.caller,
      view,
      csrfToken,
      site: settings.site,
    };
    return replyOfAnswer(mount.showError(shown, visit));
  }
  if (status === 304) return { status, headers: { ...headers }, body: null };
  return {
    status,
    headers: { "content-type": mount?.contentType ?? JSON_TYPE, ...headers },
    body: JSON.stringify(body),
  };
}

/** Translates the store's errors into answers. */
/**
 * Where a project is found that is called by its former path, as GitLab says it. Requests that change something are sent
 * again as they are: 301 makes many clients send a GET.
 */
function redirection(
  moved: ProjectMoved,
  { incoming, params }: Exchange,
  { url = incoming.base }: ReplySettings,
): ApiError {
  if (url === undefined) return moved;
  const path = incoming.path.replace(`/${params["id"]}`, () => `/${moved.projectId}`);
  const query = withoutCredentials(new URLSearchParams(incoming.query));
  const search = query.length === 0 ? "" : `?${new URLSearchParams(query)}`;
  const location = `${url}${path}${search}`;
  const message = `This resource has been moved permanently to ${location}`;
  return new ApiError(isSafe(incoming) ? 301 : 308, { message }, { location });
}

function knownAs(error: unknown): unknown {
  if (error instanceof UnavailableError) return unavailable();
  if (error instanceof SecretKeyError) return keyMissing();
  // A race that only the schema noticed: handlers check first and answer in more detail.
  const rule = error instanceof ConstraintError ? error.rule : undefined;
  return rule === "unique" || rule === "foreign key" ? conflict() : error;
}

/** Adds the headers of every answer, and handles conditional GET. */
export function finish(
  reply: Reply,
  { incoming, mount, requestId, session, usage, body: received }: Exchange,
  url: string | undefined,
): void {
  const { headers } = reply;
  if (usage) Object.assign(headers, usageHeaders(usage));
  headers["x-request-id"] = requestId;
  // As GitLab's: programs know a GitLab by it. The version is that of this header.
  headers["x-gitlab-meta"] = `{"correlation_id":"${requestId}","version":"1"}`;
  headers["server"] ??= SERVER;
  headers["x-content-type-options"] = "nosniff";
  headers["x-frame-options"] ??= "SAMEORIGIN";
  if (session !== undefined && session !== sessionOf(incoming)) {
    headers["set-cookie"] ??= sessionCookie(session, url ?? (incoming.base as string));
  }
  headers["vary"] = headers["vary"] === undefined ? "Origin" : `${headers["vary"]}, Origin`;
  headers["cache-control"] ??= "max-age=0, private, must-revalidate";
  if ((!mount || mount.allowsOrigins) && incoming.header("origin") !== undefined) {
    allowOrigin(headers, incoming);
  }

  // Encoded only once, for its digest, its length and sending it.
  if (typeof reply.body === "string" && reply.body.length > LARGE) {
    reply.body = Buffer.from(reply.body);
  }
  if (isSafe(incoming) && reply.status === 200 && reply.body !== null) {
    if (!isStreamed(reply.body) && headers["cache-control"] !== "no-store") {
      headers["etag"] ??= `W/"${digest("sha1", reply.body)}"`;
    }
    const etag = headers["etag"];
    if (etag !== undefined && matches(incoming.header("if-none-match"), etag)) {
      reply.status = 304;
      reply.body = null;
      delete headers["content-type"];
    }
  }
  // Not dropped by reading the rest of it: that may be long.
  if (received?.isUnread) headers["connection"] = "close";
  const { body } = reply;
  // HEAD needs only the length.
  if (body && !isStreamed(body) && body.length > LARGE && incoming.method !== "HEAD") {
    reply.body = inPieces(body);
  }
}

/** Any origin may call the API, but without cookies; tokens are headers or parameters. */
function allowOrigin(headers: Record<string, string>, incoming: Incoming): void {
  headers["access-control-allow-origin"] = "*";
  headers["access-control-expose-headers"] = EXPOSED_HEADERS;
  if (incoming.method === "OPTIONS") {
    headers["access-control-allow-methods"] = headers["allow"] ?? "";
    headers["access-control-allow-headers"] =
      incoming.header("access-control-request-headers") ?? "*";
    headers["access-control-max-age"] = "7200";
  }
}

/** Weak comparison (RFC 9110 §13.1.2). */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === "*") return true;
  return ifNoneMatch
    .split(",")
    .some((one) => one.trim().replace(/^W\//, "") === etag.replace(/^W\//, ""));
}
