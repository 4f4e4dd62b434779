import { ApiError } from "../core/errors.ts";
import * as param from "../core/input.ts";
import type { Route } from "../core/resource.ts";
import { field, form, formText } from "../pages/form.ts";
import { type Html, html } from "../pages/html.ts";
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
import { type Discussed, mayWrite, threadsOf, typedIn } from "./discussions.ts";
import { preview } from "./forms.ts";
import { about, fact, listed, placeOf, refused } from "./parts.ts";

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

const reviewShown: Showing<"project" | "request" | "files"> = {
  shows: {
    ...REQUEST,
    files: "GET /projects/:id/merge_requests/:merge_request_iid/diffs",
  },
  view: async ({ project, request, files }, visit) => {
    const part = ofRequest(request, "Diffs");
    const path = placeOf(project).address + part.path;
    const said = await talksOf(project, request, visit, path);
    const reported = await reportOf(visit, request.iid, "coverage_reports");
    const talks = { ...said, hits: reported?.files };
    return about(project, visit, { ...part, body: changed("files", files, visit, path, talks) });
  },
};

/** Pages of what merge requests change, where lines are talked about. */
export const reviewPages: readonly Route[] = [
  projectPage({
    ...reviewShown,
    path: "/-/merge_requests/:merge_request_iid/diffs",
    summary: "Show what a merge request changes, and what is said about its lines",
    input: { merge_request_iid: param.recordId(), view: viewInput, line },
  }),
  projectAction({
    path: "/-/merge_requests/:merge_request_iid/diffs",
    summary: "Begin a thread on a line of a merge request",
    input: { merge_request_iid: param.recordId(), view: viewInput, line },
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
