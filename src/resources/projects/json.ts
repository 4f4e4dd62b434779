import type { Caller } from "../../core/access/caller.ts";
import { FEATURE_LEVELS, type Feature } from "../../core/access/features.ts";
import { BEING_DELETED, VISIBILITY_WORDS } from "../../core/access/visibility.ts";
import { ownAvatar } from "../../core/avatars.ts";
import * as field from "../../core/field.ts";
import { type Presenter, presenter } from "../../core/presenter.ts";
import { customAttributes } from "../custom-attributes/json.ts";
import { sharedWithGroups } from "../group-links/json.ts";
import { withoutStars } from "../mirrors/address.ts";
import { dayOf } from "../namespaces/marked.ts";
import { mirrorFields } from "../pull-mirrors/json.ts";
import { MAIN } from "../repositories/open.ts";
import { namesOf, topicsOf } from "../topics/queries.ts";
import { userSummaryFields } from "../users/json.ts";
import { projectSettings } from "./kept.ts";

/** Projects joined with their namespace, and with its owner if it is personal: what the presenters read. */
export const PROJECTS = `projects p join namespaces n on n.id = p.namespace_id
  left join users u on u.id = n.owner_id`;

/** SQL of how many forks a project `p` has. */
export const FORKS = `(select count(*) from projects f
  where f.forked_from_project_id = p.id and f.visibility > ${BEING_DELETED})`;
/** The path of the README of a project's default branch. */
const README =
  "(select g.readme from git_repositories g where g.project_id = p.id and g.kind = 'code')";

/** SQL of where the import of a project `p` is. A fork has its branches and tags from the beginning. */
export const IMPORT_STATUS = `coalesce((select i.status from project_imports i where i.project_id = p.id),
  case when exists (select 1 from projects f where f.id = p.forked_from_project_id and f.visibility > ${BEING_DELETED})
    then 'finished' else 'none' end)`;

/** Where a project comes from, for its maintainers. */
const ORIGIN = {
  import_url: `coalesce((select i.url from project_imports i where i.project_id = p.id),
    (select pum.url from pull_mirrors pum where pum.project_id = p.id))`,
  import_type: `(select coalesce(i.kind, case when i.url is null then 'gitlab_project' else 'git' end)
    from project_imports i where i.project_id = p.id)`,
  import_error: "(select i.error from project_imports i where i.project_id = p.id)",
};

/** The default branch; of a project without branches, the one that its first branch is expected to be. */
const BRANCH = `coalesce(p.default_branch,
  (select s.default_branch_name from application_settings s where s.id = 1), '${MAIN}')`;

/** Whether a project has no branch. */
const IS_EMPTY = `case when exists (select 1 from git_repositories g join git_refs r on r.repository_id = g.id
  where g.project_id = p.id and g.kind = 'code' and r.name > 'refs/heads/' and r.name < 'refs/heads0') then 0 else 1 end`;

const topics = field.derived([topicsOf("p.id")], "array of string", ([found]) => namesOf(found));

const basicFields = {
  id: field.integer("p.id"),
  description: field.text("p.description"),
  name: field.text("p.name"),
  name_with_namespace: field.text("n.full_name || ' / ' || p.name"),
  path: field.text("p.path"),
  path_with_namespace: field.text("p.full_path"),
  created_at: field.instant("p.created_at"),
  default_branch: field.text(BRANCH),
  tag_list: topics,
  topics,
  ssh_url_to_repo: field.derived(["p.full_path"], "string", ([path], { sshUrl }) =>
    sshUrl(String(path)),
  ),
  http_url_to_repo: field.url("p.full_path", (path) => `/${path}.git`),
  web_url: field.url("p.full_path", (path) => `/${path}`),
  readme_url: field.derived(
    [README, "p.full_path", BRANCH],
    "URL",
    ([readme, path, branch], { base }) =>
      readme === null ? null : `${base}/${path}/-/blob/${encodeURI(`${branch}/${readme}`)}`,
  ),
  avatar_url: ownAvatar("p.avatar_url"),
  star_count: field.integer("p.star_count"),
  forks_count: field.integer(FORKS),
  last_activity_at: field.instant("p.last_activity_at"),
  visibility: field.word("p.visibility", VISIBILITY_WORDS),
  namespace: field.nested({
    id: field.integer("n.id"),
    name: field.text("n.name"),
    path: field.text("n.path"),
    kind: field.text("n.kind"),
    full_path: field.text("n.full_path"),
    parent_id: field.integer("n.parent_id"),
    avatar_url: ownAvatar("n.avatar_url"),
    web_url: field.url(["n.full_path", "n.kind"], (path, kind) =>
      kind === "group" ? `/groups/${path}` : `/${path}`,
    ),
  }),
};

