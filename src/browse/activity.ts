import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { day } from "../pages/format.ts";
import { type Html, html } from "../pages/html.ts";
import { list } from "../pages/list.ts";
import { mountOf } from "../pages/navigation.ts";
import {
  CONTRIBUTIONS,
  GROUP_ACTIVITY,
  OWN_ACTIVITY,
  USER_ACTIVITY,
} from "../resources/events/actions.ts";
import { groupPage, type Showing, type Shown, sitePage, type Visit } from "./declare.ts";
import { at, itemsNav, pageIn, person, placeOf } from "./parts.ts";

/** What `event_filter` chooses, as in GitLab's addresses. */
const FILTERS: Readonly<Record<string, readonly [title: string, asks: object]>> = {
  all: ["All", {}],
  push: ["Pushes", { action: "pushed" }],
  merge_requests: ["Merge requests", { target_type: "merge_request" }],
  issue: ["Issues", { target_type: "issue" }],
  comments: ["Comments", { action: "commented" }],
  team: ["Team", { action: "joined" }],
};
const input = { event_filter: param.optional(param.choice(Object.keys(FILTERS))) };

const wanted = ({ parameters }: Visit) => {
  const given = String(parameters["event_filter"]);
  return given in FILTERS ? given : "all";
};
const asked = (visit: Visit): object => (FILTERS[wanted(visit)] as (typeof FILTERS)[string])[1];

/** Where what an event is about has its page, below the address of its project. */
function pathOf({
  target_type: type,
  target_id: id,
  target_iid: iid,
  note,
  push_data: push,
}: Shown) {
  if (push) {
    const kept = push.action === "removed" ? undefined : push.ref;
    return kept && `/-/commits/${kept.split("/").map(encodeURIComponent).join("/")}`;
  }
  if (note) {
    const kinds: Readonly<Record<string, string>> = {
      Issue: `issues/${note.noteable_iid}`,
      MergeRequest: `merge_requests/${note.noteable_iid}`,
      Snippet: `snippets/${note.noteable_id}`,
    };
    const kind = kinds[note.noteable_type];
    return kind && `/-/${kind}#note_${note.id}`;
  }
  const kinds: Readonly<Record<string, string>> = {
    Issue: `/-/issues/${iid}`,
    MergeRequest: `/-/merge_requests/${iid}`,
    Milestone: `/-/milestones/${iid}`,
    Snippet: `/-/snippets/${id}`,
    Project: "",
  };
  return kinds[type];
}

const SIGNS: Readonly<Record<string, string>> = { Issue: "#", MergeRequest: "!", Milestone: "%" };

/** What an event is about, in words. */
function about({
  target_type: type,
  target_iid: iid,
  target_title: title,
  note,
  push_data: push,
}: Shown) {
  if (push) return `${push.ref_type} ${push.ref}`;
  if (note) {
    const sign = SIGNS[note.noteable_type];
    return sign ? `${sign}${note.noteable_iid}` : String(note.noteable_type).toLowerCase();
  }
  const sign = SIGNS[type];
  return sign ? `${sign}${iid} ${title ?? ""}` : (title ?? "");
}

/** An event as a row. @param of the project whose page it is, if it is one */
function eventRow(event: Shown, visit: Visit, of?: Shown): Html {
  const project = event.project_path ?? of?.path_with_namespace;
  const base = `${mountOf(visit.view)}/${project}`;
  const path = event.action_name === "destroyed" ? undefined : pathOf(event);
  const text = about(event).trim();
  const what =
    path === undefined || text === "" ? html`${text}` : html`<a href="${base}${path}">${text}</a>`;
  const more = event.push_data?.commit_title ?? event.note?.body?.slice(0, 200);
  const place = of === undefined ? html` · <a href="${base}">${project}</a>` : html``;
  return html`<li><div><p>${person(event.author, visit)} ${event.action_name} ${what}</p>${more && html`<p>${more}</p>`}<p>${at(event.created_at)}${place}</p></div></li>`;
}

/** Links that choose what is shown. @param path of the page, below the mount */
const choices = (visit: Visit, path: string): Html => {
  const base = mountOf(visit.view) + path;
  const items = Object.entries(FILTERS).map(
    ([name, [title]]) => [name === "all" ? base : `${base}?event_filter=${name}`, title] as const,
  );
  const current = wanted(visit);
  const index = Object.keys(FILTERS).indexOf(current);
  return itemsNav("What is shown", items, items[index]?.[0]);
};

/** Events that a route lists. @param of the project whose they are, if it is one */
async function eventsOf(
  visit: Visit,
  route: string | Route,
  { of, ...parameters }: { readonly of?: Shown; readonly user_id?: number },
  path: string,
): Promise<Html> {
  const { number: page, size: per_page } = visit.page;
  const found = await visit.ask(route, { ...parameters, ...asked(visit), page, per_page });
  const rows = { rows: (found?.value ?? []) as Shown[], page: visit.page };
  return html`${choices(visit, path)}<section>${list(visit, { ...rows, hasNext: found?.hasNext ?? false }, { path, none: NONE, row: (one) => eventRow(one, visit, of) })}</section>`;
}

