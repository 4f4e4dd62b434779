import { GitbeakerRequestError } from "@gitbeaker/rest";
import { expect } from "vitest";

/** What gitbeaker makes of a refused request: the status, and the message. */
export async function refusal(call: Promise<unknown>) {
  const error = await call.then(
    () => new Error("it was not refused"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(GitbeakerRequestError);
  const { cause, message } = error as GitbeakerRequestError;
  expect(cause?.description).toBe(message);
  return [cause?.response.status, message];
}
