import { hostSignIn } from "../auth/authenticators/host.ts";
import { sessionCookie } from "../auth/authenticators/session.ts";
import { type ApiError, notFound, unknownRoute } from "../core/errors.ts";
import { isSafe } from "../core/http/incoming.ts";
import type { Mount } from "../core/http/mount.ts";
import { wantsPage } from "../core/http/router.ts";
import { type PageContext, RawReply, routes } from "../core/resource.ts";
import { type Html, html } from "./html.ts";
import { homeOf, mountOf } from "./navigation.ts";
import { page, redirect } from "./page.ts";

/** Pages for people, who are identified by the session cookie or by the embedding app. */
export const WEB: Omit<Mount, "resources"> = {
  name: "Pages",
  base: "",
  authenticators: [hostSignIn, sessionCookie],
  hasForms: true,
  unknownPage: routes().get("", {
    summary: "Say that there is no such page",
    access: "anyone",
    handle: ({ request }) => {
      if (wantsPage(request)) throw notFound();
      return jsonOf(unknownRoute());
    },
  }),
  showError: showErrorPage,
};

/** An error as programs get it. */
export const jsonOf = ({ status, headers, body }: ApiError): RawReply =>
  new RawReply(
    status,
    { ...headers, "content-type": "application/json", "cache-control": "no-store" },
    JSON.stringify(body),
  );

const EXPLANATIONS: Readonly<Record<number, { title: string; text: string }>> = {
  400: {
    title: "Not understood",
    text: "Something in this request is missing or can't be read. Go back and try again.",
  },
  401: { title: "Not signed in", text: "Sign in first." },
  403: { title: "Not allowed", text: "You may not do this." },
  404: {
    title: "Not found",
    text: "There is nothing at this address, or not any more.",
  },
  413: { title: "Too large", text: "The request is too large for this page." },
  422: {
    title: "Form not accepted",
    text: "This form is too old, or was not sent from its own page. Reload the page and try again.",
  },
  429: { title: "Tried too often", text: "Wait a while before the next try." },
  500: { title: "Something went wrong", text: "It is not your fault. Try again in a while." },
  503: { title: "Not available", text: "The database does not answer. Try again in a moment." },
};

/** Sends visitors to sign in, and then on to the page they asked for; `undefined` if there is no page for it. */
export function toSignIn(visit: PageContext): RawReply | undefined {
  const address = signInAddress(visit);
  return address === undefined
    ? undefined
    : { ...redirect(address), status: isSafe(visit.request) ? 302 : 303 };
}

/**
 * Sends somebody who is signed in to sign in again, and then back to the same path; `undefined` if there is no page for it.
 *
 * @param query of the address to go back to
 */
export function toSignInAgain(visit: PageContext, query: string): RawReply | undefined {
  const { site, request, view } = visit;
  if (site.signInUrl !== undefined || !site.pages.includes("sign_in")) return undefined;
  const address = `${mountOf(view)}/users/sign_in?again=true`;
  const returnTo = request.path + (query && `?${query}`);
  const back =
    returnTo.length > MAX_RETURN_LENGTH ? "" : `&return_to=${encodeURIComponent(returnTo)}`;
  return redirect(address + back);
}

/** Shows an error as a page. Visitors who are not signed in are sent to sign in. */
export function showErrorPage({ status, body, headers }: ApiError, visit: PageContext): RawReply {
  const signIn = status === 401 ? toSignIn(visit) : undefined;
  if (signIn) return signIn;
  const explanation =
    EXPLANATIONS[status] ?? (EXPLANATIONS[status < 500 ? 400 : 500] as (typeof EXPLANATIONS)[0]);
  const { title, text } = explanation as { title: string; text: string };
  const errorPage = page(visit, {
    title,
    status,
    body: html`<section>
<p class="lead">${reasonOf(status, body) ?? waitOf(headers, text)}</p>
${status === 404 && inApi(visit)}
<p><a href="${mountOf(visit.view)}${homeOf(visit)}">${visit.caller ? "To your account" : "To the start"}</a></p>
</section>`,
  });
  return { ...errorPage, headers: { ...headers, ...errorPage.headers } };
}

/** {@link showErrorPage}; visitors who are not signed in are sent to sign in whether or not there is something, as in GitLab. */
export function showErrorOrSignIn(error: ApiError, visit: PageContext): RawReply {
  const isRefused = [401, 403, 404].includes(error.status);
  const signIn = isRefused && !visit.caller && isSafe(visit.request) ? toSignIn(visit) : undefined;
  return signIn ?? showErrorPage(error, visit);
}

/** Where the API has what has no page: `/acme/site/-/issues/1` may be an issue of `acme/site`. */
function inApi({ request, site, view }: PageContext): Html | false {
  if (site.pages.includes("projects")) return false;
  const [path = ""] = request.path.slice(1).split("/-/");
  const name = path.split("/").map(decodedPart).join("/").replace(/\/$/, "");
  if (name === "" || name === "-" || name.startsWith("-/")) return false;
  const kind = name.includes("/") ? "projects" : "groups";
  const address = `${view.base}/api/v4/${kind}/${encodeURIComponent(name)}`;
  return html`<p>Projects and groups have no pages here. If ${name} is one, the API has it at <a href="${address}">${address}</a>.</p>`;
}

function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The longest path to return to after signing in, in characters. */
const MAX_RETURN_LENGTH = 4096;

/** The text of a 403 or 503 after its status. */
function reasonOf(status: number, body: object): string | undefined {
  if (status !== 403 && status !== 503) return undefined;
  const { message } = body as { message?: unknown };
  return typeof message === "string" ? message.split(" - ", 2)[1] : undefined;
}

function waitOf(headers: Readonly<Record<string, string>>, text: string): string {
  const minutes = Math.ceil(Number(headers["retry-after"]) / 60);
  if (Number.isNaN(minutes)) return text;
  return `Wait ${minutes === 1 ? "a minute" : `${minutes} minutes`} before the next try.`;
}

function signInAddress({ request, site, view }: PageContext): string | undefined {
  const own = site.pages.includes("sign_in") ? `${mountOf(view)}/users/sign_in` : undefined;
  const address = site.signInUrl ?? own;
  if (address === undefined || !isSafe(request)) return address;
  // The embedding app gets its own path; our paths begin at the mount.
  const mount = site.signInUrl === undefined ? "" : mountOf(view);
  // Browsers don't encode a backslash in a query, and no path we redirect back to may contain one.
  const query = request.query.replaceAll("\\", "%5C");
  const returnTo = `${mount}${request.path}${query && `?${query}`}`;
  // Clients refuse long headers.
  if (returnTo.length > MAX_RETURN_LENGTH) return address;
  return `${address}${address.includes("?") ? "&" : "?"}return_to=${encodeURIComponent(returnTo)}`;
}
