import { createHash, randomBytes } from "node:crypto";
import type { ApplicationRecord, AppOptions } from "../../src/index.ts";
import { type Answer, givePassword, PASSWORD, type TestApp, testApp } from "../helpers.ts";
import { ORIGIN, type Shown, Visitor } from "../visitor.ts";

/** The redirect URI of test applications. */
export const CALLBACK = "https://client.test/callback";

/** A registered test application. */
export type Client = ApplicationRecord & { client_secret: string | null };

/** An application under test in which `developer` and `reporter` have a password. */
export interface OAuthApp extends TestApp {
  /** Registers an application of `owner`, by default confidential and with all scopes. */
  register(
    data?: Partial<Parameters<TestApp["admin"]["applications"]["create"]>[0]>,
  ): Promise<Client>;
  /** A browser with a signed-in user. */
  signedIn(login?: string): Promise<Visitor>;
  /** Asks the token endpoint. */
  token(form: Record<string, string>, headers?: Record<string, string>): Promise<Answer>;
  /** Gets tokens of a user for a client: by a code, with PKCE. */
  pair(visitor: Visitor, client: Client, more?: Record<string, string>): Promise<Tokens>;
  /** Requests new tokens with a refresh token. */
  refresh(client: Client, refreshToken: string, more?: Record<string, string>): Promise<Answer>;
  /** Requests a token with the name and password of `developer`. */
  byPassword(more?: Record<string, string>, headers?: Record<string, string>): Promise<Answer>;
  /** Requests the user of an access token from the API. */
  user(token: string): Promise<Answer>;
}

/** The token endpoint's answer to a code. */
interface Tokens {
  access_token: string;
  refresh_token: string;
  scope: string;
}

/** Creates an {@link OAuthApp} on the engine under test. */
export async function oauthApp(options: AppOptions = {}): Promise<OAuthApp> {
  const app = await testApp(options);
  await givePassword(app, "developer", "reporter");
  const token: OAuthApp["token"] = (form, headers = {}) =>
    app.call("POST /oauth/token", { form, headers });
  return Object.assign(app, {
    register: (data = {}) =>
      app.admin.applications.create({
        user: "owner",
        name: "Client",
        redirect_uris: [CALLBACK],
        scopes: ["api", "read_api", "read_user", "profile"],
        ...data,
      }),
    signedIn: async (login = "developer") => {
      const visitor = new Visitor(app);
      await visitor.signIn(login, PASSWORD);
      return visitor;
    },
    token,
    pair: async (visitor, client, more = {}) => {
      const { verifier, ...challenge } = pkce();
      const code = await codeFor(visitor, client, { ...challenge, ...more });
      return (await token({ ...redemption(client, code), code_verifier: verifier })).json;
    },
    refresh: (client, refresh_token, more = {}) =>
      token({ grant_type: "refresh_token", ...credentials(client), refresh_token, ...more }),
    byPassword: (more = {}, headers = {}) =>
      token(
        { grant_type: "password", username: "developer", password: PASSWORD, ...more },
        headers,
      ),
    user: (accessToken) => app.call("GET /user", bearer(accessToken)),
  } satisfies Omit<OAuthApp, keyof TestApp>);
}

/** The path of an authorization request. */
export function authorizePath(client: Client, more: Record<string, string> = {}): string {
  const parameters = {
    client_id: client.client_id,
    redirect_uri: client.redirect_uris[0] as string,
    response_type: "code",
    ...more,
  };
  return `/oauth/authorize?${new URLSearchParams(parameters)}`;
}

/** The first form of a consent page: its target and hidden fields, except the CSRF token. */
export function formOf({ page }: Shown): { action: string; fields: Record<string, string> } {
  const [, action = "", inner = ""] =
    /<form method="post" action="([^"]*oauth\/authorize[^"]*)">([\s\S]*?)<\/form>/.exec(page) ?? [];
  const fields = [...inner.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)]
    .filter(([, name]) => name !== "authenticity_token")
    .map(([, name, value]) => [name, unescaped(value as string)]);
  return {
    action: unescaped(action).replace(ORIGIN, ""),
    fields: Object.fromEntries(fields),
  };
}

function unescaped(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}

/** The `Location` of an answer, as a URL. */
export function locationOf(answer: Response): URL {
  return new URL(answer.headers.get("location") ?? "about:blank", ORIGIN);
}

/** Gives consent and returns the URL that answers the application. */
export async function approve(
  visitor: Visitor,
  client: Client,
  more: Record<string, string> = {},
): Promise<URL> {
  const page = await visitor.get(authorizePath(client, more));
  if (page.status !== 200) return locationOf(page);
  const { action, fields } = formOf(page);
  return locationOf(await visitor.post(action, fields));
}

/** Gets a code for a client. */
export async function codeFor(
  visitor: Visitor,
  client: Client,
  more: Record<string, string> = {},
): Promise<string> {
  return (await approve(visitor, client, more)).searchParams.get("code") as string;
}

/** The call options for an access token. */
export const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** A client's credentials, in the body. */
export function credentials({ client_id, client_secret }: Client): Record<string, string> {
  return { client_id, ...(client_secret === null ? {} : { client_secret }) };
}

/** The parameters with which a client redeems a code. */
export function redemption(client: Client, code: string): Record<string, string> {
  return {
    grant_type: "authorization_code",
    ...credentials(client),
    redirect_uri: client.redirect_uris[0] as string,
    code,
  };
}

/** A verifier with its challenge (RFC 7636). */
export function pkce(): {
  verifier: string;
  code_challenge: string;
  code_challenge_method: string;
} {
  const verifier = randomBytes(32).toString("base64url");
  const code_challenge = createHash("sha256").update(verifier).digest("base64url");
  return { verifier, code_challenge, code_challenge_method: "S256" };
}
