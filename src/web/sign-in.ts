import { record } from "../accounts/audit.ts";
import * as sessions from "../accounts/sessions.ts";
import { checkPassword } from "../accounts/sign-in.ts";
import * as is from "../core/input.ts";
import { get, post, type Resource, type Visit } from "../core/resource.ts";
import { sessionCookie } from "../core/session.ts";
import { PAGES } from "./door.ts";
import { html } from "./html.ts";
import { csrf, page, redirect } from "./page.ts";

const returnTo = { return_to: is.optional(is.anyText()) };

/** Signing in and out. */
export const signInPages: Resource = {
  name: "Signing in",
  door: PAGES,
  migrations: [],
  routes: [
    get("/users/sign_in", {
      summary: "Sign-in page",
      access: "anyone",
      input: returnTo,
      handle: (context) =>
        context.caller
          ? redirect(context.view.base + ownPath(context.input.return_to))
          : signInPage(context, context.input.return_to),
    }),
    post("/users/sign_in", {
      summary: "Sign in",
      access: "anyone",
      input: { ...returnTo, login: is.anyText(), password: is.anyText() },
      prepare: ({ login, password }, preparing) => checkPassword(preparing, login, password),
      handle: async (context) => {
        const { db, input, prepared: user, asked, view, now } = context;
        if (user?.state !== "active") {
          const reason = user ? "Your account has been blocked." : "Invalid login or password.";
          return signInPage(context, input.return_to, reason);
        }
        const author = { id: user.id, name: user.username };
        await record(db, { action: "signed in", author, ip: asked.ip }, now);
        const userAgent = asked.header("user-agent") ?? "";
        const session = await sessions.open(db, { userId: user.id, ip: asked.ip, userAgent }, now);
        return redirect(view.base + ownPath(input.return_to), {
          "set-cookie": sessionCookie(session, view.base),
        });
      },
    }),
    post("/users/sign_out", {
      summary: "Sign out",
      handle: async ({ db, caller, asked, view, now }) => {
        if (caller?.by.kind === "session") {
          await sessions.end(db, caller.id, caller.by.id);
          const author = { id: caller.id, name: caller.username };
          await record(db, { action: "signed out", author, ip: asked.ip }, now);
        }
        return redirect(`${view.base}/users/sign_in`);
      },
    }),
  ],
};

/** A path of this site, whatever was asked for: never another site's (`//host`, `/\host`, `https:`). */
function ownPath(asked: string | undefined): string {
  return asked !== undefined && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(asked)
    ? asked
    : "/-/user_settings/active_sessions";
}

function signInPage(visit: Visit, returnTo: string | undefined, reason?: string) {
  const body = html`${reason && html`<p class="alert" role="alert">${reason}</p>`}
<form method="post" action="${visit.view.base}/users/sign_in">
${csrf(visit.csrfToken)}
${returnTo === undefined ? undefined : html`<input type="hidden" name="return_to" value="${returnTo}">`}
<label>User name or e-mail address <input name="login" autocomplete="username" autocapitalize="none" required autofocus></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button>Sign in</button>
</form>`;
  return page(visit, { title: "Sign in", status: reason ? 401 : 200, body });
}
