import { invalid } from "../core/errors.ts";
import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { field, form, formText } from "../pages/form.ts";
import { type Html, html } from "../pages/html.ts";
import { LIVE, live, liveState } from "../pages/live.ts";
import { mountOf } from "../pages/navigation.ts";
import { projectAction, projectPage, type Showing, type Shown, type Visit } from "./declare.ts";
import { formPage } from "./forms.ts";
import { listOf } from "./lists.ts";
import { readLog } from "./logs.ts";
import {
  about,
  at,
  button,
  commitLink,
  fact,
  listed,
  placeOf,
  refused,
  row,
  state,
  tag,
  who,
  wordOf,
} from "./parts.ts";

const PROJECT = "GET /projects/:id";
const JOB = "POST /projects/:id/jobs/:job_id";

const jobRow = (job: Shown) =>
  row(html`<a href="${job.web_url}">${job.name}</a>`, job.stage, state(job.status));

/** States in which there is still something to cancel, and those in which something can be done again. */
const UNFINISHED = [
  "created",
  "waiting_for_resource",
  "preparing",
  "pending",
  "running",
  "scheduled",
];
const FINISHED = ["success", "failed", "canceled"];

/** What can be done with a job, or the jobs of a pipeline, in a state. */
const actionsIn = (status: string): readonly string[] =>
  UNFINISHED.includes(status)
    ? ["cancel"]
    : FINISHED.includes(status)
      ? ["retry"]
      : status === "manual"
        ? ["play"]
        : [];

/** Buttons for what the caller may do. Jobs are played one by one. @param route of the API, without the action @param path of the page */
function actions(visit: Visit, status: string, route: string, path: string): Html {
  const may = actionsIn(status).filter(
    (what) =>
      visit.caller && (what !== "play" || route === JOB) && visit.offers(`${route}/${what}`),
  );
  const buttons = may.map((what) => button(visit, `${path}/${what}`, wordOf(what)));
  return html`${refused(visit)}<div class="actions">${buttons}${may.includes("play") && playWith(visit, path)}</div>`;
}

const jobShown: Showing<"project" | "job"> = {
  shows: { project: PROJECT, job: "GET /projects/:id/jobs/:job_id" },
  view: async ({ project, job }, visit) => {
    const asked = await visit.ask("GET /projects/:id/jobs/:job_id/trace", { job_id: job.id });
    const log = asked && (await readLog(asked.body));
    const link = html`<p><a href="${job.web_url}/raw">The whole log, as it is</a></p>`;
    const isLive = UNFINISHED.includes(job.status);
    const shown =
      log &&
      html`<section><h2>Log</h2>${live(
        "log",
        isLive,
        log.text === ""
          ? html`<p class="lead">There is no log yet.</p>`
          : html`<pre class="log" tabindex="0" role="region" aria-label="Log of ${job.name}">${log.text}</pre>`,
      )}${visit.caller && link}</section>`;
    const own = `${placeOf(project).address}/-/jobs/${job.id}`;
    return about(project, visit, {
      ...(isLive && { script: LIVE }),
      of: ["Jobs", "/-/jobs"],
      title: job.name,
      titled: `${job.name} (#${job.id})`,
      path: `/-/jobs/${job.id}`,
      lead: html`${liveState(isLive, state(job.status))} ${who(job.user, visit)} started it ${at(job.created_at)}`,
      facts: [
        fact("Stage", job.stage),
        fact("Pipeline", html`<a href="${job.pipeline.web_url}">#${job.pipeline.id}</a>`),
        fact("Commit", commitLink(job.pipeline.sha, project, visit)),
        fact("Runner", job.runner?.description),
        fact("Why it failed", job.failure_reason),
      ],
      body: html`${live("actions", isLive, actions(visit, job.status, JOB, own))}${shown}`,
    });
  },
};

