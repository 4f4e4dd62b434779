import {
  hashPassword,
  type PasswordRules,
  passwordHint,
  passwordRules,
} from "../auth/passwords.ts";
import { attempt } from "../auth/throttle.ts";
import { roleOf } from "../core/access/roles.ts";
import { digest } from "../core/digest.ts";
import type { AttributeErrors } from "../core/errors.ts";
import { networkOf } from "../core/http/network.ts";
import * as param from "../core/input.ts";
import {
  type Context,
  type PageContext,
  type RawReply,
  type Resource,
  type Route,
  routes,
} from "../core/resource.ts";
import { sendsMail } from "../jobs/mails.ts";
import { field, form, formText, validated } from "../pages/form.ts";
import { type Html, html } from "../pages/html.ts";
import { toSignIn } from "../pages/mount.ts";
import { mountOf } from "../pages/navigation.ts";
import { page, redirect } from "../pages/page.ts";
import { type SignUpRules, signUpRules } from "../resources/application-settings/sign-up.ts";
import { acceptInvitation } from "../resources/members/invitations.ts";
import * as invited from "../resources/members/invited.ts";
import { openConfirmed, problemsOf, signUp } from "../resources/sign-ups/changes.ts";
import * as users from "../resources/users/queries.ts";
import type { Database, Reader } from "../store/port.ts";
import { saidAfterwards, whatFollows } from "./confirmation.ts";
import { SIGN_IN } from "./entering.ts";

const { get, post } = routes();

/** Where people sign up. */
export const SIGN_UP = "/users/sign_up";

/** How often one address of the network may try, as in GitLab, and how often one may try with an address of e-mail. */
const TRYING = { max: 20, window: 60_000 };
const TRIED_WITH = { max: 3, window: 3_600_000 };

/** The link of an invitation, for whose address the account is. */
const invite = { invite: param.optional(formText) };

type Visiting = PageContext & { readonly db: Reader; readonly now: number };

/** Whether people can sign up, and what is asked of them. */
export async function openSignUp({ db, site, now }: Visiting): Promise<SignUpRules | undefined> {
  if (!site.pages.includes("sign_in")) return undefined;
  const rules = await signUpRules(db);
  const isConfirmed = async () => site.pages.includes("profile") && (await sendsMail(db, now));
  return rules.isOn && (!rules.confirms || (await isConfirmed())) ? rules : undefined;
}

/** Signing up. */
export const signUpRoutes: readonly Route[] = [
  get(SIGN_UP, {
    summary: "Page to sign up",
    access: "anyone",
    input: invite,
    handle: async (context) => {
      const { db, caller, input, view } = context;
      const rules = await openSignUp(context);
      if (!rules || caller) return redirect(mountOf(view) + SIGN_IN);
      const invitation = await invited.findBySecret(db, input.invite ?? "");
      const shown = { invite: input.invite, email: invitation?.email };
      return signUpPage(context, await passwordRules(db), shown, invitation !== undefined);
    },
  }),
  post(SIGN_UP, {
    summary: "Sign up",
    access: "anyone",
    input: { ...invite, name: formText, username: formText, email: formText, password: formText },
    prepare: async ({ email, password }, { store, request, now }) => {
      const { isOn } = await signUpRules(store);
      if (!isOn) return undefined;
      const name = "sign_ups";
      const one = digest("sha256", email.trim().toLowerCase());
      const network = { ...TRYING, name, key: `sign-ups from ${networkOf(request.ip)}` };
      const allowances = [
        ...(request.ip === "" ? [] : [network]),
        { ...TRIED_WITH, name, key: `sign-ups as ${one}` },
      ];
      await attempt(store, allowances, now);
      return validated(() => hashPassword(password, store));
    },
    handle: async (context) => {
      const { db, input, prepared, request, now, view } = context;
      const rules = await openSignUp(context);
      if (!rules || !prepared) return redirect(mountOf(view) + SIGN_IN);
      const invitation = await invited.findBySecret(db, input.invite ?? "");
      const typed = {
        name: input.name.trim(),
        username: input.username.trim(),
        email: invitation?.email ?? input.email.trim(),
      };
      const again = async (errors: AttributeErrors) => {
        const shown = { ...typed, invite: input.invite, errors };
        return signUpPage(context, await passwordRules(db), shown, invitation !== undefined);
      };
      const problems = await problemsOf(db, rules, typed, now);
      // Whoever has the link of an invitation reads the mails of its address.
      if (invitation && (await users.isEmailTaken(db, typed.email))) {
        return again({ email: ["has already been taken: sign in with that account"] });
      }
      const errors = { ...problems, ...prepared.errors };
      if (Object.keys(errors).length > 0) return again(errors);
      const by = { id: null, name: typed.username, ip: request.ip };
      const person = { ...typed, password_hash: prepared.value as string };
      const arriving = { db, rules, by, now };
      if (invitation) await openConfirmed(arriving, person);
      else if (!(await signUp(arriving, person))) {
        return again({ username: ["has already been taken"] });
      }
      const waits = rules.confirms && !invitation;
      const body = waits
        ? html`<section><p>You get a mail at <strong>${typed.email}</strong> in a few minutes. Open the link in it within three days to confirm your address.</p></section>${await saidAfterwards(rules)}`
        : await whatFollows(rules, mountOf(view));
      return page(context, { title: waits ? "Almost there" : "Signed up", body });
    },
  }),
];

