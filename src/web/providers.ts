import * as audit from "../audit/log.ts";
import { refusalOf } from "../auth/authenticators/user-row.ts";
import { passwordHash } from "../auth/credentials.ts";
import { attemptOf, begin, newState, take } from "../auth/provider-sign-ins.ts";
import { checkInDirectory } from "../auth/sign-in.ts";
import { attempt } from "../auth/throttle.ts";
import { notFound } from "../core/errors.ts";
import { networkOf } from "../core/http/network.ts";
import { sessionOf } from "../core/http/session-cookie.ts";
import * as param from "../core/input.ts";
import {
  type Directory,
  type DirectoryEntry,
  type OpenIdProvider,
  ProviderError,
  type Told,
} from "../core/providers.ts";
import {
  type Context,
  type PageContext,
  type PrepareContext,
  type RawReply,
  type Route,
  routes,
} from "../core/resource.ts";
import { recordFailedLogin } from "../hooks/records.ts";
import { confirmButton, field, form, formText } from "../pages/form.ts";
import { type Html, html } from "../pages/html.ts";
import { homeOf, mountOf } from "../pages/navigation.ts";
import { page, redirect } from "../pages/page.ts";
import { removeIdentity } from "../resources/accounts/identities.ts";
import { entryOf, welcome, withFormerUid } from "../resources/sign-ins/directories.ts";
import { link, personOf, type Refusal } from "../resources/sign-ins/people.ts";
import * as identities from "../resources/users/identities.ts";
import * as users from "../resources/users/queries.ts";
import type { Database, Reader } from "../store/port.ts";
import { enter, maySignIn, SIGN_IN } from "./entering.ts";

const { arrive, post } = routes();

const ACCOUNT = "/-/profile";
const UNLINK = "/-/profile/account/unlink";

/** How often one address may begin to sign in elsewhere. */
const ALLOWANCE = { max: 20, window: 60_000 };

const provider = { provider: param.anyText({ max: 63 }) };

/** A longer path is not returned to: it is stored. */
const MAX_RETURN_LENGTH = 4096;

const pathOf = (name: string) => `/users/auth/${name}`;

/** Signing in at another provider, and linking accounts with it. */
export const providerRoutes: readonly Route[] = [
  post("/users/auth/:provider", {
    summary: "Sign in at another provider, or link one's account with it",
    access: "anyone",
    input: {
      ...provider,
      return_to: param.optional(formText),
      link: param.optional(param.boolean()),
    },
    prepare: async ({ provider: name }, preparing) => {
      const { store, request, view, now } = preparing;
      const found = requireProvider(preparing, name);
      if (request.ip !== "") {
        const key = `sign-ins elsewhere from ${networkOf(request.ip)}`;
        await attempt(store, [{ ...ALLOWANCE, key, name: "sign_ins" }], now);
      }
      const state = newState();
      const own = { ...attemptOf(state, cookieOf(preparing)), redirectUri: callbackOf(view, name) };
      return { found, state, begun: await settled(found.begin(own)) };
    },
    handle: async (context) => {
      const { db, caller, input, prepared, now } = context;
      const { found, state, begun } = prepared;
      if (begun instanceof ProviderError) return failed(context, found, begun);
      const { return_to: returnTo } = input;
      const signIn = {
        ...{ state, cookie: cookieOf(context), provider: found.name },
        user_id: (input.link && caller?.id) || null,
        return_to: returnTo !== undefined && returnTo.length <= MAX_RETURN_LENGTH ? returnTo : null,
      };
      await begin(db, signIn, now);
      return redirect(begun);
    },
  }),
  arrive("/users/auth/:provider/callback", {
    summary: "Come back from another provider",
    access: "anyone",
    input: { ...provider, state: param.optional(param.anyText({ max: 1024 })) },
    prepare: async ({ provider: name, state }, preparing) => {
      const { store, request, view, now } = preparing;
      const found = requireProvider(preparing, name);
      const cookie = sessionOf(request);
      if (state === undefined || cookie === undefined) return { found, begun: undefined };
      // Taken first: what the browser brings is looked at once, whatever comes of it.
      const begun = await store.transaction(
        (db) => take(db, { state, cookie, provider: name }, now),
        { shared: true },
      );
      if (!begun) return { found, begun };
      const own = { ...attemptOf(state, cookie), redirectUri: callbackOf(view, name) };
      const told = await settled(found.finish(own, request.query));
      if (told instanceof ProviderError || !found.autoLinkLdapUser) return { found, begun, told };
      const { directories } = preparing.providers;
      const entry = await settled(entryOf(store, directories, found.name, told.uid));
      return entry instanceof ProviderError
        ? { found, begun, told: entry }
        : { found, begun, told, entry };
    },
    handle: async (context) => {
      const { prepared } = context;
      const { found, begun, told, entry } = prepared;
      if (!begun || told === undefined) return refused(context, "old");
      if (told instanceof ProviderError) return failed(context, found, told);
      const returnTo = begun.return_to ?? undefined;
      return begun.user_id === null
        ? signInAs(context, found, told, returnTo, entry)
        : linkTo(context, found, told, begun.user_id);
    },
  }),
  post("/users/auth/:provider/callback", {
    summary: "Sign in at an LDAP server",
    access: "anyone",
    input: {
      ...provider,
      return_to: param.optional(formText),
      username: formText,
      password: formText,
    },
    prepare: async ({ provider: name, username, password }, preparing) => {
      const found = preparing.providers.directories.find((one) => one.name === name);
      if (!found) throw notFound();
      const told = await settled(checkInDirectory(preparing, found, username.trim(), password));
      if (told === undefined || told instanceof ProviderError) return { found, told };
      return { found, told: await settled(withFormerUid(preparing.store, found, told)) };
    },
    handle: (context) => {
      const { prepared, input } = context;
      const { found, told } = prepared;
      if (told instanceof ProviderError) return failed(context, found, told);
      return told === undefined
        ? stopped(context, "Invalid login or password.", 401)
        : signInAs(context, found, told, input.return_to);
    },
  }),
  post(UNLINK, {
    summary: "Unlink one's account from another provider",
    input: provider,
    handle: async (context) => {
      const { db, caller, input, now, view } = context;
      if (!(await hasOtherWay(context, input.provider))) {
        return refused(context, "last");
      }
      const by = audit.actorOf(context);
      await removeIdentity(db, by, caller.id, input.provider, now);
      return redirect(mountOf(view) + ACCOUNT);
    },
  }),
];