const pipelineShown: Showing<"project" | "pipeline" | "jobs"> = {
  shows: {
    project: PROJECT,
    pipeline: "GET /projects/:id/pipelines/:pipeline_id",
    jobs: "GET /projects/:id/pipelines/:pipeline_id/jobs",
  },
  view: async ({ project, pipeline, jobs }, visit) => {
    const path = `/-/pipelines/${pipeline.id}`;
    const own = placeOf(project).address + path;
    const isLive = UNFINISHED.includes(pipeline.status);
    const list = listed("jobs", jobs, visit, {
      path: own,
      none: "There are no jobs.",
      row: jobRow,
    });
    return about(project, visit, {
      ...(isLive && { script: LIVE }),
      of: ["Pipelines", "/-/pipelines"],
      title: pipeline.name ?? `Pipeline #${pipeline.id}`,
      name: `#${pipeline.id}`,
      path,
      lead: html`${liveState(isLive, state(pipeline.status))} ${who(pipeline.user, visit)} started it ${at(pipeline.created_at)}`,
      facts: [
        fact("Branch or tag", html`<code>${pipeline.ref}</code>`),
        fact("Commit", commitLink(pipeline.sha, project, visit)),
        fact("Source", pipeline.source),
        fact("Coverage", pipeline.coverage && `${pipeline.coverage} %`),
        fact("What is wrong", pipeline.yaml_errors),
      ],
      body: html`${live("actions", isLive, actions(visit, pipeline.status, "POST /projects/:id/pipelines/:pipeline_id", own))}<section><h2>Jobs</h2>${live("jobs", isLive, list)}</section>`,
    });
  },
};

/** Variables as they are typed: one a line, as `NAME=value`. @throws ApiError 400 for other lines */
function variablesOf(typed: unknown): { key: string; value: string }[] {
  const lines = String(typed ?? "")
    .split("\n")
    .filter((line) => line.trim() !== "");
  return lines.map((line) => {
    const at = line.indexOf("=");
    if (at < 1) throw invalid({ variables: ["must be lines such as NAME=value"] });
    return { key: line.slice(0, at).trim(), value: line.slice(at + 1) };
  });
}

/** The variables that an address of GitLab has: `?var[NAME]=value`. */
const asked = ({ parameters }: Visit): string =>
  Object.entries((parameters["var"] ?? {}) as Record<string, unknown>)
    .filter(([, value]) => typeof value === "string")
    .map(([key, value]) => `${key}=${value}`)
    .join("\n");

const VARIABLES = {
  ...{ name: "variables", label: "Variables", hint: "One a line, as NAME=value" },
} as const;

const forms: readonly Route[] = formPage({
  ...{ of: "project", path: "/-/pipelines/new", summary: "Start a pipeline" },
  input: { var: param.optional(param.json("variables by name")) },
  performs: "POST /projects/:id/pipeline",
  fields: [
    {
      ...{ name: "ref", label: "Branch or tag" },
      value: ({ place }) => place.default_branch,
    },
    { ...VARIABLES, kind: "lines", isOptional: true, value: (_, visit) => asked(visit) },
  ],
  sends: ({ ref, variables }) => ({ ref, variables: variablesOf(variables) }),
  title: () => "New pipeline",
  steps: () => [["Pipelines", "/-/pipelines"]],
  button: "Start pipeline",
  to: ({ id }) => `/-/pipelines/${id}`,
});

/** A button that starts a manual job, with variables if there are some. */
const playWith = (visit: Visit, path: string): Html => {
  const typed = visit.parameters["variables"];
  const variables = field({
    ...{ ...VARIABLES, type: "lines", required: false },
    ...(typed !== undefined && { value: String(typed) }),
    error: visit.refusal?.errors["variables"],
  });
  return html`<details${typed !== undefined && html` open`}><summary class="button quiet">Play with variables</summary>${form(visit, `${path}/play`, html`${variables}<button>Play</button>`)}</details>`;
};

/** A pipeline in a list. */
export const pipelineRow = ({ web_url, name, id, ref, source, created_at, status }: Shown): Html =>
  row(
    html`<a href="${web_url}">${name ?? `Pipeline #${id}`}</a>`,
    html`${ref} · ${source} · ${at(created_at)}`,
    state(status),
  );

