import { form } from "../pages/form.ts";
import { instant } from "../pages/format.ts";
import { type Html, html } from "../pages/html.ts";
import { list } from "../pages/list.ts";
import { type GoesOn, LIVE, liveAttribute } from "../pages/live.ts";
import { mountOf } from "../pages/navigation.ts";
import type { PageContent } from "../pages/page.ts";
import type { Shown, Visit } from "./declare.ts";

/** Somebody, with a link to their page. */
export const person = ({ name, username }: Shown, { view }: Visit): Html =>
  html`<a href="${mountOf(view)}/${username}">${name}</a>`;

/** Whoever has done something: their account may be gone. */
export const who = (author: Shown, visit: Visit): Html =>
  author ? person(author, visit) : html`Somebody`;

/** A word beside a name, if it is so. */
export const tag = (isThere: unknown, text: string): Html =>
  isThere === true ? html` <span class="tag">${text}</span>` : html``;

/** An instant of an answer, as people read it. */
export const at = (text: string): Html => instant(Date.parse(text));

/** Names of levels, as people know them. */
export const LEVELS: Readonly<Record<number, string>> = {
  5: "Minimal access",
  10: "Guest",
  15: "Planner",
  20: "Reporter",
  30: "Developer",
  40: "Maintainer",
  50: "Owner",
};

const capital = (word: string) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;

/** A state, as people read it. */
export const wordOf = (state: string): string => (state === "opened" ? "Open" : capital(state));

/** The state of something, as a badge. */
export const state = (word: string): Html =>
  html`<span class="tag ${word}">${wordOf(word.replaceAll("_", " "))}</span>`;

/** Why what was asked for was refused, if it was. */
export const refused = ({ refusal }: Visit): Html | undefined =>
  refusal === undefined
    ? undefined
    : html`<p class="note bad" role="alert">This was refused: ${refusal.text}</p>`;

/** A button that does something at once. @param action a path below the mount */
export const button = (visit: Visit, action: string, label: string): Html =>
  form(visit, action, html`<button class="quiet">${label}</button>`);

/** A fact beside a page: left out if there is nothing. */
export const fact = (name: string, value: Html | string | undefined | null | false): Html =>
  value ? html`<dt>${name}</dt><dd>${value}</dd>` : html``;

/** A link to the form for something new: for those to whom the API offers it. */
export const newButton = (
  place: Shown,
  visit: Visit,
  { path, what, route }: { path: string; what: string; route: string },
): Html | false =>
  visit.caller !== undefined &&
  visit.offers(route) &&
  html`<p><a class="button" href="${mountOf(visit.view)}${placeOf(place).address}${path}/new">New ${what}</a></p>`;

/** A list of facts of one kind: left out if there are none. */
export const facts = (name: string, values: readonly Html[]): Html =>
  fact(name, values.length > 0 && html`<ul>${values.map((value) => html`<li>${value}</li>`)}</ul>`);

/** A text that has been rendered: left out if it is empty. */
export const text = (rendered: Html | undefined): Html | undefined =>
  rendered && rendered.text !== "" ? html`<section class="text">${rendered}</section>` : undefined;

/** What there are pages of in a group or project: for those to whom the API lists it. */
type Item = readonly [title: string, path: string, ...routes: string[]];

const OF_PROJECT: readonly Item[] = [
  ["Activity", "/activity", "GET /projects/:id/events"],
  ["Issues", "/-/issues", "GET /projects/:id/issues"],
  ["Merge requests", "/-/merge_requests", "GET /projects/:id/merge_requests"],
  ["Commits", "/-/commits", "GET /projects/:id/repository/commits"],
  ["Branches", "/-/branches", "GET /projects/:id/repository/branches"],
  ["Tags", "/-/tags", "GET /projects/:id/repository/tags"],
  ["Releases", "/-/releases", "GET /projects/:id/releases"],
  ["Pipelines", "/-/pipelines", "GET /projects/:id/pipelines"],
  ["Schedules", "/-/pipeline_schedules", "GET /projects/:id/pipeline_schedules"],
  ["Environments", "/-/environments", "GET /projects/:id/environments"],
  // Those who may read the code: the role that the lists of these need.
  ["Packages", "/-/packages", "GET /projects/:id/repository/tree"],
  [
    "Dependencies",
    "/-/dependencies",
    "GET /projects/:id/repository/tree",
    "GET /projects/:id/dependencies",
  ],
  ["Boards", "/-/boards", "GET /projects/:id/boards"],
  ["Milestones", "/-/milestones", "GET /projects/:id/milestones"],
  ["Labels", "/-/labels", "GET /projects/:id/labels"],
  ["Wiki", "/-/wikis", "GET /projects/:id/wikis"],
  ["Snippets", "/-/snippets", "GET /projects/:id/snippets"],
  ["Members", "/-/project_members", "GET /projects/:id/members/all"],
  ["Settings", "/-/edit", "GET /projects/:id/hooks"],
];