/** The provider of a name. @throws ApiError 404 */
function requireProvider({ providers }: PrepareContext, name: string): OpenIdProvider {
  const found = providers.openId.find((one) => one.name === name);
  if (!found) throw notFound();
  return found;
}

const callbackOf = ({ base }: PageContext["view"], name: string) =>
  `${base}${pathOf(name)}/callback`;

/** The browser's cookie, which forms can't be sent without. */
const cookieOf = ({ request }: Pick<PageContext, "request">) => sessionOf(request) as string;

/** What a provider answers, or why it does not. */
async function settled<T>(answer: Promise<T>): Promise<T | ProviderError> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
}

type Arriving = Pick<Context, "request" | "caller" | "now" | "site" | "view" | "csrfToken"> & {
  db: Database;
};

async function signInAs(
  context: Arriving,
  rules: OpenIdProvider | Directory,
  told: Told,
  returnTo: string | undefined,
  entry?: DirectoryEntry,
): Promise<RawReply> {
  const { db, request, now } = context;
  const person = await personOf({ db, rules, told, entry, ip: request.ip, now });
  if (typeof person === "string") {
    await logFailure(context, `${rules.name}: ${person}`);
    return refused(context, person, rules);
  }
  const found = rules.kind === "ldap" ? await welcome(db, rules, person, now) : person;
  if (!maySignIn(found)) {
    await recordFailedLogin(context, found.id);
    return stopped(context, refusalOf(found.state));
  }
  return enter(context, found, returnTo, rules);
}

/** Links the account of whoever is signed in, if it is they who began it. */
async function linkTo(
  context: Arriving,
  rules: OpenIdProvider,
  told: Told,
  userId: number,
): Promise<RawReply> {
  const { db, caller, request, now, view } = context;
  const user = caller?.id === userId ? await users.find(db, userId) : undefined;
  if (!user) return refused(context, "old");
  const isLinked = await link({ db, rules, told, ip: request.ip, now }, user);
  return isLinked ? redirect(mountOf(view) + ACCOUNT) : refused(context, "taken", rules);
}

const logFailure = ({ db, request, now }: Arriving, target: string) =>
  audit.log({ db, by: { id: null, name: "unknown", ip: request.ip }, now }, "sign-in failed", {
    target,
  });