const link = (suffix: string) => field.url("p.id", (id) => `/api/v4/projects/${id}${suffix}`);

const { container_expiration_policy_attributes: policy, ...keptFields } = projectSettings.fields;

/** What GitLab's policy is of a new project. */
const NEW_POLICY = {
  cadence: "1d",
  enabled: false,
  keep_n: 10,
  older_than: "90d",
  name_regex: ".*",
  name_regex_keep: null,
  next_run_at: null,
};

/** How images of containers would be cleaned up. */
const expirationPolicy = field.derived(policy.columns, "object", ([stored]) => {
  const { name_regex_delete, ...sent } =
    projectSettings.read(stored).container_expiration_policy_attributes ?? {};
  return { ...NEW_POLICY, ...sent, ...(name_regex_delete && { name_regex: name_regex_delete }) };
});

/** Whether some may use a feature. */
export const isOn = (feature: Feature) =>
  field.derived([`p.${feature}_enabled`], "boolean", ([set]) => set !== FEATURE_LEVELS.disabled);

/** The names of {@link FEATURE_LEVELS}, by what the column of a feature has. */
const LEVEL_WORDS = Object.fromEntries(
  Object.entries(FEATURE_LEVELS).map(([name, level]) => [level, name]),
);

/** Who may use a feature. */
const accessLevel = (feature: Feature) => field.word(`p.${feature}_enabled`, LEVEL_WORDS);