const OF_GROUP: readonly Item[] = [
  ["Activity", "/-/activity", "GET /groups/:id/projects"],
  ["Issues", "/-/issues", "GET /groups/:id/issues"],
  ["Merge requests", "/-/merge_requests", "GET /groups/:id/merge_requests"],
  ["Epics", "/-/epics", "GET /groups/:id/epics"],
  ["Iterations", "/-/iterations", "GET /groups/:id/iterations"],
  ["Boards", "/-/boards", "GET /groups/:id/boards"],
  ["Milestones", "/-/milestones", "GET /groups/:id/milestones"],
  ["Labels", "/-/labels", "GET /groups/:id/labels"],
  ["Wiki", "/-/wikis", "GET /groups/:id/wikis"],
  ["Members", "/-/group_members", "GET /groups/:id/members/all"],
  ["Settings", "/-/edit", "GET /groups/:id/variables"],
];

/** The pages of settings: for those to whom the list of settings is there. */
const SETTINGS_OF_PROJECT: readonly Item[] = [
  ["General", "/-/edit", "GET /projects/:id/hooks"],
  ["Repository", "/-/settings/repository", "GET /projects/:id/deploy_tokens"],
  ["CI/CD", "/-/settings/ci_cd", "GET /projects/:id/triggers"],
  ["Webhooks", "/-/hooks", "GET /projects/:id/hooks"],
  ["Access tokens", "/-/settings/access_tokens", "GET /projects/:id/hooks"],
];
const SETTINGS_OF_GROUP: readonly Item[] = [
  ["General", "/-/edit", "GET /groups/:id/variables"],
  ["CI/CD", "/-/settings/ci_cd", "GET /groups/:id/variables"],
  ["Webhooks", "/-/hooks", "GET /groups/:id/hooks"],
  ["SCIM", "/-/settings/scim", "GET /groups/:id/scim_tokens"],
  ["Access tokens", "/-/settings/access_tokens", "GET /groups/:id/variables"],
];

/** The group or project of a page: its name, its address below the mount, and what it has pages of. */
export function placeOf(
  place: Shown,
): Readonly<Record<"name" | "address", string>> &
  Readonly<Record<"items" | "settings", readonly Item[]>> {
  return place.path_with_namespace === undefined
    ? {
        name: place.full_name,
        address: `/groups/${place.full_path}`,
        ...{ items: OF_GROUP, settings: SETTINGS_OF_GROUP },
      }
    : {
        name: place.name_with_namespace,
        address: `/${place.path_with_namespace}`,
        ...{ items: OF_PROJECT, settings: SETTINGS_OF_PROJECT },
      };
}

/** A step of the way to a page. */
export type Step = readonly [title: string, path: string];

/** The way to a page of a group or project, and what else that has. */
function way(visit: Visit, place: Shown, steps: readonly Step[]): Html {
  const { name, address, items, settings } = placeOf(place);
  const base = mountOf(visit.view) + address;
  const links = [[name, ""] as const, ...steps].map(
    ([title, path]) => html`<li><a href="${base}${path}">${title}</a></li>`,
  );
  const among = (label: string, all: readonly Item[], step: Step | undefined) => {
    const there = all.filter(([, , ...routes]) => routes.every(visit.offers));
    return itemsNav(
      label,
      there.map(([title, path]) => [base + path, title]),
      step && base + step[1],
      step === steps.at(-1),
    );
  };
  const [first, second = first] = steps;
  return html`<nav class="way" aria-label="Where this is"><ol>${links}</ol></nav>
${among(name, items, first)}${first?.[1] === "/-/edit" && among("Settings", settings, second)}`;
}

/** Links to pages that belong together. @param isPage whether the current one is the page itself, and not one below it */
export function itemsNav(
  label: string,
  items: readonly (readonly [path: string, title: string])[],
  current: string | undefined,
  isPage = true,
): Html {
  const links = items.map(
    ([path, title]) =>
      html`<li><a href="${path}"${path === current && html` aria-current="${isPage ? "page" : "true"}"`}>${title}</a></li>`,
  );
  return html`<nav class="items" aria-label="${label}"><ul>${links}</ul></nav>`;
}

/** A page of a group or project. @param titles what precedes the name of the place in the window's title */
export function pageIn(
  place: Shown,
  visit: Visit,
  content: Pick<PageContent, "title" | "titles" | "script" | "body"> & {
    readonly steps: readonly Step[];
  },
): PageContent {
  const { title, titles = [title], script, steps, body } = content;
  const { name } = placeOf(place);
  return {
    ...{ showsTexts: true, script, title },
    titles: [...titles.filter((one) => one !== name), name],
    above: way(visit, place, steps),
    body,
  };
}

/**
 * A page of a list of the API that a page shows beside others: each has its own number in the address.
 *
 * @returns nothing if the visitor may not see it
 */
