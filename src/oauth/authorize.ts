import { record } from "../audit/log.ts";
import type { Caller } from "../core/access/caller.ts";
import {
  type Context,
  type PageContext,
  RawReply,
  type Resource,
  routes,
} from "../core/resource.ts";
import { APPLICATION_SCOPES } from "../core/scopes.ts";
import { form } from "../pages/form.ts";
import { type Html, html } from "../pages/html.ts";
import { page } from "../pages/page.ts";
import type { Database, Reader } from "../store/port.ts";
import { type Application, findByUid } from "./applications.ts";
import { missing, type Problem, problem } from "./errors.ts";
import * as grants from "./grants.ts";
import { type Challenge, problemOfChallenge } from "./pkce.ts";
import { type Flows, grantableScopes, isRegistered, parameter } from "./rules.ts";

const { del, get, post } = routes();

const PATH = "/oauth/authorize";

/** An authorization request: RFC 6749 §4.1.1 and §4.2.1, RFC 7636 §4.3. */
const input = {
  client_id: parameter,
  redirect_uri: parameter,
  response_type: parameter,
  scope: parameter,
  state: parameter,
  code_challenge: parameter,
  code_challenge_method: parameter,
};
const NAMES = Object.keys(input) as (keyof typeof input)[];

type Sent = { [K in keyof typeof input]?: string | undefined };

/** Where the response is sent, and how. */
interface RedirectTarget {
  redirectUri: string;
  /** Implicit responses use the fragment, which browsers send to no server. */
  inFragment: boolean;
  state: string | undefined;
}

/** A valid request, which the user can be asked about. */
interface Wanted {
  application: Application;
  way: RedirectTarget;
  scopes: string;
  challenge: Challenge | undefined;
}

/** The result of reading a request. Errors are sent to a redirect URI only if it is registered. */
type Read =
  | { wanted: Wanted; refused?: undefined; way?: undefined }
  | { refused: Problem; way: RedirectTarget | undefined; wanted?: undefined };

/** The parameters of a response to the application, in order. */
type RedirectParams = Readonly<Record<string, string | number | undefined>>;

