import { type ApiError, messagesOf } from "../core/errors.ts";
import { NOT_AVAILABLE } from "./declare.ts";

/** Statuses of errors that a client can correct: mutations list them in `errors`. */
const CORRECTABLE = [400, 409, 412, 422];

/** Whether an error is about what was sent, not about what the caller may see or change. */
export const isCorrectable = ({ status }: ApiError) => CORRECTABLE.includes(status);

/** An error of the REST API as the message of a GraphQL error. */
export function messageOf(error: ApiError): string {
  return isCorrectable(error) ? messagesOf(error).join(", ") : NOT_AVAILABLE;
}
