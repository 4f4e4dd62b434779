import { ApiError, notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { field, form, formText } from "../pages/form.ts";
import { type Html, html } from "../pages/html.ts";
import { mountOf } from "../pages/navigation.ts";
import { commitRow } from "./code.ts";
import {
  previewButton,
  projectAction,
  projectPage,
  type Showing,
  type Shown,
  type Visit,
} from "./declare.ts";
import { changed, lineKey, type Numbers, type Talks, viewInput } from "./diffs.ts";
import { type Discussed, mayWrite, reacting, threadsOf, typedIn } from "./discussions.ts";
import { preview } from "./forms.ts";
import { about, fact, listed, placeOf, refused } from "./parts.ts";
import { pipelineRow } from "./pipelines.ts";

const REQUEST = {
  project: "GET /projects/:id",
  request: "GET /projects/:id/merge_requests/:merge_request_iid",
};
const DISCUSSIONS = "GET /projects/:id/merge_requests/:noteable_id/discussions";

/** What all pages about a part of a merge request have. */
const ofRequest = (request: Shown, part: string) => ({
  of: ["Merge requests", "/-/merge_requests"] as const,
  within: [[request.references.short, `/-/merge_requests/${request.iid}`]] as const,
  name: part,
  title: request.title,
  path: `/-/merge_requests/${request.iid}/${part.toLowerCase()}`,
  facts: [
    fact("From", html`<code>${request.source_branch}</code>`),
    fact("Into", html`<code>${request.target_branch}</code>`),
  ],
});

/** A line to say something about. */
const line = param.optional(param.anyText({ max: 64 }));

/** What the form about a line sends besides: where that line is. */
const WHERE = [
  ...["base_sha", "start_sha", "head_sha"],
  ...["old_path", "new_path", "old_line", "new_line"],
] as const;
const spoken = {
  body: formText,
  ...Object.fromEntries(WHERE.map((name) => [name, param.optional(param.anyText())])),
  old_line: param.optional(param.integer()),
  new_line: param.optional(param.integer()),
};

/** What the API takes of a form about a line. */
function positioned({ body, ...typed }: Readonly<Record<string, unknown>>): object {
  const given = WHERE.flatMap((name) => (typed[name] === undefined ? [] : [[name, typed[name]]]));
  return { body, position: { position_type: "text", ...Object.fromEntries(given) } };
}

/** What is said about the lines of a merge request as it is now, and the form to say more. */
async function talksOf(project: Shown, request: Shown, visit: Visit, path: string): Promise<Talks> {
  const of: Discussed = {
    ...{ name: "merge_requests", path: `/-/merge_requests/${request.iid}` },
    ...{ found: request, place: project },
  };
  const asked = await visit.ask(DISCUSSIONS, { noteable_id: request.iid, per_page: 100 });
  const there = ((asked?.value ?? []) as readonly Shown[]).filter(({ notes }) => {
    const position = notes[0].position;
    return position?.position_type === "text" && position.head_sha === request.diff_refs?.head_sha;
  });
  const thread = await threadsOf(there, visit, of);
  const said = new Map<string, Html>();
  for (const discussion of there) {
    const { new_path, old_line: before, new_line: after } = discussion.notes[0].position;
    const key = lineKey(new_path, { before, after });
    said.set(key, html`${said.get(key)}<div class="thread">${thread(discussion)}</div>`);
  }
  if (!visit.caller || !mayWrite(of, visit)) return { of: said };
  const query = new URLSearchParams(visit.request.query);
  const link = (name: string) => {
    query.set("line", name);
    return `?${query.toString()}`;
  };
  const { line: chosen } = visit.parameters as { line?: string };
  const shown = await preview(visit, typedIn(visit, undefined), "Your comment");
  const ask = (name: string, file: Shown, { before, after }: Numbers) => {
    const where: Shown = { ...request.diff_refs, ...file, old_line: before, new_line: after };
    const hidden = WHERE.flatMap((one) =>
      where[one] === undefined
        ? []
        : [html`<input type="hidden" name="${one}" value="${where[one]}">`],
    );
    const comment = field({
      ...{ name: "body", id: "about-line", label: "Your comment", type: "lines" },
      ...{ value: typedIn(visit, undefined), autofocus: true },
    });
    return html`${refused(visit)}${form(visit, path + link(name), html`${hidden}${comment}${shown}<div class="actions"><button>Start a thread</button>${previewButton}</div>`)}`;
  };
  return { of: said, more: { link, asked: chosen, form: ask } };
}

/** What the pipeline of a merge request reports, if it does. */
export async function reportOf(
  visit: Pick<Visit, "ask">,
  iid: number,
  what: "coverage_reports" | "codequality_reports" | "exposed_artifacts",
): Promise<Shown | undefined> {
  const route = `GET /:id*/-/merge_requests/:merge_request_iid/${what}.json`;
  try {
    return (await visit.ask(route, { merge_request_iid: iid }))?.value as Shown | undefined;
  } catch (error) {
    if (error instanceof ApiError && error.status === 400) return undefined;
    throw error;
  }
}

/** The versions of a merge request, by which it is looked at as it was: with all that it changed, or what one changed of another. */
function versionsNav(versions: readonly Shown[], visit: Visit, path: string): Html {
  if (versions.length < 2) return html``;
  const { diff_id: shown, start_sha: start } = versionAsked(visit);
  const query = new URLSearchParams(visit.request.query);
  const kept = ["view", "w"].flatMap((name) => {
    const value = query.get(name);
    return value === null ? [] : [html`<input type="hidden" name="${name}" value="${value}">`];
  });
  const nameOf = (index: number) =>
    index === 0 ? "Latest version" : `Version ${versions.length - index}`;
  const option = (value: unknown, text: string, isChosen: boolean) =>
    html`<option value="${String(value)}"${isChosen && html` selected`}>${text}</option>`;
  const heads = versions.map(({ id }, index) => option(id, nameOf(index), id === shown));
  const starts = versions
    .slice(1)
    .map(({ head_commit_sha: sha }, index) => option(sha, nameOf(index + 1), sha === start));
  return html`<form class="filter" method="get" action="${mountOf(visit.view)}${path}">${kept}
<label>Compare <select name="diff_id">${heads}</select></label>
<label>with <select name="start_sha">${option("", "The target branch", !start)}${starts}</select></label>
<button class="quiet">Show</button></form>`;
}

/** What the address asks for: forms about lines have a field of the same name. */
function versionAsked({ request }: Visit): { diff_id?: number; start_sha?: string } {
  const query = new URLSearchParams(request.query);
  const [id, start_sha] = [query.get("diff_id"), query.get("start_sha")];
  return { ...(id && { diff_id: Number(id) }), ...(start_sha && { start_sha }) };
}

/** As many versions can be chosen. */
const MOST_VERSIONS = 50;

const reviewShown: Showing<"project" | "request"> = {
  shows: REQUEST,
  view: async ({ project, request }, visit) => {
    const part = ofRequest(request, "Diffs");
    const path = placeOf(project).address + part.path;
    const one = { merge_request_iid: request.iid };
    const VERSIONS = "GET /projects/:id/merge_requests/:merge_request_iid/versions";
    const asked = await visit.ask(VERSIONS, { ...one, per_page: MOST_VERSIONS });
    const versions = (asked?.value ?? []) as readonly Shown[];
    const { diff_id, start_sha } = versionAsked(visit);
    const latest = versions[0];
    const chosen = diff_id === undefined ? latest : versions.find(({ id }) => id === diff_id);
    if (diff_id !== undefined && !chosen) throw notFound();
    const above = versionsNav(versions, visit, path);
    if (chosen !== latest || start_sha) {
      const from = versions.find(({ head_commit_sha: sha }) => sha === start_sha);
      if (start_sha && !from) throw notFound();
      const known = from
        ? await visit.ask("GET /projects/:id/repository/compare", {
            ...{ from: from.head_commit_sha, to: chosen?.head_commit_sha, straight: true },
          })
        : await visit.ask(`${VERSIONS}/:version_id`, { ...one, version_id: chosen?.id });
      const { number, size } = visit.page;
      const all = ((known?.value as Shown)?.diffs ?? []) as readonly Shown[];
      const rows = all.slice((number - 1) * size, number * size);
      if (all.length > number * size) visit.unfinished.add("files");
      const note = html`<p class="note">This is an older version, or a comparison of two: what is said about lines is shown with the latest one.</p>`;
      return about(project, visit, {
        ...part,
        body: html`${above}${note}${await changed("files", rows, visit, path)}`,
      });
    }
    const { number: page, size: per_page } = visit.page;
    const DIFFS = "GET /projects/:id/merge_requests/:merge_request_iid/diffs";
    const found = await visit.ask(DIFFS, { ...one, page, per_page });
    if (!found) throw notFound();
    if (found.hasNext) visit.unfinished.add("files");
    const said = await talksOf(project, request, visit, path);
    const reported = await reportOf(visit, request.iid, "coverage_reports");
    const talks = { ...said, hits: reported?.files };
    const files = found.value as readonly Shown[];
    return about(project, visit, {
      ...part,
      body: html`${above}${await changed("files", files, visit, path, talks)}`,
    });
  },
};

/** Which version is shown, and compared with which, as GitLab's links say it. */
const versionInput = {
  diff_id: param.unlessBlank(param.integer()),
  start_sha: param.unlessBlank(param.anyText({ max: 64 })),
};

/** Pages of what merge requests change, where lines are talked about. */
export const reviewPages: readonly Route[] = [
  projectPage({
    ...reviewShown,
    path: "/-/merge_requests/:merge_request_iid/diffs",
    summary: "Show what a merge request changes, and what is said about its lines",
    input: { merge_request_iid: param.recordId(), ...viewInput, ...versionInput, line },
    fields: reacting,
  }),
  projectAction({
    path: "/-/merge_requests/:merge_request_iid/diffs",
    summary: "Begin a thread on a line of a merge request",
    input: { merge_request_iid: param.recordId(), ...viewInput, line },
    fields: spoken,
    performs: [
      "POST /projects/:id/merge_requests/:noteable_id/discussions",
      { noteable_id: "merge_request_iid" },
    ],
    hasPreview: true,
    sends: positioned,
    to: ({ notes }, { merge_request_iid: iid, view: shown = "inline" }) =>
      `/-/merge_requests/${iid}/diffs?view=${shown}#note_${notes[0].id}`,
    again: reviewShown,
  }),
  projectPage({
    path: "/-/merge_requests/:merge_request_iid/pipelines",
    summary: "Show the pipelines of a merge request",
    input: { merge_request_iid: param.recordId() },
    shows: {
      ...REQUEST,
      pipelines: "GET /projects/:id/merge_requests/:merge_request_iid/pipelines",
    },
    view: async ({ project, request, pipelines }, visit) => {
      const part = ofRequest(request, "Pipelines");
      const path = placeOf(project).address + part.path;
      return about(project, visit, {
        ...part,
        body: html`<section><h2>Pipelines</h2>${listed("pipelines", pipelines, visit, { path, none: "There are no pipelines.", row: pipelineRow })}</section>`,
      });
    },
  }),
  projectPage({
    path: "/-/merge_requests/:merge_request_iid/commits",
    summary: "Show the commits of a merge request",
    input: { merge_request_iid: param.recordId() },
    shows: {
      ...REQUEST,
      commits: "GET /projects/:id/merge_requests/:merge_request_iid/commits",
    },
    view: async ({ project, request, commits }, visit) => {
      const part = ofRequest(request, "Commits");
      const path = placeOf(project).address + part.path;
      return about(project, visit, {
        ...part,
        body: html`<section><h2>Commits</h2>${listed("commits", commits, visit, { path, none: "There are no commits.", row: commitRow })}</section>`,
      });
    },
  }),
];
