import * as audit from "../audit/log.ts";
import * as credentials from "../auth/credentials.ts";
import * as invitations from "../auth/invitations.ts";
import {
  hashPassword,
  type PasswordRules,
  passwordHint,
  passwordRules,
} from "../auth/passwords.ts";
import { attempt } from "../auth/throttle.ts";
import { digest } from "../core/digest.ts";
import { type AttributeErrors, notFound } from "../core/errors.ts";
import { networkOf } from "../core/http/network.ts";
import * as param from "../core/input.ts";
import {
  type PageContext,
  type PrepareContext,
  type RawReply,
  type Route,
  routes,
} from "../core/resource.ts";
import { queueLetter, sendsMail } from "../jobs/mails.ts";
import { field, form, formText, type Validated, validated } from "../pages/form.ts";
import { html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { page } from "../pages/page.ts";
import type { Reader } from "../store/port.ts";

const { get, post } = routes();

const PATH = "/users/password";
/** Where those who have forgotten their password ask for a link. */
export const FORGOTTEN = `${PATH}/new`;

/** How often one address of the network may ask, and how often for one address of e-mail. */
const ASKING = { max: 10, window: 60_000 };
const ASKED_FOR = { max: 3, window: 3_600_000 };

/** Characters of an e-mail address (RFC 5321). */
const MOST_ADDRESS = 254;

const token = { reset_password_token: param.optional(param.anyText()) };

/** Setting a password by a link from an operator, at the same path as in GitLab. */
export const newPasswordRoutes: readonly Route[] = [
  get(FORGOTTEN, {
    summary: "Page to ask for a link to set a password",
    access: "anyone",
    handle: async (context) => {
      await requireMail(context);
      return forgottenPage(context);
    },
  }),
  post(FORGOTTEN, {
    summary: "Ask for a link to set a password",
    access: "anyone",
    input: { email: formText },
    prepare: async ({ email }, { store, request, now }) => {
      const name = "password_links";
      const network = { ...ASKING, name, key: `forgotten passwords from ${networkOf(request.ip)}` };
      const one = { ...ASKED_FOR, name, key: `forgotten password of ${addressKey(email)}` };
      await attempt(store, [...(request.ip === "" ? [] : [network]), one], now);
    },
    handle: async (context) => {
      const { db, input, now } = context;
      await requireMail(context);
      const email = input.email.trim();
      // Whose it is, is found out later: the answer, and how long it takes, say nothing of whether there is an account.
      if (email !== "" && email.length <= MOST_ADDRESS)
        await queueLetter(db, { password: email }, now);
      const body = html`<div class="note good" role="status"><p>If your email address exists in our database, you will receive a password recovery link at your email address in a few minutes.</p></div>
<section><a class="button" href="${mountOf(context.view)}/users/sign_in">Sign in</a></section>`;
      return page(context, { title: "Look into your mails", body });
    },
  }),
  get(`${PATH}/edit`, {
    summary: "Page to set a password by a link",
    access: "anyone",
    input: token,
    handle: async (context) => {
      const { db, input, now } = context;
      const secret = input.reset_password_token ?? "";
      const user = await invitations.findUser(db, secret, now);
      return user
        ? newPasswordPage(context, user.username, secret, await passwordRules(db))
        : invalidLinkPage(context);
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
      if (prepared.errors) {
        const rules = await passwordRules(db);
        return newPasswordPage(context, user.username, secret, rules, prepared.errors);
      }
      await credentials.setPassword(db, user.id, prepared.value, now);
      await audit.log({ ...context, caller: user }, "password changed", { target: "by a link" });
      const body = html`<div class="note good" role="status"><p>Your password has been set.</p></div>
<section><a class="button" href="${mountOf(context.view)}/users/sign_in">Sign in</a></section>`;
      return page(context, { title: "Password set", body });
    },
  }),
];

/** An address as attempts are counted for it: keys are shorter than what anybody may type. */
const addressKey = (email: string) => digest("sha256", email.trim().toLowerCase());

/** @throws ApiError 404 where no mail is sent */
async function requireMail({ db, now }: { readonly db: Reader; readonly now: number }) {
  if (!(await sendsMail(db, now))) throw notFound();
}

function forgottenPage(visit: PageContext): RawReply {
  const body = html`<p class="lead">You get a mail with a link by which you set a new password.</p>
<section class="wide">${form(
    visit,
    FORGOTTEN,
    html`${field({ name: "email", label: "Your e-mail address", autocomplete: "email", autofocus: true })}
<button>Send the link</button>`,
  )}</section>
<p><a href="${mountOf(visit.view)}/users/sign_in">Back to signing in</a></p>`;
  return page(visit, { title: "Forgotten password", body });
}

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
  return validated(() => hashPassword(input.password, store));
}

function newPasswordPage(
  visit: PageContext,
  username: string,
  secret: string,
  rules: PasswordRules,
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
  hint: passwordHint(rules),
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
<p class="lead">This link was used, has expired, or was replaced by a newer one. Ask for another one.</p>
</section>`;
  return page(visit, { title: "Link no longer valid", status: 404, body });
}
