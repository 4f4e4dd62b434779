import * as param from "../core/input.ts";
import { type PageContext, type RawReply, type Route, routes } from "../core/resource.ts";
import { form } from "../pages/form.ts";
import { html } from "../pages/html.ts";
import { page } from "../pages/page.ts";
import { confirmAddress } from "../resources/accounts/changes.ts";
import * as emails from "../resources/accounts/queries.ts";

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
      const found = await emails.findBySecret(context.db, secret, context.now);
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
      const found = await emails.findBySecret(db, input.confirmation_token ?? "", now);
      if (!found || !(await confirmAddress(db, found, now))) return invalidLinkPage(context);
      const body = html`<div class="note good" role="status"><p><strong>${found.email}</strong> is confirmed.</p></div>`;
      return page(context, { title: "Address confirmed", body });
    },
  }),
];

function invalidLinkPage(visit: PageContext): RawReply {
  const body = html`<section>
<p class="lead">This link was used, has expired, or was replaced by a newer one. Add the address again for another.</p>
</section>`;
  return page(visit, { title: "Link no longer valid", status: 404, body });
}
