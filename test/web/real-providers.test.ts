import { expect, it, onTestFinished } from "vitest";
import { serve } from "../../src/node.ts";
import { givePassword, PASSWORD, testApp } from "../helpers.ts";
import { ORIGIN, Visitor } from "../visitor.ts";
import { type Provider, startOidcProvider } from "./_oidc-provider.ts";

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
  const provider = await startOidcProvider(CALLBACK("openid_connect"));
  onTestFinished(() => provider.close());
  const { visitor, url } = await sentTo(provider.options);
  const back = await provider.signIn(url, "zoe");
  expect(back.origin).toBe(ORIGIN);
  await visitor.get(back.pathname + back.search);
  expect(JSON.parse((await visitor.get("/api/v4/user")).page)).toMatchObject({
    ...{ username: "zoe", name: "Zoë", email: "zoe@id.test" },
  });
});
