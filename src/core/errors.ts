/** The messages of a 400 by attribute name. */
export type AttributeErrors = Record<string, string[]>;

/** An error answer. It can be thrown anywhere below the pipeline, which turns it into the response. */
export class ApiError extends Error {
  // A getter: classes with fields lose their own name in the CommonJS build.
  override get name() {
    return "ApiError" as const;
  }
  /**
   * @param status the HTTP status
   * @param body the JSON body, in one of GitLab's formats (docs/errors.md)
   * @param headers headers to add
   * @param record for a 404, the kind of record that was not found, such as `"Project"`
   */
  constructor(
    readonly status: number,
    readonly body: object,
    readonly headers: Record<string, string> = {},
    readonly record?: string,
  ) {
    super(JSON.stringify(body));
  }
}

/** Thrown for a project that is called by its former path: the answer says where it is now. */
export class ProjectMoved extends ApiError {
  /** @param projectId the project's id */
  constructor(readonly projectId: number) {
    super(404, { message: "404 Project Not Found" }, {}, "Project");
  }
}

/** Thrown by a handler that can't make use of what `prepare` stored, which is then discarded. */
export class Unapplied extends ApiError {
  /**
   * @param answer the answer
   * @param isOutdated whether it is only that others have changed what `prepare` found. Then the request is prepared
   *   again, and answered so if that does not help
   * @param discard deletes what was stored, once the transaction is rolled back
   */
  constructor(
    answer: ApiError,
    readonly isOutdated: boolean,
    readonly discard: () => Promise<void>,
  ) {
    super(answer.status, answer.body, answer.headers, answer.record);
  }
}

/** 400 naming a required attribute that was not sent. */
export function missing(attribute: string): ApiError {
  return new ApiError(400, { message: `400 (Bad request) "${attribute}" not given` });
}

/** 400 for a request with none of several attributes, at least one of which is needed. */
export function atLeastOne(attributes: readonly string[]): ApiError {
  const names = attributes.join(", ");
  return new ApiError(400, {
    message: `400 (Bad request) ${names} are missing, at least one parameter must be provided`,
  });
}

/** 400 listing what is wrong with each attribute. */
export function invalid(errors: AttributeErrors): ApiError {
  return new ApiError(400, { message: errors });
}

/**
 * Runs checks of attributes, and throws what they refuse together.
 *
 * @throws ApiError 400 with the errors of all of them; whatever else one throws
 */
export function requireAll(...checks: readonly (() => void)[]): void {
  const refused: [string, string[]][] = [];
  for (const check of checks) {
    try {
      check();
    } catch (error) {
      const { status, body } = error as ApiError;
      if (!(error instanceof ApiError) || status !== 400) throw error;
      refused.push(...Object.entries((body as { message: AttributeErrors }).message));
    }
  }
  if (refused.length > 0) throw invalid(Object.fromEntries(refused));
}

/** 400 for an operation that can't be done, wrapped as GitLab's services do. */
export function refused(reason: string): ApiError {
  return new ApiError(400, { message: { error: reason } });
}

/** 400 with a reason. */
export function badRequest(reason: string): ApiError {
  return new ApiError(400, { message: `400 Bad request - ${reason}` });
}

/** 400 for an unreadable request. */
export function unreadable(reason: string): ApiError {
  return new ApiError(400, { error: reason });
}

/** 401, with the challenge RFC 6750 §3 asks for; `error` only if a token was sent. */
export function unauthorized(options: { tokenGiven?: boolean } = {}): ApiError {
  const challenge = options.tokenGiven ? 'Bearer error="invalid_token"' : "Bearer";
  return new ApiError(401, { message: "401 Unauthorized" }, { "www-authenticate": challenge });
}

/** 401 that asks for HTTP Basic, as GitLab's package registries do. */
export function basicAuthRequired(): ApiError {
  const headers = { "www-authenticate": 'Basic realm="GitLab Packages Registry"' };
  return new ApiError(401, { message: "401 Unauthorized" }, headers);
}

/** 403, with a reason if it is something other than the role. */
export function forbidden(reason?: string): ApiError {
  return new ApiError(403, { message: reason ? `403 Forbidden - ${reason}` : "403 Forbidden" });
}

