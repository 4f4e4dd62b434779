import type { PageContext } from "../core/resource.ts";
import { meaningOf } from "../core/scopes.ts";
import { type Html, html } from "../pages/html.ts";
import type { Application } from "./applications.ts";

/** Which application asks for what, and as whom. */
export function asks(
  { caller }: Pick<PageContext, "caller">,
  { name, username: owner }: Pick<Application, "name" | "username">,
  scopes: string,
): Html {
  return html`<p><strong>${name}</strong>, registered by ${
    owner === null ? "the administrators" : html`@${owner}`
  }, asks for access to your account <strong>@${caller?.username}</strong>.</p>
<h2>It could</h2>
<ul>${scopes.split(" ").map((scope) => html`<li>${meaningOf(scope)} (<code>${scope}</code>)</li>`)}</ul>`;
}
