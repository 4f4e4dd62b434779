import * as audit from "../audit/log.ts";
import { confirmPerson, countCode } from "../auth/confirm.ts";
import { passwordHash } from "../auth/credentials.ts";
import * as twoFactor from "../auth/two-factor.ts";
import type { Caller } from "../core/access/caller.ts";
import { type PageContext, type RawReply, type Resource, routes } from "../core/resource.ts";
import type { Secrets } from "../core/secrets.ts";
import { field, form, formText } from "../pages/form.ts";
import { instant } from "../pages/format.ts";
import { Html, html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { page, redirect } from "../pages/page.ts";
import type { Reader } from "../store/port.ts";

const { get, post } = routes();

const PATH = "/-/profile/two_factor_auth";
const WRONG = ["is wrong"];
const TOO_LATE = "Sign in again first: that was more than ten minutes ago.";

const password = { password: formText };

/** The page to set up and remove the second factor. */
export const twoFactorPages: Resource = {
  name: "Two-factor authentication",
  migrations: [],
  routes: [
    get(PATH, { summary: "Two-factor page", handle: (context) => twoFactorPage(context) }),
    post(`${PATH}/start`, {
      summary: "Start setting up the second factor",
      input: password,
      prepare: (input, preparing) => confirmPerson(preparing, input.password),
      handle: async (context) => {
        if (!context.prepared) return twoFactorPage(context, { start: WRONG });
        await twoFactor.begin(context.db, context.secrets, context.caller.id);
        return redirect(mountOf(context.view) + PATH);
      },
    }),
    post(PATH, {
      summary: "Enable the second factor",
      input: { code: formText },
      prepare: (_, preparing) => countCode(preparing, preparing.caller.id),
      handle: async (context) => {
        const { db, caller, input, now, secrets } = context;
        const codes = await twoFactor.turnOn(db, secrets, caller.id, input.code, now);
        if (!codes) return twoFactorPage(context, { code: ["does not fit"] });
        await audit.log(context, "two-factor enabled");
        return codesPage(context, codes, "Two-factor authentication is on.");
      },
    }),
    post(`${PATH}/codes`, {
      summary: "Create new recovery codes",
      input: password,
      prepare: (input, preparing) => confirmPerson(preparing, input.password),
      handle: async (context) => {
        const { db } = context;
        const { id } = context.caller;
        if (!context.prepared) return twoFactorPage(context, { codes: WRONG });
        if (!(await twoFactor.isOn(db, id))) return redirect(mountOf(context.view) + PATH);
        const codes = await twoFactor.renewRecoveryCodes(db, id);
        return codesPage(context, codes, "Your earlier recovery codes no longer work.");
      },
    }),
    post(`${PATH}/disable`, {
      summary: "Disable the second factor",
      input: password,
      prepare: (input, preparing) => confirmPerson(preparing, input.password),
      handle: async (context) => {
        if (!context.prepared) return twoFactorPage(context, { disable: WRONG });
        if (await twoFactor.turnOff(context.db, context.caller.id)) {
          await audit.log(context, "two-factor disabled");
        }
        return redirect(mountOf(context.view) + PATH);
      },
    }),
  ],
};

/** The errors of each of the page's forms. */
type Problems = Partial<Record<"start" | "code" | "codes" | "disable", readonly string[]>>;

async function twoFactorPage(
  visit: PageContext & { caller: Caller; db: Reader; secrets: Secrets },
  problems: Problems = {},
): Promise<RawReply> {
  const { id } = visit.caller;
  const state = await twoFactor.find(visit.db, id);
  const asking = { ...visit, hasPassword: (await passwordHash(visit.db, id)) !== null };
  const body = !state
    ? startPart(asking, problems)
    : state.enabled_at === null
      ? await setUpPart(visit, twoFactor.secretOf(state, visit.secrets, id), problems)
      : onPart(asking, state.enabled_at, state.recovery_codes, problems);
  const status = Object.keys(problems).length > 0 ? 422 : 200;
  return page(visit, { title: "Two-factor authentication", status, body });
}

/** A visit of somebody who may have a password here, or sign in elsewhere only. */
type Asking = PageContext & { readonly hasPassword: boolean };

/** A form that asks for the password first, if they have one. */
function confirmation(
  visit: Asking,
  spec: {
    action: string;
    id: string;
    label: string;
    error: readonly string[] | undefined;
    kind?: "danger" | "quiet";
  },
): Html {
  const { action, id, label, error, kind } = spec;
  return form(
    visit,
    PATH + action,
    html`${
      visit.hasPassword
        ? field({
            ...{ id, name: "password", label: "Your password", type: "password", error },
            autocomplete: "current-password",
          })
        : html`<input type="hidden" name="password" value="">${error && html`<p class="error" role="alert">${TOO_LATE}</p>`}`
    }
<button${kind && html` class="${kind}"`}>${label}</button>`,
  );
}

function startPart(visit: Asking, { start }: Problems): Html {
  return html`<p class="lead">With a second factor, your password alone is not enough to sign in: you also need a code
from an app on your phone.</p>
<section>
<h2>Set it up</h2>
<p>You need an app for one-time codes. Most password managers have one.</p>
${confirmation(visit, { action: "/start", id: "start-password", label: "Set up", error: start })}
</section>`;
}

async function setUpPart(
  visit: PageContext & { caller: Caller },
  secret: string,
  { code }: Problems,
): Promise<Html> {
  const { renderSVG } = await import("uqr");
  const address = await twoFactor.addressOf(secret, visit.caller.username, visit.view.host);
  // The library draws it from black and white squares only, so it needs no escaping.
  const picture = new Html(renderSVG(address, { border: 2, ecc: "M" }));
  return html`<section>
<h2>1. Tell your app</h2>
<p>Scan this with the app:</p>
<div class="qr" role="img" aria-label="QR code of the secret below">${picture}</div>
<p>Or type the secret into it:</p>
<code class="secret">${secret.replace(/.{4}(?=.)/g, "$& ")}</code>
</section>
<section>
<h2>2. Show that it works</h2>
${form(
  visit,
  PATH,
  html`${field({
    name: "code",
    label: "Code",
    hint: "The six digits the app shows now.",
    error: code,
    autocomplete: "one-time-code",
    numeric: true,
  })}
<button>Switch on</button>`,
)}
</section>
<p class="lead">Nothing changes until you have done both.</p>`;
}

function onPart(visit: Asking, since: number, left: number, { codes, disable }: Problems): Html {
  return html`<p class="lead">It has been on since ${instant(since)}. Programs use access tokens, which need no code.</p>
<section>
<h2>Recovery codes</h2>
<p>${left === 1 ? "One is" : `${left} are`} left. Each signs you in once, without your app.</p>
${confirmation(visit, { action: "/codes", id: "codes-password", label: "Make new codes", error: codes })}
</section>
<section>
<h2>Switch off</h2>
<p>Nothing else will be asked for when you sign in, and your recovery codes will be gone.</p>
${confirmation(visit, {
  action: "/disable",
  id: "disable-password",
  label: "Switch off",
  error: disable,
  kind: "danger",
})}
</section>`;
}

function codesPage(visit: PageContext, codes: readonly string[], notice: string): RawReply {
  const body = html`<div class="note good" role="status"><p>${notice}</p></div>
<section>
<h2>Your recovery codes</h2>
<p>Keep them where you keep your passwords. Each signs you in once, if you lose your app. They are not shown again.</p>
<ul class="codes">${codes.map((code) => html`<li>${code}</li>`)}</ul>
<a class="button" href="${mountOf(visit.view)}${PATH}">I have kept them</a>
</section>`;
  return page(visit, { title: "Two-factor authentication", body });
}
