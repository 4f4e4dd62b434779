import * as sessions from "../accounts/sessions.ts";
import type { Caller } from "../core/auth.ts";
import { notFound } from "../core/errors.ts";
import * as is from "../core/input.ts";
import { get, post, type Resource } from "../core/resource.ts";
import { isoInstant } from "../core/time.ts";
import { PAGES } from "./door.ts";
import { html } from "./html.ts";
import { csrf, page, redirect } from "./page.ts";

const PATH = "/-/user_settings/active_sessions";

/** Where somebody is signed in. */
export const sessionPages: Resource = {
  name: "Active sessions",
  door: PAGES,
  migrations: [],
  routes: [
    get(PATH, {
      summary: "Active sessions page",
      handle: async (context) => {
        const { db, now, view, csrfToken } = context;
        const caller = context.caller as Caller;
        const current = caller.by.kind === "session" ? caller.by.id : undefined;
        const rows = (await sessions.list(db, caller.id, now)).map(
          (session) => html`<li>
<p>${session.user_agent || "Unknown browser"}<br>
<small>${session.ip} · since ${isoInstant(session.created_at)}</small></p>
${
  session.id === current
    ? html`<p>This one</p>`
    : html`<form method="post" action="${view.base}${PATH}/${session.id}/revoke">${csrf(csrfToken)}<button class="quiet">End</button></form>`
}
</li>`,
        );
        return page(context, { title: "Active sessions", body: html`<ul>${rows}</ul>` });
      },
    }),
    post(`${PATH}/:session_id/revoke`, {
      summary: "End a session",
      input: { session_id: is.recordId() },
      handle: async ({ db, caller, input, view }) => {
        if (!(await sessions.end(db, caller?.id ?? 0, input.session_id))) throw notFound();
        return redirect(view.base + PATH);
      },
    }),
  ],
};
