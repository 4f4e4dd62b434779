import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { field, form } from "../pages/form.ts";
import { day } from "../pages/format.ts";
import { type Html, html } from "../pages/html.ts";
import { type GoesOn, LIVE, live } from "../pages/live.ts";
import { mountOf } from "../pages/navigation.ts";
import type { PageContent } from "../pages/page.ts";
import {
  actionIn,
  groupPage,
  previewButton,
  projectAction,
  projectPage,
  type Showing,
  type Shown,
  sitePage,
  type Visit,
} from "./declare.ts";
import {
  type Discussed,
  discussed,
  discussionActions,
  mayWrite,
  reacting,
  reactions,
  todoButton,
  typedIn,
} from "./discussions.ts";
import { preview } from "./forms.ts";
import { issuableForms, mayChange } from "./issuable-forms.ts";
import {
  about,
  at,
  button,
  fact,
  facts,
  filterOf,
  labelsOf,
  listed,
  listPage,
  newButton,
  person,
  placeOf,
  refused,
  row,
  state,
  tag,
  who,
} from "./parts.ts";
import { reportOf } from "./review.ts";
import { ticking, toggled, withTasks } from "./tasks.ts";

const KINDS = {
  issues: { kind: "Issues", states: ["opened", "closed", "all"] },
  merge_requests: { kind: "Merge requests", states: ["opened", "merged", "closed", "all"] },
  epics: { kind: "Epics", states: ["opened", "closed", "all"] },
} as const;
type Kind = keyof typeof KINDS;

/** What can be made in a project. */
const NEW = { issues: "issue", merge_requests: "merge request" } as const;

/** What is on the page of an issue, a merge request or an epic, besides what is special to them. */
async function issuablePage(
  { place, found, discussions }: { place: Shown; found: Shown; discussions: Shown },
  visit: Visit,
  {
    name,
    more,
    actions,
    goesOn = false,
  }: { name: Kind; more: readonly Html[]; actions?: Html; goesOn?: GoesOn },
): Promise<PageContent> {
  const { title, author, labels, milestone, assignees = [], reviewers = [] } = found;
  const people = (some: readonly Shown[]) => some.map((one) => person(one, visit));
  const [[description], [labelled]] = [
    await visit.texts([found.description]),
    await labelsOf([found], visit),
  ];
  const reference = found.references.short;
  const path = `/-/${name}/${found.iid}`;
  const of = { name, path, found, place };
  const mayTick = description && name !== "epics" && mayChange(found, visit);
  const shown = mayTick
    ? withTasks(description, found.description, visit, `${placeOf(place).address}${path}/tasks`)
    : description;
  return about(place, visit, {
    ...(goesOn && { script: LIVE, goesOn }),
    of: [KINDS[name].kind, `/-/${name}`],
    title,
    titled: `${title} (${reference})`,
    name: reference,
    path,
    lead: html`${state(found.state)} ${who(author, visit)} opened it ${at(found.created_at)}${tag(found.confidential, "Confidential")}${tag(found.draft, "Draft")}`,
    facts: [
      facts("Assignees", people(assignees)),
      facts("Reviewers", people(reviewers)),
      fact("Labels", labels.length > 0 && labelled),
      fact("Milestone", milestone && html`<a href="${milestone.web_url}">${milestone.title}</a>`),
      ...more,
    ],
    body: html`<section class="text" aria-label="Description">${shown && shown.text !== "" ? shown : html`<p class="lead">No description.</p>`}</section>
${name !== "epics" && (await reactions(of, visit))}
${live("said", goesOn, await discussed(discussions, visit, of))}
${actions && live("decide", goesOn, actions)}${await forms(of, visit)}`,
  });
}

