import { digest } from "../core/digest.ts";
import { Answer, type Visit } from "../core/resource.ts";
import { type Html, html } from "./html.ts";
import { STYLE, STYLE_MARKUP } from "./style.ts";

/** The one style sheet is part of the page; nothing else is loaded and no script runs. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${Buffer.from(digest("sha256", STYLE), "hex").toString("base64")}'`,
  "img-src 'self' data:",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** A page in the look all of them have. */
export function page(
  { caller, csrfToken, view }: Pick<Visit, "caller" | "csrfToken" | "view">,
  { title, status = 200, body }: { title: string; status?: number; body: Html },
): Answer {
  const whole = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · pm-api</title>
<style>${STYLE_MARKUP}</style>
</head>
<body>
<header><strong>pm-api</strong>${
    caller &&
    html`<form method="post" action="${view.base}/users/sign_out">${csrf(csrfToken)}
<span>@${caller.username}</span> <button class="quiet">Sign out</button></form>`
  }</header>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`;
  return new Answer(status, HEADERS, whole.text);
}

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": POLICY,
  "referrer-policy": "same-origin",
  "x-frame-options": "DENY",
};

/** The hidden field every form has. */
export function csrf(token: string): Html {
  return html`<input type="hidden" name="authenticity_token" value="${token}">`;
}

/**
 * Sends the browser elsewhere with a GET.
 *
 * @param to a path below the mount, or an address that was checked
 * @param headers such as `set-cookie`
 */
export function redirect(to: string, headers: Record<string, string> = {}): Answer {
  return new Answer(303, { location: to, "cache-control": "no-store", ...headers });
}