const NONE = "Nothing has happened yet.";
const CELL = 13;

/** From how many on a day is shown in which colour: as GitLab's. */
const LEVELS = [1, 10, 20, 30] as const;

/** How much somebody did on each day of the last year, as a picture and as a table. */
export async function calendarOf(visit: Visit, user: Shown): Promise<Html | false> {
  const asked = await visit.ask(CONTRIBUTIONS, { user_id: user.id });
  const known = asked?.value as Shown;
  if (!known) return false;
  const counts = new Map<string, number>(known.counts);
  const last = Date.parse(known.until);
  const first = last - (known.days - 1) * DAY;
  const start = first - new Date(first).getUTCDay() * DAY;
  const squares: string[] = ["", "", "", "", ""];
  for (let at = first; at <= last; at += DAY) {
    const place = Math.round((at - start) / DAY);
    const count = counts.get(new Date(at).toISOString().slice(0, 10)) ?? 0;
    const level = LEVELS.filter((from) => count >= from).length;
    squares[level] += `M${Math.floor(place / 7) * CELL} ${(place % 7) * CELL}h11v11h-11z`;
  }
  const months = new Map<string, number>();
  for (const [one, count] of counts) {
    const month = one.slice(0, 7);
    months.set(month, (months.get(month) ?? 0) + count);
  }
  const total = [...counts.values()].reduce((sum, one) => sum + one, 0);
  const most = [...counts].reduce((best, one) => (one[1] > best[1] ? one : best), ["", 0]);
  const said = `${known.isPart ? "More than " : ""}${total.toLocaleString("en")} contribution${total === 1 ? "" : "s"} in the last year`;
  const rows = [...months].map(
    ([month, count]) =>
      html`<tr><th scope="row">${MONTH.format(Date.parse(`${month}-01`))}</th><td>${count}</td></tr>`,
  );
  const weeks = Math.ceil(((last - start) / DAY + 1) / 7);
  return html`<section><h2>${said}</h2>
<svg class="calendar" viewBox="0 0 ${weeks * CELL} ${7 * CELL}" role="img" aria-label="A square for each day of the last year, the darker the more was done">${squares.map((path, level) => html`<path class="level${level}" d="${path}"/>`)}</svg>
${total > 0 && html`<p>Most on ${day(most[0])}: ${most[1]}</p><details><summary>By month</summary><table><thead><tr><th scope="col">Month</th><th scope="col">Contributions</th></tr></thead><tbody>${rows}</tbody></table></details>`}
<p><a href="${mountOf(visit.view)}/users/${user.username}/activity">Activity</a></p></section>`;
}

const DAY = 86_400_000;
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });

/** What happened in a project. Its address may be that of a project called so, which `namespacePage` finds out. */
export const projectActivity: Showing<"project"> = {
  shows: { project: "GET /projects/:id" },
  view: async ({ project }, visit) =>
    pageIn(project, visit, {
      ...{ title: "Activity", steps: [["Activity", "/activity"]] },
      body: await eventsOf(
        visit,
        "GET /projects/:id/events",
        { of: project },
        `${placeOf(project).address}/activity`,
      ),
    }),
};

/** What happened: in a group, and by whom. */
export const activityPages: readonly Route[] = [
  groupPage({
    ...{ path: "/-/activity", summary: "Show what happened in the projects of a group", input },
    shows: { group: "GET /groups/:id" },
    view: async ({ group }, visit) =>
      pageIn(group, visit, {
        ...{ title: "Activity", steps: [["Activity", "/-/activity"]] },
        body: await eventsOf(visit, GROUP_ACTIVITY, {}, `${placeOf(group).address}/-/activity`),
      }),
  }),
  sitePage({
    ...{ path: "/dashboard/activity", summary: "Show what happened in the caller's projects" },
    ...{ access: "user", input, shows: {} },
    view: async (_, visit) => ({
      ...{ showsTexts: true, title: "Activity" },
      body: await eventsOf(visit, OWN_ACTIVITY, {}, "/dashboard/activity"),
    }),
  }),
  sitePage({
    ...{ path: "/users/:username/activity", summary: "Show what a user did" },
    input: { ...input, username: param.anyText({ max: 255 }) },
    ...{ shows: { users: "GET /users" }, one: "users" },
    view: async ({ users }, visit) => {
      const { id: user_id, name, username } = users[0];
      const path = `/users/${username}/activity`;
      return {
        ...{ showsTexts: true, title: `Activity of ${name}` },
        above: html`<nav class="way" aria-label="Where this is"><ol><li><a href="${mountOf(visit.view)}/${username}">@${username}</a></li></ol></nav>`,
        body: await eventsOf(visit, USER_ACTIVITY, { user_id }, path),
      };
    },
  }),
];
