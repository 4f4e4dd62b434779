import { GitbeakerRequestError, Gitlab } from "@gitbeaker/rest";
import { afterAll, afterEach, expect } from "vitest";
import { type Seed, startTestServer } from "../../src/testing.ts";

/** Who there is in these tests: an administrator and two others. */
export const users: Seed["users"] = [
  { username: "root", admin: true, tokens: [{ token: "root-token" }] },
  { username: "ann", name: "Ann", tokens: [{ token: "ann-token" }] },
  {
    username: "bob",
    tokens: [{ token: "bob-token" }, { token: "reader", scopes: ["read_api"] }],
  },
];

/**
 * Starts a server for a file of tests, which is as new after each of them, with gitbeaker as each of its users.
 *
 * @param seed with {@link users}
 * @param perPage items of a page
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