const token = { token: param.anyText({ max: 64 }) };
const INVITE = "/-/invites/:token";

/** Accepting and declining invitations, by the link in their mail. Opening it changes nothing. */
export const invitePages: Resource = {
  name: "Invitations by mail",
  migrations: [],
  routes: [
    get(INVITE, {
      summary: "Page of an invitation",
      access: "anyone",
      input: token,
      handle: async (context) => {
        const { db, input, caller, view } = context;
        const invitation = await invited.findBySecret(db, input.token);
        if (!invitation) return overPage(context);
        const path = `/-/invites/${input.token}`;
        const signIn = caller ? undefined : toSignIn(context)?.headers?.["location"];
        const isOpen = !caller && (await openSignUp(context)) !== undefined;
        const account = html`<p class="actions">${isOpen && html`<a class="button" href="${mountOf(view)}${SIGN_UP}?invite=${input.token}">Create an account</a>`}
${signIn !== undefined && html`<a class="button quiet" href="${signIn}">Sign in</a>`}</p>`;
        const body = html`<p class="lead">${invitation.created_by ? html`<strong>@${invitation.created_by}</strong> invites you` : "You are invited"} to join <strong>${invitation.full_path}</strong> as ${roleOf(invitation.access_level)}.</p>
<section>${
          caller
            ? html`<p>You are signed in as <strong>@${caller.username}</strong>.</p>
<div class="actions">${form(context, `${path}/accept`, html`<button>Accept the invitation</button>`)}
${form(context, `${path}/decline`, html`<button class="quiet">Decline</button>`)}</div>`
            : html`<p>It is for <strong>${invitation.email}</strong>. Sign in, or make an account, to accept it.</p>${account}`
        }</section>`;
        return page(context, { title: "Invitation", body });
      },
    }),
    post(`${INVITE}/accept`, {
      summary: "Accept an invitation",
      input: token,
      handle: (context) =>
        settled(context, (db, found) =>
          acceptInvitation(db, context.caller.id, found, context.now),
        ),
    }),
    post(`${INVITE}/decline`, {
      summary: "Decline an invitation",
      input: token,
      handle: (context) => settled(context, (db, found) => invited.remove(db, found.id)),
    }),
  ],
};

type Invitation = NonNullable<Awaited<ReturnType<typeof invited.findBySecret>>>;

/** Does something with the invitation of a link, and says what was done. */
async function settled(
  context: Pick<Context, "view"> & PageContext & { db: Database; input: { token: string } },
  work: (db: Database, found: Invitation) => Promise<void>,
): Promise<RawReply> {
  const { db, input, view, request } = context;
  const found = await invited.findBySecret(db, input.token);
  if (!found) return overPage(context);
  await work(db, found);
  const path = `${found.project_id === null ? "/groups" : ""}/${found.full_path}`;
  if (request.path.endsWith("/accept")) return redirect(mountOf(view) + path);
  const body = html`<div class="note good" role="status"><p>You have declined the invitation to join <strong>${found.full_path}</strong>.</p></div>`;
  return page(context, { title: "Invitation declined", body });
}

function overPage(visit: PageContext): RawReply {
  const body = html`<section><p class="lead">This invitation was accepted, withdrawn, or replaced by a newer mail.</p></section>`;
  return page(visit, { title: "Invitation no longer valid", status: 404, body });
}

function signUpPage(
  visit: PageContext,
  passwords: PasswordRules,
  {
    errors = {},
    ...typed
  }: {
    readonly name?: string;
    readonly username?: string;
    readonly email?: string | undefined;
    readonly invite?: string | undefined;
    readonly errors?: AttributeErrors;
  },
  isInvited: boolean,
): RawReply {
  const address: Html = isInvited
    ? html`<p>For <strong>${typed.email}</strong>, which was invited.</p>
<input type="hidden" name="invite" value="${typed.invite}"><input type="hidden" name="email" value="${typed.email}">${
        errors["email"] && html`<p class="error">${typed.email} ${errors["email"].join(", ")}.</p>`
      }`
    : field({
        ...{ name: "email", label: "E-mail address", autocomplete: "email" },
        ...{ value: typed.email, error: errors["email"] },
      });
  const body = html`<section class="wide">${form(
    visit,
    SIGN_UP,
    html`${field({
      ...{ name: "name", label: "Full name", autocomplete: "name", autofocus: true },
      ...{ value: typed.name, error: errors["name"] },
    })}
${field({
  ...{ name: "username", label: "User name", autocomplete: "username" },
  ...{ value: typed.username, error: errors["username"] },
  hint: "The address of your page here: letters, digits, dots, hyphens and underscores.",
})}
${address}
${field({
  ...{ name: "password", label: "Password", type: "password", autocomplete: "new-password" },
  ...{ hint: passwordHint(passwords), error: errors["password"] },
})}
<button>Create account</button>`,
  )}</section>
<p>Already have an account? <a href="${mountOf(visit.view)}${SIGN_IN}">Sign in</a></p>`;
  const failed = Object.keys(errors).length > 0;
  return page(visit, { title: "Create your account", status: failed ? 422 : 200, body });
}
