import { VISIBILITIES, VISIBILITY_WORDS } from "../../core/access.ts";
import * as is from "../../core/input.ts";
import * as show from "../../core/present.ts";
import { userSummaryFields } from "../users/json.ts";
import type { ProjectFilter } from "./queries.ts";

const basicFields = {
  id: show.integer("p.id"),
  description: show.text("p.description"),
  name: show.text("p.name"),
  name_with_namespace: show.text("n.full_name || ' / ' || p.name"),
  path: show.text("p.path"),
  path_with_namespace: show.text("p.full_path"),
  created_at: show.instant("p.created_at"),
  default_branch: show.text("p.default_branch"),
  tag_list: show.json("p.topics", "array of string"),
  topics: show.json("p.topics", "array of string"),
  ssh_url_to_repo: show.derived(
    ["p.full_path"],
    "string",
    ([path], { host }) => `git@${host}:${path}.git`,
  ),
  http_url_to_repo: show.url("p.full_path", (path) => `/${path}.git`),
  web_url: show.url("p.full_path", (path) => `/${path}`),
  readme_url: show.constant(null),
  avatar_url: show.text("p.avatar_url"),
  star_count: show.integer("p.star_count"),
  forks_count: show.integer(
    "(select count(*) from projects f where f.forked_from_project_id = p.id)",
  ),
  last_activity_at: show.instant("p.last_activity_at"),
  namespace: show.nested({
    id: show.integer("n.id"),
    name: show.text("n.name"),
    path: show.text("n.path"),
    kind: show.text("n.kind"),
    full_path: show.text("n.full_path"),
    parent_id: show.integer("n.parent_id"),
    avatar_url: show.text("n.avatar_url"),
    web_url: show.url(["n.full_path", "n.kind"], (path, kind) =>
      kind === "group" ? `/groups/${path}` : `/${path}`,
    ),
  }),
};

const link = (suffix: string) => show.url("p.id", (id) => `/api/v4/projects/${id}${suffix}`);

const fullFields = {
  ...basicFields,
  _links: show.nested({
    self: link(""),
    issues: link("/issues"),
    merge_requests: link("/merge_requests"),
    repo_branches: link("/repository/branches"),
    labels: link("/labels"),
    events: link("/events"),
    members: link("/members"),
  }),
  archived: show.flag("p.archived"),
  visibility: show.word("p.visibility", VISIBILITY_WORDS),
  owner: show.omittedIfNull(show.nested(userSummaryFields)),
  issues_enabled: show.flag("p.issues_enabled"),
  merge_requests_enabled: show.flag("p.merge_requests_enabled"),
  wiki_enabled: show.flag("p.wiki_enabled"),
  jobs_enabled: show.flag("p.jobs_enabled"),
  snippets_enabled: show.flag("p.snippets_enabled"),
  shared_runners_enabled: show.flag("p.shared_runners_enabled"),
  lfs_enabled: show.flag("p.lfs_enabled"),
  creator_id: show.integer("p.creator_id"),
  forked_from_project: show.omittedIfNull(show.json("p.forked_from_project_id", "object")),
  import_status: show.constant("none"),
  open_issues_count: show.omittedIfNull(show.embedded("open_issues_count", "integer", "null")),
  public_jobs: show.flag("p.public_jobs"),
  shared_with_groups: show.constant([]),
  merge_method: show.text("p.merge_method"),
  request_access_enabled: show.flag("p.request_access_enabled"),
  only_allow_merge_if_pipeline_succeeds: show.flag("p.only_allow_merge_if_pipeline_succeeds"),
  only_allow_merge_if_all_discussions_are_resolved: show.flag(
    "p.only_allow_merge_if_all_discussions_are_resolved",
  ),
};

/** A project in responses to anonymous callers, and to `simple=true`. */
export const basicProject = show.shape(basicFields);

/** A project in its group's response, without permissions. */
export const project = show.shape(fullFields);

/** A project in responses to signed-in callers, with their permissions. */
export const projectWithPermissions = show.shape({
  ...fullFields,
  permissions: show.embedded("permissions", "object", "null"),
});

/** Parameters of every list of projects. */
export const projectListInput = {
  archived: is.optional(is.boolean()),
  visibility: is.optional(is.choice(["private", "internal", "public"])),
  search: is.optional(is.anyText()),
  simple: is.optional(is.boolean()),
  owned: is.optional(is.boolean()),
  starred: is.optional(is.boolean()),
  min_access_level: is.optional(is.accessLevel()),
  with_issues_enabled: is.optional(is.boolean()),
  order_by: is.optional(
    is.choice(["id", "name", "path", "created_at", "updated_at", "last_activity_at"]),
  ),
  sort: is.optional(is.choice(["asc", "desc"])),
};

/** Converts a list's parameters to a filter. */
export function projectFilter(input: is.Input<typeof projectListInput>): ProjectFilter {
  return {
    archived: input.archived,
    visibility: input.visibility && VISIBILITIES[input.visibility],
    search: input.search,
    owned: input.owned,
    starred: input.starred,
    role: input.min_access_level,
    withIssuesEnabled: input.with_issues_enabled,
  };
}
