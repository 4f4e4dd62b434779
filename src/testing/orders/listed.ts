import { ApiError } from "../../core/errors.ts";
import { NothingArrived } from "../waiting.ts";
import { Whole } from "./order.ts";

/** A list, and how many of it had to go. */
export function listed(entries: readonly object[], dropped: number): Whole {
  return new Whole({
    status: 200,
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-total": String(entries.length),
      "x-dropped": String(dropped),
    },
    body: JSON.stringify(entries),
  });
}

/** What was waited for. @throws ApiError 408 that says what has arrived instead */
export async function orTimeout<T>(waited: Promise<T>): Promise<T> {
  try {
    return await waited;
  } catch (error) {
    if (!(error instanceof NothingArrived)) throw error;
    throw new ApiError(408, { message: error.message });
  }
}
