import { openRevision } from "../addresses/revision.ts";
import { notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { isBinary } from "../git/lines.ts";
import { partsOf } from "../git/trees.ts";
import { type Html, html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
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

/** What follows a word of an address: the name of a commit, and a path. */
const place = { place: param.anyText({ max: 4096 }) };

const addressIn = (project: Shown, kind: string, ref: string, path = "") =>
  `/${project.path_with_namespace}/-/${kind}/${[...ref.split("/"), ...partsOf(path)].map(encodeURIComponent).join("/")}`;

/** The last part of a path, and where it is. */
const named = (project: Shown, path: string) => path || project.path;

/** Files that a page shows as Markdown. */
const MARKDOWN = /\.(?:md|markdown|mdown|mkdn?)$/i;
/** Longer files are only linked to, in characters of Base64. */
const LONGEST = 1024 * 1024;

async function contentOf(file: Shown, raw: string, visit: Visit): Promise<Html> {
  const link = html`<p><a href="${raw}">The file, as it is</a></p>`;
  if (file === undefined || file.content.length > LONGEST) return link;
  const bytes = Buffer.from(file.content, "base64");
  if (isBinary(bytes)) {
    const isPicture = /\.(?:png|jpe?g|gif|webp|svg)$/i.test(file.file_name);
    return isPicture ? html`<img src="${raw}" alt="${file.file_name}">` : link;
  }
  const [rendered] = MARKDOWN.test(file.file_name) ? await visit.texts([bytes.toString()]) : [];
  return html`${rendered ? html`<div class="text">${rendered}</div>` : html`<pre>${bytes.toString()}</pre>`}${link}`;
}

const KINDS: Readonly<Record<string, string>> = { tree: "folder", blob: "file", commit: "module" };

const filePages: readonly Route[] = [
  pageOf({
    path: "/-/tree/:place*",
    summary: "Show a folder of a branch, tag or commit",
    input: place,
    find: async (input, preparing) => {
      const { ref, rest } = await openRevision(preparing, String(input["place"]));
      return { ref, path: rest };
    },
    shows: {
      project: "GET /projects/:id",
      entries: "GET /projects/:id/repository/tree",
    },
    view: async ({ project, entries }, visit) => {
      const { ref, path } = visit.parameters as { ref: string; path: string };
      const mount = mountOf(visit.view);
      const row = (entry: Shown) => {
        const page = addressIn(project, entry.type === "tree" ? "tree" : "blob", ref, entry.path);
        const name =
          entry.type === "commit"
            ? html`${entry.name}`
            : html`<a href="${mount}${page}">${entry.name}</a>`;
        return html`<li><div>${name}</div><div>${KINDS[entry.type]}</div></li>`;
      };
      const own = addressIn(project, "tree", ref, path);
      return about(project, visit, {
        kind: ref,
        list: addressIn(project, "tree", ref).slice(project.path_with_namespace.length + 1),
        title: named(project, path),
        path: own.slice(project.path_with_namespace.length + 1),
        facts: [],
        body: html`<section>${listed("entries", entries, visit, { path: own, none: "This folder is empty.", row })}</section>`,
      });
    },
  }),
  pageOf({
    path: "/-/blob/:place*",
    summary: "Show a file of a branch, tag or commit",
    input: place,
    find: async (input, preparing) => {
      const { ref, rest } = await openRevision(preparing, String(input["place"]));
      if (rest === "") throw notFound("File");
      return { ref, file_path: rest };
    },
    shows: {
      project: "GET /projects/:id",
      file: "GET /projects/:id/repository/files/:file_path",
    },
    view: async ({ project, file }, visit) => {
      const { ref, file_path: path } = visit.parameters as { ref: string; file_path: string };
      const raw = mountOf(visit.view) + addressIn(project, "raw", ref, path);
      return about(project, visit, {
        kind: ref,
        list: addressIn(project, "tree", ref).slice(project.path_with_namespace.length + 1),
        title: path,
        path: addressIn(project, "blob", ref, path).slice(project.path_with_namespace.length + 1),
        facts: [
          fact("Size", file && `${file.size} bytes`),
          fact("Last changed by", file && commitLink(file.last_commit_id, project, visit)),
        ],
        body: html`<section>${await contentOf(file, raw, visit)}</section>`,
      });
    },
  }),
];

export const codePages: readonly Route[] = [
  ...filePages,
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
