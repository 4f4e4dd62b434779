import { record } from "../audit/log.ts";
import { codeKey, countCode } from "../auth/confirm.ts";
import * as halfSignIns from "../auth/pending-sign-ins.ts";
import * as sessions from "../auth/sessions.ts";
import { checkPassword } from "../auth/sign-in.ts";
import { reset } from "../auth/throttle.ts";
import * as twoFactor from "../auth/two-factor.ts";
import { sessionCookie, sessionOf } from "../core/http/session-cookie.ts";
import * as param from "../core/input.ts";
import {
  type Context,
  type PageContext,
  type RawReply,
  type Resource,
  routes,
} from "../core/resource.ts";
import { field, form, typed } from "../pages/form.ts";
import { html } from "../pages/html.ts";
import { homeOf, mountOf } from "../pages/navigation.ts";
import { page, redirect } from "../pages/page.ts";
import * as users from "../resources/users/queries.ts";
import type { Database } from "../store/port.ts";
import { newPasswordRoutes } from "./new-password.ts";

const { get, post } = routes();

const SIGN_IN = "/users/sign_in";
const SECOND_STEP = "/users/sign_in/two_factor";

const returnTo = { return_to: param.optional(typed) };

/** Signing in and out, and setting the password for it. */
export const signInPages: Resource = {
  name: "Signing in",
  migrations: [],
  routes: [
    get(SIGN_IN, {
      summary: "Sign-in page",
      access: "anyone",
      input: returnTo,
      handle: (context) =>
        context.caller
          ? redirect(wanted(context, context.input.return_to))
          : signInPage(context, context.input.return_to),
    }),
    post(SIGN_IN, {
      summary: "Sign in",
      access: "anyone",
      input: { ...returnTo, login: typed, password: typed },
      prepare: ({ login, password }, preparing) => checkPassword(preparing, login, password),
      handle: async (context) => {
        const { db, input, prepared: user, view, now } = context;
        if (user?.state !== "active") {
          const reason = user ? "Your account has been blocked." : "Invalid login or password.";
          return signInPage(context, input.return_to, { reason, login: input.login });
        }
        if (!(await twoFactor.isOn(db, user.id))) return signIn(context, user, input.return_to);
        const half = await halfSignIns.begin(db, user.id, now);
        return redirect(mountOf(view) + SECOND_STEP + queryOf(input.return_to), {
          "set-cookie": sessionCookie(half, view.base),
        });
      },
    }),
    get(SECOND_STEP, {
      summary: "Second step of the sign-in",
      access: "anyone",
      input: returnTo,
      handle: async (context) => {
        const { db, request, input, now, view } = context;
        if (context.caller) return redirect(wanted(context, input.return_to));
        const userId = await halfSignIns.findUser(db, sessionOf(request), now);
        if (userId === undefined)
          return redirect(mountOf(view) + SIGN_IN + queryOf(input.return_to));
        return secondStepPage(context, input.return_to);
      },
    }),
    post(SECOND_STEP, {
      summary: "Sign in with a code",
      access: "anyone",
      input: { ...returnTo, code: typed },
      prepare: async (_, preparing) => {
        const { store, request, now } = preparing;
        const userId = await halfSignIns.findUser(store, sessionOf(request), now);
        if (userId !== undefined) await countCode(preparing, userId);
      },
      handle: async (context) => {
        const { db, request, input, now, view, secrets } = context;
        const value = sessionOf(request);
        const userId = await halfSignIns.findUser(db, value, now);
        const user = userId === undefined ? undefined : await users.find(db, userId);
        if (value === undefined || user?.state !== "active") {
          return redirect(mountOf(view) + SIGN_IN + queryOf(input.return_to));
        }
        const factor = await twoFactor.useCode(db, secrets, user.id, input.code, now);
        const author = { id: user.id, name: user.username };
        if (factor === undefined) {
          const target = "two-factor code";
          await record(db, { action: "sign-in failed", author, target, ip: request.ip }, now);
          return secondStepPage(context, input.return_to, ["does not fit, or was used before"]);
        }
        if (factor === "recovery code") {
          await record(db, { action: "recovery code used", author, ip: request.ip }, now);
        }
        await reset(db, codeKey(user.id));
        await halfSignIns.end(db, value);
        return signIn(context, user, input.return_to);
      },
    }),
    post("/users/sign_out", {
      summary: "Sign out",
      access: "anyone",
      handle: async ({ db, caller, request, view, now }) => {
        if (caller?.by.kind === "session") {
          await sessions.end(db, caller.id, caller.by.id);
          const author = { id: caller.id, name: caller.username };
          await record(db, { action: "signed out", author, ip: request.ip }, now);
        }
        return redirect(mountOf(view) + SIGN_IN);
      },
    }),
    ...newPasswordRoutes,
  ],
};

async function signIn(
  context: Pick<Context, "request" | "caller" | "now" | "site" | "view"> & { db: Database },
  user: { id: number; username: string },
  returnTo: string | undefined,
): Promise<RawReply> {
  const { db, request, caller, now, view } = context;
  if (caller?.by.kind === "session") await sessions.end(db, caller.id, caller.by.id);
  const author = { id: user.id, name: user.username };
  await record(db, { action: "signed in", author, ip: request.ip }, now);
  const userAgent = request.header("user-agent") ?? "";
  const session = await sessions.open(db, { userId: user.id, ip: request.ip, userAgent }, now);
  return redirect(wanted(context, returnTo), { "set-cookie": sessionCookie(session, view.base) });
}

/** The page to return to, always on this site: `//host`, `/\host` and `https:` are refused. */
function wanted(visit: Pick<PageContext, "site" | "view">, asked: string | undefined): string {
  const isOwn = asked !== undefined && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(asked);
  return mountOf(visit.view) + (isOwn ? asked : homeOf(visit));
}

function queryOf(returnTo: string | undefined): string {
  return returnTo === undefined ? "" : `?return_to=${encodeURIComponent(returnTo)}`;
}

function keep(returnTo: string | undefined) {
  return returnTo !== undefined && html`<input type="hidden" name="return_to" value="${returnTo}">`;
}

function signInPage(
  visit: PageContext,
  returnTo: string | undefined,
  failed?: { reason: string; login: string },
): RawReply {
  const body = html`${failed && html`<div class="note bad" role="alert"><p>${failed.reason}</p></div>`}
<section class="wide">${form(
    visit,
    SIGN_IN,
    html`${keep(returnTo)}
${field({
  name: "login",
  label: "User name or e-mail address",
  value: failed?.login,
  autocomplete: "username",
  autofocus: failed === undefined,
})}
${field({
  name: "password",
  label: "Password",
  type: "password",
  autocomplete: "current-password",
  autofocus: failed !== undefined,
})}
<button>Sign in</button>`,
  )}</section>`;
  return page(visit, { title: "Sign in", status: failed ? 401 : 200, body });
}

function secondStepPage(
  visit: PageContext,
  returnTo: string | undefined,
  error?: string[],
): RawReply {
  const body = html`<section class="wide">${form(
    visit,
    SECOND_STEP,
    html`${keep(returnTo)}
${field({
  name: "code",
  label: "Code",
  hint: "The six digits your app shows now, or one of your recovery codes.",
  error,
  autocomplete: "one-time-code",
  autofocus: true,
})}
<button>Sign in</button>`,
  )}</section>
<p><a href="${mountOf(visit.view)}${SIGN_IN}${queryOf(returnTo)}">Start again</a></p>`;
  return page(visit, { title: "Two-factor sign-in", status: error ? 401 : 200, body });
}
