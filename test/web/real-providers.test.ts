import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import type { AppOptions } from "../../src/index.ts";
import { serve } from "../../src/node.ts";
import { givePassword, PASSWORD, testApp } from "../helpers.ts";
import { ORIGIN, Visitor } from "../visitor.ts";

type Provider = NonNullable<NonNullable<AppOptions["signIn"]>["providers"]>[number];

/** A browser at a server of its own, whatever its address. */
const browserAt = (origin: string) =>
  new Visitor({
    fetch: (request) =>
      fetch(new Request(request.url.replace(ORIGIN, origin), request), { redirect: "manual" }),
  });

/** An application whose people sign in at a provider, and a browser that was sent there. */
async function sentTo(provider: Provider) {
  const app = await testApp({ now: Date.now, signIn: { providers: [provider] } });
  onTestFinished(() => app.dispose());
  const visitor = new Visitor(app);
  const page = await visitor.get("/users/sign_in");
  expect(page.page).toContain(`action="/users/auth/${provider.name}"`);
  const sent = await visitor.post(`/users/auth/${provider.name}`);
  expect(sent.status).toBe(303);
  return { app, visitor, url: new URL(sent.headers.get("location") ?? "") };
}

const CALLBACK = (name: string) => `${ORIGIN}/users/auth/${name}/callback`;

it("signs in at another pm-api, whose groups only userinfo tells", async () => {
  const other = await testApp({ now: Date.now });
  const server = await serve(other, { port: 0 });
  onTestFinished(async () => {
    await server.close();
    await other.dispose();
  });
  await givePassword(other, "developer");
  const client = await other.admin.applications.create({
    ...{ user: "owner", name: "pm", redirect_uris: [CALLBACK("gitlab")] },
    scopes: ["openid", "profile", "email"],
  });
  const { visitor, url } = await sentTo({
    ...{ name: "gitlab", issuer: server.url, clientId: client.client_id },
    ...{ clientSecret: client.client_secret as string, clientAuthMethod: "post" },
    ...{ autoLinkUser: true, requiredGroups: ["acme"] },
  });
  const browser = browserAt(server.url);
  await browser.signIn("developer", PASSWORD);
  await browser.get(url.pathname + url.search);
  const query = Object.fromEntries(url.searchParams);
  const back = new URL(
    (await browser.post("/oauth/authorize", query)).headers.get("location") ?? "",
  );
  const entered = await visitor.get(back.pathname + back.search);
  expect(entered.headers.get("location")).toBe("/dashboard/projects");
  expect(JSON.parse((await visitor.get("/api/v4/user")).page).username).toBe("developer");
});

it("signs in at oidc-provider", async () => {
  const { default: OidcProvider } = await import("oidc-provider");
  let listener: RequestListener = (_, response) => response.end();
  const server = createServer((request, response) => listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const oidc = new OidcProvider(issuer, {
    clients: [
      { client_id: "pm", client_secret: "s3cret", redirect_uris: [CALLBACK("openid_connect")] },
    ],
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
  const { visitor, url } = await sentTo({
    ...{ name: "openid_connect", issuer, clientId: "pm", clientSecret: "s3cret" },
    ...{ allowSingleSignOn: true, blockAutoCreatedUsers: false },
  });
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
  const follow = (answer: Response) =>
    ask(new URL(answer.headers.get("location") ?? "", issuer).href);
  let answer = await ask(url.href);
  for (const form of [{ prompt: "login", login: "zoe", password: "x" }, { prompt: "consent" }]) {
    const interaction = new URL(answer.headers.get("location") ?? "", issuer).href;
    await ask(interaction);
    answer = await follow(await ask(interaction, form));
  }
  const back = new URL(answer.headers.get("location") ?? "");
  expect(back.origin).toBe(ORIGIN);
  await visitor.get(back.pathname + back.search);
  expect(JSON.parse((await visitor.get("/api/v4/user")).page)).toMatchObject({
    ...{ username: "zoe", name: "Zoë", email: "zoe@id.test" },
  });
});
