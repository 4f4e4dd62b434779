import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { day } from "../pages/format.ts";
import { type Html, html } from "../pages/html.ts";
import type { PageContent } from "../pages/page.ts";
import { pageOf, type Shown, type Visit } from "./declare.ts";
import { at, discussed, fact, person, state, way, who } from "./parts.ts";

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
${await discussed(discussions, visit)}
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

export const issuablePages: readonly Route[] = [
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
        ],
      }),
  }),
];
