import * as field from "../../core/field.ts";
import { presenter, rowMaker } from "../../core/presenter.ts";
import { anyMilestoneFields } from "../milestones/json.ts";
import { commitFields } from "../repositories/json.ts";
import { userSummaryFields } from "../users/json.ts";

/** The address of a release in the API. */
const addressOf = (projectId: unknown, tag: unknown) =>
  `/api/v4/projects/${projectId}/releases/${encodeURIComponent(String(tag))}`;

/** A link to an asset, with its release `r`. */
export const linkFields = {
  id: field.integer("rk.id"),
  name: field.text("rk.name"),
  url: field.text("rk.url"),
  direct_asset_url: field.derived(
    ["rk.url", "rk.filepath", "r.project_id", "r.tag"],
    "string",
    ([url, path, projectId, tag], view) =>
      path === null ? url : `${view.base}${addressOf(projectId, tag)}/downloads${path}`,
  ),
  link_type: field.text("rk.link_type"),
};

/** A link to an asset. */
export const link = presenter(linkFields);

const evidenceFields = {
  sha: field.text("evd.sha"),
  filepath: field.derived(
    ["evd.id", "r.tag", "p.full_path"],
    "URL",
    ([id, tag, path], { base }) =>
      `${base}/${path}/-/releases/${encodeURIComponent(String(tag))}/evidences/${id}.json`,
  ),
  collected_at: field.instant("evd.collected_at"),
};

/** What a release was when it was collected. */
export const evidence = presenter(evidenceFields);

/** A milestone of a release, with its issues. */
const milestoneFields = {
  ...anyMilestoneFields,
  issue_stats: field.nested({
    total: field.integer("(select count(*) from issues i where i.milestone_id = m.id)"),
    closed: field.integer(
      "(select count(*) from issues i where i.milestone_id = m.id and i.state = 'closed')",
    ),
  }),
};

/** A milestone of a release. */
export const milestone = presenter(milestoneFields);

/** What a statement selects of a release `r`, its project `p` and its author `u`. */
const stored = {
  id: field.integer("r.id"),
  sha: field.text("r.sha"),
  tag_name: field.text("r.tag"),
  description: field.text("r.description"),
  name: field.text("r.name"),
  created_at: field.instant("r.created_at"),
  released_at: field.instant("r.released_at"),
  author: field.nested(userSummaryFields),
  project_id: field.integer("r.project_id"),
  project_path: field.text("p.full_path"),
  project: field.text("p.path"),
};

/** What of a release is stored: the beginning of a row of {@link release}. */
export const storedRelease = presenter(stored);

/** The archives of a release's code. */
const FORMATS = ["zip", "tar.gz", "tar"] as const;

/** The archives of the code of a project's tag. */
export const sourcesOf = (base: string, projectId: unknown, tag: unknown) =>
  FORMATS.map((format) => ({
    format,
    url: `${base}/api/v4/projects/${projectId}/repository/archive.${format}?sha=${encodeURIComponent(String(tag))}`,
  }));

const { tag_name, description, created_at, released_at, author } = stored;
const name = field.derived(["r.name", "r.tag"], "string", ([given, tag]) => given ?? tag);
const upcoming_release = field.derived(
  ["r.released_at"],
  "boolean",
  ([at], view) => (at as number) > view.now,
);

/** What GitLab shows of each release of a group with `simple=true`. */
export const basicRelease = presenter({
  name,
  tag_name,
  description,
  created_at,
  released_at,
  upcoming_release,
});

const page = (path: (tag: string) => string) =>
  field.url(["p.full_path", "r.tag"], (project, tag) => `/${project}/-${path(tag)}`);
const listed = (path: string, state: string) =>
  page((tag) => `/${path}?release_tag=${encodeURIComponent(tag)}&scope=all&state=${state}`);

/**
 * A release. Its columns are those of {@link storedRelease}, of a commit, and others that a handler fills in: `code` and
 * `changeable` say whether the caller may read the code and change the release.
 */
export const release = presenter({
  tag_name,
  description,
  description_html: field.omittedIfNull(field.text("description_html")),
  name,
  created_at,
  released_at,
  upcoming_release,
  author,
  commit: field.onlyIf("code", field.nested(commitFields)),
  milestones: field.omittedIfNull(
    field.json("milestones", "array of object", { items: milestoneFields }),
  ),
  commit_path: field.onlyIf(
    "code",
    field.derived(["p.full_path", "id"], "string", ([path, id]) =>
      id === null ? null : `/${path}/-/commit/${id}`,
    ),
  ),
  tag_path: field.onlyIf(
    "code",
    field.derived(["p.full_path", "r.tag"], "string", ([path, tag]) => `/${path}/-/tags/${tag}`),
  ),
  assets: field.nested({
    count: field.integer("asset_count"),
    sources: field.onlyIf(
      "code",
      field.derived(["r.project_id", "r.tag"], "array of object", ([id, tag], view) =>
        sourcesOf(view.base, id, tag),
      ),
    ),
    links: field.json("links", "array of object", { items: linkFields }),
  }),
  evidences: field.onlyIf(
    "code",
    field.json("evidences", "array of object", { items: evidenceFields }),
  ),
  _links: field.nested({
    closed_issues_url: listed("issues", "closed"),
    closed_merge_requests_url: listed("merge_requests", "closed"),
    edit_url: field.onlyIf(
      "changeable",
      page((tag) => `/releases/${encodeURIComponent(tag)}/edit`),
    ),
    merged_merge_requests_url: listed("merge_requests", "merged"),
    opened_issues_url: listed("issues", "opened"),
    opened_merge_requests_url: listed("merge_requests", "opened"),
    self: page((tag) => `/releases/${encodeURIComponent(tag)}`),
  }),
});

/** Creates a row of {@link release} from its values. */
export const releaseRow = rowMaker(release);

/** How many archives of the code a release has. */
export const SOURCES = FORMATS.length;
