import { instant } from "../pages/format.ts";
import { type Html, html } from "../pages/html.ts";
import { list } from "../pages/list.ts";
import { mountOf } from "../pages/navigation.ts";
import type { PageContent } from "../pages/page.ts";
import type { Shown, Visit } from "./declare.ts";

/** Somebody, with a link to their page. */
export const person = ({ name, username }: Shown, { view }: Visit): Html =>
  html`<a href="${mountOf(view)}/${username}">${name}</a>`;

/** Whoever has done something: their account may be gone. */
export const who = (author: Shown, visit: Visit): Html =>
  author ? person(author, visit) : html`Somebody`;

const tag = (isThere: unknown, text: string): Html =>
  isThere === true ? html` <span class="tag">${text}</span>` : html``;

/** An instant of an answer, as people read it. */
export const at = (text: string): Html => instant(Date.parse(text));

/** The state of something, as a badge. */
export const state = (word: string): Html =>
  html`<span class="tag ${word}">${word === "opened" ? "Open" : `${word.charAt(0).toUpperCase()}${word.slice(1)}`}</span>`;

/** A fact beside a page: left out if there is nothing. */
export const fact = (name: string, value: Html | string | undefined | null | false): Html =>
  value ? html`<dt>${name}</dt><dd>${value}</dd>` : html``;

/** The way to a page of a project. */
export function way(
  { view }: Visit,
  project: Shown,
  ...steps: readonly (readonly [title: string, path: string])[]
): Html {
  const base = `${mountOf(view)}/${project.path_with_namespace}`;
  const links = [[project.name_with_namespace, ""] as const, ...steps].map(
    ([title, path]) => html`<li><a href="${base}${path}">${title}</a></li>`,
  );
  return html`<nav class="way" aria-label="Where this is"><ol>${links}</ol></nav>`;
}

/** Discussions, the oldest first: what was written, and what was done. @param path of the page */
export async function discussed(
  discussions: readonly Shown[],
  visit: Visit,
  path: string,
): Promise<Html> {
  const notes = discussions.flatMap(({ notes: own }) => own as Shown[]);
  const texts = await visit.texts(notes.map(({ body }) => body));
  const rendered = new Map(notes.map(({ id }, index) => [id, texts[index]]));
  const shown = (
    note: Shown,
  ) => html`<article id="note_${note.id}" class="${note.system ? "done" : "said"}">
<header>${who(note.author, visit)} <a href="#note_${note.id}">${at(note.created_at)}</a>${tag(note.internal, "Internal")}${tag(note.resolved, "Resolved")}</header>
<div class="text">${rendered.get(note.id)}</div>
</article>`;
  return html`<section class="discussions" aria-label="Discussions">
${listed("discussions", discussions, visit, {
  path,
  none: "Nobody has said anything yet.",
  row: ({ notes: own }) => html`<li class="thread">${(own as Shown[]).map(shown)}</li>`,
})}
</section>`;
}

/** A page of a list of an answer. @param name that the answer has */
export const listed = (
  name: string,
  rows: readonly Shown[],
  visit: Visit,
  spec: { path: string; none: string; row: (row: Shown) => Html },
): Html =>
  list(visit, { rows: [...rows], page: visit.page, hasNext: visit.unfinished.has(name) }, spec);

/** A page about one thing that a project has: what it is, facts about it, and what belongs to it. */
export function about(
  project: Shown,
  visit: Visit,
  thing: {
    readonly kind: string;
    readonly list: string;
    readonly title: string;
    readonly path: string;
    readonly lead?: Html;
    readonly facts: readonly Html[];
    readonly body?: Html;
  },
): PageContent {
  const { kind, list, title, path, lead, facts, body } = thing;
  return {
    isOfProject: true,
    title,
    titles: [title, kind, project.name_with_namespace],
    above: way(visit, project, [kind, list], [title, path]),
    body: html`${lead && html`<p class="lead">${lead}</p>`}
<div class="beside"><div>${body}</div><aside aria-label="Facts"><dl>${facts}</dl></aside></div>`,
  };
}

/** A commit by its name. */
export const commitLink = (sha: string, project: Shown, { view }: Visit): Html =>
  html`<a href="${mountOf(view)}/${project.path_with_namespace}/-/commit/${sha}"><code>${sha.slice(0, 8)}</code></a>`;