async function failed(
  context: Arriving,
  { kind, label }: OpenIdProvider | Directory,
  error: ProviderError,
): Promise<RawReply> {
  await logFailure(context, error.message);
  if (kind === "ldap") return stopped(context, `Could not connect to ${label}.`, 503);
  return error.isAway
    ? stopped(context, `${label} does not answer. Try again in a while.`, 503)
    : stopped(context, `Could not authenticate you from ${label}.`);
}

/** Texts that GitLab has, too. None has what a provider has written. */
function refused(
  context: PageContext,
  reason: Refusal | "old" | "taken" | "last",
  { label }: { readonly label: string } = { label: "" },
): RawReply {
  const { host } = new URL(context.view.base);
  const texts = {
    groups: "Access denied: you are in none of the groups that may sign in here.",
    unknown: `Signing in using your ${label} account without a pre-existing account in ${host} is not allowed. Create an account in ${host} first, and then connect it to your ${label} account.`,
    old: "This sign-in was begun in another browser, is too old, or was used before. Start again.",
    taken: `Your ${label} account belongs to another account here, or yours is linked with another one there.`,
    last: "It is your only way to sign in: set a password first, or link another account.",
  };
  return stopped(context, texts[reason]);
}

function stopped(visit: PageContext, text: string, status = 403): RawReply {
  const { caller, view } = visit;
  const [path, title] = caller ? [homeOf(visit), "To your account"] : [SIGN_IN, "Sign in"];
  const body = html`<section>
<div class="note bad" role="alert"><p>${text}</p></div>
<p><a href="${mountOf(view)}${path}">${title}</a></p>
</section>`;
  return page(visit, { title: "Not signed in", status, body });
}

/** What people sign in with besides their password here. @param returnTo a field of each form */
export function providerForms(visit: PageContext, returnTo: Html): Html {
  const { providers } = visit.site;
  const directories = providers.filter(({ kind }) => kind === "ldap");
  const others = providers.filter(({ kind }) => kind === "openid");
  const forms = directories.map(
    ({ name, label }) =>
      html`<section class="wide"><h2>${label}</h2>${form(
        visit,
        `${pathOf(name)}/callback`,
        html`${returnTo}
${field({ id: `${name}-username`, name: "username", label: `${label} user name`, autocomplete: "username" })}
${field({
  ...{ id: `${name}-password`, name: "password", label: `${label} password`, type: "password" },
  autocomplete: "current-password",
})}
<button>Sign in with ${label}</button>`,
      )}</section>`,
  );
  const buttons = others.map(
    ({ name, label }) =>
      html`<div class="field">${form(visit, pathOf(name), html`${returnTo}<button class="quiet">${label}</button>`)}</div>`,
  );
  return html`${forms}${others.length > 0 && html`<section class="wide"><h2>Or sign in with</h2>${buttons}</section>`}`;
}

/** Whether somebody can sign in without a provider: with a password, or with another one. */
async function hasOtherWay(
  { db, caller, site }: Pick<Context, "site"> & { db: Reader; caller: { readonly id: number } },
  name: string,
): Promise<boolean> {
  if ((await passwordHash(db, caller.id)) !== null) return true;
  const others = (await identities.ofUser(db, caller.id)).filter((one) => one.provider !== name);
  return others.some((one) => site.providers.some((known) => known.name === one.provider));
}

/** The part of somebody's account page about other providers; nothing where there are none. */
export async function linkedAccounts(
  visit: PageContext & { db: Reader; caller: { readonly id: number } },
): Promise<Html> {
  const { db, caller, site } = visit;
  if (!site.pages.includes("sign_in") || site.providers.length === 0) return html``;
  const own = new Set((await identities.ofUser(db, caller.id)).map((one) => one.provider));
  const linkable = site.providers.filter(({ name, kind }) => kind === "openid" || own.has(name));
  if (linkable.length === 0) return html``;
  const rows = linkable.map(({ name, label }) => {
    const field = html`<input type="hidden" name="provider" value="${name}">`;
    const action = own.has(name)
      ? confirmButton(visit, {
          ...{ label: "Unlink", of: label, action: UNLINK, body: field },
          question: `You will no longer sign in with ${label}.`,
        })
      : form(
          visit,
          pathOf(name),
          html`<input type="hidden" name="link" value="true"><button class="quiet" aria-label="Link ${label}">Link</button>`,
        );
    return html`<li><div><h3>${label}</h3><p>${own.has(name) ? "Linked: you can sign in with it" : "Not linked"}</p></div>${action}</li>`;
  });
  return html`<section><h2>Sign in with</h2><ul class="rows">${rows}</ul></section>`;
}
