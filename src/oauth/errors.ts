import { ApiError } from "../core/errors.ts";
import type { Mount } from "../core/http/mount.ts";
import { RawReply } from "../core/resource.ts";

/** Descriptions of the error codes of RFC 6749 §4.1.2.1 and §5.2, in GitLab's words. */
const DESCRIPTIONS = {
  invalid_request:
    "The request is missing a required parameter, includes an unsupported parameter value, or is otherwise malformed.",
  invalid_client:
    "Client authentication failed due to unknown client, no client authentication included, or unsupported authentication method.",
  invalid_grant:
    "The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in the authorization request, or was issued to another client.",
  invalid_scope: "The requested scope is invalid, unknown, or malformed.",
  invalid_token: "The access token is invalid",
  unauthorized_client: "The client is not authorized to perform this request using this method.",
  unsupported_grant_type:
    "The authorization grant type is not supported by the authorization server.",
  unsupported_response_type: "The authorization server does not support this response type.",
  insufficient_scope: "The request requires higher privileges than provided by the access token.",
  authorization_pending: "The authorization request is still pending.",
  slow_down: "The device asks too often.",
  expired_token: "The device code has expired.",
  login_required: "The authorization server requires end-user authentication.",
  consent_required: "The authorization server requires end-user consent.",
  request_not_supported: "The authorization server does not support request objects.",
  request_uri_not_supported: "The authorization server does not support request objects.",
  registration_not_supported: "The authorization server does not support self-registration.",
  access_denied: "The resource owner or authorization server denied the request.",
  temporarily_unavailable: "Too many attempts: try again later.",
  server_error: "The authorization server met an unexpected condition.",
} as const;

/** An error code with its description. */
export interface Problem {
  error: keyof typeof DESCRIPTIONS;
  description: string;
}

/** A problem with its usual description, or a more specific one. */
export function problem(error: Problem["error"], description?: string): Problem {
  return { error, description: description ?? DESCRIPTIONS[error] };
}

/** The problem of a parameter that was not sent. */
export function missing(parameter: string): Problem {
  return problem("invalid_request", `Missing required parameter: ${parameter}.`);
}

/** The error to throw: RFC 6749 §5.2, with the challenge of a 401. */
export function refusal({ error, description }: Problem, status?: number): ApiError {
  const unauthenticated = error === "invalid_client" || error === "invalid_token";
  const isForbidden = error === "unauthorized_client" || error === "insufficient_scope";
  const challenge =
    error === "invalid_client"
      ? 'Basic realm="pm-api"'
      : `Bearer realm="pm-api", error="${error}", error_description="${description}"`;
  return new ApiError(
    status ?? (unauthenticated ? 401 : isForbidden ? 403 : 400),
    { error, error_description: description },
    unauthenticated || error === "insufficient_scope" ? { "www-authenticate": challenge } : {},
  );
}

const HEADERS = {
  "content-type": "application/json",
  "cache-control": "no-store",
  pragma: "no-cache",
};

/** A JSON response that must not be cached (RFC 6749 §5.1). */
export function jsonReply(body: object): RawReply {
  return new RawReply(200, HEADERS, JSON.stringify(body));
}

/** The error as a response to return, which commits what was written before it. */
export function errorReply(problem: Problem): RawReply {
  return showError(refusal(problem));
}

/** Turns errors of other parts of the application into OAuth errors. */
function showError({ status, body, headers }: ApiError): RawReply {
  const error = "error_description" in body ? body : refusal(problem(codeOf(status))).body;
  return new RawReply(status, { ...headers, ...HEADERS }, JSON.stringify(error));
}

function codeOf(status: number): Problem["error"] {
  if (status === 429) return "temporarily_unavailable";
  return status < 500 ? "invalid_request" : "server_error";
}

/** Endpoints that applications call without a user: errors are RFC 6749's, and each endpoint checks credentials. */
export const OAUTH: Omit<Mount, "resources"> = {
  name: "OAuth2",
  base: "",
  authenticators: [],
  allowsOrigins: true,
  showError,
};
