import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { day } from "../pages/format.ts";
import { type Html, html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import type { PageContent } from "../pages/page.ts";
import { pageOf, type Shown, type Visit } from "./declare.ts";
import { at, discussed, fact, listed, person, state, way, who } from "./parts.ts";

/** What is on the page of an issue or a merge request, besides what is special to them. */
async function issuablePage(
  { project, found, discussions }: { project: Shown; found: Shown; discussions: Shown },
  visit: Visit,
  { kind, list, more }: { kind: string; list: string; more: readonly Html[] },
): Promise<PageContent> {
  const { title, author, labels, milestone, assignees, reviewers = [] } = found;
  const people = (some: readonly Shown[]) =>
    some.length > 0 && html`<ul>${some.map((one) => html`<li>${person(one, visit)}</li>`)}</ul>`;
  const named = (labels as string[]).map((name) => `~"${name}"`).join(" ");
  const [description, labelled] = await visit.texts([found.description, named]);
  const reference = found.references.short;
  return {
    isOfProject: true,
    title,
    titles: [`${title} (${reference})`, kind, project.name_with_namespace],
    above: way(visit, project, [kind, list], [reference, `${list}/${found.iid}`]),
    body: html`<p class="lead">${state(found.state)} ${who(author, visit)} opened it ${at(found.created_at)}</p>
<div class="beside">
<div>
<section class="text" aria-label="Description">${description && description.text !== "" ? description : html`<p class="lead">No description.</p>`}</section>
${await discussed(discussions, visit, `/${project.path_with_namespace}${list}/${found.iid}`)}
</div>
<aside aria-label="Facts"><dl>
${fact("Assignees", people(assignees))}
${fact("Reviewers", people(reviewers))}
${fact("Labels", labels.length > 0 && labelled)}
${fact("Milestone", milestone && html`<a href="${milestone.web_url}">${milestone.title}</a>`)}
${more}
</dl></aside>
</div>`,
  };
}

/** The filters of a list that its address has, by GitLab's names for pages, and those that the API has for them. */
const filters = {
  state: param.optional(param.choice(["opened", "closed", "merged", "all"])),
  search: param.optional(param.anyText()),
  author_username: param.optional(param.anyText()),
  assignee_username: param.optional(param.anyText()),
  label_name: param.optional(param.arrayOf(param.anyText())),
  milestone_title: param.optional(param.anyText()),
  scope: param.optional(param.choice(["all"])),
};
const ALL = { labels: "label_name", milestone: "milestone_title" };

const STATES = {
  issues: ["opened", "closed", "all"],
  merge_requests: ["opened", "merged", "closed", "all"],
};

/** A list of issues or merge requests, with the filters of its address. */
async function listPage(
  { project, found }: { project: Shown; found: readonly Shown[] },
  visit: Visit,
  { kind, name }: { kind: string; name: keyof typeof STATES },
): Promise<PageContent> {
  const path = `/${project.path_with_namespace}/-/${name}`;
  const query = new URLSearchParams(visit.request.query);
  const wanted = query.get("state") ?? "opened";
  const named = found.map(({ labels }) => labels.map((label: string) => `~"${label}"`).join(" "));
  const labels = await visit.texts(named);
  const row = (one: Shown) => html`<li><div>
<h3><a href="${one.web_url}">${one.title}</a></h3>
<p>${one.references.short} · ${who(one.author, visit)} opened it ${at(one.created_at)}</p>
${labels[found.indexOf(one)]}
</div><div>${state(one.state)}</div></li>`;
  const choices = STATES[name].map(
    (choice) =>
      html`<option value="${choice}"${choice === wanted && html` selected`}>${choice === "opened" ? "Open" : `${choice.charAt(0).toUpperCase()}${choice.slice(1)}`}</option>`,
  );
  const kept = [...query].filter(([key]) => !["state", "search", "page"].includes(key));
  return {
    isOfProject: true,
    title: kind,
    titles: [kind, project.name_with_namespace],
    above: way(visit, project, [kind, `/-/${name}`]),
    body: html`<form class="filter" method="get" action="${mountOf(visit.view)}${path}">
${kept.map(([key, value]) => html`<input type="hidden" name="${key}" value="${value}">`)}
<label>Search <input type="search" name="search" value="${query.get("search") ?? ""}"></label>
<label>State <select name="state">${choices}</select></label>
<button class="quiet">Show</button>
</form>
<section>${listed("found", found, visit, { path, none: `No ${kind.toLowerCase()} fit.`, row })}</section>`,
  };
}

export const issuablePages: readonly Route[] = [
  pageOf({
    path: "/-/issues",
    summary: "List the issues of a project",
    input: filters,
    shows: { project: "GET /projects/:id", found: ["GET /projects/:id/issues", ALL] },
    defaults: { state: "opened" },
    view: (shown, visit) => listPage(shown, visit, { kind: "Issues", name: "issues" }),
  }),
  pageOf({
    path: "/-/merge_requests",
    summary: "List the merge requests of a project",
    input: filters,
    shows: { project: "GET /projects/:id", found: ["GET /projects/:id/merge_requests", ALL] },
    defaults: { state: "opened" },
    view: (shown, visit) =>
      listPage(shown, visit, { kind: "Merge requests", name: "merge_requests" }),
  }),
  pageOf({
    path: "/-/issues/:issue_iid",
    summary: "Show an issue",
    input: { issue_iid: param.recordId() },
    shows: {
      project: "GET /projects/:id",
      found: "GET /projects/:id/issues/:issue_iid",
      discussions: [
        "GET /projects/:id/issues/:noteable_id/discussions",
        { noteable_id: "issue_iid" },
      ],
    },
    view: (shown, visit) =>
      issuablePage(shown, visit, {
        kind: "Issues",
        list: "/-/issues",
        more: [
          fact("Due", shown.found.due_date && day(shown.found.due_date)),
          fact("Weight", shown.found.weight !== null && String(shown.found.weight)),
        ],
      }),
  }),
  pageOf({
    path: "/-/merge_requests/:merge_request_iid",
    summary: "Show a merge request",
    input: { merge_request_iid: param.recordId() },
    shows: {
      project: "GET /projects/:id",
      found: "GET /projects/:id/merge_requests/:merge_request_iid",
      discussions: [
        "GET /projects/:id/merge_requests/:noteable_id/discussions",
        { noteable_id: "merge_request_iid" },
      ],
    },
    view: (shown, visit) =>
      issuablePage(shown, visit, {
        kind: "Merge requests",
        list: "/-/merge_requests",
        more: [
          fact("From", html`<code>${shown.found.source_branch}</code>`),
          fact("Into", html`<code>${shown.found.target_branch}</code>`),
          fact(
            "Changes",
            html`<a href="${shown.found.web_url}/diffs">${shown.found.changes_count ?? "None"}</a>`,
          ),
        ],
      }),
  }),
];
