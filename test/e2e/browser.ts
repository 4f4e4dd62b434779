import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { findBrowser } from "../browser.mjs";

/** Widths the pages are looked at in. */
export const WIDTHS = { phone: 360, desktop: 1280 } as const;

/** Starts the browser, without its sandbox, which root can't have. */
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

/** A visitor without JavaScript. What the browser complains of is kept. */
export async function visit(
  browser: Browser,
  options: { width: number; dark?: boolean },
): Promise<{ context: BrowserContext; page: Page; complaints: string[] }> {
  const context = await browser.newContext({
    javaScriptEnabled: false,
    viewport: { width: options.width, height: 800 },
    colorScheme: options.dark === true ? "dark" : "light",
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  return { context, page, complaints };
}
