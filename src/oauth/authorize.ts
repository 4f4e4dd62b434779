import { record } from "../accounts/audit.ts";
import type { Caller } from "../core/auth.ts";
import * as is from "../core/input.ts";
import {
  Answer,
  type Context,
  del,
  get,
  post,
  type Resource,
  type Visit,
} from "../core/resource.ts";
import { APPLICATION_SCOPES } from "../core/scopes.ts";
import type { Database, Reader } from "../store/port.ts";
import { PAGES } from "../web/door.ts";
import { form } from "../web/form.ts";
import { type Html, html } from "../web/html.ts";
import { page } from "../web/page.ts";
import { type Application, findByUid } from "./applications.ts";
import { missing, type Problem, problem } from "./errors.ts";
import * as grants from "./grants.ts";
import { type Challenge, problemOfChallenge } from "./pkce.ts";
import { type Flows, grantableScopes, isRegistered } from "./rules.ts";

const PATH = "/oauth/authorize";

/** An authorization request: RFC 6749 §4.1.1 and §4.2.1, RFC 7636 §4.3. */
const input = {
  client_id: is.optional(is.anyText()),
  redirect_uri: is.optional(is.anyText()),
  response_type: is.optional(is.anyText()),
  scope: is.optional(is.anyText()),
  state: is.optional(is.anyText()),
  code_challenge: is.optional(is.anyText()),
  code_challenge_method: is.optional(is.anyText()),
};
const NAMES = Object.keys(input) as (keyof typeof input)[];

type Sent = { [K in keyof typeof input]?: string | undefined };

/** Where an answer goes, and how. */
interface Way {
  redirectUri: string;
  /** Implicit answers are in the fragment, which no server is sent. */
  inFragment: boolean;
  state: string | undefined;
}

/** A request that can be put before the user. */
interface Wanted {
  application: Application;
  way: Way;
  scopes: string;
  challenge: Challenge | undefined;
}

/** What a request turned out to be: only where its redirect URI is registered does anybody hear of it there. */
type Read =
  | { wanted: Wanted; refused?: undefined; way?: undefined }
  | { refused: Problem; way: Way | undefined; wanted?: undefined };

/** What an answer to the application says, in order. */
type Words = Readonly<Record<string, string | number | undefined>>;

/** Where users are asked what an application may do. */
export function authorizationEndpoint(flows: Flows): Resource {
  /** Approves or denies: both answer at the application. */
  const decide = async (context: Context<typeof input, Database>, approved: boolean) => {
    const { db, asked, now } = context;
    const caller = context.caller as Caller;
    const read = await readRequest(db, context.input, asked.query, flows);
    if (!read.wanted) return refuse(context, read);
    const { way, application } = read.wanted;
    if (!approved) return refuse(context, { refused: problem("access_denied"), way });
    const author = { id: caller.id, name: caller.username };
    const target = application.name;
    await record(db, { action: "application authorized", author, target, ip: asked.ip }, now);
    return send(context, way, await give(db, read.wanted, caller, now));
  };
  return {
    name: "OAuth2 authorization",
    door: PAGES,
    migrations: [],
    routes: [
      get(PATH, {
        summary: "Ask the user to authorize an application",
        input,
        // A reading route can't write, and who was asked before is answered at once.
        prepare: async (sent, { store, asked, caller, now }) => {
          const read = await readRequest(store, sent, asked.query, flows);
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
        input: { ...input, _method: is.optional(is.anyText()) },
        handle: (context) => decide(context, context.input._method?.toLowerCase() !== "delete"),
      }),
      del(PATH, {
        summary: "Deny an application what it asks for",
        input,
        handle: (context) => decide(context, false),
      }),
    ],
  };
}

/**
 * Reads a request, in the order of RFC 6749 §4.1.2.1: first who asks and where they are answered, since before that is
 * known nobody may be sent anywhere.
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

/** Who a public application really is nobody knows, so its users are always asked (RFC 8252 §8.6). */
async function needsNoConsent(
  db: Reader,
  { application, scopes }: Wanted,
  caller: Caller,
  now: number,
): Promise<boolean> {
  if (isPublic(application)) return false;
  if (application.trusted === 1) return true;
  const applicationId = application.id;
  return grants.isAuthorized(db, { userId: caller.id, applicationId, scopes }, now);
}

/** Keeps what the user allows and makes what the application gets. */
async function give(
  db: Database,
  { application, way, scopes, challenge }: Wanted,
  caller: Caller,
  now: number,
): Promise<Words> {
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

/** Tells the application, where that is known to be one; else the user. */
function refuse(context: Visit, { refused, way }: { refused: Problem; way: Way | undefined }) {
  const { error, description } = refused;
  if (way) return send(context, way, { error, error_description: description });
  const body = html`<div class="note bad" role="alert"><p>${description}</p></div>
<p class="lead">The application that sent you here made a mistake (<code>${error}</code>), so you are not sent back to
it. Tell those who run it.</p>`;
  return page(context, { title: "Request not accepted", status: 400, body });
}

/** Sends the browser to the application. Who answered is told as RFC 9207 asks, against mixed-up servers. */
function send({ view }: Visit, { redirectUri, inFragment, state }: Way, words: Words): Answer {
  const said = Object.entries({ ...words, state, iss: view.base }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  const mark = inFragment ? "#" : redirectUri.includes("?") ? "&" : "?";
  return new Answer(302, {
    location: `${redirectUri}${mark}${said.join("&")}`,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
  });
}

/**
 * Who asks, for what, as whom. The page's policy names no `form-action`: Chromium applies it to the redirect that
 * follows the form, and to those after it, which are the application's own.
 */
function consentPage(visit: Visit, { application, way, scopes }: Wanted, sent: Sent): Answer {
  const { name, username: owner } = application;
  const asked = NAMES.flatMap((key) => (sent[key] ? [[key, sent[key]] as const] : []));
  // Line breaks would not come back from a field as they were.
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

/** What of a redirect URI tells people where they go. */
function placeOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri);
  return /^https?:$/.test(protocol) ? host : `an application on this device (${protocol})`;
}
