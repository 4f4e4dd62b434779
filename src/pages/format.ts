import { isoInstant } from "../core/time.ts";
import { type Html, html } from "./html.ts";

const INSTANT = new Intl.DateTimeFormat("en-GB", {
  dateStyle: "medium",
  timeStyle: "short",
  timeZone: "UTC",
});
const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });

/** Formats an instant. @param at epoch milliseconds */
export function instant(at: number): Html {
  return html`<time datetime="${isoInstant(at)}">${INSTANT.format(at)} UTC</time>`;
}

/** Formats a day. @param day `YYYY-MM-DD` */
export function day(day: string): Html {
  return html`<time datetime="${day}">${DAY.format(Date.parse(day))}</time>`;
}

const BROWSERS: [RegExp, string][] = [
  [/\b(?:Edg|EdgA|EdgiOS)\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\b(?:HeadlessChrome|Chromium|Chrome|CriOS)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];
const SYSTEMS: [RegExp, string][] = [
  [/\b(?:iPhone|iPad)\b/, "iOS"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

/** Describes a `User-Agent` header: "Firefox on Linux". */
export function browser(userAgent: string): string {
  const firstMatch = (patterns: typeof BROWSERS) =>
    patterns.find(([pattern]) => pattern.test(userAgent))?.[1];
  const name = firstMatch(BROWSERS) ?? userAgent.split("/", 1)[0];
  const system = firstMatch(SYSTEMS);
  if (!name) return "Unknown browser";
  return system ? `${name} on ${system}` : name;
}
