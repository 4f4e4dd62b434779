import { createServer } from "node:http";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { launch, look, violations, visit, WIDTHS } from "./browser.ts";

// The window of a test server, in a real browser.

let browser: Browser;
let server: TestServer;
beforeAll(async () => {
  browser = await launch();
  server = await startTestServer();
});
afterAll(async () => {
  await server.close();
  await browser.close();
});
beforeEach(() => server.reset());

async function ask(path: string, init: RequestInit = {}): Promise<number> {
  const headers = { "private-token": server.token, "content-type": "application/json" };
  return (await fetch(`${server.url}/api/v4${path}`, { ...init, headers })).status;
}

/** Something of each kind that it shows. */
async function work() {
  const hook = createServer((_, response) => response.end()).listen(0, "127.0.0.1");
  await new Promise((resolve) => hook.once("listening", resolve));
  const { port } = hook.address() as { port: number };
  const url = `http://127.0.0.1:${port}/hook`;
  await ask("/projects/acme%2Fapp/hooks", {
    method: "POST",
    body: JSON.stringify({ url, issues_events: true, push_events: false }),
  });
  const title = "<script>alert(1)</script> It's broken";
  await ask("/projects/acme%2Fapp/issues", { method: "POST", body: JSON.stringify({ title }) });
  await ask("/nothing?private_token=secret");
  await server.hooks.wait();
  hook.close();
}

const textOf = async (page: Page, selector: string) =>
  (await page.locator(selector).textContent()) ?? "";

describe("the window", () => {
  it("shows without a script what was asked and what has changed, as text", async () => {
    await work();
    const { context, page, complaints } = await visit(browser, { width: WIDTHS.desktop });
    await page.goto(`${server.url}/-/test/`);
    await look(page, "window");
    expect(await page.getByRole("heading", { level: 2 }).allTextContents()).toEqual([
      "Changes since the last reset (2)",
      "Requests (3)",
      "Mails (0)",
      "Calls of webhooks (1)",
      "Users and tokens",
    ]);
    const text = (await textOf(page, "#live")).replace(/\s+/g, " ");
    expect(text).toContain("GET /api/v4/nothing?private_token=[REDACTED] 404");
    expect(text).toContain("acme/app#1");
    expect(text).not.toContain("secret");
    expect(await page.content()).not.toContain("<script>alert");
    await page.getByText("POST /api/v4/projects/acme%2Fapp/issues").click();
    const curl = await textOf(page, "#request-2-curl");
    expect(curl).toContain(`curl -X POST '${server.url}/api/v4/projects/acme%2Fapp/issues'`);
    expect(curl).toContain(`-H 'private-token: ${server.token}'`);
    expect(curl).toContain("It'\\''s broken");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("is kept up to date, and resets", async () => {
    const context = await browser.newContext({ viewport: { width: WIDTHS.phone, height: 800 } });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("dialog", (dialog) => complaints.push(dialog.message()));
    await page.goto(`${server.url}/-/test/`);
    await work();
    const changed = page.getByRole("heading", { name: "Changes since the last reset (2)" });
    await changed.waitFor();
    await page.getByText("All of it as an expectation").press("Enter");
    const expected = await textOf(page, "#expectation-text");
    const verdict = await server.expectChanges(JSON.parse(expected));
    expect(verdict).toEqual({ ok: true, differences: [] });
    await page.getByRole("button", { name: "Reset to the seed" }).press("Enter");
    await page.getByText("Nothing has changed.").waitFor();
    expect(await ask("/projects/acme%2Fapp/issues/1")).toBe(404);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.each([
    [WIDTHS.phone, false],
    [WIDTHS.desktop, true],
  ])("is accessible at %i pixels (dark: %s)", async (width, dark) => {
    await work();
    const context = await browser.newContext({
      viewport: { width, height: 800 },
      colorScheme: dark ? "dark" : "light",
      bypassCSP: true,
    });
    const page = await context.newPage();
    await page.goto(`${server.url}/-/test/`);
    for (const one of await page.locator("details").all()) {
      await one.evaluate((element) => element.setAttribute("open", ""));
    }
    expect(await violations(page)).toEqual([]);
    await context.close();
  });
});
