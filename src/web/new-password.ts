import * as audit from "../audit/log.ts";
import * as credentials from "../auth/credentials.ts";
import * as invitations from "../auth/invitations.ts";
import { hashPassword } from "../auth/passwords.ts";
import type { AttributeErrors } from "../core/errors.ts";
import * as param from "../core/input.ts";
import {
  type PageContext,
  type PrepareContext,
  type RawReply,
  type Route,
  routes,
} from "../core/resource.ts";
import { field, form, type Validated, validated } from "../pages/form.ts";
import { html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { page } from "../pages/page.ts";

const { get, post } = routes();

const PATH = "/users/password";

const token = { reset_password_token: param.optional(param.anyText()) };

/** Setting a password by a link from an operator, at the same path as in GitLab. */
export const newPasswordRoutes: readonly Route[] = [
  get(`${PATH}/edit`, {
    summary: "Page to set a password by a link",
    access: "anyone",
    input: token,
    handle: async (context) => {
      const { db, input, now } = context;
      const secret = input.reset_password_token ?? "";
      const user = await invitations.findUser(db, secret, now);
      return user ? newPasswordPage(context, user.username, secret) : invalidLinkPage(context);
    },
  }),
  post(PATH, {
    summary: "Set a password by a link, which ends all sessions",
    access: "anyone",
    input: { ...token, password: param.anyText(), password_confirmation: param.anyText() },
    prepare: newHash,
    handle: async (context) => {
      const { db, input, now, prepared } = context;
      const secret = input.reset_password_token ?? "";
      const user = await invitations.findUser(db, secret, now);
      if (!user || !prepared) return invalidLinkPage(context);
      if (prepared.errors) return newPasswordPage(context, user.username, secret, prepared.errors);
      await credentials.setPassword(db, user.id, prepared.value, now);
      await audit.log({ ...context, caller: user }, "password changed", { target: "by a link" });
      const body = html`<div class="note good" role="status"><p>Your password has been set.</p></div>
<section><a class="button" href="${mountOf(context.view)}/users/sign_in">Sign in</a></section>`;
      return page(context, { title: "Password set", body });
    },
  }),
];

/** Hashes the new password, but only for visitors with a valid link. */
async function newHash(
  input: {
    reset_password_token?: string | undefined;
    password: string;
    password_confirmation: string;
  },
  { store, now }: PrepareContext,
): Promise<Validated<string> | undefined> {
  const secret = input.reset_password_token ?? "";
  if (!(await invitations.findUser(store, secret, now))) return undefined;
  if (input.password !== input.password_confirmation) {
    return { errors: { password_confirmation: ["does not match"] } };
  }
  return validated(() => hashPassword(input.password));
}

function newPasswordPage(
  visit: PageContext,
  username: string,
  secret: string,
  errors: AttributeErrors = {},
): RawReply {
  const body = html`<p class="lead">Choose the password of <strong>${username}</strong>.</p>
<section class="wide">${form(
    visit,
    PATH,
    html`<input type="hidden" name="reset_password_token" value="${secret}">
${field({
  name: "password",
  label: "New password",
  type: "password",
  autocomplete: "new-password",
  autofocus: true,
  hint: "At least 8 characters, at most 72 bytes.",
  error: errors["password"],
})}
${field({
  name: "password_confirmation",
  label: "New password again",
  type: "password",
  autocomplete: "new-password",
  error: errors["password_confirmation"],
})}
<button>Set password</button>`,
  )}</section>`;
  const failed = Object.keys(errors).length > 0;
  return page(visit, { title: "Set your password", status: failed ? 422 : 200, body });
}

function invalidLinkPage(visit: PageContext): RawReply {
  const body = html`<section>
<p class="lead">This link was used, has expired, or was replaced by a newer one. Ask your administrator for another.</p>
</section>`;
  return page(visit, { title: "Link no longer valid", status: 404, body });
}
