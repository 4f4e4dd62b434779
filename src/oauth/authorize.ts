import * as audit from "../audit/log.ts";
import type { Caller } from "../core/access/caller.ts";
import { unauthorized } from "../core/errors.ts";
import {
  type Context,
  type PageContext,
  RawReply,
  type Resource,
  routes,
} from "../core/resource.ts";
import { form } from "../pages/form.ts";
import { type Html, html } from "../pages/html.ts";
import { toSignInAgain } from "../pages/mount.ts";
import { page } from "../pages/page.ts";
import type { Database, Reader, Store } from "../store/port.ts";
import { type Application, findByUid } from "./applications.ts";
import {
  AS_USUAL,
  type Asking,
  answeredQuery,
  isSilent,
  mustSignIn,
  readAsking,
  signedInAt,
} from "./asking.ts";
import { asks } from "./consent.ts";
import { missing, type Problem, problem } from "./errors.ts";
import * as grants from "./grants.ts";
import { type Challenge, problemOfChallenge } from "./pkce.ts";
import { type Flows, grantableScopes, isRegistered, parameter } from "./rules.ts";

const { del, get, post } = routes();

const PATH = "/oauth/authorize";

/** An authorization request: RFC 6749 §4.1.1 and §4.2.1, RFC 7636 §4.3, OpenID Connect Core 1.0 §3.1.2.1. */
const input = {
  client_id: parameter,
  redirect_uri: parameter,
  response_type: parameter,
  scope: parameter,
  state: parameter,
  code_challenge: parameter,
  code_challenge_method: parameter,
  response_mode: parameter,
  nonce: parameter,
  prompt: parameter,
  max_age: parameter,
  id_token_hint: parameter,
  request: parameter,
  request_uri: parameter,
  registration: parameter,
};
const NAMES = Object.keys(input) as (keyof typeof input)[];

type Params = { [K in keyof typeof input]?: string | undefined };

/** Where the response is sent, and how. */
interface RedirectTarget {
  redirectUri: string;
  /** Implicit responses use the fragment, which browsers send to no server. */
  inFragment: boolean;
  state: string | undefined;
}

/** A valid request, which the user can be asked about. */
interface AuthorizationRequest {
  application: Application;
  target: RedirectTarget;
  /** Whether it gets a token at once instead of a code. */
  isImplicit: boolean;
  scopes: string;
  challenge: Challenge | undefined;
  nonce: string | undefined;
  asking: Asking;
}

/** The result of reading a request. Errors are sent to a redirect URI only if it is registered. */
type ReadResult =
  | { valid: AuthorizationRequest; problem?: undefined; target?: undefined }
  | { problem: Problem; target: RedirectTarget | undefined; valid?: undefined };

/** What becomes of a request: an error or a code for the application, or a page for the user. */
type Step =
  | { readonly problem: Problem }
  | { readonly issued: ResponseParams }
  | { readonly page: "consent" | "sign-in" };

/** The parameters of a response to the application, in order. */
type ResponseParams = Readonly<Record<string, string | number | undefined>>;

/** The consent page. */
export function authorizationEndpoint(flows: Flows): Resource {
  /** Approves or denies; either way the browser returns to the application. */
  const decide = async (
    context: Context<typeof input, Database, unknown, "user", undefined>,
    approved: boolean,
  ) => {
    const { db, caller, request, now } = context;
    const read = await readRequest(db, context.input, request.query, flows);
    if (!read.valid) return refuse(context, read);
    const { target, application } = read.valid;
    if (!approved) return refuse(context, { problem: problem("access_denied"), target });
    await audit.log(context, "application authorized", { target: application.name });
    return redirectBack(context, target, await issue(db, read.valid, caller, now));
  };
  return {
    name: "OAuth2 authorization",
    migrations: [],
    routes: [
      get(PATH, {
        summary: "Ask the user to authorize an application",
        // Callers who may not be asked to sign in are sent back without it.
        access: "anyone",
        input,
        // A reading route can't write, so a consent given before is redirected here at once.
        prepare: async (params, { store, request, caller, now }) => {
          if (!caller && !isSilent(params)) throw unauthorized();
          const read = await readRequest(store, params, request.query, flows);
          return { read, step: read.valid && (await nextStep(store, read.valid, caller, now)) };
        },
        handle: (context) => {
          const { read, step } = context.prepared;
          if (!read.valid) return refuse(context, read);
          const { target } = read.valid;
          if (!step || "problem" in step) {
            return refuse(context, { problem: step?.problem ?? problem("server_error"), target });
          }
          if ("issued" in step) return redirectBack(context, target, step.issued);
          if (step.page === "consent") return consentPage(context, read.valid, context.input);
          const signIn = toSignInAgain(context, answeredQuery(context.request.query));
          return signIn ?? refuse(context, { problem: problem("login_required"), target });
        },
      }),
      post(PATH, {
        summary: "Authorize an application, or deny it with `_method=delete`",
        input: { ...input, _method: parameter },
        handle: (context) => decide(context, context.input._method?.toLowerCase() !== "delete"),
      }),
      del(PATH, {
        summary: "Deny an application's request",
        input,
        handle: (context) => decide(context, false),
      }),
    ],
  };
}

