import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { AppOptions } from "../../src/index.ts";

/** A provider by which people sign in, as an application is told of it. */
export type Provider = NonNullable<NonNullable<AppOptions["signIn"]>["providers"]>[number];

/** A server of the package `oidc-provider`. */
export interface OidcProvider {
  readonly options: Provider;
  /** Signs somebody in there and agrees to everything. @returns where they are sent back to */
  signIn(url: URL, login: string): Promise<URL>;
  close(): void;
}

/** Starts a server of the package `oidc-provider`, which knows everybody, and is known by the name `openid_connect`. */
export async function startOidcProvider(callback: string): Promise<OidcProvider> {
  const { default: Provider } = await import("oidc-provider");
  let listener: RequestListener = (_, response) => response.end();
  const server = createServer((request, response) => listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const oidc = new Provider(issuer, {
    clients: [{ client_id: "pm", client_secret: "s3cret", redirect_uris: [callback] }],
    claims: { email: ["email", "email_verified"], profile: ["name", "preferred_username"] },
    conformIdTokenClaims: false,
    cookies: { keys: ["k"] },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({
        ...{ sub: id, email: `${id}@id.test`, email_verified: true, name: "Zoë" },
        preferred_username: id,
      }),
    }),
  });
  listener = oidc.callback();
  return {
    options: {
      ...{ name: "openid_connect", issuer, clientId: "pm", clientSecret: "s3cret" },
      ...{ allowSingleSignOn: true, blockAutoCreatedUsers: false },
    },
    signIn: (url, login) => signIn(issuer, url, login),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function signIn(issuer: string, url: URL, login: string): Promise<URL> {
  const cookies = new Map<string, string>();
  const ask = async (address: string, form?: Record<string, string>): Promise<Response> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const init = form && { method: "POST", body: new URLSearchParams(form) };
    const answer = await fetch(address, { ...init, headers: { cookie }, redirect: "manual" });
    for (const one of answer.headers.getSetCookie()) {
      const [name = "", value = ""] = (one.split(";")[0] as string).split("=");
      cookies.set(name, value);
    }
    return answer;
  };
  const to = (answer: Response) => new URL(answer.headers.get("location") ?? "", issuer).href;
  let answer = await ask(url.href);
  for (const form of [{ prompt: "login", login, password: "x" }, { prompt: "consent" }]) {
    const interaction = to(answer);
    await ask(interaction);
    answer = await ask(to(await ask(interaction, form)));
  }
  return new URL(answer.headers.get("location") ?? "");
}
