import { digest } from "../../core/digest.ts";
import type { Reply } from "../../core/http/incoming.ts";
import { type Html, html } from "../../pages/html.ts";
import type { ChangedRecord, Changes } from "../changes/changes.ts";
import type { TestHookCall } from "../hooks.ts";
import type { TestMail } from "../mails.ts";
import type { TestRequest } from "../requests.ts";
import type { Served } from "../worlds.ts";
import { curlOf } from "./curl.ts";
import { SCRIPT, SCRIPT_MARKUP } from "./script.ts";
import { WINDOW_STYLE, WINDOW_STYLE_MARKUP } from "./style.ts";

/** Rows of each list that are shown, the newest first. */
const MOST = 50;
/** Characters of a text that are shown. */
const MOST_TEXT = 20_000;

const hashOf = (text: string) =>
  `'sha256-${Buffer.from(digest("sha256", text), "hex").toString("base64")}'`;

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": [
    "default-src 'none'",
    `style-src ${hashOf(WINDOW_STYLE)}`,
    `script-src ${hashOf(SCRIPT)}`,
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "referrer-policy": "same-origin",
};

/** What a world's window shows. */
export interface Shown {
  readonly served: Served;
  readonly others: readonly Served[];
  readonly changes: Changes;
  /** What was created, as a seed. */
  readonly seed: object;
  readonly mails: readonly TestMail[];
  readonly hooks: readonly TestHookCall[];
}

