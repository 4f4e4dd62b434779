import * as audit from "../audit/log.ts";
import { feedTokenOf, setFeedToken } from "../auth/feed-tokens.ts";
import { newSecret } from "../auth/token-secrets.ts";
import type { Caller } from "../core/access/caller.ts";
import { type AttributeErrors, notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import type { Page } from "../core/pagination.ts";
import { type PageContext, type RawReply, type Resource, routes } from "../core/resource.ts";
import { APPLICATION_SCOPES, SCOPES } from "../core/scopes.ts";
import type { Secrets } from "../core/secrets.ts";
import { dayOf } from "../core/time.ts";
import { choices, confirmButton, field, form, formText, readForm } from "../pages/form.ts";
import { day, instant } from "../pages/format.ts";
import { type Html, html } from "../pages/html.ts";
import { back, list, listPageOf, pageQueryOf } from "../pages/list.ts";
import { page } from "../pages/page.ts";
import * as tokens from "../resources/tokens/queries.ts";
import type { Reader } from "../store/port.ts";

const { get, post } = routes();

const PATH = "/-/user_settings/personal_access_tokens";
/** GitLab's path. */
const FEED_TOKEN_PATH = "/-/profile/reset_feed_token";
const DAY = 86_400_000;
/** The default lifetime of a token. */
const DEFAULT_DAYS = 30;

/** The page of personal access tokens. */
export const tokenPages: Resource = {
  name: "Personal access tokens",
  migrations: [],
  routes: [
    get(PATH, {
      summary: "Personal access tokens page",
      handle: (context) => tokensPage(context, { sent: { scopes: [] } }),
    }),
    post(PATH, {
      summary: "Create a personal access token; only this answer shows it",
      input: {
        name: param.optional(formText),
        expires_at: param.optional(formText),
        scopes: param.optional(param.commaSeparated()),
      },
      handle: async (context) => {
        const { db, caller, input, now } = context;
        const { name = "", expires_at = "", scopes = [] } = input;
        const parsed = await readForm(
          { name: param.text(), expires_at: param.clearable(param.date()) },
          input,
        );
        const errors: AttributeErrors = { ...parsed.errors };
        if (parsed.value?.expires_at && parsed.value.expires_at <= dayOf(now)) {
          errors["expires_at"] = ["must be after today"];
        }
        if (scopes.length === 0) errors["scopes"] = ["can't be blank"];
        const available: readonly string[] = scopesOf(caller.admin);
        if (!scopes.every((scope) => available.includes(scope))) {
          errors["scopes"] = ["can only contain available scopes"];
        }
        if (!parsed.value || Object.keys(errors).length > 0) {
          return tokensPage(context, { sent: { name, expires_at, scopes }, errors });
        }
        const { secret, digest } = newSecret();
        await tokens.insert(
          db,
          { user_id: caller.id, ...parsed.value, digest, scopes, impersonation: false },
          now,
        );
        await audit.log(context, "token made", { target: parsed.value.name });
        return tokensPage(context, {
          sent: { scopes: [] },
          created: { name: parsed.value.name, secret },
        });
      },
    }),
    post(FEED_TOKEN_PATH, {
      summary: "Create a feed token, in place of the one that there is",
      handle: async (context) => {
        const { db, caller, secrets } = context;
        await setFeedToken(db, secrets, caller.id);
        await audit.log(context, "feed token reset");
        return back(context, PATH);
      },
    }),
    post(`${PATH}/:token_id/revoke`, {
      summary: "Revoke a personal access token",
      input: { token_id: param.untypedId() },
      handle: async (context) => {
        const { db, caller, input, now } = context;
        const found = await tokens.find(db, input.token_id);
        if (found?.user_id !== caller.id || found.impersonation === 1) throw notFound();
        await tokens.revoke(db, found.id, now);
        await audit.log(context, "token revoked", { target: found.name });
        return back(context, PATH);
      },
    }),
  ],
};

/** Only administrators may use `sudo`. Scopes that no page explains are for programs. */
function scopesOf(admin: boolean) {
  return SCOPES.filter((scope) => scope in APPLICATION_SCOPES && (admin || scope !== "sudo"));
}

interface FormState {
  /** The form's values. */
  sent: { name?: string; expires_at?: string; scopes: readonly string[] };
  errors?: AttributeErrors;
  created?: { name: string; secret: string };
}

async function tokensPage(
  visit: PageContext & { caller: Caller; db: Reader; now: number; page: Page; secrets: Secrets },
  { sent, errors = {}, created }: FormState,
): Promise<RawReply> {
  const { caller } = visit;
  const active = await listPageOf(visit.page, (part) =>
    tokens.listActive(visit.db, caller.id, dayOf(visit.now), part),
  );
  const feedToken = await feedTokenOf(visit.db, visit.secrets, caller.id);
  const body = html`${created && createdNote(created)}
<p class="lead">Programs sign in with a token instead of your password: as <code>Private-Token</code> or
<code>Authorization: Bearer</code>.</p>
<section>
<h2>New token</h2>
${form(
  visit,
  PATH,
  html`${field({
    name: "name",
    label: "Name",
    hint: "What it is for, so that you recognize it later.",
    value: sent.name,
    error: errors["name"],
  })}
${field({
  name: "expires_at",
  label: "Expires on",
  type: "date",
  hint: "It stops working at the start of that day (UTC). If empty, it never expires.",
  value: sent.expires_at ?? dayOf(visit.now + DEFAULT_DAYS * DAY),
  min: dayOf(visit.now + DAY),
  required: false,
  error: errors["expires_at"],
})}
${choices({
  name: "scopes",
  legend: "Scopes",
  choices: scopesOf(caller.admin).map((scope) => ({
    value: scope,
    label: scope,
    about: APPLICATION_SCOPES[scope] as string,
    checked: sent.scopes.includes(scope),
  })),
  error: errors["scopes"],
})}
<button>Create token</button>`,
)}
</section>
<section>
<h2>Active tokens</h2>
${list(visit, active, { path: PATH, none: "You have none.", row: (token) => tokenRow(visit, token) })}
</section>
<section>
<h2>Feed token</h2>
${feedTokenSection(visit, feedToken)}
</section>`;
  const status = Object.keys(errors).length > 0 ? 422 : 200;
  return page(visit, { title: "Personal access tokens", status, body });
}

function createdNote({ name, secret }: { name: string; secret: string }): Html {
  return html`<div class="note good" role="status">
<p>Your new token <strong>${name}</strong>. Keep it now: it is not shown again.</p>
<code class="secret">${secret}</code>
</div>`;
}

function feedTokenSection(visit: PageContext, token: string | undefined): Html {
  const what = html`<p>Readers of feeds and calendars sign in with it, as <code>?feed_token=</code> at the end of the address: it opens
nothing else. Whoever has it can read what you can read there.</p>`;
  return token === undefined
    ? html`${what}${form(visit, FEED_TOKEN_PATH, html`<button>Create feed token</button>`)}`
    : html`${what}<details><summary>Show it</summary><code class="secret">${token}</code></details>
${confirmButton(visit, {
  label: "Reset",
  of: "feed token",
  question: "Readers that use the feed token will lose access, until they have the new one.",
  action: FEED_TOKEN_PATH,
})}`;
}

function tokenRow(visit: PageContext, token: tokens.ActiveToken): Html {
  const { id, name, scopes, created_at, expires_at, last_used_at } = token;
  return html`<li>
<div><h3>${name}</h3>
<p>${scopes.replaceAll(" ", ", ")}<br>
created ${instant(created_at)} · ${last_used_at === null ? "never used" : html`last used ${instant(last_used_at)}`} · ${expires_at === null ? "never expires" : html`expires ${day(expires_at)}`}</p></div>
${confirmButton(visit, {
  label: "Revoke",
  of: name,
  question: `Programs that use ${name} will lose access. This can't be undone.`,
  action: `${PATH}/${id}/revoke${pageQueryOf(visit)}`,
})}
</li>`;
}
