import * as audit from "../audit/log.ts";
import { refusalOf } from "../auth/authenticators/user-row.ts";
import { codeKey, countCode } from "../auth/confirm.ts";
import * as pendingSignIns from "../auth/pending-sign-ins.ts";
import * as sessions from "../auth/sessions.ts";
import { checkPassword } from "../auth/sign-in.ts";
import { reset } from "../auth/throttle.ts";
import * as twoFactor from "../auth/two-factor.ts";
import { sessionOf } from "../core/http/session-cookie.ts";
import * as param from "../core/input.ts";
import { type PageContext, type RawReply, type Resource, routes } from "../core/resource.ts";
import { recordFailedLogin } from "../hooks/records.ts";
import { sendsMail } from "../jobs/mails.ts";
import { field, form, formText } from "../pages/form.ts";
import { type Html, html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { page, redirect } from "../pages/page.ts";
import { find } from "../resources/appearance/queries.ts";
import * as users from "../resources/users/queries.ts";
import type { Reader } from "../store/port.ts";
import {
  destinationOf,
  enter,
  maySignIn,
  openSession,
  queryOf,
  SECOND_STEP,
  SIGN_IN,
} from "./entering.ts";
import { FORGOTTEN, newPasswordRoutes } from "./new-password.ts";
import { providerForms, providerRoutes } from "./providers.ts";
import { openSignUp, SIGN_UP, signUpRoutes } from "./sign-up.ts";

const { get, post } = routes();

const returnTo = { return_to: param.optional(formText) };

/** Signing in and out, and setting the password for it. */
export const signInPages: Resource = {
  name: "Signing in",
  migrations: [],
  routes: [
    get(SIGN_IN, {
      summary: "Sign-in page",
      access: "anyone",
      // Applications may ask that people who are signed in prove again who they are.
      input: { ...returnTo, again: param.optional(formText) },
      handle: (context) =>
        context.caller && context.input.again === undefined
          ? redirect(destinationOf(context, context.input.return_to))
          : signInPage(context, context.input.return_to),
    }),
    post(SIGN_IN, {
      summary: "Sign in",
      access: "anyone",
      input: { ...returnTo, login: formText, password: formText },
      // Passwords of LDAP servers have forms of their own, as in GitLab.
      prepare: ({ login, password }, preparing) =>
        checkPassword(preparing, login, password, { asksDirectories: false }),
      handle: async (context) => {
        const { input, prepared: user } = context;
        if (!user || !maySignIn(user)) {
          if (user) await recordFailedLogin(context, user.id);
          const reason = user ? refusalOf(user.state) : "Invalid login or password.";
          return signInPage(context, input.return_to, { reason, login: input.login });
        }
        return enter(context, user, input.return_to);
      },
    }),
    get(SECOND_STEP, {
      summary: "Second step of the sign-in",
      access: "anyone",
      input: returnTo,
      handle: async (context) => {
        const { db, request, input, now, view } = context;
        if (context.caller) return redirect(destinationOf(context, input.return_to));
        const userId = await pendingSignIns.findUser(db, sessionOf(request), now);
        if (userId === undefined)
          return redirect(mountOf(view) + SIGN_IN + queryOf(input.return_to));
        return secondStepPage(context, input.return_to);
      },
    }),
    post(SECOND_STEP, {
      summary: "Sign in with a code",
      access: "anyone",
      input: { ...returnTo, code: formText },
      prepare: async (_, preparing) => {
        const { store, request, now } = preparing;
        const userId = await pendingSignIns.findUser(store, sessionOf(request), now);
        if (userId !== undefined) await countCode(preparing, userId);
      },
      handle: async (context) => {
        const { db, request, input, now, view, secrets } = context;
        const value = sessionOf(request);
        const userId = await pendingSignIns.findUser(db, value, now);
        const user = userId === undefined ? undefined : await users.find(db, userId);
        if (value === undefined || !user || !maySignIn(user)) {
          return redirect(mountOf(view) + SIGN_IN + queryOf(input.return_to));
        }
        const factor = await twoFactor.useCode(db, secrets, user.id, input.code, now);
        const signingIn = { ...context, caller: user };
        if (factor === undefined) {
          await audit.log(signingIn, "sign-in failed", { target: "two-factor code" });
          return secondStepPage(context, input.return_to, ["does not fit, or was used before"]);
        }
        if (factor === "recovery code") {
          await audit.log(signingIn, "recovery code used");
        }
        await reset(db, codeKey(user.id));
        await pendingSignIns.end(db, value);
        return openSession(context, user, input.return_to);
      },
    }),
    post("/users/sign_out", {
      summary: "Sign out",
      access: "anyone",
      handle: async (context) => {
        const { db, caller, view } = context;
        if (caller?.by.kind === "session") {
          await sessions.end(db, caller.id, caller.by.id);
          await audit.log({ ...context, caller }, "signed out");
        }
        return redirect(mountOf(view) + SIGN_IN);
      },
    }),
    ...providerRoutes,
    ...newPasswordRoutes,
    ...signUpRoutes,
  ],
};

function returnToField(returnTo: string | undefined): Html {
  return html`${returnTo !== undefined && html`<input type="hidden" name="return_to" value="${returnTo}">`}`;
}

/** What administrators say where people sign in, above and below the form. */
async function sayings(db: Reader): Promise<[Html, Html]> {
  const looks = await find(db);
  const said = (text: string | null) => !!text && html`<p class="lead">${text}</p>`;
  const { title, header_message, description, footer_message } = looks;
  const above = html`${said(header_message)}${!!title && html`<h2>${title}</h2>`}${said(description)}`;
  return [above, html`${said(footer_message)}`];
}

async function signInPage(
  visit: PageContext & { db: Reader; now: number },
  returnTo: string | undefined,
  failed?: { reason: string; login: string },
): Promise<RawReply> {
  const [[above, below], hasMail, isOpen] = await Promise.all([
    sayings(visit.db),
    sendsMail(visit.db, visit.now),
    openSignUp(visit),
  ]);
  const body = html`${above}
${failed && html`<div class="note bad" role="alert"><p>${failed.reason}</p></div>`}
<section class="wide">${form(
    visit,
    SIGN_IN,
    html`${returnToField(returnTo)}
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
  )}${hasMail && html`<p><a href="${mountOf(visit.view)}${FORGOTTEN}">Forgot your password?</a></p>`}${isOpen && html`<p>Don't have an account yet? <a href="${mountOf(visit.view)}${SIGN_UP}">Register now</a></p>`}</section>
${providerForms(visit, returnToField(returnTo))}
${below}`;
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
    html`${returnToField(returnTo)}
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
