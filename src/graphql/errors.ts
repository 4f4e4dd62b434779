import type { ApiError } from "../core/errors.ts";
import { NOT_AVAILABLE } from "./declare.ts";

/** Statuses of errors that a client can correct: mutations list them in `errors`. */
const CORRECTABLE = [400, 409, 412, 422];

/** Whether an error is about what was sent, not about what the caller may see or change. */
export const isCorrectable = ({ status }: ApiError) => CORRECTABLE.includes(status);

/** An error of the REST API as the message of a GraphQL error. */
export function messageOf(error: ApiError): string {
  return isCorrectable(error) ? messagesOf(error).join(", ") : NOT_AVAILABLE;
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
