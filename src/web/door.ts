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
  503: "The database does not answer. Try again in a moment.",
};

/** Nobody is sent to sign in first, and then on to where they wanted to go. */
function showError({ status, headers }: ApiError, visit: Visit): Answer {
  const { asked, view } = visit;
  if (status === 401) {
    // Browsers leave a backslash in a query as it is, which no path we send somebody back to may have.
    const query = asked.query.replaceAll("\\", "%5C");
    const wanted = query ? `${asked.path}?${query}` : asked.path;
    const back = asked.method === "GET" ? `?return_to=${encodeURIComponent(wanted)}` : "";
    return { ...redirect(`${view.base}/users/sign_in${back}`), status: 302 };
  }
  const body = html`<p>${MEANINGS[status] ?? MEANINGS[status < 500 ? 400 : 500]}</p>`;
  const shown = page(visit, { title: `${status}`, status, body });
  return { ...shown, headers: { ...headers, ...shown.headers } };
}