/** The consent page. */
export function authorizationEndpoint(flows: Flows): Resource {
  /** Approves or denies; either way the browser returns to the application. */
  const decide = async (
    context: Context<typeof input, Database, unknown, "user", undefined>,
    approved: boolean,
  ) => {
    const { db, request, now } = context;
    const caller = context.caller;
    const read = await readRequest(db, context.input, request.query, flows);
    if (!read.wanted) return refuse(context, read);
    const { way, application } = read.wanted;
    if (!approved) return refuse(context, { refused: problem("access_denied"), way });
    const author = { id: caller.id, name: caller.username };
    const target = application.name;
    await record(db, { action: "application authorized", author, target, ip: request.ip }, now);
    return send(context, way, await give(db, read.wanted, caller, now));
  };
  return {
    name: "OAuth2 authorization",
    migrations: [],
    routes: [
      get(PATH, {
        summary: "Ask the user to authorize an application",
        input,
        // A reading route can't write, so a consent given before is redirected here at once.
        prepare: async (sent, { store, request, caller, now }) => {
          const read = await readRequest(store, sent, request.query, flows);
          if (!read.wanted || !caller) return { read, given: undefined };
          const { wanted } = read;
          const isKnown = await needsNoConsent(store, wanted, caller, now);
          const given = isKnown
            ? await store.transaction((db) => give(db, wanted, caller, now))
            : undefined;
          return { read, given };
        },
        handle: (context) => {
          const { read, given } = context.prepared;
          if (!read.wanted) return refuse(context, read);
          return given
            ? send(context, read.wanted.way, given)
            : consentPage(context, read.wanted, context.input);
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
async function readRequest(db: Reader, sent: Sent, query: string, flows: Flows): Promise<Read> {
  const stop = (refused: Problem): Read => ({ refused, way: undefined });
  const repeated = NAMES.find((name) => new URLSearchParams(query).getAll(name).length > 1);
  if (repeated) return stop(problem("invalid_request", `Repeated parameter: ${repeated}.`));
  const { client_id, redirect_uri, response_type, state } = sent;
  if (!client_id) return stop(missing("client_id"));
  const application = await findByUid(db, client_id);
  if (!application) return stop(problem("invalid_client"));
  if (!redirect_uri) return stop(missing("redirect_uri"));
  if (!isRegistered(redirect_uri, application.redirect_uris.split("\n"))) {
    return stop(problem("invalid_request", "The redirect URI included is not valid."));
  }

  const inFragment = response_type === "token";
  const way = { redirectUri: redirect_uri, inFragment, state: state || undefined };
  const refuse = (refused: Problem): Read => ({ refused, way });
  if (!response_type) return refuse(missing("response_type"));
  if (response_type !== "code" && !(inFragment && flows.implicit)) {
    return refuse(problem("unsupported_response_type"));
  }
  const scopes = grantableScopes(sent.scope, application.scopes);
  if (scopes === undefined) return refuse(problem("invalid_scope"));
  const challenge = sent.code_challenge
    ? { value: sent.code_challenge, method: sent.code_challenge_method ?? "" }
    : undefined;
  if (!challenge && (sent.code_challenge_method || (isPublic(application) && !inFragment))) {
    return refuse(missing("code_challenge"));
  }
  const malformed = challenge && problemOfChallenge(challenge);
  if (malformed) return refuse(problem("invalid_request", malformed));
  return { wanted: { application, way, scopes, challenge } };
}

const isPublic = ({ confidential }: Application) => confidential === 0;

/**
 * A public application can't prove its identity, so its users are always asked (RFC 8252 §8.6). They are also asked
 * before a token is returned in a URL: unlike a code, it can be used without the application's secret.
 */
async function needsNoConsent(
  db: Reader,
  { application, way, scopes }: Wanted,
  caller: Caller,
  now: number,
): Promise<boolean> {
  if (isPublic(application)) return false;
  if (application.trusted === 1) return true;
  if (way.inFragment) return false;
  const applicationId = application.id;
  return grants.isAuthorized(db, { userId: caller.id, applicationId, scopes }, now);
}

/** Stores the consent and issues the code or token. */
async function give(
  db: Database,
  { application, way, scopes, challenge }: Wanted,
  caller: Caller,
  now: number,
): Promise<RedirectParams> {
  const grant = { applicationId: application.id, userId: caller.id, scopes };
  if (way.inFragment) {
    const issued = await grants.insertWithToken(db, grant, now);
    return {
      access_token: issued.accessToken,
      token_type: "bearer",
      expires_in: grants.TOKEN_LIFETIME / 1000,
      scope: scopes,
    };
  }
  const { redirectUri } = way;
  return { code: await grants.insertWithCode(db, grant, { redirectUri, challenge }, now) };
}

/** Reports an error to the application if its redirect URI is known, otherwise to the user. */
function refuse(
  context: PageContext,
  { refused, way }: { refused: Problem; way: RedirectTarget | undefined },
) {
  const { error, description } = refused;
  if (way) return send(context, way, { error, error_description: description });
  const body = html`<div class="note bad" role="alert"><p>${description}</p></div>
<p class="lead">The application that sent you here made a mistake (<code>${error}</code>), so you are not sent back to
it. Please inform its operators.</p>`;
  return page(context, { title: "Request not accepted", status: 400, body });
}

/** Redirects to the application. `iss` names the server, against mix-up attacks (RFC 9207). */
function send(
  { view }: PageContext,
  { redirectUri, inFragment, state }: RedirectTarget,
  words: RedirectParams,
): RawReply {
  const said = Object.entries({ ...words, state, iss: view.base }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  const mark = inFragment ? "#" : redirectUri.includes("?") ? "&" : "?";
  return new RawReply(302, {
    location: `${redirectUri}${mark}${said.join("&")}`,
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
  { application, way, scopes }: Wanted,
  sent: Sent,
): RawReply {
  const { name, username: owner } = application;
  const asked = NAMES.flatMap((key) => (sent[key] ? [[key, sent[key]] as const] : []));
  // A form field would not return line breaks unchanged.
  const [inQuery, inFields] = [true, false].map((broken) =>
    asked.filter(([, value]) => /[\r\n]/.test(value) === broken),
  ) as [typeof asked, typeof asked];
  const query = inQuery.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
  const fields = inFields.map(
    ([key, value]) => html`<input type="hidden" name="${key}" value="${value}">`,
  );
  const button = (inner: Html) =>
    html`<div class="wide field">${form(visit, PATH + (query && `?${query}`), html`${fields}${inner}`)}</div>`;
  const body = html`<section>
<p><strong>${name}</strong>, registered by ${
    owner === null ? "the administrators" : html`@${owner}`
  }, asks for access to your account <strong>@${visit.caller?.username}</strong>.</p>
<h2>It could</h2>
<ul>${scopes.split(" ").map((scope) => html`<li>${APPLICATION_SCOPES[scope]} (<code>${scope}</code>)</li>`)}</ul>
<p class="lead">Either way you are then sent to <strong>${placeOf(way.redirectUri)}</strong>.</p>
${button(html`<button>Authorize</button>`)}
${button(html`<input type="hidden" name="_method" value="delete"><button class="quiet">Deny</button>`)}
</section>`;
  return page(visit, { title: `Authorize ${name}?`, body });
}

/** The part of a redirect URI that tells people where they are going. */
function placeOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri);
  return /^https?:$/.test(protocol) ? host : `an application on this device (${protocol})`;
}
