import * as param from "../core/input.ts";
import { type Resource, routes } from "../core/resource.ts";
import { flag, form } from "../pages/form.ts";
import { html } from "../pages/html.ts";
import { mountOf, navigationOf } from "../pages/navigation.ts";
import { page, redirect } from "../pages/page.ts";
import * as users from "../resources/users/queries.ts";
import { claimRoutes } from "./claims.ts";
import { confirmationRoutes } from "./confirmation.ts";
import { linkedAccounts } from "./providers.ts";

const { get, post } = routes();

const CONTRIBUTIONS = "/-/profile/contributions";

/** The start page of signed-in users. */
export const profilePages: Resource = {
  name: "Account",
  migrations: [],
  routes: [
    ...confirmationRoutes,
    ...claimRoutes,
    post(CONTRIBUTIONS, {
      summary: "Choose whether private contributions are counted",
      input: { include_private_contributions: param.optional(param.boolean()) },
      handle: async (context) => {
        const { db, caller, input, now, view } = context;
        const flag = Number(input.include_private_contributions === true);
        await users.setPrivateContributions(db, caller.id, flag, now);
        return redirect(`${mountOf(view)}/-/profile`);
      },
    }),
    get("/-/profile", {
      summary: "Account page",
      handle: async (context) => {
        const { db, view } = context;
        const { id, admin } = context.caller;
        const user = (await users.find(db, id)) as users.User;
        const { username, name, email } = user;
        const others = navigationOf(context)
          .filter((item) => item.page !== "profile")
          .map(
            (
              item,
            ) => html`<li><div><h3><a href="${mountOf(view)}${item.path}">${item.title}</a></h3>
<p>${item.about}</p></div></li>`,
          );
        const body = html`<section><dl>
<dt>Name</dt><dd>${name}</dd>
<dt>User name</dt><dd>@${username}</dd>
<dt>E-mail</dt><dd>${email}</dd>
${admin && html`<dt>Role</dt><dd>Administrator</dd>`}
<dt>API</dt><dd><code>${view.base}/api/v4</code></dd>
</dl></section>
${await linkedAccounts(context)}
<section><h2>Your page</h2>${form(
          context,
          CONTRIBUTIONS,
          html`${flag({
            ...{ name: "include_private_contributions", label: "Count private contributions" },
            hint: "Everybody sees how much you do, never what, also where they see nothing",
            checked: user.include_private_contributions === 1,
          })}<button>Save</button>`,
        )}</section>
${others.length > 0 && html`<section><h2>Settings</h2><ul class="rows">${others}</ul></section>`}`;
        const leadsElsewhere = context.site.providers.length > 0;
        return page(context, { title: "Your account", body, leadsElsewhere });
      },
    }),
  ],
};