const fullFields = {
  ...basicFields,
  _links: field.nested({
    self: link(""),
    issues: link("/issues"),
    merge_requests: link("/merge_requests"),
    repo_branches: link("/repository/branches"),
    labels: link("/labels"),
    events: link("/events"),
    members: link("/members"),
  }),
  empty_repo: field.flag(IS_EMPTY),
  archived: field.flag("p.archived"),
  owner: field.omittedIfNull(field.nested(userSummaryFields)),
  issues_enabled: isOn("issues"),
  merge_requests_enabled: isOn("merge_requests"),
  wiki_enabled: isOn("wiki"),
  jobs_enabled: isOn("jobs"),
  snippets_enabled: isOn("snippets"),
  packages_enabled: isOn("package_registry"),
  issues_access_level: accessLevel("issues"),
  merge_requests_access_level: accessLevel("merge_requests"),
  repository_access_level: accessLevel("repository"),
  releases_access_level: accessLevel("releases"),
  environments_access_level: accessLevel("environments"),
  package_registry_access_level: accessLevel("package_registry"),
  wiki_access_level: accessLevel("wiki"),
  builds_access_level: accessLevel("jobs"),
  snippets_access_level: accessLevel("snippets"),
  shared_runners_enabled: field.flag("p.shared_runners_enabled"),
  lfs_enabled: field.flag("p.lfs_enabled"),
  service_desk_address: field.constant(null),
  creator_id: field.integer("p.creator_id"),
  import_url: field.constant(null),
  import_type: field.constant(null),
  import_error: field.constant(null),
  forked_from_project: field.omittedIfNull({
    ...field.derived(["p.forked_from_project_id"], "object", ([row], view) =>
      row === null ? null : basicProject.value(JSON.parse(String(row)), view),
    ),
    fields: basicFields,
  }),
  import_status: field.text(IMPORT_STATUS),
  open_issues_count: field.omittedIfNull(field.embedded("open_issues_count", "integer", "null")),
  public_jobs: field.flag("p.public_jobs"),
  ci_config_path: field.text("p.ci_config_path"),
  ci_default_git_depth: field.integer("p.ci_default_git_depth"),
  build_timeout: field.integer("p.build_timeout"),
  max_artifacts_size: field.integer("p.max_artifacts_size"),
  ci_job_token_scope_enabled: field.constant(false),
  runners_token: field.constant(null),
  runner_token_expiration_interval: field.constant(null),
  shared_with_groups: sharedWithGroups("project_id", "p.id"),
  merge_method: field.text("p.merge_method"),
  request_access_enabled: field.flag("p.request_access_enabled"),
  only_allow_merge_if_pipeline_succeeds: field.flag("p.only_allow_merge_if_pipeline_succeeds"),
  allow_merge_on_skipped_pipeline: field.flag("p.allow_merge_on_skipped_pipeline"),
  only_allow_merge_if_all_discussions_are_resolved: field.flag(
    "p.only_allow_merge_if_all_discussions_are_resolved",
  ),
  only_allow_merge_if_all_status_checks_passed: field.flag(
    "p.only_allow_merge_if_all_status_checks_passed",
  ),
  remove_source_branch_after_merge: field.flag("p.remove_source_branch_after_merge"),
  squash_option: field.text("p.squash_option"),
  repository_object_format: field.constant("sha1"),
  resolve_outdated_diff_discussions: field.flag("p.resolve_outdated_diff_discussions"),
  autoclose_referenced_issues: field.flag("p.autoclose_referenced_issues"),
  merge_commit_template: field.text("p.merge_commit_template"),
  squash_commit_template: field.text("p.squash_commit_template"),
  requirements_enabled: field.constant(false),
  security_and_compliance_enabled: field.constant(false),
  secret_push_protection_enabled: field.constant(false),
  pre_receive_secret_detection_enabled: field.constant(false),
  compliance_frameworks: field.constant([]),
  updated_at: field.instant("p.updated_at"),
  marked_for_deletion_at: dayOf("p.marked_for_deletion_at"),
  marked_for_deletion_on: dayOf("p.marked_for_deletion_at"),
  emails_enabled: field.flag("1 - p.emails_disabled"),
  emails_disabled: field.flag("p.emails_disabled"),
  ...keptFields,
  ...mirrorFields,
  ...customAttributes,
  container_expiration_policy: expirationPolicy,
  container_registry_image_prefix: field.derived(
    ["p.full_path"],
    "string",
    ([path], { base }) => `${new URL(base).host}/${String(path).toLowerCase()}`,
  ),
  container_registry_enabled: field.derived(
    ["p.kept_settings"],
    "boolean",
    ([stored]) => projectSettings.read(stored).container_registry_access_level !== "disabled",
  ),
};

/** A project in responses to anonymous callers, and to `simple=true`. */
export const basicProject = presenter(basicFields);

/** A project in its group's response, without permissions. */
export const project = presenter(fullFields);

/** A project in responses to signed-in callers, with their permissions. */
export const projectWithPermissions = presenter({
  ...fullFields,
  can_create_merge_request_in: field.embedded("may_open_request", "boolean", "null"),
  permissions: field.embedded("permissions", "object", "null"),
  import_url: field.derived([ORIGIN.import_url], "string", ([url]) =>
    url === null ? null : withoutStars(String(url)),
  ),
  import_type: field.text(ORIGIN.import_type),
  import_error: field.text(ORIGIN.import_error),
});

const bytes = field.integer("size");

/** {@link projectWithPermissions} and, for reporters and above, how large its repository is. */
const projectWithStatistics = presenter({
  ...projectWithPermissions.fields,
  statistics: field.omittedIfNull(
    field.embedded("statistics", "object", "null", {
      fields: {
        commit_count: field.integer("count"),
        storage_size: bytes,
        repository_size: bytes,
        wiki_size: bytes,
        lfs_objects_size: bytes,
        job_artifacts_size: bytes,
        pipeline_artifacts_size: field.constant(0),
        packages_size: bytes,
        snippets_size: field.constant(0),
        uploads_size: bytes,
        container_registry_size: bytes,
      },
    }),
  ),
});

/** The presenter of lists: with permissions, unless the caller is anonymous or wants little. */
export const listedProject = ({
  caller,
  input,
}: {
  caller: Caller | undefined;
  input: { simple?: boolean | undefined; statistics?: boolean | undefined };
}): Presenter => {
  if (!caller || input.simple) return basicProject;
  return input.statistics ? projectWithStatistics : projectWithPermissions;
};
