import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { type Html, html } from "../pages/html.ts";
import { pageOf, type Shown, type Visit } from "./declare.ts";
import { about, at, commitLink, fact, listed } from "./parts.ts";

const CLASSES: Readonly<Record<string, string>> = { "+": "added", "-": "removed", "@": "place" };

/** How a file was changed, line by line. */
function changedFile({ old_path, new_path, diff, ...file }: Shown): Html {
  const title = old_path === new_path ? new_path : `${old_path} → ${new_path}`;
  const how = file.new_file ? "added" : file.deleted_file ? "deleted" : "";
  const lines = String(diff)
    .split("\n")
    .filter((line, index, all) => index < all.length - 1 || line !== "")
    .map((line) => html`<span class="${CLASSES[line.charAt(0)] ?? "same"}">${line}\n</span>`);
  const content =
    lines.length > 0
      ? html`<pre class="diff">${lines}</pre>`
      : html`<p class="lead">Not shown.</p>`;
  return html`<li><details open><summary><code>${title}</code>${how && html` <span class="tag">${how}</span>`}</summary>${content}</details></li>`;
}

/** A page of the files that something has changed. */
const changed = (name: string, files: readonly Shown[], visit: Visit, path: string): Html =>
  html`<section class="files"><h2>Changes</h2>${listed(name, files, visit, { path, none: "Nothing was changed.", row: changedFile })}</section>`;

export const codePages: readonly Route[] = [
  pageOf({
    path: "/-/commit/:sha",
    summary: "Show a commit with what it changed",
    input: { sha: param.anyText({ max: 1024 }) },
    shows: {
      project: "GET /projects/:id",
      commit: "GET /projects/:id/repository/commits/:sha",
      files: "GET /projects/:id/repository/commits/:sha/diff",
    },
    view: async ({ project, commit, files }, visit) => {
      const path = `/-/commit/${commit.id}`;
      const more = commit.message.slice(commit.title.length).trim();
      return about(project, visit, {
        kind: "Commits",
        list: `/-/commits/${encodeURIComponent(project.default_branch ?? "HEAD")}`,
        title: commit.title,
        path,
        lead: html`${commit.author_name} wrote it ${at(commit.authored_date)}`,
        facts: [
          fact("Commit", html`<code>${commit.short_id}</code>`),
          fact(
            "Parents",
            commit.parent_ids.length > 0 &&
              html`<ul>${commit.parent_ids.map((sha: string) => html`<li>${commitLink(sha, project, visit)}</li>`)}</ul>`,
          ),
          fact("Lines", commit.stats && `+${commit.stats.additions} −${commit.stats.deletions}`),
          fact(
            "Pipeline",
            commit.last_pipeline?.web_url &&
              html`<a href="${commit.last_pipeline.web_url}">${commit.last_pipeline.status}</a>`,
          ),
        ],
        body: html`${more !== "" && html`<section><pre>${more}</pre></section>`}
${changed("files", files, visit, `/${project.path_with_namespace}${path}`)}`,
      });
    },
  }),
  pageOf({
    path: "/-/merge_requests/:merge_request_iid/diffs",
    summary: "Show what a merge request changes",
    input: { merge_request_iid: param.recordId() },
    shows: {
      project: "GET /projects/:id",
      request: "GET /projects/:id/merge_requests/:merge_request_iid",
      files: "GET /projects/:id/merge_requests/:merge_request_iid/diffs",
    },
    view: async ({ project, request, files }, visit) => {
      const path = `/-/merge_requests/${request.iid}`;
      return about(project, visit, {
        kind: "Merge requests",
        list: "/-/merge_requests",
        title: request.title,
        path,
        lead: html`${request.references.short}`,
        facts: [
          fact("From", html`<code>${request.source_branch}</code>`),
          fact("Into", html`<code>${request.target_branch}</code>`),
        ],
        body: changed("files", files, visit, `/${project.path_with_namespace}${path}/diffs`),
      });
    },
  }),
];