/** Pages of pipelines, jobs and environments. */
export const pipelinePages: readonly Route[] = [
  listOf("project", {
    ...{ kind: "Pipelines", path: "/-/pipelines", list: "/pipelines" },
    input: {
      ref: param.optional(param.anyText()),
      username: param.optional(param.anyText()),
      status: param.optional(param.anyText()),
      source: param.optional(param.anyText()),
      scope: param.optional(param.anyText()),
    },
    makes: ["pipeline", "POST /projects/:id/pipeline"],
    none: "There are no pipelines.",
    row: pipelineRow,
  }),
  projectPage({
    ...pipelineShown,
    path: "/-/pipelines/:pipeline_id",
    summary: "Show a pipeline with its jobs",
    input: { pipeline_id: param.recordId() },
  }),
  ...["retry", "cancel"].map((what) =>
    projectAction({
      path: `/-/pipelines/:pipeline_id/${what}`,
      summary: `${wordOf(what)} the jobs of a pipeline`,
      input: { pipeline_id: param.recordId() },
      performs: `POST /projects/:id/pipelines/:pipeline_id/${what}`,
      again: pipelineShown,
      to: ({ id }) => `/-/pipelines/${id}`,
    }),
  ),
  listOf("project", {
    ...{ kind: "Jobs", path: "/-/jobs", list: "/jobs", none: "There are no jobs.", row: jobRow },
  }),
  projectPage({
    ...jobShown,
    path: "/-/jobs/:job_id",
    summary: "Show a job",
    input: { job_id: param.recordId() },
  }),
  ...forms,
  ...["play", "retry", "cancel"].map((what) =>
    projectAction({
      path: `/-/jobs/:job_id/${what}`,
      summary: `${wordOf(what)} a job`,
      input: { job_id: param.recordId() },
      ...(what === "play" && {
        fields: { variables: param.optional(formText) },
        sends: ({ job_id, variables }) => ({
          job_id,
          job_variables_attributes: variablesOf(String(variables ?? "").replaceAll("\r\n", "\n")),
        }),
      }),
      performs: `POST /projects/:id/jobs/:job_id/${what}`,
      again: jobShown,
      to: ({ id }) => `/-/jobs/${id}`,
    }),
  ),
  listOf("project", {
    ...{ kind: "Environments", path: "/-/environments", list: "/environments", hasSearch: true },
    none: "There are no environments.",
    row: ({ id, name, external_url: url, ...one }, visit, project) =>
      row(
        html`<a href="${mountOf(visit.view)}${placeOf(project).address}/-/environments/${id}">${name}</a>`,
        url && html`<a href="${url}" rel="nofollow">${url}</a>`,
        state(one.state),
      ),
  }),
  projectPage({
    path: "/-/environments/:environment_id",
    summary: "Show an environment with its deployments",
    input: { environment_id: param.recordId() },
    shows: {
      project: PROJECT,
      environment: "GET /projects/:id/environments/:environment_id",
    },
    view: async ({ project, environment }, visit) => {
      const { name, external_url: url, last_deployment: last } = environment;
      const path = `/-/environments/${environment.id}`;
      const deployments = await visit.ask("GET /projects/:id/deployments", {
        ...{ environment: name, order_by: "id", sort: "desc", per_page: 20 },
      });
      const rows = (deployments?.value ?? []) as readonly Shown[];
      return about(project, visit, {
        of: ["Environments", "/-/environments"],
        title: name,
        path,
        lead: state(environment.state),
        facts: [
          fact("Address", url && html`<a href="${url}" rel="nofollow">${url}</a>`),
          fact("Tier", environment.tier),
          fact("Deployed last", last && at(last.created_at)),
        ],
        body: html`<section><h2>Newest deployments</h2><ul class="rows">${rows.map((one) =>
          row(
            html`#${one.iid} of <code>${one.ref}</code>${tag(one.deployable?.web_url !== undefined, "job")}`,
            html`${who(one.user, visit)} · ${at(one.created_at)}`,
            html`${state(one.status)} ${commitLink(one.sha, project, visit)}`,
          ),
        )}</ul>${rows.length === 0 && html`<p class="lead">Nothing was deployed yet.</p>`}</section>`,
      });
    },
  }),
];