/** The window of a test server: what it was asked and what came of it. */
export function windowPage({ served, others, changes, seed, mails, hooks }: Shown): Reply {
  const { world, url } = served;
  const { clock, tokens, version, requests } = world;
  const body = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Test server · pm-api</title>
<style>${WINDOW_STYLE_MARKUP}</style>
</head>
<body class="window">
<a class="skip" href="#content">Skip to the content</a>
<header><span class="brand">pm-api</span> <span class="who">${url}</span></header>
<div class="frame">
<main id="content">
<h1>Test server</h1>
<div class="bar">
<p id="now">GitLab ${version}, <time datetime="${iso(clock.now())}">${iso(clock.now()).replace("T", " ").slice(0, 19)}</time>${clock.isFrozen && " (the clock stands still)"}</p>
<form method="post" action="${url}/-/test/reset"><button>Reset to the seed</button></form>
</div>
<div id="live">
${others.length > 0 && worldsOf(others)}
${changesSection(changes, seed)}
${requestsSection(requests, tokens, url)}
${listSection("Mails", "mail", mails, mailOf)}
${listSection("Calls of webhooks", "hook", hooks, hookOf)}
${usersSection(tokens)}
</div>
</main>
</div>
<script>${SCRIPT_MARKUP}</script>
</body>
</html>
`;
  return { status: 200, headers: { ...HEADERS }, body: body.text };
}

const iso = (milliseconds: number) => new Date(milliseconds).toISOString();

const cut = (text: string) =>
  text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}\n… (${text.length} characters)` : text;

/** A text that can be copied. @param id unique on the page */
function copied(id: string, label: string, text: string): Html {
  return html`<pre id="${id}" tabindex="0">${cut(text)}</pre>
<button type="button" class="quiet copy" data-copy="${id}">${label}</button>`;
}

function worldsOf(others: readonly Served[]): Html {
  const links = others.map(
    ({ id, url }) => html`<li><a href="${url}/-/test/">${id}: ${url}</a></li>`,
  );
  return html`<section aria-labelledby="worlds"><h2 id="worlds">Other worlds</h2><ul>${links}</ul></section>`;
}

function changesSection(changes: Changes, seed: object): Html {
  const { created, updated, deleted } = changes;
  const recordOf = (verb: string) => (one: ChangedRecord, index: number) =>
    html`<details id="${verb}-${index}"><summary><code>${one.path}</code> <span>${one.type} ${verb}</span></summary>
${copied(`${verb}-${index}-text`, "Copy", JSON.stringify(one.record, null, 2))}</details>`;
  const rows = [
    ...created.slice(0, MOST).map(recordOf("created")),
    ...updated.slice(0, MOST).map(
      (one, index) =>
        html`<details id="updated-${index}"><summary><code>${one.path}</code> <span>${one.type} updated: ${Object.keys(one.changes).join(", ")}</span></summary>
${copied(`updated-${index}-text`, "Copy", JSON.stringify(one.changes, null, 2))}</details>`,
    ),
    ...deleted.slice(0, MOST).map(recordOf("deleted")),
  ];
  const total = created.length + updated.length + deleted.length;
  const expected = JSON.stringify({ only: true, ...expectationOf(changes) }, null, 2);
  return html`<section aria-labelledby="changes"><h2 id="changes">Changes since the last reset (${total})</h2>
${total === 0 && html`<p class="lead">Nothing has changed.</p>`}${rows}
${
  total > 0 &&
  html`<details id="expectation"><summary>All of it as an expectation</summary>
${copied("expectation-text", "Copy for POST changes/expect", expected)}</details>`
}${
  Object.keys(seed).length > 0 &&
  html`<details id="as-seed"><summary>What was created as a seed</summary>
${copied("as-seed-text", "Copy as a seed", JSON.stringify(seed, null, 2))}</details>`
}</section>`;
}

/** The changes as `POST changes/expect` takes them. */
function expectationOf({ created, updated, deleted }: Changes) {
  const named = ({ type, path }: ChangedRecord) => ({ type, path });
  return {
    ...(created.length > 0 && { created: created.map(named) }),
    ...(updated.length > 0 && {
      updated: updated.map(({ type, path, changes }) => ({ type, path, changes })),
    }),
    ...(deleted.length > 0 && { deleted: deleted.map(named) }),
  };
}

function requestsSection(
  requests: readonly TestRequest[],
  tokens: Readonly<Record<string, string>>,
  url: string,
): Html {
  const rows = requests
    .slice(-MOST)
    .reverse()
    .map((request) => {
      const { id, method, path, query, status, user, duration, by, answer } = request;
      const has = status === undefined ? "under way" : String(status);
      const failed = (status ?? 0) >= 400 ? "failed" : "passed";
      return html`<details id="request-${id}"><summary><code>${method} ${path}${query && `?${query}`}</code>
<span><span class="${failed}">${has}</span> ${user !== null && `@${user}`} ${by === null && status !== undefined && "· no such path"} ${by === "fault" && "· fault"} ${duration !== null && `· ${Math.round(duration)} ms`}</span></summary>
${copied(`request-${id}-curl`, "Copy as curl", curlOf(request, url, tokens))}
${answer !== null && answer.body !== null && html`<pre tabindex="0">${cut(answer.body)}</pre>`}</details>`;
    });
  return html`<section aria-labelledby="requests"><h2 id="requests">Requests (${requests.length})</h2>
${rows.length > 0 ? html`${rows}` : html`<p class="lead">There were none since the last reset.</p>`}</section>`;
}

function listSection<T>(title: string, id: string, all: readonly T[], row: (one: T) => Html): Html {
  const rows = all.slice(-MOST).reverse().map(row);
  return html`<section aria-labelledby="${id}s"><h2 id="${id}s">${title} (${all.length})</h2>
${rows.length > 0 ? html`${rows}` : html`<p class="lead">There were none since the last reset.</p>`}</section>`;
}

const mailOf = ({ id, to, subject, text }: TestMail) =>
  html`<details id="mail-${id}"><summary><code>${subject}</code> <span>to ${to}</span></summary><pre tabindex="0">${cut(text)}</pre></details>`;

const hookOf = ({ id, event, url, status, sent, payload }: TestHookCall) =>
  html`<details id="hook-${id}"><summary><code>${event}</code> <span>${url} · ${sent ? String(status ?? "no answer") : "kept"}</span></summary>
${copied(`hook-${id}-payload`, "Copy", JSON.stringify(payload, null, 2))}</details>`;

function usersSection(tokens: Readonly<Record<string, string>>): Html {
  const rows = Object.entries(tokens).map(
    ([username, token], index) =>
      html`<tr><th scope="row">@${username}</th><td>${copied(`token-${index}`, "Copy", token)}</td></tr>`,
  );
  return html`<section aria-labelledby="users"><h2 id="users">Users and tokens</h2>
<table><thead><tr><th scope="col">User</th><th scope="col">Token</th></tr></thead><tbody>${rows}</tbody></table></section>`;
}
