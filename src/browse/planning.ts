import { notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { day } from "../pages/format.ts";
import { type Html, html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { groupPage, projectPage, type Showing, type Shown, type Visit } from "./declare.ts";
import { listOf, type PlaceKind } from "./lists.ts";
import {
  about,
  fact,
  filterOf,
  listed,
  listPage,
  newButton,
  placeOf,
  refused,
  row,
  state,
  text,
} from "./parts.ts";
import { labelForms, milestoneButtons, milestoneForms } from "./planning-forms.ts";

/** What groups have as well as projects. */
export const PLACES = [
  { page: projectPage, of: "project", at: "/projects/:id" },
  { page: groupPage, of: "group", at: "/groups/:id" },
] as const;

/** The address of the group or project of a page, with the mount's. */
export const baseOf = (place: Shown, { view }: Visit) => mountOf(view) + placeOf(place).address;

/** From when to when something lasts, as far as that is known. */
const time = ({ start_date: start, due_date: due }: Shown): Html =>
  html`${start && html`from ${day(start)} `}${due && html`until ${day(due)}`}`;

/** A milestone of a group or project. */
const milestoneShown = (of: PlaceKind): Showing<"place" | "found"> => ({
  shows: { place: `GET /${of}s/:id`, found: [`GET /${of}s/:id/milestones`, { iids: "iid" }] },
  one: "found",
  view: async ({ place, found }, visit) => {
    const [milestone] = found;
    const [description] = await visit.texts([milestone.description]);
    const filter = `milestone_title=${encodeURIComponent(milestone.title)}&state=all`;
    const base = `${baseOf(place, visit)}/-`;
    return about(place, visit, {
      of: ["Milestones", "/-/milestones"],
      title: milestone.title,
      path: `/-/milestones/${milestone.iid}`,
      lead: html`${state(milestone.state)}${milestone.expired && html` <span class="tag">Past due</span>`}`,
      facts: [
        fact("Start", milestone.start_date && day(milestone.start_date)),
        fact("Due", milestone.due_date && day(milestone.due_date)),
      ],
      body: html`${refused(visit)}${milestoneButtons(place, milestone, visit, of)}${text(description)}
<section><p><a href="${base}/issues?${filter}">Its issues</a></p><p><a href="${base}/merge_requests?${filter}">Its merge requests</a></p></section>`,
    });
  },
});

/** The pages of milestones: their addresses have the numbers that they have in their group or project. */
const milestones: readonly Route[] = PLACES.flatMap(({ page, of }) => [
  listOf(of, {
    ...{ kind: "Milestones", path: "/-/milestones", list: "/milestones", hasSearch: true },
    ...{ makes: "milestone", states: ["active", "closed"], none: "No milestones fit." },
    row: (one) => row(html`<a href="${one.web_url}">${one.title}</a>`, time(one), state(one.state)),
  }),
  page({
    ...milestoneShown(of),
    path: "/-/milestones/:iid",
    summary: `Show a milestone of a ${of}`,
    input: { iid: param.recordId() },
  }),
  ...milestoneForms(of, milestoneShown(of)),
]);

/** The labels of a group or project. */
const labelsShown = (of: PlaceKind): Showing<"place" | "rows"> => ({
  shows: { place: `GET /${of}s/:id`, rows: `GET /${of}s/:id/labels` },
  view: async ({ place, rows }, visit) => {
    const shown = await visit.texts(rows.map(({ name }: Shown) => `~"${name}"`));
    const path = "/-/labels";
    const mayChange = visit.offers(`PUT /${of}s/:id/labels/:label_id`);
    const edit = ({ id, name }: Shown) =>
      html`<a class="button quiet" href="${baseOf(place, visit)}${path}/${id}/edit">Edit<span class="unseen"> ${name}</span></a>`;
    return listPage(place, visit, {
      ...{ kind: "Labels", path, name: "rows", rows, none: "No labels fit." },
      filter: html`${refused(visit)}${filterOf(visit, placeOf(place).address + path)}${newButton(place, visit, { path, what: "label", route: `POST /${of}s/:id/labels` })}`,
      row: (one) =>
        html`<li><div>${shown[rows.indexOf(one)]} ${one.description}</div>${mayChange && (of === "group" || one.is_project_label) && edit(one)}</li>`,
    });
  },
});

const labels: readonly Route[] = PLACES.flatMap(({ page, of }) => [
  page({
    ...labelsShown(of),
    path: "/-/labels",
    summary: `Show the labels of a ${of}`,
    input: { search: param.optional(param.anyText()) },
  }),
  ...labelForms(of, labelsShown(of)),
]);

const ITERATIONS = "GET /groups/:id/iterations";

/** What an iteration is called: most have no title. */
const nameOf = ({ title, iid }: Shown): string => title ?? `Iteration ${iid}`;

const iterations: readonly Route[] = [
  listOf("group", {
    ...{ kind: "Iterations", path: "/-/iterations", list: "/iterations" },
    none: "There are no iterations.",
    row: (one) => row(html`<a href="${one.web_url}">${nameOf(one)}</a>`, time(one)),
  }),
  groupPage({
    path: "/-/iterations/:iteration_id",
    summary: "Show an iteration with its issues",
    input: { iteration_id: param.recordId() },
    shows: { place: "GET /groups/:id", issues: "GET /groups/:id/issues" },
    defaults: { state: "all" },
    view: async ({ place, issues }, visit) => {
      const id = visit.parameters["iteration_id"];
      // The API has no iteration by its id: the issues in it have it, and so has the list.
      const known = issues[0]
        ? [issues[0].iteration]
        : ((await visit.ask(ITERATIONS, { per_page: 100 }))?.value as readonly Shown[] | undefined);
      const found = known?.find((one) => one?.id === id);
      if (!found) throw notFound();
      const path = `/-/iterations/${id}`;
      return about(place, visit, {
        of: ["Iterations", "/-/iterations"],
        title: nameOf(found),
        path,
        lead: time(found),
        facts: [],
        body: html`<section><h2>Issues</h2>${listed("issues", issues, visit, {
          path: placeOf(place).address + path,
          none: "There are no issues.",
          row: (one) =>
            row(
              html`<a href="${one.web_url}">${one.title}</a>`,
              one.references.relative,
              state(one.state),
            ),
        })}</section>`,
      });
    },
  }),
];

/** Pages of milestones, labels and iterations. */
export const planningPages: readonly Route[] = [...milestones, ...labels, ...iterations];
