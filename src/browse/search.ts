import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { type Html, html } from "../pages/html.ts";
import { list } from "../pages/list.ts";
import { mountOf } from "../pages/navigation.ts";
import { SEARCH, SEARCH_PROJECT } from "../resources/search/actions.ts";
import { type Shown, sitePage, type Visit } from "./declare.ts";
import { row } from "./parts.ts";

/** What is searched for, by the names of the API, with their titles. */
const EVERYWHERE = {
  projects: "Projects",
  issues: "Issues",
  merge_requests: "Merge requests",
  milestones: "Milestones",
  users: "People",
};
const IN_PROJECT = {
  issues: "Issues",
  merge_requests: "Merge requests",
  milestones: "Milestones",
  blobs: "Code",
  commits: "Commits",
  users: "People",
};
const SCOPES = [...new Set([...Object.keys(EVERYWHERE), ...Object.keys(IN_PROJECT)])];

/** People are found by those who are signed in. */
const isOpen = ([scope]: [string, string]) => scope !== "users";

/** A row of what was found. @param project that was searched, if it was one */
function foundRow(one: Shown, project: Shown, visit: Visit): Html {
  if (one.startline !== undefined) {
    const path = one.path.split("/").map(encodeURIComponent).join("/");
    const base = `${mountOf(visit.view)}/${project.path_with_namespace}/-/blob`;
    return html`<li><div><h2><a href="${base}/${encodeURIComponent(one.ref)}/${path}">${one.path}</a></h2><pre class="log" tabindex="0">${one.data}</pre></div></li>`;
  }
  const title = one.name_with_namespace ?? one.title ?? one.name;
  const about = one.references?.full ?? one.short_id ?? (one.username && `@${one.username}`);
  return row(html`<a href="${one.web_url}">${title}</a>`, about ?? one.description);
}

/** A page that searches everything that the caller sees, or a project. */
export const searchPages: readonly Route[] = [
  sitePage({
    path: "/search",
    summary: "Search everything that the visitor can see, or a project",
    input: {
      search: param.optional(param.anyText()),
      scope: param.optional(param.choice(SCOPES)),
      project_id: param.unlessBlank(param.integer()),
    },
    shows: {},
    view: async (_, visit) => {
      const {
        search,
        scope: asked,
        project_id: id,
      } = visit.parameters as Readonly<Record<string, string | undefined>>;
      const project = id && ((await visit.ask("GET /projects/:id", { id }))?.value as Shown);
      const all: Readonly<Record<string, string>> = project ? IN_PROJECT : EVERYWHERE;
      const scopes = visit.caller ? all : Object.fromEntries(Object.entries(all).filter(isOpen));
      const scope = asked && asked in scopes ? asked : (Object.keys(scopes)[0] as string);
      const { number: page, size: per_page } = visit.page;
      const route = project ? SEARCH_PROJECT : SEARCH;
      const sent = { ...(project && { id }), search, scope, page, per_page };
      const found = search ? await visit.ask(route, sent) : undefined;
      const rows = (found?.value ?? []) as Shown[];
      const choices = Object.entries(scopes).map(
        ([name, title]) =>
          html`<option value="${name}"${name === scope && html` selected`}>${title}</option>`,
      );
      return {
        showsTexts: true,
        title: project ? `Search in ${project.name_with_namespace}` : "Search",
        body: html`<form class="filter" method="get" action="${mountOf(visit.view)}/search">
${project && html`<input type="hidden" name="project_id" value="${project.id}">`}
<label>Search <input type="search" name="search" value="${search ?? ""}"></label>
<label>For <select name="scope">${choices}</select></label>
<button class="quiet">Search</button>
</form>
${search && html`<section>${list(visit, { rows, page: visit.page, hasNext: found?.hasNext ?? false }, { path: "/search", none: "Nothing was found.", row: (one) => foundRow(one, project, visit) })}</section>`}`,
      };
    },
  }),
];