/**
 * Reads a request, in the order of RFC 6749 §4.1.2.1: the application and redirect URI come first, since nobody may be
 * redirected before both are known.
 */
async function readRequest(
  db: Reader,
  params: Params,
  query: string,
  flows: Flows,
): Promise<ReadResult> {
  const stop = (why: Problem): ReadResult => ({ problem: why, target: undefined });
  const repeated = NAMES.find((name) => new URLSearchParams(query).getAll(name).length > 1);
  if (repeated) return stop(problem("invalid_request", `Repeated parameter: ${repeated}.`));
  const { client_id, redirect_uri, response_type, state } = params;
  if (!client_id) return stop(missing("client_id"));
  const application = await findByUid(db, client_id);
  if (!application) return stop(problem("invalid_client"));
  if (!redirect_uri) return stop(missing("redirect_uri"));
  if (!isRegistered(redirect_uri, application.redirect_uris.split("\n"))) {
    return stop(problem("invalid_request", "The redirect URI included is not valid."));
  }

  const isImplicit = response_type === "token";
  const { response_mode: mode } = params;
  const inFragment = isImplicit || mode === "fragment";
  const target = { redirectUri: redirect_uri, inFragment, state: state || undefined };
  const refuse = (why: Problem): ReadResult => ({ problem: why, target });
  if (!response_type) return refuse(missing("response_type"));
  if (response_type !== "code" && !(isImplicit && flows.implicit)) {
    return refuse(problem("unsupported_response_type"));
  }
  // A token in a query would be sent to servers, and kept in their logs.
  if (mode && mode !== "fragment" && (mode !== "query" || isImplicit)) {
    return refuse(problem("invalid_request", "The response_mode is not supported."));
  }
  for (const name of ["request", "request_uri", "registration"] as const) {
    if (params[name]) return refuse(problem(`${name}_not_supported`));
  }
  const scopes = grantableScopes(params.scope, application.scopes);
  if (scopes === undefined) return refuse(problem("invalid_scope"));
  const challenge = params.code_challenge
    ? { value: params.code_challenge, method: params.code_challenge_method ?? "" }
    : undefined;
  if (!challenge && (params.code_challenge_method || (isPublic(application) && !isImplicit))) {
    return refuse(missing("code_challenge"));
  }
  const malformed = challenge && problemOfChallenge(challenge);
  if (malformed) return refuse(problem("invalid_request", malformed));
  const asking = scopes.split(" ").includes("openid") ? readAsking(params) : AS_USUAL;
  if ("error" in asking) return refuse(asking);
  const nonce = params.nonce || undefined;
  return { valid: { application, target, isImplicit, scopes, challenge, nonce, asking } };
}

const isPublic = ({ confidential }: Application) => confidential === 0;

/** Issues what may be issued without asking the user, or says what the user is asked. */
async function nextStep(
  store: Store,
  valid: AuthorizationRequest,
  caller: Caller | undefined,
  now: number,
): Promise<Step> {
  const { asking } = valid;
  const isQuiet = asking.prompts.includes("none");
  if (!caller) return { problem: problem("login_required") };
  if (await mustSignIn(store, asking, caller, now)) {
    // How the embedding app signs people in, and when it did, is not known here.
    const isOurs = caller.by.kind === "session" && !isQuiet;
    return isOurs ? { page: "sign-in" } : { problem: problem("login_required") };
  }
  const isAsked = asking.prompts.includes("consent");
  if (!isAsked && (await needsNoConsent(store, valid, caller, now))) {
    return { issued: await store.transaction((db) => issue(db, valid, caller, now)) };
  }
  return isQuiet ? { problem: problem("consent_required") } : { page: "consent" };
}

