import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { day } from "../pages/format.ts";
import { type Html, html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { pageOf, type Shown } from "./declare.ts";
import { about, at, commitLink, fact, listed, state, who } from "./parts.ts";

const PROJECT = "GET /projects/:id";

const text = (rendered: Html | undefined): Html | undefined =>
  rendered && rendered.text !== "" ? html`<section class="text">${rendered}</section>` : undefined;

/** Pages of pipelines and jobs. */
const ofPipelines: readonly Route[] = [
  pageOf({
    path: "/-/pipelines/:pipeline_id",
    summary: "Show a pipeline with its jobs",
    input: { pipeline_id: param.recordId() },
    shows: {
      project: PROJECT,
      pipeline: "GET /projects/:id/pipelines/:pipeline_id",
      jobs: "GET /projects/:id/pipelines/:pipeline_id/jobs",
    },
    view: async ({ project, pipeline, jobs }, visit) =>
      about(project, visit, {
        kind: "Pipelines",
        list: "/-/pipelines",
        title: pipeline.name ?? `Pipeline #${pipeline.id}`,
        path: `/-/pipelines/${pipeline.id}`,
        lead: html`${state(pipeline.status)} ${who(pipeline.user, visit)} started it ${at(pipeline.created_at)}`,
        facts: [
          fact("Branch or tag", html`<code>${pipeline.ref}</code>`),
          fact("Commit", commitLink(pipeline.sha, project, visit)),
          fact("Source", pipeline.source),
          fact("Coverage", pipeline.coverage && `${pipeline.coverage} %`),
        ],
        body: html`<section><h2>Jobs</h2>${listed("jobs", jobs, visit, {
          path: `/${project.path_with_namespace}/-/pipelines/${pipeline.id}`,
          none: "There are no jobs.",
          row: (job) =>
            html`<li><div><h3><a href="${job.web_url}">${job.name}</a></h3><p>${job.stage}</p></div><div>${state(job.status)}</div></li>`,
        })}</section>`,
      }),
  }),
  pageOf({
    path: "/-/jobs/:job_id",
    summary: "Show a job",
    input: { job_id: param.recordId() },
    shows: { project: PROJECT, job: "GET /projects/:id/jobs/:job_id" },
    view: async ({ project, job }, visit) =>
      about(project, visit, {
        kind: "Jobs",
        list: "/-/jobs",
        title: job.name,
        path: `/-/jobs/${job.id}`,
        lead: html`${state(job.status)} ${who(job.user, visit)} started it ${at(job.created_at)}`,
        facts: [
          fact("Stage", job.stage),
          fact("Pipeline", html`<a href="${job.pipeline.web_url}">#${job.pipeline.id}</a>`),
          fact("Commit", commitLink(job.commit?.id ?? job.pipeline.sha, project, visit)),
          fact("Why it failed", job.failure_reason),
        ],
        body: html`<section><p><a href="${job.web_url}/raw">The log, as it is</a></p></section>`,
      }),
  }),
];

/** The page of a milestone, of which pages know the number in its project. */
const ofMilestones: readonly Route[] = [
  pageOf({
    path: "/-/milestones/:iid",
    summary: "Show a milestone of a project",
    input: { iid: param.recordId() },
    shows: {
      project: PROJECT,
      found: ["GET /projects/:id/milestones", { iids: "iid" }],
    },
    one: "found",
    view: async ({ project, found }, visit) => {
      const [milestone] = found;
      const [description] = await visit.texts([milestone.description]);
      const filter = `milestone_title=${encodeURIComponent(milestone.title)}&state=all`;
      const base = `${mountOf(visit.view)}/${project.path_with_namespace}/-`;
      return about(project, visit, {
        kind: "Milestones",
        list: "/-/milestones",
        title: milestone.title,
        path: `/-/milestones/${milestone.iid}`,
        lead: state(milestone.state),
        facts: [
          fact("Start", milestone.start_date && day(milestone.start_date)),
          fact("Due", milestone.due_date && day(milestone.due_date)),
        ],
        body: html`${text(description)}
<section><p><a href="${base}/issues?${filter}">Its issues</a></p><p><a href="${base}/merge_requests?${filter}">Its merge requests</a></p></section>`,
      });
    },
  }),
];

/** Pages of releases and tags, wikis and snippets. */
const ofTexts: readonly Route[] = [
  pageOf({
    path: "/-/releases/:tag_name",
    summary: "Show a release",
    input: { tag_name: param.anyText({ max: 1024 }) },
    shows: { project: PROJECT, release: "GET /projects/:id/releases/:tag_name" },
    view: async ({ project, release }, visit) => {
      const [description] = await visit.texts([release.description]);
      const { links, sources = [] } = release.assets;
      const file = (name: string, url: string) => html`<li><a href="${url}">${name}</a></li>`;
      return about(project, visit, {
        kind: "Releases",
        list: "/-/releases",
        title: release.name,
        path: `/-/releases/${encodeURIComponent(release.tag_name)}`,
        lead: html`${who(release.author, visit)} released it ${at(release.released_at)}`,
        facts: [
          fact("Tag", html`<code>${release.tag_name}</code>`),
          fact("Commit", release.commit && commitLink(release.commit.id, project, visit)),
        ],
        body: html`${text(description)}
<section><h2>Files</h2><ul>${links.map((link: Shown) => file(link.name, link.direct_asset_url))}${sources.map((source: Shown) => file(`The code as ${source.format}`, source.url))}</ul></section>`,
      });
    },
  }),
  pageOf({
    path: "/-/tags/:tag_name*",
    summary: "Show a tag",
    input: { tag_name: param.anyText({ max: 1024 }) },
    shows: { project: PROJECT, tag: "GET /projects/:id/repository/tags/:tag_name" },
    view: async ({ project, tag }, visit) =>
      about(project, visit, {
        kind: "Tags",
        list: "/-/tags",
        title: tag.name,
        path: `/-/tags/${encodeURIComponent(tag.name)}`,
        facts: [fact("Commit", commitLink(tag.commit.id, project, visit))],
        body: html`<section><pre>${tag.message || tag.commit.title}</pre></section>`,
      }),
  }),
  pageOf({
    path: "/-/snippets/:snippet_id",
    summary: "Show a snippet of a project",
    input: { snippet_id: param.recordId() },
    shows: { project: PROJECT, snippet: "GET /projects/:id/snippets/:snippet_id" },
    view: async ({ project, snippet }, visit) => {
      const [description] = await visit.texts([snippet.description]);
      return about(project, visit, {
        kind: "Snippets",
        list: "/-/snippets",
        title: snippet.title,
        path: `/-/snippets/${snippet.id}`,
        lead: html`${who(snippet.author, visit)} made it ${at(snippet.created_at)}`,
        facts: [fact("Visibility", snippet.visibility)],
        body: html`${text(description)}
<section><h2>Files</h2><ul>${snippet.files.map(({ path, raw_url }: Shown) => html`<li><a href="${raw_url}">${path}</a></li>`)}</ul></section>`,
      });
    },
  }),
];

/** Pages of what projects have besides issues and merge requests. */
export const otherPages: readonly Route[] = [...ofPipelines, ...ofMilestones, ...ofTexts];
