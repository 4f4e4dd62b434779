import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { form, formText } from "../pages/form.ts";
import { html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { BACKGROUND, RETRY } from "../resources/background/actions.ts";
import { adminPage } from "./admin-parts.ts";
import { actionIn, type Showing, type Shown, sitePage, type Visit } from "./declare.ts";
import { at, refused, row } from "./parts.ts";
import { onlyAdmins } from "./settings.ts";

const PATH = "/admin/background_jobs";
const STATES = ["waiting", "running", "failed"];

const retrying = (visit: Visit, name: "worker" | "task_id", value: string, of: string) =>
  form(
    visit,
    `${PATH}/retry`,
    html`<input type="hidden" name="${name}" value="${value}"><button class="quiet">Retry<span class="unseen"> ${of}</span></button>`,
  );

const shown: Showing<string> = {
  shows: {},
  view: async (_, visit) => {
    const worker = String(visit.parameters["worker"] ?? "");
    const state = STATES.find((one) => one === visit.parameters["state"]);
    const asked = await visit.ask(BACKGROUND, { worker, ...(state && { state }) });
    const { workers = [], tasks = [] } = (asked?.value ?? {}) as Shown;
    const base = mountOf(visit.view);
    const cells = (one: Shown) =>
      [one.waiting, one.running, one.failed, one.stuck].map((count) => html`<td>${count}</td>`);
    const queues = workers.map(
      (one: Shown) =>
        html`<tr><th scope="row"><a href="${base}${PATH}?worker=${encodeURIComponent(one.worker)}">${one.worker}</a></th>${cells(one)}<td>${one.oldest_at && at(one.oldest_at)}</td><td>${one.failing_since ? html`since ${at(one.failing_since)}` : "no"}</td></tr>`,
    );
    const choices = ["", ...STATES].map(
      (one) =>
        html`<option value="${one}"${one === (state ?? "") && html` selected`}>${one || "any"}</option>`,
    );
    const rows = tasks.map((task: Shown) =>
      row(
        html`${task.worker} ${task.id} <span class="tag">${task.state}</span>`,
        html`${task.mail ? html`${task.mail.subject}${task.mail.to !== null && ` to ${task.mail.to}`}` : html`<code>${task.about}</code>`} · ${task.attempts} attempts${task.due_at && html` · next ${at(task.due_at)}`}${task.error && html` · ${task.error}`}`,
        task.state === "running"
          ? undefined
          : retrying(visit, "task_id", String(task.id), `task ${task.id}`),
      ),
    );
    return adminPage(visit, {
      title: "Background work",
      body: html`${refused(visit)}<section><h2>Workers</h2><div class="scrolled" tabindex="0" role="region" aria-label="Workers"><table><thead><tr>${["Worker", "Waiting", "Running", "Given up", "Stuck", "Oldest from", "Out of order"].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>${queues}</tbody></table></div></section>
<form class="filter" method="get" action="${base}${PATH}"><input type="hidden" name="worker" value="${worker}"><label>State <select name="state">${choices}</select></label><button class="quiet">Show</button></form>
${worker !== "" && retrying(visit, "worker", worker, `all of ${worker}`)}
<section><h2>${worker === "" ? "Tasks" : `Tasks of ${worker}`}</h2>${rows.length > 0 ? html`<ul class="rows">${rows}</ul>` : html`<p class="lead">There are no such tasks.</p>`}</section>`,
    });
  },
};

/** What workers have to do, such as mails to send, and trying that again. */
export const workPages: readonly Route[] = [
  sitePage({
    ...{ ...shown, path: PATH, access: "user", find: onlyAdmins },
    summary: "Show background work",
    input: { worker: param.optional(formText), state: param.optional(formText) },
  }),
  actionIn("site", {
    ...{ path: `${PATH}/retry`, summary: "Retry background work", input: {}, find: onlyAdmins },
    fields: { worker: param.optional(formText), task_id: param.optional(formText) },
    ...{ performs: RETRY, again: shown },
    to: (_, { worker }) => (worker ? `${PATH}?worker=${encodeURIComponent(String(worker))}` : PATH),
  }),
];
