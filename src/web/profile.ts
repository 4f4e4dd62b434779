import { type Resource, routes } from "../core/resource.ts";
import { html } from "../pages/html.ts";
import { mountOf, type NavigationItem, navigationOf } from "../pages/navigation.ts";
import { page } from "../pages/page.ts";
import * as users from "../resources/users/queries.ts";
import { confirmationRoutes } from "./confirmation.ts";
import { linkedAccounts } from "./providers.ts";

const { get } = routes();

const ABOUT: Readonly<Partial<Record<NavigationItem["page"], string>>> = {
  personal_access_tokens: "Let programs use the API as you",
  applications: "Your own applications, and those that may act as you",
  active_sessions: "Where you are signed in",
  password: "Change it",
  two_factor: "Ask for a code beside the password",
};

/** The start page of signed-in users. */
export const profilePages: Resource = {
  name: "Account",
  migrations: [],
  routes: [
    ...confirmationRoutes,
    get("/-/profile", {
      summary: "Account page",
      handle: async (context) => {
        const { db, view } = context;
        const { id, admin } = context.caller;
        const { username, name, email } = (await users.find(db, id)) as users.User;
        const others = navigationOf(context)
          .filter((item) => item.page !== "profile")
          .map(
            (
              item,
            ) => html`<li><div><h3><a href="${mountOf(view)}${item.path}">${item.title}</a></h3>
<p>${ABOUT[item.page]}</p></div></li>`,
          );
        const body = html`<section><dl>
<dt>Name</dt><dd>${name}</dd>
<dt>User name</dt><dd>@${username}</dd>
<dt>E-mail</dt><dd>${email}</dd>
${admin && html`<dt>Role</dt><dd>Administrator</dd>`}
<dt>API</dt><dd><code>${view.base}/api/v4</code></dd>
</dl></section>
${await linkedAccounts(context)}
${others.length > 0 && html`<section><h2>Settings</h2><ul class="rows">${others}</ul></section>`}`;
        const leadsElsewhere = context.site.providers.length > 0;
        return page(context, { title: "Your account", body, leadsElsewhere });
      },
    }),
  ],
};
