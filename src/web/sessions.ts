import * as audit from "../audit/log.ts";
import * as sessions from "../auth/sessions.ts";
import type { Caller } from "../core/access/caller.ts";
import { notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { type Resource, routes } from "../core/resource.ts";
import { confirmButton, form } from "../pages/form.ts";
import { browser, instant } from "../pages/format.ts";
import { html } from "../pages/html.ts";
import { back, list, listPageOf, pageQueryOf } from "../pages/list.ts";
import { mountOf } from "../pages/navigation.ts";
import { page, redirect } from "../pages/page.ts";

const { get, post } = routes();

const PATH = "/-/user_settings/active_sessions";

/** The user's active sessions. */
export const sessionPages: Resource = {
  name: "Active sessions",
  migrations: [],
  routes: [
    get(PATH, {
      summary: "Active sessions page",
      handle: async (context) => {
        const { db, caller, now } = context;
        const current = currentOf(caller);
        const active = await listPageOf(context.page, (part) =>
          sessions.list(db, caller.id, now, part),
        );
        const row = ({
          id,
          ip,
          user_agent,
          created_at,
          last_seen_at,
        }: sessions.Session) => html`<li>
<div><h3>${browser(user_agent)}${id === current && html`<span class="tag">This session</span>`}</h3>
<p>${ip !== "" && `${ip} · `}last seen ${instant(last_seen_at)}<br>signed in ${instant(created_at)}</p></div>
${id !== current && form(context, `${PATH}/${id}/revoke${pageQueryOf(context)}`, html`<button class="quiet">End</button>`)}
</li>`;
        const body = html`<p class="lead">Where you are signed in. If you don't recognize a session, end it and change your password.</p>
<section><h2>Signed in</h2>${list(context, active, { path: PATH, none: "You are signed in nowhere.", row })}</section>
${
  (active.rows.length > 1 || active.hasNext || active.page.number > 1) &&
  confirmButton(context, {
    label: "End all others",
    question: "You will have to sign in again everywhere else.",
    action: `${PATH}/revoke_others`,
  })
}`;
        return page(context, { title: "Sessions", body });
      },
    }),
    post(`${PATH}/:session_id/revoke`, {
      summary: "End a session",
      input: { session_id: param.untypedId() },
      handle: async (context) => {
        const { db, caller, input } = context;
        if (!(await sessions.end(db, caller.id, input.session_id))) throw notFound();
        await audit.log(context, "session ended");
        return back(context, PATH);
      },
    }),
    post(`${PATH}/revoke_others`, {
      summary: "End all other sessions",
      handle: async (context) => {
        const { db, caller, view } = context;
        const ended = await sessions.endOthers(db, caller.id, currentOf(caller));
        await audit.log(context, "session ended", { target: `${ended} others` });
        return redirect(mountOf(view) + PATH);
      },
    }),
  ],
};

function currentOf({ by }: Caller): number {
  return by.kind === "session" ? by.id : 0;
}
