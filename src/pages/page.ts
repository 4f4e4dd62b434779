import { digest } from "../core/digest.ts";
import { type PageContext, RawReply } from "../core/resource.ts";
import { type Html, html } from "./html.ts";
import { homeOf, mountOf, navigationOf, siteItems } from "./navigation.ts";
import type { Script } from "./script.ts";
import { STYLE, STYLE_MARKUP } from "./style.ts";

/** The style sheet is inlined; nothing else is loaded, and no script runs but the one that a page has. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${Buffer.from(digest("sha256", STYLE), "hex").toString("base64")}'`,
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** What texts in Markdown may load besides, and the attributes by which their labels and tables are styled. */
const WRITTEN = "; img-src * data:; media-src *; style-src-attr 'unsafe-inline'";

/**
 * @param staysHere whether it is an account page whose forms lead nowhere else: other pages have no `form-action`, since Chromium
 *   applies it to redirects after a form, and signing in may redirect to applications
 */
function headersOf(
  staysHere: boolean,
  { showsTexts, hasPictures, script }: Pick<PageContent, "showsTexts" | "hasPictures" | "script">,
): Record<string, string> {
  const formAction = staysHere || showsTexts ? "; form-action 'self'" : "";
  const written = showsTexts ? WRITTEN : hasPictures ? "; img-src 'self'" : "";
  return {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": POLICY + written + formAction + (script?.policy ?? ""),
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
  };
}

/** The prefix of the account pages. They have the navigation, and their forms never redirect to other hosts. */
const ACCOUNT = "/-/";

/** A page's content. */
export interface PageContent {
  /** Its heading and, with the product's name, the window's title. */
  title: string;
  /** What precedes the product's name in the window's title instead, from narrow to wide. */
  titles?: readonly string[];
  /** What is above the heading, such as the way to the page. */
  above?: Html;
  /** A wide page that shows what people have written: it may have pictures, and colours of its own. */
  showsTexts?: true | undefined;
  /** A page that has pictures of this site. */
  hasPictures?: true | undefined;
  /** An account page whose forms lead to other hosts: Chromium applies `form-action` to redirects, too. */
  leadsElsewhere?: boolean;
  script?: Script | undefined;
  /** Default 200. */
  status?: number;
  body: Html;
}

/** A page in the common layout, with navigation for signed-in users. */
export function page(
  visit: Pick<PageContext, "request" | "caller" | "csrfToken" | "site" | "view">,
  {
    title,
    titles = [title],
    above,
    showsTexts,
    hasPictures,
    leadsElsewhere,
    script,
    status = 200,
    body,
  }: PageContent,
): RawReply {
  const { request, caller, view } = visit;
  const isAccountPage = !showsTexts && request.path.startsWith(ACCOUNT);
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${titles.join(" · ")} · pm-api</title>
<style>${STYLE_MARKUP}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href="${mountOf(view)}${homeOf(visit)}">pm-api</a>
${siteNavigation(visit)}
${caller ? account(visit, caller.username) : signIn(visit)}
</header>
<div class="${layoutOf(caller !== undefined && isAccountPage, showsTexts)}">
${caller && isAccountPage && navigation(visit)}
<main id="content">
${above}
<h1>${title}</h1>
${body}
</main>
</div>
${script?.markup}
</body>
</html>
`;
  const staysHere = isAccountPage && !leadsElsewhere;
  return new RawReply(
    status,
    headersOf(staysHere, { showsTexts, hasPictures, script }),
    document.text,
  );
}

const layoutOf = (hasNavigation: boolean, showsTexts = false) =>
  `frame${showsTexts ? " broad" : hasNavigation ? "" : " narrow"}`;

function siteNavigation(visit: Pick<PageContext, "request" | "caller" | "site" | "view">) {
  const { request, view } = visit;
  const links = siteItems(visit).map(
    ([path, title]) =>
      html`<li><a href="${mountOf(view)}${path}"${path === request.path && html` aria-current="page"`}>${title}</a></li>`,
  );
  return links.length > 0 && html`<nav aria-label="Site"><ul>${links}</ul></nav>`;
}

/** The way to sign in for visitors of pages that everybody may see. */
function signIn({ request, site, view }: Pick<PageContext, "request" | "site" | "view">) {
  const hasPage = site.pages.includes("sign_in") && site.pages.includes("projects");
  if (!hasPage || request.path.startsWith("/users/")) return false;
  const back = encodeURIComponent(request.path);
  return html`<div class="who"><a href="${mountOf(view)}/users/sign_in?return_to=${back}">Sign in</a></div>`;
}

function account(
  { csrfToken, site, view }: Pick<PageContext, "csrfToken" | "site" | "view">,
  username: string,
) {
  const signOut = html`<form method="post" action="${mountOf(view)}/users/sign_out">${csrf(csrfToken)}
<button class="quiet">Sign out</button></form>`;
  const own = navigationOf({ site })[0]?.path;
  const name = own ? html`<a href="${mountOf(view)}${own}">@${username}</a>` : html`@${username}`;
  return html`<div class="who"><span>${name}</span>
${site.pages.includes("sign_in") && signOut}</div>`;
}

function navigation(visit: Pick<PageContext, "request" | "site" | "view">): Html {
  const { request, view } = visit;
  const items = navigationOf(visit);
  const current = items
    .filter(({ path }) => `${request.path}/`.startsWith(`${path.replace(/\/edit$/, "")}/`))
    .at(-1);
  const links = items.map(
    (item) =>
      html`<li><a href="${mountOf(view)}${item.path}"${item === current && html` aria-current="page"`}>${item.title}</a></li>`,
  );
  return html`<nav aria-label="Your account"><ul>${links}</ul></nav>`;
}

/** The CSRF field of every form. */
export function csrf(token: string): Html {
  return html`<input type="hidden" name="authenticity_token" value="${token}">`;
}

/**
 * Redirects the browser with a GET (303).
 *
 * @param to a path of this site, or a checked URL
 * @param headers such as `set-cookie`
 */
export function redirect(to: string, headers: Record<string, string> = {}): RawReply {
  return new RawReply(303, { location: to, "cache-control": "no-store", ...headers });
}
