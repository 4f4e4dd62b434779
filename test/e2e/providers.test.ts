import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Server, serve } from "../../src/node.ts";
import { givePassword, PASSWORD, type TestApp, testApp } from "../helpers.ts";
import { launch, look, signIn, violations, visit, WIDTHS } from "./browser.ts";

let browser: Browser;
let other: TestApp;
let app: TestApp;
let provider: Server;
let server: Server;

beforeAll(async () => {
  browser = await launch();
  other = await testApp({ now: Date.now });
  await givePassword(other, "developer");
  // Another site than that of the server, for browsers.
  provider = await serve(other, { port: 0, host: "localhost" });
  const client = await other.admin.applications.create({
    ...{ user: "owner", name: "pm", scopes: ["openid", "profile", "email"] },
    redirect_uris: ["http://127.0.0.1/users/auth/corp/callback"],
  });
  const corp = {
    ...{ name: "corp", label: "Corp ID", issuer: provider.url, autoLinkUser: true },
    ...{ clientId: client.client_id, clientSecret: client.client_secret as string },
  };
  const ldap = { name: "ldapmain", label: "Directory", host: "127.0.0.1", base: "dc=test" };
  app = await testApp({ now: Date.now, signIn: { providers: [corp], ldap: [ldap] } });
  server = await serve(app, { port: 0 });
});
afterAll(async () => {
  await browser?.close();
  for (const one of [server, provider]) await one?.close();
  for (const one of [app, other]) await one?.dispose();
});

it("signs in with another site in Chromium, and links and unlinks on the account page", async () => {
  const { page } = await visit(browser, { width: WIDTHS.phone });
  await page.goto(`${server.url}/-/profile`);
  await look(page, "sign-in-elsewhere");
  await page.getByRole("button", { name: "Corp ID" }).click();
  expect(new URL(page.url()).origin).toBe(provider.url);
  await signIn(page, "developer", PASSWORD);
  await page.getByRole("button", { name: "Authorize" }).click();
  expect(page.url()).toBe(`${server.url}/-/profile`);
  await givePassword(app, "developer");
  await look(page, "linked");
  await page.locator("summary", { hasText: "Unlink" }).click();
  await page.getByRole("button", { name: "Unlink" }).click();
  expect(await page.getByText("Not linked").count()).toBe(1);
  // Neither the policy of the page nor the cookie stops what leads to another site and back.
  await page.getByRole("button", { name: "Link Corp ID" }).click();
  expect(page.url()).toBe(`${server.url}/-/profile`);
  expect(await page.getByText("Linked: you can sign in with it").count()).toBe(1);
});

it("has pages that everybody can use", async () => {
  const { page } = await visit(browser, { width: WIDTHS.desktop, scripts: true });
  await page.goto(`${server.url}/users/sign_in`);
  expect(await violations(page)).toEqual([]);
});
