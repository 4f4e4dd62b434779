import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import type { AppOptions } from "../../src/index.ts";
import { type Server, serve } from "../../src/node.ts";
import { findBrowser } from "../browser.mjs";
import { createFixtures, fixtureSeed } from "../fixtures.ts";
import { givePassword, type TestApp, testApp } from "../helpers.ts";
import { toys } from "../toy/index.ts";

/** A browser, and a server of everything that there is to see. */
export interface Shop {
  readonly browser: Browser;
  readonly app: TestApp;
  readonly server: Server;
}

/**
 * Starts a browser and a server with one record of each kind, for all tests of a file; contexts are closed after each.
 *
 * @param options of the server, or what finds them out first
 */
export function shop(options: AppOptions | (() => Promise<AppOptions>) = {}): Shop {
  const opened = {} as { -readonly [Name in keyof Shop]: Shop[Name] };
  beforeAll(async () => {
    opened.browser = await launch();
    const own = typeof options === "function" ? await options() : options;
    opened.app = await testApp({ seed: fixtureSeed(1), extra: toys, ...own });
    await createFixtures(opened.app, 1);
    await givePassword(opened.app, "admin");
    const port = own.url === undefined ? 0 : Number(new URL(own.url).port);
    opened.server = await serve(opened.app, { port });
  });
  afterAll(async () => {
    await opened.browser?.close();
    await opened.server?.close();
    await opened.app?.dispose();
  });
  afterEach(async () => {
    for (const context of opened.browser.contexts()) await context.close();
  });
  return opened;
}

/** The viewport widths under test. */
export const WIDTHS = { phone: 360, desktop: 1280 } as const;

/** Starts the browser, without its sandbox, which does not work for root. */
export function launch(): Promise<Browser> {
  const executablePath = findBrowser();
  if (executablePath === undefined) throw new Error("there is no Chromium");
  const args = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ];
  return chromium.launch({ executablePath, args });
}

/** A visitor, by default without JavaScript. The browser's complaints are collected. */
export async function visit(
  browser: Browser,
  options: { width: number; dark?: boolean; scripts?: boolean },
): Promise<{ context: BrowserContext; page: Page; complaints: string[] }> {
  const context = await browser.newContext({
    javaScriptEnabled: options.scripts ?? false,
    viewport: { width: options.width, height: 800 },
    colorScheme: options.dark === true ? "dark" : "light",
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  return { context, page, complaints };
}

/** Checks that a page fits its width and everything in it has a name; takes a screenshot if asked to. */
export async function look(page: Page, name: string): Promise<void> {
  const wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
  expect([name, wide]).toEqual([name, 0]);
  const nameless = await page.evaluate(`
    [...document.querySelectorAll("input:not([type=hidden]), textarea, button")]
      .filter((one) => one.checkVisibility({ visibilityProperty: true }))
      .filter((one) => !([...(one.labels ?? [])].map((label) => label.textContent).join("") || one.textContent).trim())
      .map((one) => one.outerHTML)`);
  expect([name, nameless]).toEqual([name, []]);
  expect(await page.locator("h1").count()).toBe(1);
  const folder = process.env["SCREENSHOTS"];
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** Fills in the sign-in page that is shown. */
export async function signIn(page: Page, login: string, password: string): Promise<void> {
  await page.getByLabel("User name or e-mail address").fill(login);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What WCAG 2.2 AA and best practices find wrong with a page of a visitor with JavaScript. */
export async function violations(page: Page): Promise<string[]> {
  const found = await page.evaluate(`(() => { ${axe} })(),
    axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })
      .then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes[0].html))`);
  return found as string[];
}

/** What has the focus is called, as far as people see it. */
const NAME_OF = `(one) => (one.labels?.[0]?.firstChild ?? one).textContent.trim()`;
/** How often Tab must be pressed until something with a name has the focus, at least. */
const distanceTo = (name: string) => `(() => {
  const name = ${NAME_OF};
  const all = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
    .filter((one) => one.checkVisibility({ visibilityProperty: true }));
  const at = all.indexOf(document.activeElement);
  return all.findIndex((one, index) => index > at && name(one) === ${JSON.stringify(name)}) - at;
})()`;
const FOCUSED = `(${NAME_OF})(document.activeElement)`;

/** Goes on with the Tab key to what has a name. */
export async function tabTo(page: Page, name: string): Promise<void> {
  const distance = (await page.evaluate(distanceTo(name))) as number;
  for (let at = 0; at < distance; at += 1) await page.keyboard.press("Tab");
  for (let at = 0; at < 160; at += 1) {
    if ((await page.evaluate(FOCUSED)) === name) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`${name} can't be reached on ${page.url()}`);
}

/** Somebody who uses a page by keyboard alone. */
export interface Keys {
  /** Opens an address of the server. */
  open(path: string): Promise<void>;
  /** Goes to a link or button and presses Enter, which leads to another page. */
  follow(name: string): Promise<void>;
  /** Goes to a summary, a checkbox or the like, and presses a key that leads nowhere. */
  press(name: string, key?: "Enter" | "Space"): Promise<void>;
  /** Types into a field, in place of what is there. */
  type(name: string, text: string): Promise<void>;
  /** Chooses what begins with a text. */
  choose(name: string, text: string): Promise<void>;
  /** Chooses a file. */
  attach(name: string, file: string, content: string): Promise<void>;
  /** Opens a question and answers it with the button of the same name. */
  confirm(name: string): Promise<void>;
  /** Waits for a text of the page. */
  see(text: string | RegExp): Promise<void>;
}

/** The keyboard of a visitor. @param base the server's address */
export function keysOf(page: Page, base: string): Keys {
  const { keyboard } = page;
  const enter = async () => {
    const led = page.waitForEvent("load");
    await keyboard.press("Enter");
    await led;
  };
  const keys: Keys = {
    open: async (path) => void (await page.goto(base + path)),
    follow: async (name) => {
      await tabTo(page, name);
      await enter();
    },
    press: async (name, key = "Enter") => {
      await tabTo(page, name);
      await keyboard.press(key);
    },
    type: async (name, text) => {
      await tabTo(page, name);
      await keyboard.press("Control+A");
      await keyboard.type(text);
    },
    choose: async (name, text) => {
      await tabTo(page, name);
      await keyboard.type(text);
    },
    attach: async (name, file, content) => {
      await tabTo(page, name);
      const chooser = page.waitForEvent("filechooser");
      await keyboard.press("Space");
      const buffer = Buffer.from(content);
      await (await chooser).setFiles({ name: file, mimeType: "text/plain", buffer });
    },
    confirm: async (name) => {
      await keys.press(name);
      await keyboard.press("Tab");
      await enter();
    },
    see: (text) => page.locator("main", { hasText: text }).waitFor(),
  };
  return keys;
}