/** What can be done on the page of an issue or merge request, by those who are signed in. */
async function forms(of: Discussed, visit: Visit): Promise<Html | undefined> {
  const { name, path, found, place } = of;
  if (!visit.caller || name === "epics") return undefined;
  const own = placeOf(place).address + path;
  const event = { opened: "close", closed: "reopen" }[String(found.state)];
  const mayChangeIt = mayChange(found, visit);
  const comment = field({
    ...{ name: "body", label: "Comment", type: "lines", value: typedIn(visit, undefined) },
  });
  const isOfThread = visit.parameters["discussion_id"] !== undefined;
  const shown = !isOfThread && (await preview(visit, typedIn(visit, undefined), "Comment"));
  return html`<section aria-label="Take part">
${!isOfThread && refused(visit)}
${mayWrite(of, visit) && form(visit, `${own}/notes`, html`${comment}${shown}<div class="actions"><button>Comment</button><button class="quiet" formaction="${mountOf(visit.view)}${own}/discussions">Start a thread</button>${previewButton}</div>`)}
<div class="actions">${mayChangeIt && html`<a class="button quiet" href="${mountOf(visit.view)}${own}/edit">Edit</a>`}
${
  event !== undefined &&
  mayChangeIt &&
  form(
    visit,
    `${own}/state`,
    html`<input type="hidden" name="state_event" value="${event}"><button class="quiet">${event === "close" ? "Close" : "Reopen"}</button>`,
  )
}
${await todoButton(of, visit)}</div>
</section>`;
}

/** The filters of a list that its address has, by GitLab's names for pages. */
const filters = {
  state: param.optional(param.choice(["opened", "closed", "merged", "all"])),
  search: param.optional(param.anyText()),
  author_username: param.optional(param.anyText()),
  assignee_username: param.optional(param.anyText()),
  label_name: param.optional(param.arrayOf(param.anyText())),
  milestone_title: param.optional(param.anyText()),
  release_tag: param.optional(param.anyText()),
  scope: param.optional(param.choice(["all", "assigned_to_me", "created_by_me"])),
};
/** The names that the API has for some of them. */
const NAMES = { labels: "label_name", milestone: "milestone_title" };

async function rowsOf(found: readonly Shown[], visit: Visit) {
  const labels = await labelsOf(found, visit);
  return (one: Shown) => html`<li><div>
<h2><a href="${one.web_url}">${one.title}</a></h2>
<p>${one.references.relative ?? one.references.short} · ${who(one.author, visit)} opened it ${at(one.created_at)}</p>
${labels[found.indexOf(one)]}
</div><div>${state(one.state)}</div></li>`;
}

/** A list of issues, merge requests or epics of a group or project, with the filters of its address. */
async function issuableList(
  { place, found }: { place: Shown; found: readonly Shown[] },
  visit: Visit,
  name: Kind,
): Promise<PageContent> {
  const { kind, states } = KINDS[name];
  const wanted = String(visit.parameters["state"]);
  const path = `/-/${name}`;
  return listPage(place, visit, {
    ...{ kind, path, name: "found", rows: found, none: `No ${kind.toLowerCase()} fit.` },
    row: await rowsOf(found, visit),
    filter: html`${filterOf(visit, placeOf(place).address + path, { states, wanted })}${
      name !== "epics" &&
      place.path_with_namespace !== undefined &&
      newButton(place, visit, { path, what: NEW[name], route: `POST /projects/:id/${name}` })
    }`,
  });
}

const PROJECT = "GET /projects/:id";
const GROUP = "GET /groups/:id";
const REQUEST = "GET /projects/:id/merge_requests/:merge_request_iid";
const EPIC_DISCUSSIONS = "GET /groups/:id/epics/:noteable_id/discussions";
const defaults = { state: "opened" };

const lists: readonly Route[] = (["issues", "merge_requests"] as const).flatMap((name) => [
  projectPage({
    path: `/-/${name}`,
    summary: `Show the ${KINDS[name].kind.toLowerCase()} of a project`,
    input: filters,
    shows: { place: PROJECT, found: [`GET /projects/:id/${name}`, NAMES] },
    defaults,
    view: (shown, visit) => issuableList(shown, visit, name),
  }),
  groupPage({
    path: `/-/${name}`,
    summary: `Show the ${KINDS[name].kind.toLowerCase()} of a group`,
    input: filters,
    shows: { place: GROUP, found: [`GET /groups/:id/${name}`, NAMES] },
    defaults,
    view: (shown, visit) => issuableList(shown, visit, name),
  }),
]);

