import { createHash, randomBytes } from "node:crypto";
import type { ApplicationRecord, AppOptions } from "../../src/index.ts";
import { type Answer, type TestApp, testApp } from "../helpers.ts";
import { ORIGIN, type Shown, Visitor } from "../visitor.ts";

/** Where applications of these tests are answered. */
export const CALLBACK = "https://client.test/callback";
/** The password of whoever has one. */
export const PASSWORD = "correct horse";

/** An application of a test. */
export type Client = ApplicationRecord & { client_secret: string | null };

/** An application under test in which `developer` and `reporter` have a password. */
export interface OAuthApp extends TestApp {
  /** Registers an application of `owner`, confidential and with all scopes unless it says else. */
  register(data?: Partial<Parameters<TestApp["admin"]["createApplication"]>[0]>): Promise<Client>;
  /** A browser in which somebody is signed in. */
  signedIn(login?: string): Promise<Visitor>;
  /** Asks the token endpoint. */
  token(form: Record<string, string>, headers?: Record<string, string>): Promise<Answer>;
  /** The tokens that a user gives a client: by a code, with PKCE. */
  pair(visitor: Visitor, client: Client, more?: Record<string, string>): Promise<Tokens>;
  /** Asks for new tokens for a refresh token. */
  refresh(client: Client, refreshToken: string, more?: Record<string, string>): Promise<Answer>;
  /** Asks for a token by the name and password of `developer`. */
  byPassword(more?: Record<string, string>, headers?: Record<string, string>): Promise<Answer>;
  /** Asks the API who an access token is for. */
  user(token: string): Promise<Answer>;
}

/** What the token endpoint gives for a code. */
interface Tokens {
  access_token: string;
  refresh_token: string;
  scope: string;
}

/** Makes an {@link OAuthApp} on the engine under test. */
export async function oauthApp(options: AppOptions = {}): Promise<OAuthApp> {
  const app = await testApp(options);
  for (const username of ["developer", "reporter"]) {
    const { json } = await app.call(`GET /users?username=${username}`, { as: "admin" });
    await app.call(`PUT /users/${json[0].id}`, { as: "admin", json: { password: PASSWORD } });
  }
  const token: OAuthApp["token"] = (form, headers = {}) =>
    app.call("POST /oauth/token", { form, headers });
  return Object.assign(app, {
    register: (data = {}) =>
      app.admin.createApplication({
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

/** The first form of a consent page: where it is sent, and what, but for the CSRF token. */
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

/** Where an answer sends, as a URL. */
export function locationOf(answer: Response): URL {
  return new URL(answer.headers.get("location") ?? "about:blank", ORIGIN);
}

/** Goes through consent and gives where the application is answered. */
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

/** The call options of who has an access token. */
export const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** How a client says who it is, in the body. */
export function credentials({ client_id, client_secret }: Client): Record<string, string> {
  return { client_id, ...(client_secret === null ? {} : { client_secret }) };
}

/** What a client sends with a code. */
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
