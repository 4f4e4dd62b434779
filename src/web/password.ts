import * as audit from "../audit/log.ts";
import { confirmPassword } from "../auth/confirm.ts";
import * as credentials from "../auth/credentials.ts";
import {
  hashPassword,
  type PasswordRules,
  passwordHint,
  passwordRules,
} from "../auth/passwords.ts";
import * as sessions from "../auth/sessions.ts";
import type { Caller } from "../core/access/caller.ts";
import type { AttributeErrors } from "../core/errors.ts";
import { sessionCookie } from "../core/http/session-cookie.ts";
import * as param from "../core/input.ts";
import {
  type PageContext,
  type PrepareContext,
  type RawReply,
  type Resource,
  routes,
} from "../core/resource.ts";
import { field, form, formText, type Validated, validated } from "../pages/form.ts";
import { html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { page, redirect } from "../pages/page.ts";

const { get, post } = routes();

const PATH = "/-/user_settings/password";
const EDIT = `${PATH}/edit`;

/** The page to change a password. */
export const passwordPages: Resource = {
  name: "Password",
  migrations: [],
  routes: [
    get(EDIT, {
      summary: "Password page",
      input: { changed: param.optional(param.boolean()) },
      handle: async (context) =>
        passwordPage(context, await passwordRules(context.db), {
          changed: context.input.changed === true,
        }),
    }),
    post(PATH, {
      summary: "Change the password, and end all other sessions",
      input: {
        current_password: formText,
        password: formText,
        password_confirmation: formText,
      },
      prepare: (input, preparing) => newHash(input, preparing),
      handle: async (context) => {
        const { db, caller, request, now, prepared, view } = context;
        if (prepared.errors) {
          return passwordPage(context, await passwordRules(db), { errors: prepared.errors });
        }
        await credentials.setPassword(db, caller.id, prepared.value, now);
        await audit.log(context, "password changed");
        const userAgent = request.header("user-agent") ?? "";
        const opened = { userId: caller.id, ip: request.ip, userAgent };
        const session = await sessions.open(db, opened, now);
        return redirect(`${mountOf(view)}${EDIT}?changed=true`, {
          "set-cookie": sessionCookie(session, view.base),
        });
      },
    }),
  ],
};

async function newHash(
  input: { current_password: string; password: string; password_confirmation: string },
  preparing: PrepareContext<Caller>,
): Promise<Validated<string>> {
  if (!(await confirmPassword(preparing, input.current_password))) {
    return { errors: { current_password: ["is wrong"] } };
  }
  if (input.password !== input.password_confirmation) {
    return { errors: { password_confirmation: ["does not match"] } };
  }
  return validated(() => hashPassword(input.password, preparing.store));
}

function passwordPage(
  visit: PageContext,
  rules: PasswordRules,
  { errors = {}, changed = false }: { errors?: AttributeErrors; changed?: boolean },
): RawReply {
  const passwordField = (name: string, label: string, autocomplete: string, hint?: string) =>
    field({
      name,
      label,
      type: "password",
      autocomplete,
      error: errors[name],
      ...(hint === undefined ? {} : { hint }),
    });
  const body = html`${
    changed &&
    html`<div class="note good" role="status"><p>Your password has been changed. All other sessions have ended.</p></div>`
  }
<section>${form(
    visit,
    PATH,
    html`${passwordField("current_password", "Current password", "current-password")}
${passwordField("password", "New password", "new-password", passwordHint(rules))}
${passwordField("password_confirmation", "New password again", "new-password")}
<button>Change password</button>`,
  )}</section>
<p class="lead">Changing it ends all your other sessions. Access tokens stay as they are.</p>`;
  const failed = Object.keys(errors).length > 0;
  return page(visit, { title: "Password", status: failed ? 422 : 200, body });
}