/** 403 for a token with insufficient scopes (RFC 6750 §3.1); `scopes` are the accepted ones. */
export function insufficientScope(scopes: readonly string[]): ApiError {
  return new ApiError(403, {
    error: "insufficient_scope",
    error_description: "The request requires higher privileges than provided by the access token.",
    scope: scopes.join(" "),
  });
}

/**
 * 404. With a name for records that clients look up by id or path (`"404 Project Not Found"`); without one for a record
 * below another that was found. The different capitals of `Found` are GitLab's.
 */
export function notFound(name?: string): ApiError {
  return name
    ? new ApiError(404, { message: `404 ${name} Not Found` }, {}, name)
    : new ApiError(404, { message: "404 Not found" });
}

/** 404 for a path without a route. */
export function unknownRoute(): ApiError {
  return new ApiError(404, { error: "404 Not Found" });
}

/** 405 for a path that only has other methods; `allow` is the `Allow` header (RFC 9110 §15.5.6). */
export function methodNotAllowed(allow: string): ApiError {
  return new ApiError(405, { error: "405 Not Allowed" }, { allow });
}

/** 406 for an unsupported format. */
export function notAcceptable(format: string): ApiError {
  return new ApiError(406, { error: `The requested format '${format}' is not supported.` });
}

/** 409 for something that already exists. */
export function conflict(message: string | AttributeErrors = "409 Conflict"): ApiError {
  return new ApiError(409, { message });
}

/** 412 for `If-Unmodified-Since` on a record that was changed later. */
export function preconditionFailed(): ApiError {
  return new ApiError(412, { message: "412 Precondition Failed" });
}

/** 413 for a body over the limit; the connection is closed, since the rest of the body is not read. */
export function tooLarge(): ApiError {
  return new ApiError(413, { message: "413 Request Entity Too Large" }, { connection: "close" });
}

/** 414 for a query too long to be repeated in headers. */
export function queryTooLong(): ApiError {
  return new ApiError(414, { error: "414 Request-URI Too Large" });
}

/** 415 for a body with an unsupported content type. */
export function unsupportedMediaType(type: string): ApiError {
  return new ApiError(415, { error: `The provided content-type '${type}' is not supported.` });
}

/** 422 for a form from elsewhere, or from before the cookie changed. */
export function unverified(): ApiError {
  return new ApiError(422, { message: "422 Unprocessable Entity - Can't verify CSRF token" });
}

/** 499, for the log: the client has left before its request was answered. */
export function clientLeft(): ApiError {
  return new ApiError(499, { message: "499 Client Closed Request" });
}

/** 500, which reveals nothing about what went wrong. */
export function internalError(): ApiError {
  return new ApiError(500, { message: "500 Internal Server Error" });
}

/** 503 while the server is too busy, or its database can't be used; a retry in a second may succeed. */
export function unavailable(): ApiError {
  return new ApiError(503, { message: "503 Service Unavailable" }, { "retry-after": "1" });
}

/** 503 for requests that need the secret key, if the server has none or a different one. */
export function keyMissing(): ApiError {
  const reason = "The server's key for secrets is missing: its administrator finds more in its log";
  return new ApiError(503, { message: `503 Service Unavailable - ${reason}` });
}

/** 304 for a write that changes nothing, such as starring twice, as in GitLab. */
export function notModified(): ApiError {
  return new ApiError(304, {});
}

/** What is wrong, one text for each problem: `{"title": ["can't be blank"]}` is `Title can't be blank`. */
export function messagesOf({ body }: Pick<ApiError, "body">): string[] {
  const { message, error } = body as { message?: unknown; error?: unknown };
  return textsOf(message ?? error ?? body);
}

function textsOf(message: unknown, name?: string): string[] {
  if (Array.isArray(message)) return message.flatMap((one) => textsOf(one, name));
  if (typeof message === "object" && message !== null) {
    return Object.entries(message).flatMap(([key, value]) =>
      textsOf(value, key === "base" || key === "error" ? undefined : key),
    );
  }
  const text = String(message).replace(/^\d{3} (?:\(Bad request\) )?(?:Bad request - )?/, "");
  if (name === undefined) return [text];
  // As Rails names attributes: `label_id` is "Label".
  const words = name.replace(/_id$/, "").replaceAll("_", " ");
  return [`${words[0]?.toUpperCase()}${words.slice(1)} ${text}`];
}