/**
 * A public application can't prove its identity, so its users are always asked (RFC 8252 §8.6). They are also asked
 * before a token is returned in a URL: unlike a code, it can be used without the application's secret.
 */
async function needsNoConsent(
  db: Reader,
  { application, isImplicit, scopes }: AuthorizationRequest,
  caller: Caller,
  now: number,
): Promise<boolean> {
  if (isPublic(application)) return false;
  if (application.trusted === 1) return true;
  if (isImplicit) return false;
  const applicationId = application.id;
  return grants.isAuthorized(db, { userId: caller.id, applicationId, scopes }, now);
}

/** Stores the consent and issues the code or token. */
async function issue(
  db: Database,
  { application, target, isImplicit, scopes, challenge, nonce }: AuthorizationRequest,
  caller: Caller,
  now: number,
): Promise<ResponseParams> {
  const grant = { applicationId: application.id, userId: caller.id, scopes };
  if (isImplicit) {
    const issued = await grants.insertWithToken(db, grant, now);
    return {
      access_token: issued.accessToken,
      token_type: "bearer",
      expires_in: grants.TOKEN_LIFETIME / 1000,
      scope: scopes,
    };
  }
  const { redirectUri } = target;
  const binding = { redirectUri, challenge, nonce, authTime: await signedInAt(db, caller) };
  return { code: await grants.insertWithCode(db, grant, binding, now) };
}

/** Reports an error to the application if its redirect URI is known, otherwise to the user. */
function refuse(
  context: PageContext,
  { problem, target }: { problem: Problem; target: RedirectTarget | undefined },
) {
  const { error, description } = problem;
  if (target) return redirectBack(context, target, { error, error_description: description });
  const body = html`<div class="note bad" role="alert"><p>${description}</p></div>
<p class="lead">The application that sent you here made a mistake (<code>${error}</code>), so you are not sent back to
it. Please inform its operators.</p>`;
  return page(context, { title: "Request not accepted", status: 400, body });
}

/** Redirects to the application. `iss` names the server, against mix-up attacks (RFC 9207). */
function redirectBack(
  { view }: PageContext,
  { redirectUri, inFragment, state }: RedirectTarget,
  params: ResponseParams,
): RawReply {
  const pairs = Object.entries({ ...params, state, iss: view.base }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  const separator = inFragment ? "#" : redirectUri.includes("?") ? "&" : "?";
  return new RawReply(302, {
    location: `${redirectUri}${separator}${pairs.join("&")}`,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
  });
}

/**
 * The consent page: which application asks for what, and as whom. Its policy has no `form-action`, since Chromium
 * applies that to the redirects after the form, which are the application's own.
 */
function consentPage(
  visit: PageContext,
  { application, target, scopes }: AuthorizationRequest,
  params: Params,
): RawReply {
  const { name } = application;
  const sent = NAMES.flatMap((key) => (params[key] ? [[key, params[key]] as const] : []));
  // A form field would not return line breaks unchanged.
  const [inQuery, inFields] = [true, false].map((multiline) =>
    sent.filter(([, value]) => /[\r\n]/.test(value) === multiline),
  ) as [typeof sent, typeof sent];
  const query = inQuery.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
  const fields = inFields.map(
    ([key, value]) => html`<input type="hidden" name="${key}" value="${value}">`,
  );
  const button = (inner: Html) =>
    html`<div class="wide field">${form(visit, PATH + (query && `?${query}`), html`${fields}${inner}`)}</div>`;
  const body = html`<section>
${asks(visit, application, scopes)}
<p class="lead">Either way you are then sent to <strong>${destinationOf(target.redirectUri)}</strong>.</p>
${button(html`<button>Authorize</button>`)}
${button(html`<input type="hidden" name="_method" value="delete"><button class="quiet">Deny</button>`)}
</section>`;
  return page(visit, { title: `Authorize ${name}?`, body });
}

/** The part of a redirect URI that people recognize. */
function destinationOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri);
  return /^https?:$/.test(protocol) ? host : `an application on this device (${protocol})`;
}
