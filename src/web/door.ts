import type { ApiError } from "../core/errors.ts";
import type { Answer, Door, Visit } from "../core/resource.ts";
import { html } from "./html.ts";
import { page, redirect } from "./page.ts";

/** Pages for people: the session cookie says who they are. */
export const PAGES: Door = { base: "", credentials: "session", showError };

const MEANINGS: Readonly<Record<number, string>> = {
  400: "Something in this request can't be understood.",
  403: "You may not do this.",
  404: "There is no such page.",
  422: "This form is too old, or was not sent from its own page. Go back, reload the page and try again.",
  429: "That was tried too often. Wait a while before the next try.",
  500: "Something went wrong on our side.",
};

/** Nobody is sent to sign in first, and then on to where they wanted to go. */
function showError({ status, headers }: ApiError, visit: Visit): Answer {
  const { asked, view } = visit;
  if (status === 401) {
    const wanted = asked.query ? `${asked.path}?${asked.query}` : asked.path;
    const back = asked.method === "GET" ? `?return_to=${encodeURIComponent(wanted)}` : "";
    return redirect(`${view.base}/users/sign_in${back}`);
  }
  const body = html`<p>${MEANINGS[status] ?? MEANINGS[status < 500 ? 400 : 500]}</p>`;
  const shown = page(visit, { title: `${status}`, status, body });
  return { ...shown, headers: { ...headers, ...shown.headers } };
}
