import { open } from "../../src/auth/sessions.ts";
import { csrfTokenOf } from "../../src/core/http/session-cookie.ts";
import type { TestApp } from "../helpers.ts";

/**
 * Signs a user in without the form.
 *
 * @param now epoch milliseconds, default the real time
 * @returns the headers a browser sends: the cookie, and the CSRF token if asked for
 */
export async function openSession(
  app: Pick<TestApp, "store">,
  userId: number,
  { csrf = false, ip = "", now = Date.now() } = {},
): Promise<Record<string, string>> {
  const session = { userId, ip, userAgent: "test" };
  const value = await app.store.transaction((db) => open(db, session, now));
  return {
    cookie: `_service_session=${value}`,
    ...(csrf && { "x-csrf-token": csrfTokenOf(value) }),
  };
}
