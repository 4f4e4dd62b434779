import * as audit from "../audit/log.ts";
import * as pendingSignIns from "../auth/pending-sign-ins.ts";
import * as sessions from "../auth/sessions.ts";
import * as twoFactor from "../auth/two-factor.ts";
import { sessionCookie } from "../core/http/session-cookie.ts";
import type { ProviderRules } from "../core/providers.ts";
import type { Context, PageContext, RawReply } from "../core/resource.ts";
import { homeOf, mountOf } from "../pages/navigation.ts";
import { redirect } from "../pages/page.ts";
import { reactivate } from "../resources/users/changes.ts";
import type { Database } from "../store/port.ts";

/** Where people sign in. */
export const SIGN_IN = "/users/sign_in";
/** Where they give the code of their second factor. */
export const SECOND_STEP = "/users/sign_in/two_factor";

/** The request by which somebody signs in. */
type Entering = Pick<Context, "request" | "caller" | "now" | "site" | "view"> & { db: Database };

/**
 * Lets somebody in who has shown who they are: at once, or after a code if they have a second factor.
 *
 * @param provider where they have signed in, if not here
 */
export async function enter(
  context: Entering,
  user: { id: number; username: string },
  returnTo: string | undefined,
  provider?: Pick<ProviderRules, "allowBypassTwoFactor">,
): Promise<RawReply> {
  const { db, caller, view, now } = context;
  const isEnough = provider?.allowBypassTwoFactor === true || !(await twoFactor.isOn(db, user.id));
  if (isEnough) return openSession(context, user, returnTo);
  // The cookie of the session is replaced.
  if (caller?.by.kind === "session") await sessions.end(db, caller.id, caller.by.id);
  const pending = await pendingSignIns.begin(db, user.id, now);
  return redirect(mountOf(view) + SECOND_STEP + queryOf(returnTo), {
    "set-cookie": sessionCookie(pending, view.base),
  });
}

/** Whether a user may sign in: deactivated users become active by it. */
export const maySignIn = ({ state }: { readonly state: string }) =>
  state === "active" || state === "deactivated";

/** Signs somebody in, in the place of whoever the browser was signed in as. */
export async function openSession(
  context: Entering,
  user: { id: number; username: string },
  returnTo: string | undefined,
): Promise<RawReply> {
  const { db, request, caller, now, view } = context;
  if (caller?.by.kind === "session") await sessions.end(db, caller.id, caller.by.id);
  await reactivate(db, audit.actorOf({ request, caller: user }), user.id, now);
  await audit.log({ ...context, caller: user }, "signed in");
  const userAgent = request.header("user-agent") ?? "";
  const session = await sessions.open(db, { userId: user.id, ip: request.ip, userAgent }, now);
  return redirect(destinationOf(context, returnTo), {
    "set-cookie": sessionCookie(session, view.base),
  });
}

/** The page to return to, always on this site: `//host`, `/\host` and `https:` are refused. */
export function destinationOf(
  visit: Pick<PageContext, "site" | "view">,
  returnTo: string | undefined,
): string {
  const isOwn = returnTo !== undefined && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(returnTo);
  return mountOf(visit.view) + (isOwn ? returnTo : homeOf(visit));
}

/** The query that says where somebody goes after they have signed in. */
export function queryOf(returnTo: string | undefined): string {
  return returnTo === undefined ? "" : `?return_to=${encodeURIComponent(returnTo)}`;
}
