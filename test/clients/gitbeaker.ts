import { GitbeakerRequestError, Gitlab } from "@gitbeaker/rest";
import { afterAll, afterEach, expect } from "vitest";
import { type Seed, startTestServer } from "../../src/testing.ts";

/** The users of these tests: an administrator and two others. */
export const users: Seed["users"] = [
  { username: "root", admin: true, tokens: [{ token: "root-token" }] },
  { username: "ann", name: "Ann", tokens: [{ token: "ann-token" }] },
  {
    username: "bob",
    tokens: [{ token: "bob-token" }, { token: "reader", scopes: ["read_api"] }],
  },
];

/**
 * Starts a server for a test file, reset after each test, with a gitbeaker client for each of its users.
 *
 * @param seed must contain {@link users}
 * @param perPage items per page
 */
export async function serving(seed: Seed, perPage: number) {
  const server = await startTestServer({
    seed,
    now: "2026-03-01T12:00:00Z",
    limits: { perPage },
  });
  afterEach(() => server.reset());
  afterAll(() => server.close());
  const as = (token: string) => new Gitlab({ host: server.url, token });
  return { server, root: as("root-token"), ann: as("ann-token"), bob: as("bob-token") };
}

/** The status and message of the error gitbeaker throws for a refused request. */
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
