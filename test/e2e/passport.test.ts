import { once } from "node:events";
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import session from "express-session";
import passport from "passport";
import { type Profile, Strategy } from "passport-gitlab2";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Server, serve } from "../../src/node.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { launch, look, signIn, visit, WIDTHS } from "./browser.ts";

const password = "correct horse";

let browser: Browser;
let app: TestApp;
let server: Server;
let client: HttpServer;
/** The address of the application that signs users in with us. */
let site: string;

beforeAll(async () => {
  browser = await launch();
  app = await testApp();
  server = await serve(app, { port: 0 });
  await app.call("PUT /users/2", { as: "admin", json: { password } });
  client = createServer().listen(0, "127.0.0.1");
  await once(client, "listening");
  site = `http://127.0.0.1:${(client.address() as AddressInfo).port}`;
  client.on("request", await clientApp());
});
afterAll(async () => {
  await browser?.close();
  client?.close();
  await server?.close();
  await app?.dispose();
});

/** A typical Express app whose users sign in with passport-gitlab2. */
async function clientApp() {
  const callbackURL = `${site}/auth/gitlab/callback`;
  const registered = await app.admin.applications.create({
    user: "admin",
    name: "Lunch planner",
    redirect_uris: [callbackURL],
    scopes: ["read_user"],
  });
  const strategy = new Strategy(
    {
      baseURL: `${server.url}/`,
      clientID: registered.client_id,
      clientSecret: registered.client_secret as string,
      callbackURL,
      state: true,
    },
    (_accessToken, _refreshToken, profile, done) => done(null, profile),
  );
  const passports = new passport.Passport();
  passports.use(strategy);
  passports.serializeUser((user, done) => done(null, user));
  passports.deserializeUser((user: Profile, done) => done(null, user));
  return express()
    .use(session({ secret: "of the test", resave: false, saveUninitialized: false }))
    .use(passports.session())
    .get("/auth/gitlab", passports.authenticate("gitlab"))
    .get(
      "/auth/gitlab/callback",
      passports.authenticate("gitlab", { failureRedirect: "/refused" }),
      (_, response) => response.redirect("/"),
    )
    .get("/refused", (_, response) => void response.send("Then not."))
    .get("/", (request, response) => {
      const { id, username, displayName } = (request.user ?? {}) as Profile;
      response.send(`Hello ${displayName} (${username}, ${id})`);
    });
}

describe("passport-gitlab2 in Chromium", () => {
  it("signs in with consent, remembers it, and asks again after revocation", async () => {
    const { page, complaints } = await visit(browser, { width: WIDTHS.phone });
    await page.goto(`${site}/auth/gitlab`);
    expect(await page.locator("h1").textContent()).toBe("Sign in");
    await signIn(page, "owner", password);
    expect(await page.locator("h1").textContent()).toBe("Authorize Lunch planner?");
    await look(page, "consent-phone");
    await page.setViewportSize({ width: WIDTHS.desktop, height: 800 });
    await look(page, "consent-desktop");

    await page.getByRole("button", { name: "Deny" }).click();
    expect(await page.locator("body").textContent()).toBe("Then not.");
    await page.goto(`${site}/auth/gitlab`);
    await page.getByRole("button", { name: "Authorize" }).click();
    expect(page.url()).toBe(`${site}/`);
    expect(await page.locator("body").textContent()).toBe("Hello The owner (owner, 2)");

    await page.goto(`${site}/auth/gitlab`);
    expect(page.url()).toBe(`${site}/`);

    await page.goto(`${server.url}/-/user_settings/applications`);
    expect(await page.locator(".rows h3").first().textContent()).toBe("Lunch planner");
    await look(page, "applications-allowed");
    await page.locator("summary", { hasText: "Revoke" }).click();
    await page.getByRole("button", { name: "Revoke" }).click();
    await page.goto(`${site}/auth/gitlab`);
    expect(await page.locator("h1").textContent()).toBe("Authorize Lunch planner?");
    expect(complaints).toEqual([]);
  });
});
