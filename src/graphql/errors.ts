import { type ApiError, messagesOf } from "../core/errors.ts";

/** An error that a client sees as it is, at the field. */
export class GraphError extends Error {
  override get name() {
    return "GraphError" as const;
  }
}

/** What anything answers that the caller may not see or change, or that is not there. */
const NOT_AVAILABLE =
  "The resource that you are attempting to access does not exist or you don't have permission to perform this action";

/** The error with {@link NOT_AVAILABLE}. */
export const notAvailable = () => new GraphError(NOT_AVAILABLE);

/** Statuses of errors that a client can correct: mutations list them in `errors`. */
const CORRECTABLE = [400, 409, 412, 422];

/** Whether an error is about what was sent, not about what the caller may see or change. */
export const isCorrectable = ({ status }: ApiError) => CORRECTABLE.includes(status);

/** An error of the REST API as the message of a GraphQL error. */
export function messageOf(error: ApiError): string {
  return isCorrectable(error) ? messagesOf(error).join(", ") : NOT_AVAILABLE;
}
