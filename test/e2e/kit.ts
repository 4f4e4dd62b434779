import { choices, confirmButton, field, flag, form, oneOf } from "../../src/pages/form.ts";
import { type Html, html } from "../../src/pages/html.ts";
import { page } from "../../src/pages/page.ts";

/** The states of things, each with a colour of its own. */
const STATES = ["opened", "merged", "closed", "running", "success", "failed", "pending"];

/** All parts that pages are made of, on one page: to look at them, in both colours and widths. @param base the server's address */
export function kit(base: string): {
  readonly body: string;
  readonly headers: Record<string, string>;
} {
  const visit = {
    ...{ csrfToken: "none", view: { base }, site: { pages: ["projects"], providers: [] } },
    ...{ caller: undefined, request: { path: "/kit", query: "" } },
  } as unknown as Parameters<typeof page>[0];
  const bad = ["can't be blank"];
  const options = [
    ["a", "The first"],
    ["b", "The second"],
  ] as const;
  const boxes = options.map(([value, label]) => ({
    value,
    label,
    about: "What it means",
    checked: value === "b",
  }));
  const part = (title: string, body: Html) => html`<section><h2>${title}</h2>${body}</section>`;
  const body = html`<p class="lead">What pages are made of.</p>
<div class="note good" role="status"><p>Something was done.</p></div>
<div class="note bad"><p>Something was refused.</p></div>
${part(
  "Buttons",
  html`<div class="actions"><button>Usual</button><button class="quiet">Quiet</button><button class="danger">Dangerous</button><a class="button quiet" href="/kit">A link</a>${confirmButton(visit, { label: "Delete", question: "Delete it?", action: "/kit" })}</div>`,
)}
${part(
  "Fields",
  form(
    visit,
    "/kit",
    html`${field({ name: "line", label: "A line", hint: "A hint" })}${field({ name: "wrong", label: "A wrong one", value: "x", error: bad })}${field({ name: "lines", label: "Lines", type: "lines", required: false })}${field({ name: "day", label: "A day", type: "date" })}${field({ name: "file", label: "A file", type: "file" })}${oneOf({ name: "one", label: "One of several", value: "b", options })}${choices({ name: "many", legend: "Many of several", choices: boxes, error: bad })}${flag({ name: "flag", label: "Yes or no", hint: "A hint", checked: true })}<button>Save</button>`,
  ),
)}
${part(
  "Rows",
  html`<ul class="rows"><li><div><h3>A row</h3><p>More about it</p></div><div class="actions"><button class="quiet">Edit</button></div></li><li><div><h3><a href="/kit">A row that leads somewhere</a></h3></div>${STATES.map((word) => html`<span class="tag ${word}">${word}</span>`)}</li></ul>`,
)}
${part(
  "Texts",
  html`<div class="text"><p>A text with <a href="/kit">a link</a>, <code>code</code> and <strong>weight</strong>.</p><ul><li>A list</li></ul><blockquote>What somebody has said</blockquote><table><tr><th scope="col">A</th><th scope="col">B</th></tr><tr><td>1</td><td>2</td></tr></table></div><pre class="log" tabindex="0" role="region" aria-label="A log">A log, line by line</pre><code class="secret">A secret</code>`,
)}
<article class="said"><header>Somebody</header><div class="text"><p>What they say</p></div></article>`;
  const { body: text, headers } = page(visit, { title: "The kit", showsTexts: true, body });
  return { body: String(text), headers: { ...headers } as Record<string, string> };
}