export async function asked(
  visit: Visit,
  route: string,
  { parameter, with: more }: { parameter: string; with?: object | undefined },
): Promise<{ rows: Shown[]; page: Visit["page"]; hasNext: boolean } | undefined> {
  const text = new URLSearchParams(visit.request.query).get(parameter) ?? "1";
  const number = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 1;
  const found = await visit.ask(route, { page: number, per_page: visit.page.size, ...more });
  return (
    found && {
      rows: found.value as Shown[],
      page: { ...visit.page, number },
      hasNext: found.hasNext,
    }
  );
}

/** How a list of an answer is shown. */
interface Listing {
  /** The path of its page, below the mount. */
  readonly path: string;
  /** What an empty list says. */
  readonly none: string;
  readonly row: (row: Shown) => Html;
}

/** A page of a list of an answer. @param name that the answer has */
export const listed = (name: string, rows: readonly Shown[], visit: Visit, spec: Listing): Html =>
  list(visit, { rows: [...rows], page: visit.page, hasNext: visit.unfinished.has(name) }, spec);

/** A row of a list: what it is, more about it, and what is at its end. */
export const row = (name: Html, more?: Html | string | null, end?: Html | string): Html =>
  html`<li><div><h2>${name}</h2>${more && html`<p>${more}</p>`}</div>${end && html`<div>${end}</div>`}</li>`;

/** A page that is a list of what a group or project has. @param name that the answer has */
export function listPage(
  place: Shown,
  visit: Visit,
  {
    kind,
    path,
    name,
    rows,
    filter,
    ...spec
  }: Omit<Listing, "path"> & {
    readonly kind: string;
    /** Below the address of the place. */
    readonly path: string;
    readonly name: string;
    readonly rows: readonly Shown[];
    /** What chooses among the rows. */
    readonly filter?: Html;
  },
): PageContent {
  const own = placeOf(place).address + path;
  const body = html`${filter}<section>${listed(name, rows, visit, { ...spec, path: own })}</section>`;
  return pageIn(place, visit, { title: kind, steps: [[kind, path]], body });
}

/** A form that chooses what a list shows: a word to search for, and one of several states. */
export function filterOf(
  visit: Visit,
  path: string,
  {
    states,
    wanted = states?.[0],
  }: { states?: readonly string[] | undefined; wanted?: string | undefined } = {},
): Html {
  const query = new URLSearchParams(visit.request.query);
  const kept = [...query].filter(([key]) => !["state", "search", "page"].includes(key));
  const choices = states?.map(
    (choice) =>
      html`<option value="${choice}"${choice === wanted && html` selected`}>${wordOf(choice)}</option>`,
  );
  return html`<form class="filter" method="get" action="${mountOf(visit.view)}${path}">
${kept.map(([key, value]) => html`<input type="hidden" name="${key}" value="${value}">`)}
<label>Search <input type="search" name="search" value="${query.get("search") ?? ""}"></label>
${choices && html`<label>State <select name="state">${choices}</select></label>`}
<button class="quiet">Show</button>
</form>`;
}

/** A page about one thing that a group or project has: what it is, facts about it, and what belongs to it. */
export function about(
  place: Shown,
  visit: Visit,
  thing: {
    /** The title of the list it is in, and its path. */
    readonly of: Step;
    /** Pages between that list and this one. */
    readonly within?: readonly Step[];
    readonly title: string;
    /** What the way calls it. Default: its title. */
    readonly name?: string;
    /** What its window is called. Default: its title. */
    readonly titled?: string;
    readonly path: string;
    readonly lead?: Html | undefined;
    readonly facts: readonly Html[];
    /** What else is beside it. */
    readonly aside?: Html | undefined;
    readonly body?: Html | undefined;
    readonly script?: PageContent["script"];
    /** Whether that shows what goes on, or what may. Default: what goes on. */
    readonly goesOn?: GoesOn;
  },
): PageContent {
  const { of, within = [], title, name = title, titled = title, path, lead, aside, body } = thing;
  const known = thing.facts.filter((one) => one.text !== "");
  return pageIn(place, visit, {
    ...{ title, script: thing.script },
    titles: [titled, of[0]],
    steps: [of, ...within, [name, path]],
    body: html`${lead && html`<p class="lead">${lead}</p>`}
<div class="beside"><div>${body}</div>${known.length > 0 && html`<aside id="facts" aria-label="Facts"${thing.script === LIVE && liveAttribute(thing.goesOn ?? true)}><dl>${known}</dl></aside>`}${aside}</div>`,
  });
}

/** A commit by its name. */
export const commitLink = (sha: string, project: Shown, { view }: Visit): Html =>
  html`<a href="${mountOf(view)}/${project.path_with_namespace}/-/commit/${sha}"><code>${sha.slice(0, 8)}</code></a>`;

/** The colours and names of labels, of several things at once: each as the things stand. */
export const labelsOf = (things: readonly Shown[], visit: Visit): Promise<Html[]> =>
  visit.texts(
    things.map(({ labels }) => (labels as string[]).map((name) => `~"${name}"`).join(" ")),
  );
