import { TOTP } from "otpauth";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Server, serve } from "../../src/node.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { launch, look, signIn, visit, WIDTHS } from "./browser.ts";

let browser: Browser;
let app: TestApp;
let server: Server;
/** The application's clock, which tests advance. */
let now = Date.parse("2026-11-21T12:00:00Z");

beforeAll(async () => {
  browser = await launch();
  app = await testApp({ now: () => now });
  server = await serve(app, { port: 0 });
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  await app?.dispose();
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

async function signInAgain(page: Page, login: string, password: string): Promise<void> {
  await page.goto(`${server.url}/users/sign_in`);
  await signIn(page, login, password);
}

const heading = (page: Page) => page.locator("h1").textContent();

describe.each([
  { kind: "phone", dark: false },
  { kind: "desktop", dark: true },
] as const)("in Chromium without JavaScript: $kind, dark: $dark", ({ kind, dark }) => {
  const at = (name: string) => `${kind}${dark ? "-dark" : ""}-${name}`;
  const username = `ada-${kind}${dark ? "-dark" : ""}`;
  const width = WIDTHS[kind];

  it("every page can be visited", async () => {
    await app.admin.users.create({
      username,
      name: "Ada Lovelace",
      email: `${username}@example.com`,
      password: "first password",
      admin: true,
    });
    const { page, complaints } = await visit(browser, { width, dark });
    await page.goto(`${server.url}/-/profile`);
    expect(await heading(page)).toBe("Sign in");
    await look(page, at("sign-in"));
    await signIn(page, username, "wrong password");
    expect(await page.getByRole("alert").textContent()).toBe("Invalid login or password.");
    await look(page, at("sign-in-failed"));
    await signIn(page, username, "first password");
    expect(await heading(page)).toBe("Your account");
    await look(page, at("profile"));

    await page.getByRole("link", { name: "Access tokens" }).first().click();
    await look(page, at("tokens-none"));
    await page.getByLabel("Expires on").fill("");
    await page.getByLabel("Name").fill("a laptop");
    await page.getByRole("button", { name: "Create token" }).click();
    expect(await page.locator(".error").textContent()).toBe("Scopes can't be blank.");
    await look(page, at("tokens-failed"));
    await page.getByLabel("read_api").check();
    await page.getByRole("button", { name: "Create token" }).click();
    const token = (await page.locator(".secret").textContent()) as string;
    expect(token).toMatch(/^pmat-[0-9a-f]{40}$/);
    await look(page, at("tokens-made"));
    const withToken = () => app.call("GET /user", { headers: { "private-token": token } });
    expect((await withToken()).json.username).toBe(username);
    await page.locator("summary", { hasText: "Revoke" }).click();
    await look(page, at("tokens-revoking"));
    await page.getByRole("button", { name: "Revoke" }).click();
    expect((await withToken()).status).toBe(401);

    await page.getByRole("link", { name: "Applications" }).first().click();
    await look(page, at("applications-none"));
    await page.getByRole("textbox", { name: "Name" }).fill("Burn-down charts");
    await page.getByLabel("Redirect URI").fill("javascript:alert(1)");
    await page.getByLabel("read_user").check();
    await page.getByRole("button", { name: "Register" }).click();
    expect(await page.locator(".error").textContent()).toBe("Redirect URI has a forbidden scheme.");
    await look(page, at("applications-failed"));
    await page.getByLabel("Redirect URI").fill("https://charts.example.com/callback");
    await page.getByRole("button", { name: "Register" }).click();
    expect(await heading(page)).toBe("Burn-down charts");
    expect(await page.locator(".note .secret").textContent()).toMatch(/^[0-9a-f]{64}$/);
    await look(page, at("application-made"));
    await page.getByRole("textbox", { name: "Name" }).fill("Burn-up charts");
    await page.getByRole("button", { name: "Save" }).click();
    expect(await heading(page)).toBe("Burn-up charts");
    await page.getByRole("link", { name: "All applications" }).click();
    await look(page, at("applications-one"));
    await page.getByRole("link", { name: "Burn-up charts" }).click();
    await page.locator("summary", { hasText: "Delete" }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    expect(await heading(page)).toBe("Applications");

    await page.getByRole("link", { name: "Two-factor" }).click();
    await look(page, at("two-factor-off"));
    await page.getByLabel("Your password").fill("no idea");
    await page.getByRole("button", { name: "Set up" }).click();
    expect(await page.locator(".error").textContent()).toBe("Your password is wrong.");
    await page.getByLabel("Your password").fill("first password");
    await page.getByRole("button", { name: "Set up" }).click();
    await look(page, at("two-factor-setup"));
    const shown = (await page.locator(".secret").textContent()) as string;
    const secret = shown.replaceAll(" ", "");
    const code = () => new TOTP({ secret }).generate({ timestamp: now });
    await page.getByLabel("Code", { exact: true }).fill(code());
    await page.getByRole("button", { name: "Switch on" }).click();
    const codes = await page.locator(".codes li").allTextContents();
    expect(new Set(codes).size).toBe(10);
    await look(page, at("two-factor-codes"));
    await page.getByRole("link", { name: "I have kept them" }).click();
    await look(page, at("two-factor-on"));

    await page.getByRole("button", { name: "Sign out" }).click();
    expect(await heading(page)).toBe("Sign in");
    await signIn(page, username, "first password");
    expect(await page.content()).not.toContain("first password");
    await page.getByLabel("Code", { exact: true }).fill("000000");
    await page.getByRole("button", { name: "Sign in" }).click();
    await look(page, at("second-step-failed"));
    now += 60_000;
    await page.getByLabel("Code", { exact: true }).fill(code());
    await page.getByRole("button", { name: "Sign in" }).click();
    expect(await heading(page)).toBe("Your projects");

    const other = await visit(browser, { width, dark });
    await signInAgain(other.page, username, "first password");
    await other.page.getByLabel("Code", { exact: true }).fill(codes[0] as string);
    await other.page.getByRole("button", { name: "Sign in" }).click();
    expect(await heading(other.page)).toBe("Your projects");

    await page.getByRole("link", { name: `@${username}` }).click();
    await page.getByRole("link", { name: "Sessions" }).first().click();
    expect(await page.locator(".rows li").count()).toBe(2);
    await look(page, at("sessions"));
    await page.getByRole("button", { name: "End", exact: true }).click();
    expect(await page.locator(".rows li").count()).toBe(1);
    await other.page.reload();
    expect(await heading(other.page)).toBe("Sign in");

    await page.getByRole("link", { name: "Password" }).first().click();
    await page.getByLabel("Current password").fill("first password");
    await page.getByLabel("New password", { exact: true }).fill("short");
    await page.getByLabel("New password again").fill("short");
    await page.getByRole("button", { name: "Change password" }).click();
    await look(page, at("password-failed"));
    await page.getByLabel("Current password").fill("first password");
    await page.getByLabel("New password", { exact: true }).fill("second password");
    await page.getByLabel("New password again").fill("second password");
    await page.getByRole("button", { name: "Change password" }).click();
    expect(await page.getByRole("status").textContent()).toContain("has been changed");
    await look(page, at("password-changed"));

    await page.getByRole("link", { name: "Two-factor" }).click();
    await page.getByLabel("Your password").last().fill("second password");
    await page.getByRole("button", { name: "Switch off" }).click();
    expect(await page.getByRole("button", { name: "Set up" }).count()).toBe(1);

    await app.admin.users.block(username);
    await page.reload();
    expect(await page.locator("main").textContent()).toContain("Your account has been blocked.");
    await look(page, at("blocked"));
    // Chromium reports the statuses of our own error pages; nothing else may be wrong.
    const unexpected = complaints.filter((text) => !/status of (401|403|422)/.test(text));
    expect(unexpected).toEqual([]);
  });

  it("long lists can be paged through", async () => {
    const name = `${username}-of-much`;
    const account = { username: name, name, email: `${name}@example.com`, password: "a password" };
    await app.admin.users.create(account);
    for (let number = 1; number <= 45; number += 1) {
      await app.admin.tokens.create({ user: name, name: `token ${number}`, scopes: ["api"] });
      await app.admin.applications.create({
        user: name,
        name: `application ${number}`,
        redirect_uris: ["https://charts.example.com/"],
        scopes: ["api"],
      });
    }
    const { page } = await visit(browser, { width, dark });
    await page.goto(`${server.url}/-/user_settings/personal_access_tokens`);
    await signIn(page, name, "a password");
    await look(page, at("tokens-many"));
    await page.getByRole("link", { name: "Next" }).click();
    await page.getByRole("link", { name: "Next" }).click();
    expect(await page.locator(".rows h3").allTextContents()).toEqual(
      [5, 4, 3, 2, 1].map((number) => `token ${number}`),
    );
    expect(await page.getByRole("link", { name: "Next" }).count()).toBe(0);
    await page.getByRole("link", { name: "Previous" }).click();
    await look(page, at("tokens-many-second"));
    await page.locator("summary", { hasText: "Revoke" }).first().click();
    await page.getByRole("button", { name: "Revoke" }).first().click();
    expect(await page.locator(".pager").textContent()).toContain("Page 2");
    await page.getByRole("link", { name: "Applications" }).first().click();
    await page.getByRole("link", { name: "Next" }).click();
    await look(page, at("applications-many-second"));
  });
});
