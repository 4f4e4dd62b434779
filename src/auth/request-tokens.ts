import { ApiError } from "../core/errors.ts";
import type { CredentialRequest } from "../core/http/authenticator.ts";

/** A text that is sent and not empty. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The token of an `Authorization: Bearer` header, if it is one and isn't empty. */
export function bearerOf(header: string | undefined): string | undefined {
  if (!header) return undefined;
  return textOf(/^bearer +(.*)$/i.exec(header)?.[1]?.trim());
}

/**
 * The token a request carries, in GitLab's order of precedence: `access_token`, `Authorization: Bearer`,
 * `bearer_token`, `private_token`, `Private-Token`. The first non-empty one counts, valid or not.
 *
 * @throws ApiError 400 if both a Bearer header and `access_token` are sent (RFC 6750 §2)
 */
export function tokenOf({ incoming, parameters }: CredentialRequest): string | undefined {
  const bearer = bearerOf(incoming.header("authorization"));
  const accessToken = textOf(parameters["access_token"]);
  if (bearer && accessToken) {
    throw new ApiError(400, {
      error: "invalid_request",
      error_description: "Both Authorization header and payload includes access token.",
    });
  }
  return (
    accessToken ??
    bearer ??
    textOf(parameters["bearer_token"]) ??
    textOf(parameters["private_token"]) ??
    textOf(incoming.header("private-token"))
  );
}
