import * as param from "../core/input.ts";
import { parseMarkdown } from "../core/markdown.ts";
import {
  type Context,
  type PageContext,
  type RawReply,
  type Route,
  routes,
} from "../core/resource.ts";
import { form } from "../pages/form.ts";
import { Html, html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { page } from "../pages/page.ts";
import { confirmAddress } from "../resources/accounts/changes.ts";
import * as emails from "../resources/accounts/queries.ts";
import { type SignUpRules, signUpRules } from "../resources/application-settings/sign-up.ts";
import * as namespaces from "../resources/namespaces/queries.ts";
import { openConfirmed } from "../resources/sign-ups/changes.ts";
import * as signUps from "../resources/sign-ups/queries.ts";
import * as users from "../resources/users/queries.ts";
import type { Database } from "../store/port.ts";

const { get, post } = routes();

const PATH = "/users/confirmation";

const token = { confirmation_token: param.optional(param.anyText()) };

/** Confirming an e-mail address by the link in a mail. Opening it changes nothing: programs that read mail open links. */
export const confirmationRoutes: readonly Route[] = [
  get(PATH, {
    summary: "Page to confirm an e-mail address by a link",
    access: "anyone",
    input: token,
    handle: async (context) => {
      const secret = context.input.confirmation_token ?? "";
      const found =
        (await emails.findBySecret(context.db, secret, context.now)) ??
        (await signUps.findBySecret(context.db, secret, context.now));
      if (!found) return invalidLinkPage(context);
      const body = html`<p class="lead">Is <strong>${found.email}</strong> an address of <strong>@${found.username}</strong>?</p>
<section>${form(
        context,
        PATH,
        html`<input type="hidden" name="confirmation_token" value="${secret}">
<button>Confirm</button>`,
      )}</section>`;
      return page(context, { title: "Confirm your e-mail address", body });
    },
  }),
  post(PATH, {
    summary: "Confirm an e-mail address by a link",
    access: "anyone",
    input: token,
    handle: async (context) => {
      const { db, input, now } = context;
      const secret = input.confirmation_token ?? "";
      const signUp = await signUps.findBySecret(db, secret, now);
      if (signUp) return openedPage(context, signUp);
      const found = await emails.findBySecret(db, secret, now);
      if (!found || !(await confirmAddress(db, found, now))) return invalidLinkPage(context);
      const body = html`<div class="note good" role="status"><p><strong>${found.email}</strong> is confirmed.</p></div>`;
      return page(context, { title: "Address confirmed", body });
    },
  }),
];

/** Makes the account of somebody who has signed up, unless it was made for somebody else meanwhile. */
async function openedPage(
  context: PageContext & Pick<Context, "now"> & { db: Database },
  signUp: signUps.SignUp & { readonly id: number },
): Promise<RawReply> {
  const { db, request, now, view } = context;
  const { id, email, username } = signUp;
  await signUps.remove(db, id);
  const isTaken = (await users.isEmailTaken(db, email)) || (await namespaces.isTaken(db, username));
  if (isTaken) return invalidLinkPage(context);
  const rules = await signUpRules(db);
  const by = { id: null, name: username, ip: request.ip };
  await openConfirmed({ db, rules, by, now }, signUp);
  const body = html`<div class="note good" role="status"><p><strong>${email}</strong> is confirmed.</p></div>
${await whatFollows(rules, mountOf(view))}`;
  return page(context, { title: "Address confirmed", body });
}

/** What is said to somebody who has an account now. */
export async function whatFollows(rules: SignUpRules, mount: string): Promise<Html> {
  const said = rules.needsApproval
    ? html`<p>You have signed up successfully. However, we could not sign you in because your account is awaiting approval from your administrator.</p>`
    : html`<p>You can sign in now.</p><p><a class="button" href="${mount}/users/sign_in">Sign in</a></p>`;
  return html`<section>${said}</section>${await saidAfterwards(rules)}`;
}

/** What administrators want to be said to those who have signed up. */
export async function saidAfterwards({ afterwards }: SignUpRules): Promise<Html | false> {
  if (afterwards === "") return false;
  return html`<section class="text">${new Html((await parseMarkdown(afterwards)).html())}</section>`;
}

function invalidLinkPage(visit: PageContext): RawReply {
  const body = html`<section>
<p class="lead">This link was used, has expired, or was replaced by a newer one. Add the address again, or sign up again, for another.</p>
</section>`;
  return page(visit, { title: "Link no longer valid", status: 404, body });
}
