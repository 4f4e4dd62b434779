import { notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { type Route, routes } from "../core/resource.ts";
import type { Secrets } from "../core/secrets.ts";
import { readKey } from "../notifications/unsubscribing.ts";
import { html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { page } from "../pages/page.ts";
import { ISSUE } from "../resources/issuables/issue.ts";
import { MERGE_REQUEST } from "../resources/issuables/merge-request.ts";
import { subscribe } from "../resources/issuables/queries.ts";
import * as users from "../resources/users/queries.ts";
import type { Reader } from "../store/port.ts";

const { get, post } = routes();

const PATH = "/-/sent_notifications/:key/unsubscribe";

const TYPES = { issue: ISSUE, merge_request: MERGE_REQUEST };

/** The key proves that somebody got the mail; nothing else is asked. */
const open = {
  access: "anyone",
  ownCredentials: true,
  answersWith: "text/html",
  input: { key: param.anyText({ max: 1000 }) },
} as const;

/** What a link unsubscribes from. @throws ApiError 404 if it is not one of ours, or there is nothing any more */
async function find(db: Reader, secrets: Secrets, key: string) {
  const read = readKey(secrets, key);
  const type = read && TYPES[read.prefix];
  if (!read || !type || !(await users.find(db, read.userId))) throw notFound();
  const { id, userId } = read;
  const [found] = await db.rows(`select 1 from ${type.table} where id = ?`, [id]);
  if (!found) throw notFound();
  return { type, id, userId };
}

/** What the links in mails lead to. Programs that read mail send a POST (RFC 8058); a GET changes nothing, since some follow each link. */
export const unsubscribingAddresses: readonly Route[] = [
  get(PATH, {
    ...open,
    summary: "Ask whether to get no more mails about an issue or merge request",
    handle: async (context) => {
      const { db, secrets, input, view } = context;
      const { type } = await find(db, secrets, input.key);
      const action = `${mountOf(view)}/-/sent_notifications/${input.key}/unsubscribe`;
      const body = html`<section>
<p class="lead">Do you want to get no more mails about this ${type.name}?</p>
<form method="post" action="${action}"><button>Unsubscribe</button></form>
</section>`;
      return page(context, { title: "Unsubscribe", body });
    },
  }),
  post(PATH, {
    ...open,
    summary: "Get no more mails about an issue or merge request",
    handle: async (context) => {
      const { db, secrets, input } = context;
      const { type, id, userId } = await find(db, secrets, input.key);
      await subscribe(db, type, id, userId, false);
      const body = html`<section><p class="lead">You get no more mails about this ${type.name}, unless somebody mentions you or assigns it to you.</p></section>`;
      return page(context, { title: "Unsubscribed", body });
    },
  }),
];
