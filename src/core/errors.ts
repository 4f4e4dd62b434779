/** What a 400 says of each attribute: its name and what is wrong with it (contract §7). */
export type AttributeErrors = Record<string, string[]>;

/** An answer that is an error. Thrown anywhere below the pipeline, which makes the response of it. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /**
   * @param status the HTTP status
   * @param body the JSON body, in one of the contract's shapes (§7)
   * @param headers headers to add
   */
  constructor(
    readonly status: number,
    readonly body: object,
    readonly headers: Record<string, string> = {},
  ) {
    super(JSON.stringify(body));
  }
}

/** 400 naming a required attribute that was not sent (contract §7, design.md's settled readings). */
export function missing(attribute: string): ApiError {
  return new ApiError(400, { message: `400 (Bad request) "${attribute}" not given` });
}

/** 400 where at least one of several attributes must be sent. */
export function atLeastOne(attributes: readonly string[]): ApiError {
  const names = attributes.join(", ");
  return new ApiError(400, {
    message: `400 (Bad request) ${names} are missing, at least one parameter must be provided`,
  });
}

/** 400 listing what is wrong with each attribute (contract §7). */
export function invalid(errors: AttributeErrors): ApiError {
  return new ApiError(400, { message: errors });
}

/** 400 of an operation that was understood and can't be done, wrapped as GitLab's services do. */
export function refused(reason: string): ApiError {
  return new ApiError(400, { message: { error: reason } });
}

/** 400 of a request that can't be read at all (gitlab-facts §11). */
export function unreadable(reason: string): ApiError {
  return new ApiError(400, { error: reason });
}

/** 401, with the challenge RFC 6750 §3 asks for; `error` only where a token was given. */
export function unauthorized(options: { tokenGiven?: boolean } = {}): ApiError {
  const challenge = options.tokenGiven ? 'Bearer error="invalid_token"' : "Bearer";
  return new ApiError(401, { message: "401 Unauthorized" }, { "www-authenticate": challenge });
}

/** 403, with the reason where there is more to say than the role. */
export function forbidden(reason?: string): ApiError {
  return new ApiError(403, { message: reason ? `403 Forbidden - ${reason}` : "403 Forbidden" });
}

/** 403 of a token whose scopes don't reach (RFC 6750 §3.1); `scopes` are those that would. */
export function insufficientScope(scopes: readonly string[]): ApiError {
  return new ApiError(403, {
    error: "insufficient_scope",
    error_description: "The request requires higher privileges than provided by the access token.",
    scope: scopes.join(" "),
  });
}

/**
 * 404. With a name for what clients look up by id or path (`"404 Project Not Found"`); without, for a record below
 * one that was found, whose lower-case `found` is GitLab's (gitlab-facts §1.2).
 */
export function notFound(name?: string): ApiError {
  return new ApiError(404, { message: name ? `404 ${name} Not Found` : "404 Not found" });
}

/** 404 of a path no route has (contract §7). */
export function unknownRoute(): ApiError {
  return new ApiError(404, { error: "404 Not Found" });
}

/** 405 of a path that exists for other methods; `allow` is the `Allow` header (RFC 9110 §15.5.6). */
export function methodNotAllowed(allow: string): ApiError {
  return new ApiError(405, { error: "405 Not Allowed" }, { allow });
}

/** 406 of a format that answers don't come in. */
export function notAcceptable(format: string): ApiError {
  return new ApiError(406, { error: `The requested format '${format}' is not supported.` });
}

/** 409 of something that exists already. */
export function conflict(message: string | AttributeErrors = "409 Conflict"): ApiError {
  return new ApiError(409, { message });
}

/** 412 of `If-Unmodified-Since` on something changed later (contract §7). */
export function preconditionFailed(): ApiError {
  return new ApiError(412, { message: "412 Precondition Failed" });
}

/** 413 of a body over the limit; the connection is not kept, since its rest stays unread. */
export function tooLarge(): ApiError {
  return new ApiError(413, { message: "413 Request Entity Too Large" }, { connection: "close" });
}

/** 414 of a query that is longer than headers can repeat. */
export function queryTooLong(): ApiError {
  return new ApiError(414, { error: "414 Request-URI Too Large" });
}

/** 415 of a body whose content type is not understood (gitlab-facts §11). */
export function unsupportedMediaType(type: string): ApiError {
  return new ApiError(415, { error: `The provided content-type '${type}' is not supported.` });
}

/** 422 of a form that is not ours, or older than its page's cookie. */
export function unverified(): ApiError {
  return new ApiError(422, { message: "422 Unprocessable Entity - Can't verify CSRF token" });
}

/** 503 of who asks for more than can be done now. */
export function overloaded(): ApiError {
  return new ApiError(503, { message: "503 Service Unavailable" }, { "retry-after": "1" });
}

/** 500, which says nothing of what went wrong. */
export function internalError(): ApiError {
  return new ApiError(500, { message: "500 Internal Server Error" });
}

/** 503 while the database can't be used; asking again in a second may do. */
export function unavailable(): ApiError {
  return new ApiError(503, { message: "503 Service Unavailable" }, { "retry-after": "1" });
}

/** 503 of what needs the key that secrets are encrypted with, where the server has none or another. */
export function keyMissing(): ApiError {
  const reason = "The server's key for secrets is missing: its administrator finds more in its log";
  return new ApiError(503, { message: `503 Service Unavailable - ${reason}` });
}

/** 304 as the answer to a change that changes nothing, such as starring twice (gitlab-facts §1.2). */
export function notModified(): ApiError {
  return new ApiError(304, {});
}