const issueShown: Showing<"place" | "found" | "discussions"> = {
  shows: {
    place: PROJECT,
    found: "GET /projects/:id/issues/:issue_iid",
    discussions: [
      "GET /projects/:id/issues/:noteable_id/discussions",
      { noteable_id: "issue_iid" },
    ],
  },
  view: (shown, visit) =>
    issuablePage(shown, visit, {
      name: "issues",
      more: [
        fact("Due", shown.found.due_date && day(shown.found.due_date)),
        fact("Weight", shown.found.weight !== null && String(shown.found.weight)),
      ],
    }),
};

/** An issue has the same page as a work item. */
const issuePages: readonly Route[] = ["issues", "work_items"].map((segment) =>
  projectPage({
    ...issueShown,
    path: `/-/${segment}/:issue_iid`,
    summary: segment === "issues" ? "Show an issue" : "Show an issue as a work item",
    input: { issue_iid: param.recordId() },
    fields: reacting,
  }),
);

/** What can be decided about an open merge request: whether it is approved, and merged. */
async function decisions(
  { place, found }: { place: Shown; found: Shown },
  visit: Visit,
): Promise<Html> {
  if (!visit.caller || found.state !== "opened") return html``;
  const iid = { merge_request_iid: found.iid };
  const approvals = (await visit.ask(`${REQUEST}/approvals`, iid))?.value as Shown | undefined;
  const path = `${placeOf(place).address}/-/merge_requests/${found.iid}`;
  const status = String(found.detailed_merge_status).replaceAll("_", " ");
  const isReady = found.detailed_merge_status === "mergeable";
  return html`<section aria-label="Decide">
<p class="lead">${isReady ? "It can be merged." : `It can't be merged yet: ${status}.`}</p>
${isReady && found.user?.can_merge && button(visit, `${path}/merge`, "Merge")}
${mayChange(found, visit) && (found.draft ? button(visit, `${path}/ready`, "Mark as ready") : button(visit, `${path}/draft`, "Mark as draft"))}
${approvals?.user_can_approve && button(visit, `${path}/approve`, "Approve")}
${approvals?.user_has_approved && button(visit, `${path}/unapprove`, "Take the approval back")}
</section>`;
}

/** What a merge request changes of the quality of code. */
async function qualityOf(visit: Visit, iid: number): Promise<string | undefined> {
  const report = await reportOf(visit, iid, "codequality_reports");
  if (!report) return undefined;
  const { new_errors: added, resolved_errors: resolved, status_reason: reason } = report;
  if (reason !== undefined) return reason;
  const count = (list: readonly unknown[], what: string) =>
    `${list.length} ${what} ${list.length === 1 ? "problem" : "problems"}`;
  return `${count(added, "new")}, ${count(resolved, "resolved")}`;
}

/** Links to the artifacts that jobs show beside a merge request. */
async function exposedIn(visit: Visit, iid: number): Promise<readonly Html[]> {
  const exposed = ((await reportOf(visit, iid, "exposed_artifacts")) ?? []) as readonly Shown[];
  return exposed.map(
    ({ text, url, job_name }) => html`<a href="${url}">${text}</a> of <code>${job_name}</code>`,
  );
}

/** While its pipeline goes on, the page of a merge request shows how. */
const RUNNING = ["created", "waiting_for_resource", "preparing", "pending", "running"];

const requestShown: Showing<"place" | "found" | "discussions"> = {
  shows: {
    place: PROJECT,
    found: REQUEST,
    discussions: [
      "GET /projects/:id/merge_requests/:noteable_id/discussions",
      { noteable_id: "merge_request_iid" },
    ],
  },
  view: async (shown, visit) => {
    const { source_branch, target_branch, web_url, changes_count, head_pipeline } = shown.found;
    const isRunning =
      RUNNING.includes(head_pipeline?.status) ||
      ["checking", "ci_still_running"].includes(shown.found.detailed_merge_status);
    // Somebody may say something, or push, at any time.
    const goesOn = shown.found.state === "opened" && (isRunning || "maybe");
    return issuablePage(shown, visit, {
      ...{ name: "merge_requests", goesOn },
      actions: await decisions(shown, visit),
      more: [
        fact("From", html`<code>${source_branch}</code>`),
        fact("Into", html`<code>${target_branch}</code>`),
        fact("Commits", html`<a href="${web_url}/commits">Its commits</a>`),
        fact("Changes", html`<a href="${web_url}/diffs">${changes_count ?? "None"}</a>`),
        fact(
          "Pipeline",
          head_pipeline?.web_url &&
            html`<a href="${head_pipeline.web_url}">${head_pipeline.status}</a> · <a href="${web_url}/pipelines">All</a>`,
        ),
        fact("Code quality", head_pipeline && (await qualityOf(visit, shown.found.iid))),
        facts("Artifacts", head_pipeline ? await exposedIn(visit, shown.found.iid) : []),
      ],
    });
  },
};

/** Pages of issues, merge requests and epics, and of their lists. */
export const issuablePages: readonly Route[] = [
  ...lists,
  ...issuePages,
  projectPage({
    ...requestShown,
    path: "/-/merge_requests/:merge_request_iid",
    summary: "Show a merge request",
    input: { merge_request_iid: param.recordId() },
    fields: reacting,
  }),
  groupPage({
    path: "/-/epics",
    summary: "Show the epics of a group",
    input: filters,
    shows: { place: GROUP, found: ["GET /groups/:id/epics", NAMES] },
    defaults,
    view: (shown, visit) => issuableList(shown, visit, "epics"),
  }),
  groupPage({
    path: "/-/epics/:epic_iid",
    summary: "Show an epic with its issues",
    input: { epic_iid: param.recordId() },
    shows: {
      place: GROUP,
      found: "GET /groups/:id/epics/:epic_iid",
      issues: "GET /groups/:id/epics/:epic_iid/issues",
    },
    view: async ({ place, found, issues }, visit) => {
      const { id, start_date, due_date } = found;
      const said = await visit.ask(EPIC_DISCUSSIONS, { noteable_id: id, per_page: 100 });
      const children: readonly Html[] = issues.map(
        ({ web_url, title }: Shown) => html`<a href="${web_url}">${title}</a>`,
      );
      return issuablePage({ place, found, discussions: said?.value ?? [] }, visit, {
        name: "epics",
        more: [
          fact("Start", start_date && day(start_date)),
          fact("Due", due_date && day(due_date)),
          facts("Issues", children),
        ],
      });
    },
  }),
];

const todosShown: Showing<"found"> = {
  shows: { found: "GET /todos" },
  view: async ({ found }, visit) => {
    const path = "/dashboard/todos";
    const isDone = visit.parameters["state"] === "done";
    const base = mountOf(visit.view) + path;
    const none = isDone ? "Nothing was done yet." : "There is nothing for you to do.";
    const others = isDone
      ? html`<a class="button quiet" href="${base}">What is to do</a>`
      : html`${found.length > 0 && button(visit, `${path}/done`, "Mark all as done")}<a class="button quiet" href="${base}?state=done">What was done</a>`;
    const title = (todo: Shown) => String(todo.target?.title ?? todo.body);
    return {
      showsTexts: true,
      title: "To-do list",
      body: html`${refused(visit)}<div class="actions">${others}</div>
<section>${listed("found", found, visit, {
        ...{ path, none },
        row: (todo) =>
          row(
            html`<a href="${todo.target_url}">${title(todo)}</a>`,
            html`${who(todo.author, visit)}: ${todo.action_name.replaceAll("_", " ")} · ${at(todo.created_at)}`,
            todo.state === "pending"
              ? form(
                  visit,
                  `${path}/${todo.id}/done`,
                  html`<button class="quiet">Done<span class="unseen">: ${title(todo)}</span></button>`,
                )
              : state(todo.state),
          ),
      })}</section>`,
    };
  },
};

/** Pages of what the caller has to do. */
export const dashboardPages: readonly Route[] = [
  ...(["issues", "merge_requests"] as const).map((name) =>
    sitePage({
      path: `/dashboard/${name}`,
      summary: `Show the caller's ${KINDS[name].kind.toLowerCase()}`,
      access: "user",
      input: filters,
      shows: { found: [`GET /${name}`, NAMES] },
      defaults: { ...defaults, scope: "assigned_to_me" },
      view: async ({ found }, visit) => {
        const { kind, states } = KINDS[name];
        const path = `/dashboard/${name}`;
        const wanted = String(visit.parameters["state"]);
        return {
          showsTexts: true,
          title: `Your ${kind.toLowerCase()}`,
          body: html`${filterOf(visit, path, { states, wanted })}
<section>${listed("found", found, visit, { path, none: "There is nothing for you to do.", row: await rowsOf(found, visit) })}</section>`,
        };
      },
    }),
  ),
  sitePage({
    ...todosShown,
    path: "/dashboard/todos",
    summary: "Show what the caller has to do",
    access: "user",
    input: { state: param.optional(param.choice(["pending", "done"])) },
  }),
  actionIn("site", {
    path: "/dashboard/todos/:todo_id/done",
    summary: "Mark something that the caller had to do as done",
    input: { todo_id: param.recordId() },
    performs: "POST /todos/:todo_id/mark_as_done",
    again: todosShown,
    to: () => "/dashboard/todos",
  }),
  actionIn("site", {
    path: "/dashboard/todos/done",
    summary: "Mark all that the caller had to do as done",
    input: {},
    performs: "POST /todos/mark_as_done",
    again: todosShown,
    to: () => "/dashboard/todos",
  }),
];

