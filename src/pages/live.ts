import { type Html, html } from "./html.ts";
import { scriptOf } from "./script.ts";

/**
 * The script of pages that show what goes on: every few seconds, while somebody looks, it asks for the page again and shows what
 * is new in its live parts, until there are none. Where somebody types, or has opened something, it changes nothing. Of a log it adds the end, so that nothing moves that somebody reads.
 * Without it, the page is the same when it is loaded again.
 */
const SCRIPT = `
const pace = () => (document.querySelector("[data-live='']") ? 3000 : 15000);
const isTyped = (part) => [...part.querySelectorAll("textarea")].some((one) => one.value !== one.defaultValue);
const isBusy = (part) => part.contains(document.activeElement) || part.querySelector("details[open]") || isTyped(part);
const log = (part) => part.querySelector(".log");
function show(part, next) {
  const [shown, now] = [log(part), log(next)];
  if (shown && now && now.textContent.startsWith(shown.textContent)) {
    const atEnd = shown.scrollTop + shown.clientHeight > shown.scrollHeight - 8;
    shown.append(now.textContent.slice(shown.textContent.length));
    if (atEnd) shown.scrollTop = shown.scrollHeight;
  } else if (part.innerHTML !== next.innerHTML && !isBusy(part)) {
    part.replaceChildren(...next.childNodes);
  }
}
async function refresh() {
  if (!document.hidden) {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const next = page.getElementById(part.id);
      if (next) show(part, next);
      if (next?.hasAttribute("data-live")) part.dataset.live = next.dataset.live;
      else part.removeAttribute("data-live");
    }
    if (!document.querySelector("[data-live]")) return;
  }
  setTimeout(() => refresh().catch(() => setTimeout(refresh, 30000)), pace());
}
setTimeout(refresh, pace());
`;

/** A page that has live parts has this script. */
export const LIVE = scriptOf(SCRIPT, "; connect-src 'self'");

/** Whether something goes on, or may at any time. */
export type GoesOn = boolean | "maybe";

/** The attribute of a part that shows what goes on: what only may, is asked for more seldom. */
export const liveAttribute = (goesOn: GoesOn): Html | false =>
  goesOn && (goesOn === "maybe" ? html` data-live="maybe"` : html` data-live`);

/** A part of a page that shows what goes on as long as it does. @param id unique on the page */
export const live = (id: string, goesOn: GoesOn, part: Html): Html =>
  html`<div id="${id}"${liveAttribute(goesOn)}>${part}</div>`;

/** A state that is read out when it changes, as {@link live}. */
export const liveState = (goesOn: boolean, state: Html): Html =>
  html`<span id="state" role="status"${goesOn && html` data-live`}>${state}</span>`;
