import { ApiError } from "../core/errors.ts";

/** What was wrong with a request, in the words of RFC 7644 §3.12. */
export type ScimType =
  | "invalidFilter"
  | "uniqueness"
  | "mutability"
  | "invalidSyntax"
  | "invalidPath"
  | "noTarget"
  | "invalidValue";

/**
 * A refusal with a `scimType` (RFC 7644 §3.12).
 *
 * @param detail a sentence for people; it must hold no long texts of the client
 */
export function refused(scimType: ScimType, detail: string): ApiError {
  return new ApiError(scimType === "uniqueness" ? 409 : 400, { scimType, detail });
}

/** A refusal without a `scimType`. */
export function failed(status: number, detail: string): ApiError {
  return new ApiError(status, { detail });
}

/** A client's text as part of a detail: cut, so that errors stay short. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
