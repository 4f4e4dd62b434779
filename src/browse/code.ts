import { openRevision } from "../addresses/revision.ts";
import type { Source } from "../core/access/source.ts";
import { notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import type { PrepareContext, Route } from "../core/resource.ts";
import { isBinary } from "../git/lines.ts";
import { partsOf } from "../git/trees.ts";
import { Html, html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { codeLines, coloredText } from "./code-lines.ts";
import { projectPage, type Shown, type Visit } from "./declare.ts";
import { changed, viewInput } from "./diffs.ts";
import { about, at, commitLink, fact, facts, listed, listPage, placeOf, row } from "./parts.ts";

/** What follows a word of an address: the name of a commit, and a path. */
export const place = { place: param.anyText({ max: 4096 }) };

/** The path of a page of code, below the address of the project. */
export const pathOf = (kind: string, ref: string, path = "") =>
  `/-/${kind}/${[...ref.split("/"), ...partsOf(path)].map(encodeURIComponent).join("/")}`;

/** Files that a page shows as Markdown. */
const MARKDOWN = /\.(?:md|markdown|mdown|mkdn?)$/i;
/** Longer files are only linked to, in characters of Base64. */
const LONGEST = 1024 * 1024;

/** A file of an answer, as people read it. @param raw where it is as it is */
export async function contentOf(file: Shown, raw: string, visit: Visit): Promise<Html> {
  const link = html`<p><a href="${raw}">The file, as it is</a></p>`;
  if (file === undefined || file.content.length > LONGEST) return link;
  const bytes = Buffer.from(file.content, "base64");
  if (isBinary(bytes)) {
    const isPicture = /\.(?:png|jpe?g|gif|webp|svg)$/i.test(file.file_name);
    return isPicture ? html`<img src="${raw}" alt="${file.file_name}">` : link;
  }
  const [rendered] = MARKDOWN.test(file.file_name) ? await visit.texts([bytes.toString()]) : [];
  return html`${rendered ? html`<div class="text">${rendered}</div>` : await codeLines(file.file_path, bytes.toString(), visit)}${link}`;
}

/** Whether a file is text that comes back from a form as it was. */
export function isText(file: Shown): boolean {
  if (file === undefined || file.content.length > LONGEST) return false;
  const bytes = Buffer.from(file.content, "base64");
  return !isBinary(bytes) && Buffer.from(bytes.toString()).equals(bytes);
}

const WRITING = {
  new: "New file",
  upload: "Upload a file",
  edit: "Edit",
  delete: "Delete",
} as const;

/** A link to the form of a merge request from one branch into another, for those who may make one. */
function requestLink(project: Shown, visit: Visit, from: string, into: string): Html | false {
  const asked = new URLSearchParams({
    "merge_request[source_branch]": from,
    "merge_request[target_branch]": into,
  });
  const page = `${mountOf(visit.view)}${placeOf(project).address}/-/merge_requests/new`;
  return (
    visit.caller !== undefined &&
    visit.offers("POST /projects/:id/merge_requests") &&
    html`<div class="actions"><a class="button quiet" href="${page}?${String(asked)}">New merge request</a></div>`
  );
}

/** Links to forms that change what is on a branch, for those who may write to the repository. */
export async function writing(
  project: Shown,
  visit: Visit,
  ref: string,
  path: string,
  what: readonly (keyof typeof WRITING)[],
): Promise<Html | undefined> {
  if (!visit.caller || !visit.offers("POST /projects/:id/repository/commits")) return undefined;
  const isBranch =
    project.empty_repo ||
    (await visit.ask("GET /projects/:id/repository/branches/:branch", { branch: ref }));
  const base = mountOf(visit.view) + placeOf(project).address;
  const links = what.map(
    (one) =>
      html`<a class="button quiet" href="${base}${pathOf(one, ref, path)}">${WRITING[one]}</a>`,
  );
  return isBranch ? html`<div class="actions">${links}</div>` : undefined;
}

const KINDS: Readonly<Record<string, string>> = { tree: "folder", blob: "file", commit: "module" };

/** The entries of a folder. @param name that the answer has @param path of the page */
export function folder(
  project: Shown,
  visit: Visit,
  { ref, name, entries, path }: { ref: string; name: string; entries: Shown[]; path: string },
): Html {
  const base = mountOf(visit.view) + placeOf(project).address;
  return listed(name, entries, visit, {
    path: placeOf(project).address + path,
    none: "This folder is empty.",
    row: (entry) => {
      const page = pathOf(entry.type === "tree" ? "tree" : "blob", ref, entry.path);
      const isModule = entry.type === "commit";
      return html`<li><div>${isModule ? html`${entry.name}` : html`<a href="${base}${page}">${entry.name}</a>`}</div><div>${KINDS[entry.type]}</div></li>`;
    },
  });
}

/** The names of the way to a folder or a file: the branch, tag or commit, and the folders above. */
export function folders(ref: string, path: string): (readonly [string, string])[] {
  const parts = partsOf(path).slice(0, -1);
  return parts.map((part, index) => [
    part,
    pathOf("tree", ref, parts.slice(0, index + 1).join("/")),
  ]);
}

/** Which branch, tag or commit an address names, and what in it. @param rest what its path is called */
export const revisionOf =
  (name: string, rest = "rest") =>
  async (
    input: Readonly<Record<string, unknown>>,
    preparing: PrepareContext & { readonly source: Source },
  ) => {
    const found = await openRevision(preparing, String(input["place"]));
    return { [name]: found.ref, [rest]: found.rest };
  };

const PROJECT = "GET /projects/:id";

const filePages: readonly Route[] = [
  projectPage({
    path: "/-/tree/:place*",
    summary: "Show a folder of a branch, tag or commit",
    input: place,
    find: revisionOf("ref"),
    shows: { project: PROJECT, entries: ["GET /projects/:id/repository/tree", { path: "rest" }] },
    view: async ({ project, entries }, visit) => {
      const { ref, rest } = visit.parameters as { ref: string; rest: string };
      const path = pathOf("tree", ref, rest);
      const title = partsOf(rest).at(-1) ?? ref;
      return about(project, visit, {
        of: [ref, pathOf("tree", ref)],
        within: folders(ref, rest),
        ...{ title, path },
        facts: [
          fact(
            "History",
            html`<a href="${mountOf(visit.view)}${placeOf(project).address}${pathOf("commits", ref, rest)}">Its commits</a>`,
          ),
        ],
        body: html`${await writing(project, visit, ref, rest, ["new", "upload"])}<section>${folder(project, visit, { ref, name: "entries", entries, path })}</section>`,
      });
    },
  }),
  projectPage({
    path: "/-/blob/:place*",
    summary: "Show a file of a branch, tag or commit",
    input: place,
    find: async (input, preparing) => {
      const { ref, rest } = await revisionOf("ref")(input, preparing);
      if (rest === "") throw notFound("File");
      return { ref, file_path: rest };
    },
    shows: { project: PROJECT, file: "GET /projects/:id/repository/files/:file_path" },
    view: async ({ project, file }, visit) => {
      const { ref, file_path: path } = visit.parameters as { ref: string; file_path: string };
      const base = mountOf(visit.view) + placeOf(project).address;
      const content = await contentOf(file, base + pathOf("raw", ref, path), visit);
      return about(project, visit, {
        of: [ref, pathOf("tree", ref)],
        within: folders(ref, path),
        title: partsOf(path).at(-1) ?? path,
        path: pathOf("blob", ref, path),
        facts: [
          fact("Size", file && `${file.size} bytes`),
          fact("Last changed by", file && commitLink(file.last_commit_id, project, visit)),
          fact("History", html`<a href="${base}${pathOf("commits", ref, path)}">Its commits</a>`),
          fact("Lines", html`<a href="${base}${pathOf("blame", ref, path)}">Who changed them</a>`),
        ],
        body: html`${await writing(project, visit, ref, path, isText(file) ? ["edit", "delete"] : ["delete"])}<section>${content}</section>`,
      });
    },
  }),
];

/** As many lines are on a page that tells who has changed them. */
const MOST_LINES = 2000;

/** Who has last changed each line of a file. */
const blamePage: Route = projectPage({
  path: "/-/blame/:place*",
  summary: "Show which commits have last changed the lines of a file",
  input: place,
  find: async (input, preparing) => {
    const { ref, rest } = await revisionOf("ref")(input, preparing);
    return { ref, file_path: rest };
  },
  shows: { project: PROJECT, ranges: "GET /projects/:id/repository/files/:file_path/blame" },
  view: async ({ project, ranges }, visit) => {
    const { ref, file_path: path } = visit.parameters as { ref: string; file_path: string };
    let lines = 0;
    const first = ((ranges ?? []) as Shown[]).filter((range) => {
      lines += range.lines.length;
      return lines <= MOST_LINES;
    });
    const whole = first.flatMap(({ lines }) => lines).join("\n");
    const shown = (await coloredText(path, whole, visit)).text.split("\n");
    const rows = first.map(
      ({ commit, lines }: Shown) =>
        html`<li><p>${commitLink(commit.id, project, visit)} ${commit.message.split("\n", 1)[0]} · ${commit.author_name}</p><pre class="log" tabindex="0">${new Html(shown.splice(0, lines.length).join("\n"))}</pre></li>`,
    );
    return about(project, visit, {
      of: [ref, pathOf("tree", ref)],
      within: [...folders(ref, path), [partsOf(path).at(-1) ?? path, pathOf("blob", ref, path)]],
      title: `Blame of ${path}`,
      name: "Blame",
      path: pathOf("blame", ref, path),
      facts: [],
      body: html`<section class="files"><ul class="rows">${rows}</ul>${lines > MOST_LINES && html`<p class="lead">There are more lines.</p>`}</section>`,
    });
  },
});

/** A commit in a list: its title, who has written it and when. */
export const commitRow = (commit: Shown): Html =>
  row(
    html`<a href="${commit.web_url}">${commit.title}</a>`,
    html`${commit.author_name} wrote it ${at(commit.authored_date)}`,
    html`<code>${commit.short_id}</code>`,
  );

const COMMITS = "GET /projects/:id/repository/commits";

function commitList(project: Shown, commits: readonly Shown[], visit: Visit, path: string) {
  const none = "There are no commits.";
  const name = "commits";
  return listPage(project, visit, {
    ...{ kind: "Commits", path, name, rows: commits, none, row: commitRow },
  });
}

const commitPages: readonly Route[] = [
  projectPage({
    path: "/-/commits",
    summary: "Show the commits of the default branch",
    shows: { project: PROJECT, commits: COMMITS },
    view: async ({ project, commits }, visit) => commitList(project, commits, visit, "/-/commits"),
  }),
  projectPage({
    path: "/-/commits/:place*",
    summary: "Show the commits of a branch or tag, or those that changed a file or folder",
    input: place,
    find: revisionOf("ref_name"),
    shows: { project: PROJECT, commits: [COMMITS, { path: "rest" }] },
    view: async ({ project, commits }, visit) => {
      const { ref_name: ref, rest } = visit.parameters as { ref_name: string; rest: string };
      return commitList(project, commits, visit, pathOf("commits", ref, rest));
    },
  }),
  projectPage({
    path: "/-/commit/:sha",
    summary: "Show a commit with what it changed",
    input: { sha: param.anyText({ max: 1024 }), ...viewInput },
    shows: {
      project: PROJECT,
      commit: "GET /projects/:id/repository/commits/:sha",
      files: "GET /projects/:id/repository/commits/:sha/diff",
    },
    view: async ({ project, commit, files }, visit) => {
      const path = `/-/commit/${commit.id}`;
      const more = commit.message.slice(commit.title.length).trim();
      const { last_pipeline: pipeline } = commit;
      return about(project, visit, {
        of: ["Commits", "/-/commits"],
        title: commit.title,
        titled: `${commit.title} (${commit.short_id})`,
        name: commit.short_id,
        path,
        lead: html`${commit.author_name} wrote it ${at(commit.authored_date)}`,
        facts: [
          fact("Commit", html`<code>${commit.short_id}</code>`),
          facts(
            "Parents",
            commit.parent_ids.map((sha: string) => commitLink(sha, project, visit)),
          ),
          fact("Lines", commit.stats && `+${commit.stats.additions} −${commit.stats.deletions}`),
          fact(
            "Pipeline",
            pipeline?.web_url && html`<a href="${pipeline.web_url}">${pipeline.status}</a>`,
          ),
        ],
        body: html`${more !== "" && html`<section><pre>${more}</pre></section>`}
${await changed("files", files, visit, placeOf(project).address + path)}`,
      });
    },
  }),
  projectPage({
    path: "/-/compare/:range*",
    summary: "Show what is on a branch, tag or commit and not on another",
    input: { range: param.anyText({ max: 2048 }), ...viewInput },
    find: async ({ range }) => {
      const [, from, dots, to] = /^(.+?)(\.{2,3})(.+)$/.exec(String(range)) ?? [];
      if (from === undefined) throw notFound();
      return { from, to, straight: dots === ".." };
    },
    shows: { project: PROJECT, compared: "GET /projects/:id/repository/compare" },
    view: async ({ project, compared }, visit) => {
      const { from, to, range } = visit.parameters as { from: string; to: string; range: string };
      const path = `/-/compare/${encodeURIComponent(range)}`;
      const { commits, diffs } = compared;
      return about(project, visit, {
        of: ["Commits", "/-/commits"],
        title: `${to} compared with ${from}`,
        path,
        facts: [],
        body: html`${commits.length > 0 && requestLink(project, visit, to, from)}<section><h2>Commits</h2><ul class="rows">${commits.map(commitRow)}</ul>${commits.length === 0 && html`<p class="lead">There are none.</p>`}</section>
${await changed("diffs", diffs, visit, placeOf(project).address + path)}`,
      });
    },
  }),
];

/** Pages of folders and files, and of commits. */
export const codePages: readonly Route[] = [...filePages, blamePage, ...commitPages];
