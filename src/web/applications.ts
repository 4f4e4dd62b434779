import { actorOf } from "../audit/log.ts";
import type { Caller } from "../core/access/caller.ts";
import { type AttributeErrors, notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { type Page, readPage } from "../core/pagination.ts";
import { type PageContext, type RawReply, type Resource, routes } from "../core/resource.ts";
import { APPLICATION_SCOPES } from "../core/scopes.ts";
import * as applications from "../oauth/applications.ts";
import * as grants from "../oauth/grants.ts";
import { type ApplicationData, readLines } from "../oauth/rules.ts";
import { choices, confirmButton, field, form, formText, validated } from "../pages/form.ts";
import { instant } from "../pages/format.ts";
import { type Html, html } from "../pages/html.ts";
import { back, list, listPageOf, pageQueryOf } from "../pages/list.ts";
import { mountOf } from "../pages/navigation.ts";
import { page, redirect } from "../pages/page.ts";
import type { Reader } from "../store/port.ts";

const { get, post } = routes();

const PATH = "/-/user_settings/applications";

/** An application's form. Browsers don't send unticked boxes. */
const dataInput = {
  name: param.optional(formText),
  redirect_uri: param.optional(param.anyText({ max: param.LONG_TEXT })),
  scopes: param.optional(param.commaSeparated()),
  confidential: param.optional(param.boolean()),
};
const applicationId = { application_id: param.untypedId() };

/** OAuth2 applications: those the user registered, and those they authorized. */
export const applicationPages: Resource = {
  name: "Applications",
  migrations: [],
  routes: [
    get(PATH, {
      summary: "Applications page",
      input: { authorized_page: param.optional(formText) },
      handle: (context) => listPage(context, { authorizedPage: context.input.authorized_page }),
    }),
    post(PATH, {
      summary: "Register an application; only this answer shows its secret",
      input: dataInput,
      handle: async (context) => {
        const { db, caller, input, now } = context;
        const data = dataOf(input);
        const { value: registered, errors } = await validated(() =>
          applications.register(
            db,
            actorOf(context),
            { ...data, userId: caller.id, trusted: false },
            now,
          ),
        );
        if (errors) return listPage(context, { data, errors });
        const created = await applications.find(db, registered.id);
        return applicationPage(context, created as applications.Application, registered);
      },
    }),
    get(`${PATH}/:application_id`, {
      summary: "Page of an application",
      input: applicationId,
      handle: async (context) => applicationPage(context, await findOwn(context)),
    }),
    post(`${PATH}/:application_id`, {
      summary: "Change an application",
      input: { ...applicationId, ...dataInput },
      handle: async (context) => {
        const { db, input, now, view } = context;
        const found = await findOwn(context);
        const data = dataOf(input);
        const { errors } = await validated(() =>
          applications.change(db, actorOf(context), found.id, data, now),
        );
        if (errors) return applicationPage(context, found, { data, errors });
        return redirect(`${mountOf(view)}${PATH}/${found.id}`);
      },
    }),
    post(`${PATH}/:application_id/renew_secret`, {
      summary: "Renew an application's secret; only this answer shows it",
      input: applicationId,
      handle: async (context) => {
        const found = await findOwn(context);
        const { db, now } = context;
        const secret = await applications.renewSecret(db, actorOf(context), found, now);
        return applicationPage(context, { ...found, secret_digest: "" }, { secret });
      },
    }),
    post(`${PATH}/:application_id/delete`, {
      summary: "Delete an application, and revoke all access granted to it",
      input: applicationId,
      handle: async (context) => {
        const { db, now, view } = context;
        await applications.remove(db, actorOf(context), await findOwn(context), now);
        return redirect(mountOf(view) + PATH);
      },
    }),
    post(`${PATH}/:application_id/revoke_access`, {
      summary: "Revoke an application's access to the account",
      input: applicationId,
      handle: async (context) => {
        const { db, input, now } = context;
        const application = await applications.find(db, input.application_id);
        const userId = context.caller.id;
        const by = actorOf(context);
        if (!application || !(await grants.revokeAccess(db, by, { userId, application }, now))) {
          throw notFound();
        }
        return back(context, PATH);
      },
    }),
  ],
};

/** One of the caller's own applications; other people's answer 404. */
async function findOwn({
  db,
  caller,
  input,
}: {
  db: Reader;
  caller: Caller;
  input: { application_id: number };
}) {
  const found = await applications.find(db, input.application_id);
  if (!found || found.user_id !== caller.id) throw notFound();
  return found;
}

function dataOf(input: param.Input<typeof dataInput>): ApplicationData {
  const { name = "", redirect_uri = "", scopes = [], confidential = false } = input;
  return { name, redirectUris: readLines(redirect_uri), scopes, confidential };
}

/** A form's values and errors. */
interface FormState {
  data?: ApplicationData;
  errors?: AttributeErrors;
}

const NEW: ApplicationData = { name: "", redirectUris: [], scopes: [], confidential: true };

/** The page parameter of authorized applications; `page` belongs to the user's own. */
const AUTHORIZED_PAGE = "authorized_page";

async function listPage(
  visit: PageContext & { caller: Caller; db: Reader; now: number; page: Page },
  { data = NEW, errors, authorizedPage }: FormState & { authorizedPage?: string | undefined } = {},
): Promise<RawReply> {
  const { db, now, view } = visit;
  const { id } = visit.caller;
  const { number } = readPage({ page: authorizedPage }, visit.page.limits);
  const authorized = await listPageOf({ ...visit.page, number }, (part) =>
    grants.authorizedBy(db, id, now, part),
  );
  const own = await listPageOf(visit.page, (part) => applications.listOwned(db, id, part));
  const body = html`<section>
<h2>Allowed to act as you</h2>
${list(visit, authorized, {
  path: PATH,
  none: "No application is.",
  parameter: AUTHORIZED_PAGE,
  row: ({ application_id, name, owner, scopes, since }) => html`<li>
<div><h3>${name}</h3>
<p>${owner === null ? "registered by the administrators" : `registered by @${owner}`} · since ${instant(since)}<br>
${scopes.join(", ")}</p></div>
${confirmButton(visit, {
  label: "Revoke",
  of: name,
  question: `${name} will lose access to your account. It can ask you again.`,
  action: `${PATH}/${application_id}/revoke_access${pageQueryOf(visit)}`,
})}
</li>`,
})}
</section>
<section>
<h2>Your applications</h2>
${list(visit, own, {
  path: PATH,
  none: "You have registered none.",
  row: ({ id: ownId, name, uid, confidential }) => html`<li>
<div><h3><a href="${mountOf(view)}${PATH}/${ownId}">${name}</a></h3>
<p>${confidential === 1 ? "confidential" : "public"} · <code>${uid}</code></p></div>
</li>`,
})}
</section>
<section>
<h2>Register an application</h2>
${dataForm(visit, PATH, "Register", { data, ...(errors && { errors }) })}
</section>`;
  return page(visit, { title: "Applications", status: errors ? 422 : 200, body });
}

function applicationPage(
  visit: PageContext,
  application: applications.Application,
  { data, errors, secret }: FormState & { secret?: string | null } = {},
): RawReply {
  const { id, name, uid, confidential, secret_digest } = application;
  const path = `${PATH}/${id}`;
  const body = html`${
    typeof secret === "string" &&
    html`<div class="note good" role="status">
<p>The secret of <strong>${name}</strong>. Keep it now: it is not shown again.</p>
<code class="secret">${secret}</code>
</div>`
  }
<section>
<h2>For its settings</h2>
<dl class="long">
<dt>Application ID</dt><dd><code class="secret">${uid}</code></dd>
<dt>Server</dt><dd><code class="secret">${visit.view.base}</code></dd>
</dl>
</section>
<section>
<h2>Edit</h2>
${dataForm(visit, path, "Save", { data: data ?? storedData(application), ...(errors && { errors }) })}
</section>
${
  confidential === 1 &&
  html`<section>
<h2>Secret</h2>
${
  secret_digest === null
    ? html`<p>It has none yet, and can't get tokens without one.</p>
${form(visit, `${path}/renew_secret`, html`<button>Make a secret</button>`)}`
    : html`<p>Only its SHA-256 is stored here.</p>
${confirmButton(visit, {
  label: "Renew the secret",
  question: "The current secret will be refused at once.",
  action: `${path}/renew_secret`,
})}`
}
</section>`
}
<section>
<h2>Delete</h2>
${confirmButton(visit, {
  label: "Delete this application",
  question: "It will lose access to all accounts. This can't be undone.",
  action: `${path}/delete`,
})}
</section>
<p><a href="${mountOf(visit.view)}${PATH}">All applications</a></p>`;
  return page(visit, { title: name, status: errors ? 422 : 200, body });
}

function storedData(application: applications.Application): ApplicationData {
  return {
    name: application.name,
    redirectUris: application.redirect_uris.split("\n"),
    scopes: application.scopes.split(" "),
    confidential: application.confidential === 1,
  };
}

function dataForm(
  visit: PageContext,
  action: string,
  label: string,
  { data, errors = {} }: FormState & { data: ApplicationData },
): Html {
  return form(
    visit,
    action,
    html`${field({ name: "name", label: "Name", value: data.name, error: errors["name"] })}
${field({
  name: "redirect_uri",
  label: "Redirect URI",
  type: "lines",
  hint: "Where users are redirected to, such as https://app.example.com/callback. One per line.",
  value: data.redirectUris.join("\n"),
  error: errors["redirect_uri"],
})}
${choices({
  name: "scopes",
  legend: "Scopes",
  choices: Object.entries(APPLICATION_SCOPES).map(([scope, about]) => ({
    value: scope,
    label: scope,
    about,
    checked: data.scopes.includes(scope),
  })),
  error: errors["scopes"],
})}
<div class="choice field">
<input type="checkbox" id="confidential" name="confidential" value="1"${data.confidential && html` checked`}>
<label for="confidential">Confidential<span class="hint">It runs on a server and can keep a secret. Apps on phones,
on desktops and in browsers can't.</span></label>
</div>
<button>${label}</button>`,
  );
}
