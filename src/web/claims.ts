import { notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { type PageContext, type Route, routes } from "../core/resource.ts";
import { form } from "../pages/form.ts";
import { html } from "../pages/html.ts";
import { page } from "../pages/page.ts";
import { answer } from "../resources/placeholders/changes.ts";
import * as sourceUsers from "../resources/placeholders/queries.ts";
import type { Reader } from "../store/port.ts";

const { get, post } = routes();

const PATH = "/import/source_users/:source_user_id";
const id = { source_user_id: param.recordId() };

type Asked = PageContext & { readonly db: Reader; readonly input: { source_user_id: number } };

/** What the caller is asked about, and where it was imported to. @throws ApiError 404 if they are not asked, or not any more */
async function askedOf({ db, caller, input }: Asked) {
  const found = await sourceUsers.find(db, input.source_user_id);
  const isAsked = found?.status === "awaiting_approval" && found.reassign_to_user_id === caller?.id;
  if (!found || !isAsked) throw notFound();
  const [row] = await db.rows(
    `select n.full_path, coalesce(u.name || ' (@' || u.username || ')', 'an operator')
     from namespaces n left join users u on u.id = ? where n.id = ?`,
    [found.reassigned_by_user_id, found.namespace_id],
  );
  return { found, group: String(row?.[0]), by: String(row?.[1]) };
}

/** Where users accept or reject a reassignment, as in GitLab. Opening it changes nothing. */
export const claimRoutes: readonly Route[] = [
  get(PATH, {
    summary: "Page to accept or reject what was imported as one's own",
    input: id,
    handle: async (context) => {
      const { found, group, by } = await askedOf(context);
      const action = PATH.replace(":source_user_id", String(found.id));
      const body = html`<p class="lead">Are you <strong>${found.source_name}</strong> (@${found.source_username}) of <strong>${found.source_hostname}</strong>?</p>
<section><dl>
<dt>Imported into</dt><dd>${group}</dd>
<dt>Reassigned by</dt><dd>${by}</dd>
</dl>
<p>What they have written becomes yours, and you become a member wherever they were one. This can't be undone.</p>
${form(context, action, html`<input type="hidden" name="accept" value="true"><button>Approve reassignment</button>`)}
${form(context, action, html`<input type="hidden" name="accept" value="false"><button class="danger">Reject</button>`)}</section>`;
      return page(context, { title: "Review reassignment details", body });
    },
  }),
  post(PATH, {
    summary: "Accept or reject what was imported as one's own",
    input: { ...id, accept: param.boolean() },
    handle: async (context) => {
      const { found } = await askedOf(context);
      const { accept } = context.input;
      if (!(await answer(context.db, found, accept, context.now))) throw notFound();
      const said = accept
        ? `Reassignment approved: what @${found.source_username} has written becomes yours within minutes.`
        : "Reassignment rejected.";
      const body = html`<div class="note good" role="status"><p>${said}</p></div>`;
      return page(context, { title: "Review reassignment details", body });
    },
  }),
];