const CONTENT = {
  issues: [issueShown, "issue_iid"],
  merge_requests: [requestShown, "merge_request_iid"],
} as const;

/** What forms on pages of issues and merge requests do. */
export const issuableActions: readonly Route[] = [
  ...issuableForms,
  ...Object.entries(CONTENT).flatMap(([name, [again, iid]]) => [
    ...discussionActions(name as keyof typeof CONTENT, iid, again),
    projectAction({
      path: `/-/${name}/:${iid}/delete`,
      summary: `Delete ${name === "issues" ? "an issue" : "a merge request"}`,
      input: { [iid]: param.recordId() },
      performs: `DELETE /projects/:id/${name}/:${iid}`,
      again,
      to: () => `/-/${name}`,
    }),
    projectAction({
      path: `/-/${name}/:${iid}/tasks`,
      summary: `Tick a task of ${name === "issues" ? "an issue" : "a merge request"}, or take that back`,
      input: { [iid]: param.recordId() },
      fields: ticking,
      performs: `PUT /projects/:id/${name}/:${iid}`,
      sends: async (typed, { perform }, source) => {
        const one = { id: source?.id, [iid]: typed[iid] };
        const { value } = await perform(`GET /projects/:id/${name}/:${iid}`, one);
        return { ...one, description: toggled((value as Shown).description ?? "", typed) };
      },
      again,
      to: (_, parameters) => `/-/${name}/${parameters[iid]}`,
    }),
    projectAction({
      path: `/-/${name}/:${iid}/state`,
      summary: `Close or reopen ${name === "issues" ? "an issue" : "a merge request"}`,
      input: { [iid]: param.recordId() },
      fields: { state_event: param.choice(["close", "reopen"]) },
      performs: `PUT /projects/:id/${name}/:${iid}`,
      again,
      to: (_, parameters) => `/-/${name}/${parameters[iid]}`,
    }),
  ]),
  ...(
    [
      ["merge", "PUT", "Merge a merge request"],
      ["approve", "POST", "Approve a merge request"],
      ["unapprove", "POST", "Take the approval of a merge request back"],
    ] as const
  ).map(([what, method, summary]) =>
    projectAction({
      path: `/-/merge_requests/:merge_request_iid/${what}`,
      summary,
      input: { merge_request_iid: param.recordId() },
      performs: `${method} /projects/:id/merge_requests/:merge_request_iid/${what}`,
      again: requestShown,
      to: (_, { merge_request_iid: iid }) => `/-/merge_requests/${iid}`,
    }),
  ),
  ...(["draft", "ready"] as const).map((what) =>
    projectAction({
      path: `/-/merge_requests/:merge_request_iid/${what}`,
      summary: `Mark a merge request as ${what === "draft" ? "a draft" : "ready"}`,
      input: { merge_request_iid: param.recordId() },
      performs: [
        "POST /projects/:id/merge_requests/:noteable_id/notes",
        { noteable_id: "merge_request_iid" },
      ],
      // The quick action changes nothing else of the title, whoever edits it meanwhile.
      sends: () => ({ body: `/${what}` }),
      again: requestShown,
      to: (_, { merge_request_iid: iid }) => `/-/merge_requests/${iid}`,
    }),
  ),
];
