import { OF_HOMES } from "../../core/access/visibility.ts";
/** What is known of a record in one of the two states, besides its own row: columns of {@link Kind.find}. */
export type Found = Readonly<Record<string, string | number | null>>;

/** A kind of record that clients can make, and how it is found in the database and shown. */
export interface Kind {
  /** As `changes` names it. */
  readonly type: string;
  /**
   * The tables with a row that belongs to such a record, and the SQL of its key there. A record is looked at if any of
   * these rows differ.
   */
  readonly rows: Readonly<Record<string, string>>;
  /** `select` of what {@link path} and {@link api} need, up to its `where`; the key is `key`. */
  readonly find: string;
  /** The SQL of the key in {@link find}, and a condition that must hold, too. */
  readonly key: string;
  readonly where?: string;
  /** What names it: the path of its project or group, and its own place there. */
  readonly path: (found: Found) => string;
  /** The path of what it belongs to. With that it is deleted. */
  readonly within?: (found: Found) => string | null;
  /** The path of another record with which it is deleted. */
  readonly with?: (found: Found) => string;
  /** The request that shows it, below `/api/v4`; without one, its record is {@link Found} without the key. */
  readonly api?: (found: Found) => string | undefined;
  /** Whose to-do items and drafts these are: who asks. Default: an administrator. */
  readonly as?: (found: Found) => string;
  /** If {@link api} shows a list: whether a record of it is this one. */
  readonly pick?: (record: Record<string, unknown>, found: Found) => boolean;
  /** What its record is made of, where that is not what the API shows. */
  readonly record?: (shown: Record<string, unknown>, found: Found) => Record<string, unknown>;
  /** Attributes whose values are not told, only whether they differ. */
  readonly masked?: (record: Record<string, unknown>) => readonly string[];
  /** Attributes that follow from others. */
  readonly noise?: readonly string[];
  /** Whether the API shows it even if it has no row. */
  readonly isAlways?: boolean;
  /** Whether it has come to be by itself. */
  readonly follows?: (found: Found) => boolean;
  /** Whether it is a name of a commit, which can get another one. */
  readonly moves?: boolean;
  /** Whether it comes with what it is in: a default branch, the membership of whoever creates a project. */
  readonly comesAlong?: boolean;
}

const encoded = (text: string | number | null | undefined) => encodeURIComponent(String(text));

/** The owner of records of projects and groups. */
const OWNER = `left join projects p on p.id = x.project_id left join namespaces n on n.id = x.namespace_id`;
const OWNER_COLUMNS =
  "coalesce(p.full_path, n.full_path) as place, p.id as project, n.id as namespace";
const ofOwner = ({ project, namespace }: Found) =>
  project === null ? `/groups/${namespace}` : `/projects/${project}`;
/** Whether a row `p` of projects is a hidden one, which has a group's epics. */
const OF_HOME = `p.visibility = ${OF_HOMES}`;
const place = ({ place: path }: Found) => (path === null ? null : String(path));
const PROJECT = "join projects p on p.id = x.project_id";
const PROJECT_COLUMNS = "p.full_path as place, p.id as project";
const ofProject = ({ project }: Found) => `/projects/${project}`;

/** A record of a project or group, at a path of theirs with its key. */
function owned(
  type: string,
  table: string,
  { at, name, by = "key" }: { at: string; name: string; by?: string },
): Pick<Kind, "type" | "rows" | "find" | "key" | "path" | "within" | "api"> {
  return {
    type,
    rows: { [table]: "id" },
    find: `select x.id as key, x.${name} as name, ${OWNER_COLUMNS} from ${table} x ${OWNER}`,
    key: "x.id",
    path: (found) => `${found["place"] ?? "instance"} (${type} ${found["name"]})`,
    within: place,
    api: (found) => `${ofOwner(found)}/${at}/${encoded(found[by])}`,
  };
}

/** A row `x` of a project, or of the hidden one that has what is a group's: the columns are those of {@link OWNER_COLUMNS}. */
const HOMED = `join projects h on h.id = x.project_id
  left join namespaces n on n.id = h.namespace_id and h.visibility = ${OF_HOMES}
  left join projects p on p.id = x.project_id and n.id is null`;

/** {@link owned}, by projects only. */
function ofProjects(
  type: string,
  table: string,
  { at, name, by = "key" }: { at: string; name: string; by?: string },
): Pick<Kind, "type" | "rows" | "find" | "key" | "path" | "within" | "api"> {
  return {
    ...owned(type, table, { at, name, by }),
    find: `select x.id as key, x.${name} as name, ${PROJECT_COLUMNS} from ${table} x ${PROJECT}`,
    api: (found) => `${ofProject(found)}/${at}/${encoded(found[by])}`,
  };
}

/** The issue, merge request or snippet that something belongs to: its path, and that of its API. */
const TARGET = `left join issues i on i.id = x.issue_id left join merge_requests m on m.id = x.merge_request_id`;
const TARGET_COLUMNS = `i.iid as issue, m.iid as request, p.full_path as place, p.id as project`;
const TARGET_PROJECT = "join projects p on p.id = coalesce(i.project_id, m.project_id)";
const targetOf = ({ place: path, issue, request, snippet }: Found) =>
  issue !== null && issue !== undefined
    ? `${path}#${issue}`
    : request !== null && request !== undefined
      ? `${path}!${request}`
      : `${path ?? ""}$${snippet}`;
const apiOfTarget = ({ project, issue, request, snippet }: Found) =>
  issue !== null && issue !== undefined
    ? `/projects/${project}/issues/${issue}`
    : request !== null && request !== undefined
      ? `/projects/${project}/merge_requests/${request}`
      : `/projects/${project}/snippets/${snippet}`;

const without =
  (...names: string[]) =>
  (shown: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(shown).filter(([name]) => !names.includes(name)));

const refs = (type: string, prefix: string, at: string): Kind => ({
  type,
  rows: { git_refs: "repository_id || ' ' || name" },
  find: `select x.repository_id || ' ' || x.name as key, substr(x.name, ${prefix.length + 1}) as name,
    ${PROJECT_COLUMNS}, lower(hex(x.oid)) as sha from git_refs x
    join git_repositories r on r.id = x.repository_id join projects p on p.id = r.project_id`,
  key: "x.repository_id || ' ' || x.name",
  where: `r.kind = 'code' and x.name like '${prefix}%'`,
  path: ({ place: path, name }) => `${path} (${type} ${name})`,
  within: place,
  api: ({ project, name }) => `/projects/${project}/repository/${at}/${encoded(name)}`,
  noise: [
    "merged",
    "protected",
    "can_push",
    "default",
    "developers_can_push",
    "developers_can_merge",
  ],
  moves: true,
  comesAlong: true,
});

const tokenNoise = ["active", "last_used_ips"];

/** The projects or groups whose jobs may use a project. @param prefix of its keys, which those of the others don't have */
function jobTokenScope(prefix: string, table: string, target: string): Kind {
  return {
    type: "job token scope",
    rows: { [table]: `'${prefix} ' || id` },
    find: `select '${prefix} ' || x.id as key, t.full_path as target, ${PROJECT_COLUMNS} from ${table} x
      join ${target} ${PROJECT}`,
    key: `'${prefix} ' || x.id`,
    path: ({ place: where, target: path }) => `${where} (job token scope ${path})`,
    within: place,
    record: without("project", "place"),
  };
}

/** Every kind of record that clients can make. Of records of the same project, those that others refer to come first. */
export const kinds: readonly Kind[] = [
  {
    type: "user",
    rows: { users: "id", avatars: "user_id" },
    find: `select x.id as key, x.username as name, (select 1 from resource_bots b where b.user_id = x.id) as bot
      from users x`,
    key: "x.id",
    where: "x.state not in ('ghost', 'placeholder')",
    path: ({ name }) => String(name),
    api: ({ key }) => `/users/${key}`,
    follows: ({ bot }) => bot === 1,
    noise: [
      "last_activity_on",
      "using_license_seat",
      "locked",
      "namespace_id",
      "created_by",
      "is_followed",
      "followers",
      "following",
    ],
  },
  {
    type: "user status",
    rows: { user_statuses: "user_id" },
    find: `select x.user_id as key, u.username as place from user_statuses x join users u on u.id = x.user_id`,
    key: "x.user_id",
    path: (found) => `${found["place"]} (status)`,
    within: place,
    api: ({ key }) => `/users/${key}/status`,
  },
  {
    type: "email",
    rows: { user_emails: "id" },
    find: `select x.id as key, x.email as name, u.username as place, u.id as user
      from user_emails x join users u on u.id = x.user_id`,
    key: "x.id",
    path: ({ place: user, name }) => `${user} (email ${name})`,
    within: place,
    api: ({ user }) => `/users/${user}/emails`,
    pick: ({ id }, { key }) => id === key,
  },
  {
    type: "ssh key",
    rows: { ssh_keys: "id" },
    find: `select x.id as key, x.title as name, u.username as place, u.id as user
      from ssh_keys x join users u on u.id = x.user_id`,
    key: "x.id",
    path: ({ place: user, name }) => `${user} (ssh key ${name})`,
    within: place,
    api: ({ user, key }) => `/users/${user}/keys/${key}`,
  },
  {
    type: "gpg key",
    rows: { gpg_keys: "id" },
    find: `select x.id as key, x.primary_keyid as name, u.username as place, u.id as user
      from gpg_keys x join users u on u.id = x.user_id`,
    key: "x.id",
    where: "x.removed_at is null",
    path: ({ place: user, name }) => `${user} (gpg key ${name})`,
    within: place,
    api: ({ user, key }) => `/users/${user}/gpg_keys/${key}`,
  },
  {
    type: "custom attribute",
    rows: { custom_attributes: "id" },
    find: `select x.id as key, x.key as name, coalesce(u.username, n.full_path, p.full_path) as place,
        case when u.id is not null then 'users/' || u.id when n.id is not null then 'groups/' || n.id
          else 'projects/' || p.id end as owner
      from custom_attributes x left join users u on u.id = x.user_id left join namespaces n on n.id = x.namespace_id
      left join projects p on p.id = x.project_id`,
    key: "x.id",
    path: ({ place: owner, name }) => `${owner} (custom attribute ${name})`,
    within: place,
    api: ({ owner, name }) => `/${owner}/custom_attributes/${encodeURIComponent(String(name))}`,
  },
  {
    type: "access token",
    rows: { tokens: "id" },
    find: `select x.id as key, x.name, coalesce(p.full_path, n.full_path, u.username) as place from tokens x
      join users u on u.id = x.user_id left join resource_bots b on b.user_id = u.id
      left join projects p on p.id = b.project_id left join namespaces n on n.id = b.namespace_id`,
    key: "x.id",
    path: ({ place: owner, name }) => `${owner} (access token ${name})`,
    within: place,
    api: ({ key }) => `/personal_access_tokens/${key}`,
    noise: tokenNoise,
  },
  {
    type: "follower",
    rows: { user_follows: "id" },
    find: `select x.id as key, f.username as follower, u.username as place from user_follows x
      join users f on f.id = x.follower_id join users u on u.id = x.followed_id`,
    key: "x.id",
    path: ({ place: user, follower }) => `${user} (follower ${follower})`,
    within: place,
    with: ({ follower }) => String(follower),
  },
  {
    type: "notification setting",
    rows: { notification_settings: "id" },
    find: `select x.id as key, u.username as user, x.level, x.notification_email, x.flags,
      coalesce(p.full_path, n.full_path, u.username) as place from notification_settings x
      join users u on u.id = x.user_id left join projects p on p.id = x.project_id
      left join namespaces n on n.id = x.namespace_id`,
    key: "x.id",
    path: ({ place: where, user }) => `${where} (notification setting of ${user})`,
    within: place,
  },
  {
    type: "group",
    rows: { namespaces: "id", avatars: "namespace_id" },
    find: `select x.id as key, x.full_path as name, parent.full_path as place
      from namespaces x left join namespaces parent on parent.id = x.parent_id`,
    key: "x.id",
    where: "x.kind = 'group'",
    path: ({ name }) => String(name),
    within: place,
    api: ({ key }) => `/groups/${key}?with_projects=false`,
    noise: ["projects", "shared_projects", "marked_for_deletion_on"],
  },
  {
    type: "project",
    rows: { projects: "id", project_topics: "project_id", avatars: "project_id" },
    find: `select x.id as key, x.full_path as name, n.full_path as place
      from projects x join namespaces n on n.id = x.namespace_id`,
    key: "x.id",
    // Hidden ones have the epics of groups.
    where: "x.visibility >= -1",
    path: ({ name }) => String(name),
    within: place,
    api: ({ key }) => `/projects/${key}`,
    noise: [
      "empty_repo",
      "permissions",
      "can_create_merge_request_in",
      "tag_list",
      "emails_disabled",
      "import_status",
      "marked_for_deletion_on",
    ],
  },
  {
    type: "member",
    rows: { members: "id" },
    find: `select x.id as key, u.username as name, u.id as user, ${OWNER_COLUMNS},
      (select 1 from resource_bots b where b.user_id = x.user_id) as bot
      from members x join users u on u.id = x.user_id ${OWNER}`,
    key: "x.id",
    path: ({ place: where, name }) => `${where} (member ${name})`,
    within: place,
    with: ({ name }) => String(name),
    api: (found) => `${ofOwner(found)}/members/${found["user"]}`,
    noise: ["created_by", "membership_state"],
    follows: ({ bot }) => bot === 1,
    comesAlong: true,
  },
  {
    type: "shared group",
    rows: { group_links: "id" },
    find: `select x.id as key, g.full_path as name, x.access_level as group_access_level, x.expires_at, ${OWNER_COLUMNS}
      from group_links x join namespaces g on g.id = x.group_id ${OWNER}`,
    key: "x.id",
    path: ({ place: where, name }) => `${where} (shared group ${name})`,
    within: place,
    with: ({ name }) => String(name),
    record: without("project", "namespace", "place", "name"),
  },
  {
    type: "invitation",
    rows: { member_invitations: "id" },
    find: `select x.id as key, x.email as invite_email, x.access_level, x.expires_at, ${OWNER_COLUMNS}
      from member_invitations x ${OWNER}`,
    key: "x.id",
    path: (found) => `${found["place"]} (invitation ${found["invite_email"]})`,
    within: place,
    record: without("project", "namespace", "place"),
  },
  {
    type: "access request",
    rows: { access_requests: "id" },
    find: `select x.id as key, u.username, ${OWNER_COLUMNS}
      from access_requests x join users u on u.id = x.user_id ${OWNER}`,
    key: "x.id",
    path: ({ place: where, username }) => `${where} (access request ${username})`,
    within: place,
    record: without("project", "namespace", "place"),
  },
  {
    type: "star",
    rows: { project_stars: "project_id || ' ' || user_id" },
    find: `select x.project_id || ' ' || x.user_id as key, u.username, ${PROJECT_COLUMNS}
      from project_stars x join users u on u.id = x.user_id ${PROJECT}`,
    key: "x.project_id || ' ' || x.user_id",
    path: ({ place: where, username }) => `${where} (star ${username})`,
    within: place,
    with: ({ username }) => String(username),
    record: without("project", "place"),
  },
  {
    ...owned("label", "labels", { at: "labels", name: "name" }),
    where: "x.removed = 0",
    noise: ["text_color", "subscribed"],
  },
  {
    ...owned("milestone", "milestones", { at: "milestones", name: "title" }),
    where: "x.removed = 0",
    noise: ["expired"],
  },
  {
    type: "iteration cadence",
    rows: { iteration_cadences: "id" },
    find: `select x.id as key, x.title, x.description, x.start_date, x.duration_in_weeks, x.iterations_in_advance,
      x.automatic, x.active, x.roll_over, n.full_path as place
      from iteration_cadences x join namespaces n on n.id = x.namespace_id`,
    key: "x.id",
    path: ({ place: group, title }) => `${group} (iteration cadence ${title})`,
    within: place,
    record: without("place"),
  },
  {
    type: "iteration",
    rows: { iterations: "id" },
    find: `select x.id as key, x.title, x.description, x.start_date, x.due_date, n.full_path as place
      from iterations x join namespaces n on n.id = x.namespace_id`,
    key: "x.id",
    where: "x.removed = 0",
    path: ({ place: group, title, start_date }) => `${group} (iteration ${title ?? start_date})`,
    within: place,
    record: without("place"),
  },
  {
    ...owned("badge", "badges", { at: "badges", name: "name" }),
    noise: ["rendered_link_url", "rendered_image_url"],
  },
  {
    ...owned("protected environment", "protected_environments", {
      at: "protected_environments",
      name: "name",
      by: "name",
    }),
    rows: { protected_environments: "id", environment_grants: "environment_id" },
  },
  {
    type: "deployment approval",
    rows: { deployment_approvals: "id" },
    find: `select x.id as key, d.iid as deployment, u.username as user, x.status, x.comment, ${PROJECT_COLUMNS}
      from deployment_approvals x join deployments d on d.id = x.deployment_id
      join users u on u.id = x.user_id join projects p on p.id = d.project_id`,
    key: "x.id",
    path: ({ place: where, deployment, user }) => `${where} (approval of ${deployment} by ${user})`,
    within: place,
    record: without("project", "place"),
  },
  {
    type: "approval settings",
    rows: { group_approval_settings: "id" },
    find: `select x.id as key, n.full_path as place, n.id as namespace from group_approval_settings x
      join namespaces n on n.id = x.namespace_id`,
    key: "x.id",
    path: ({ place: where }) => `${where} (approval settings)`,
    within: place,
    api: ({ namespace }) => `/groups/${namespace}/merge_request_approval_setting`,
  },
  {
    type: "target branch rule",
    rows: { target_branch_rules: "id" },
    find: `select x.id as key, x.name, x.target_branch, ${PROJECT_COLUMNS} from target_branch_rules x ${PROJECT}`,
    key: "x.id",
    path: ({ place: where, name }) => `${where} (target branch rule ${name})`,
    within: place,
    record: without("project", "place"),
  },
  ofProjects("freeze period", "freeze_periods", { at: "freeze_periods", name: "freeze_start" }),
  ofProjects("feature flag", "feature_flags", { at: "feature_flags", name: "name", by: "name" }),
  {
    ...ofProjects("list of users", "feature_flag_user_lists", {
      at: "feature_flags_user_lists",
      name: "name",
      by: "iid",
    }),
    find: `select x.id as key, x.iid, x.name as name, ${PROJECT_COLUMNS} from feature_flag_user_lists x ${PROJECT}`,
  },
  {
    ...ofProjects("push mirror", "remote_mirrors", { at: "remote_mirrors", name: "url" }),
    noise: ["last_update_at", "last_update_started_at", "last_successful_update_at"],
  },
  {
    ...ofProjects("pull mirror", "pull_mirrors", { at: "mirror", name: "url" }),
    api: (found) => `${ofProject(found)}/mirror/pull`,
    noise: ["last_update_at", "last_update_started_at", "last_successful_update_at"],
  },
  {
    type: "terraform state",
    rows: { terraform_states: "id", terraform_state_versions: "state_id" },
    find: `select x.id as key, x.name, x.locked_by, ${PROJECT_COLUMNS},
        (select max(serial) from terraform_state_versions where state_id = x.id) as serial
      from terraform_states x ${PROJECT}`,
    key: "x.id",
    path: ({ place: where, name }) => `${where} (terraform state ${name})`,
    within: place,
    record: without("project", "place"),
  },
  ofProjects("secure file", "secure_files", { at: "secure_files", name: "name" }),
  ofProjects("site domain", "site_domains", { at: "pages/domains", name: "domain", by: "domain" }),
  {
    type: "site",
    rows: { site_settings: "project_id", site_deployments: "project_id" },
    find: `select p.id as key, ${PROJECT_COLUMNS} from projects p`,
    key: "p.id",
    path: ({ place: where }) => `${where} (site)`,
    within: place,
    api: (found) => `${ofProject(found)}/pages`,
    isAlways: true,
  },
  {
    type: "container repository",
    rows: { container_repositories: "id" },
    find: `select x.id as key, x.name, ${PROJECT_COLUMNS} from container_repositories x ${PROJECT}`,
    key: "x.id",
    path: ({ place: where, name }) => `${where} (container repository ${name})`,
    within: place,
    api: ({ key }) => `/registry/repositories/${key}`,
  },
  {
    type: "container tag",
    rows: { container_tags: "id" },
    find: `select x.id as key, x.name, r.id as repository, r.name as own, ${PROJECT_COLUMNS}
      from container_tags x join container_repositories r on r.id = x.repository_id
      join projects p on p.id = r.project_id`,
    key: "x.id",
    path: ({ place: where, own, name }) => `${where} (container tag ${own}:${name})`,
    within: place,
    with: ({ place: where, own }) => `${where} (container repository ${own})`,
    api: ({ project, repository, name }) =>
      `${ofProject({ project: project as number })}/registry/repositories/${repository}/tags/${encoded(name)}`,
  },
  {
    ...ofProjects("resource group", "resource_groups", {
      at: "resource_groups",
      name: "key",
      by: "name",
    }),
    // Jobs make them.
    follows: () => true,
  },
  {
    ...ofProjects("project alias", "project_aliases", { at: "project_aliases", name: "name" }),
    api: ({ name }) => `/project_aliases/${encoded(name)}`,
  },
  {
    type: "protection rule",
    rows: { protection_rules: "id" },
    find: `select x.id as key, x.kind, x.pattern, x.package_type, x.push_level, x.delete_level, ${PROJECT_COLUMNS}
      from protection_rules x ${PROJECT}`,
    key: "x.id",
    path: ({ place: where, kind, pattern }) => `${where} (protection rule ${kind} ${pattern})`,
    within: place,
    record: without("project", "place"),
  },
  {
    type: "security settings",
    rows: { project_security_settings: "project_id" },
    find: `select x.project_id as key, ${PROJECT_COLUMNS} from project_security_settings x ${PROJECT}`,
    key: "x.project_id",
    isAlways: true,
    path: ({ place: where }) => `${where} (security settings)`,
    within: place,
    api: (found) => `${ofProject(found)}/security_settings`,
  },
  {
    type: "member role",
    rows: { member_roles: "id" },
    find: `select x.id as key, x.name, n.full_path as place, n.id as namespace from member_roles x
      left join namespaces n on n.id = x.namespace_id`,
    key: "x.id",
    path: ({ place: where, name }) => `${where ?? "instance"} (member role ${name})`,
    within: place,
    api: ({ namespace }) =>
      `${namespace === null ? "" : `/groups/${namespace}`}/member_roles?per_page=100`,
    pick: ({ id }, { key }) => id === key,
  },
  {
    type: "package settings",
    rows: { package_settings: "namespace_id" },
    find: `select x.namespace_id as key, n.full_path as place, x.maven_duplicates_allowed, x.maven_duplicate_exception_regex,
        x.generic_duplicates_allowed, x.generic_duplicate_exception_regex, x.nuget_duplicates_allowed,
        x.nuget_duplicate_exception_regex, x.terraform_module_duplicates_allowed, x.terraform_module_duplicate_exception_regex
      from package_settings x join namespaces n on n.id = x.namespace_id`,
    key: "x.namespace_id",
    path: ({ place: where }) => `${where} (package settings)`,
    within: place,
    record: without("place"),
  },
  {
    type: "push rule",
    rows: { push_rules: "id" },
    find: `select x.id as key, ${OWNER_COLUMNS} from push_rules x ${OWNER}`,
    key: "x.id",
    path: ({ place: where }) => `${where} (push rule)`,
    within: place,
    api: (found) => `${ofOwner(found)}/push_rule`,
  },
  {
    ...owned("variable", "ci_variables", { at: "variables", name: "key", by: "name" }),
    find: `select x.id as key, x.key as name, x.environment_scope as scope, ${OWNER_COLUMNS} from ci_variables x ${OWNER}`,
    api: (found) =>
      found["place"] === null
        ? `/admin/ci/variables/${encoded(found["name"])}`
        : `${ofOwner(found)}/variables/${encoded(found["name"])}?filter[environment_scope]=${encoded(found["scope"])}`,
    masked: ({ masked, hidden }) => (masked === true || hidden === true ? ["value"] : []),
  },
  {
    ...owned("webhook", "hooks", { at: "hooks", name: "url" }),
    where: "x.check_name is null and x.integration_id is null",
    rows: { hooks: "id", hook_secrets: "hook_id" },
    api: (found) => `${found["place"] === null ? "" : ofOwner(found)}/hooks/${found["key"]}`,
    noise: ["alert_status", "disabled_until"],
  },
  {
    ...owned("integration", "integrations", { at: "integrations", name: "slug", by: "name" }),
    noise: ["updated_at"],
  },
  owned("deploy token", "deploy_tokens", { at: "deploy_tokens", name: "name" }),
  {
    ...owned("board", "boards", { at: "boards", name: "name" }),
    rows: { boards: "id", board_labels: "board_id" },
    where: `coalesce(p.visibility, 0) <> ${OF_HOMES}`,
    noise: ["lists", "group", "project"],
  },
  {
    type: "board list",
    rows: { board_lists: "id" },
    find: `select x.id as key, x.list_type as kind, b.id as board, b.name as board_name,
      coalesce(l.name, m.title, u.username, it.title) as subject, ${OWNER_COLUMNS.replaceAll("x.", "b.")}
      from board_lists x join boards b on b.id = x.board_id left join labels l on l.id = x.label_id
      left join milestones m on m.id = x.milestone_id left join users u on u.id = x.assignee_id
      left join iterations it on it.id = x.iteration_id
      ${OWNER.replaceAll("x.", "b.")}`,
    key: "x.id",
    where: `x.position is not null and coalesce(p.visibility, 0) <> ${OF_HOMES}`,
    path: ({ place: where, board_name: board, subject, kind }) =>
      `${where} (board ${board}, list ${subject ?? kind})`,
    within: ({ place: where, board_name: board }) => `${where} (board ${board})`,
    api: (found) => `${ofOwner(found)}/boards/${found["board"]}/lists/${found["key"]}`,
  },
  {
    type: "epic board",
    rows: { boards: "id", board_labels: "board_id" },
    find: `select x.id as key, x.name, n.full_path as place, n.id as in_group from boards x
      join projects p on p.id = x.project_id and ${OF_HOME} join namespaces n on n.id = p.namespace_id`,
    key: "x.id",
    path: ({ place: where, name }) => `${where} (epic board ${name})`,
    within: place,
    api: ({ in_group: group, key }) => `/groups/${group}/epic_boards/${key}`,
    noise: ["lists", "group"],
  },
  {
    type: "epic board list",
    rows: { board_lists: "id" },
    find: `select x.id as key, b.id as board, b.name as board_name, l.name as label, n.full_path as place, n.id as in_group
      from board_lists x join boards b on b.id = x.board_id join labels l on l.id = x.label_id
      join projects p on p.id = b.project_id and ${OF_HOME} join namespaces n on n.id = p.namespace_id`,
    key: "x.id",
    path: ({ place: where, board_name: board, label }) =>
      `${where} (epic board ${board}, list ${label})`,
    within: ({ place: where, board_name: board }) => `${where} (epic board ${board})`,
    api: ({ in_group: group, board, key }) => `/groups/${group}/epic_boards/${board}/lists/${key}`,
  },
  {
    type: "issue",
    rows: { issues: "id", issue_labels: "issue_id", issue_assignees: "issue_id" },
    find: `select x.id as key, x.iid as name, ${PROJECT_COLUMNS} from issues x ${PROJECT}`,
    key: "x.id",
    where: "x.issue_type <> 'epic'",
    path: ({ place: where, name }) => `${where}#${name}`,
    within: place,
    api: ({ project, name }) => `/projects/${project}/issues/${name}`,
    noise: [
      "assignee",
      "closed_by",
      "has_tasks",
      "task_completion_status",
      "task_status",
      "type",
      "imported_from",
    ],
  },
  {
    type: "epic",
    rows: { issues: "id", issue_labels: "issue_id", epic_details: "issue_id" },
    find: `select x.id as key, x.iid as name, n.full_path as place, n.id as in_group from issues x
      join projects p on p.id = x.project_id join namespaces n on n.id = p.namespace_id`,
    key: "x.id",
    where: "x.issue_type = 'epic'",
    path: ({ place: where, name }) => `${where}&${name}`,
    within: place,
    api: ({ in_group: group, name }) => `/groups/${group}/epics/${name}`,
  },
  {
    type: "parent",
    rows: { work_item_parents: "issue_id" },
    find: `select x.issue_id as key, s.iid as name, p.full_path as place, t.iid as parent, x.position
      from work_item_parents x join issues s on s.id = x.issue_id join projects p on p.id = s.project_id
      join issues t on t.id = x.parent_id`,
    key: "x.issue_id",
    path: ({ place: where, name }) => `${where}#${name} (parent)`,
    within: ({ place: where, name }) => `${where}#${name}`,
    record: (_, { place: where, parent, position }) => ({
      parent_issue: `${where}#${parent}`,
      position,
    }),
    noise: ["position"],
  },
  {
    type: "issue link",
    rows: { issue_links: "id" },
    find: `select x.id as key, s.iid as name, p.full_path as place, p.id as project, t.iid as target,
      q.full_path as target_place from issue_links x
      join issues s on s.id = x.source_id join projects p on p.id = s.project_id
      join issues t on t.id = x.target_id join projects q on q.id = t.project_id`,
    key: "x.id",
    path: (found) =>
      `${found["place"]}#${found["name"]} (link to ${found["target_place"]}#${found["target"]})`,
    within: ({ place: where, name }) => `${where}#${name}`,
    api: ({ project, name, key }) => `/projects/${project}/issues/${name}/links/${key}`,
    record: ({ link_type: kind }, found) => ({
      link_type: kind,
      source_issue: `${found["place"]}#${found["name"]}`,
      target_issue: `${found["target_place"]}#${found["target"]}`,
    }),
  },
  {
    type: "merge request",
    rows: {
      merge_requests: "id",
      merge_request_labels: "merge_request_id",
      merge_request_assignees: "merge_request_id",
      merge_request_reviewers: "merge_request_id",
    },
    find: `select x.id as key, x.iid as name, ${PROJECT_COLUMNS}, x.state, x.sha, x.merge_commit_sha, x.squash_commit_sha
      from merge_requests x ${PROJECT}`,
    key: "x.id",
    path: ({ place: where, name }) => `${where}!${name}`,
    within: place,
    api: ({ project, name }) => `/projects/${project}/merge_requests/${name}`,
    noise: [
      ...[
        "assignee",
        "closed_by",
        "merged_by",
        "merge_user",
        "merge_commit_sha",
        "squash_commit_sha",
        "sha",
      ],
      ...[
        "merge_status",
        "detailed_merge_status",
        "has_conflicts",
        "blocking_discussions_resolved",
        "diff_refs",
      ],
      ...[
        "pipeline",
        "head_pipeline",
        "user",
        "work_in_progress",
        "task_completion_status",
        "reference",
      ],
      ...["first_contribution", "should_remove_source_branch", "merge_error", "squash_on_merge"],
    ],
  },
  {
    type: "block",
    rows: { merge_request_blocks: "id" },
    find: `select x.id as key, m.iid as request, b.iid as blocking, bp.full_path as blocking_project, ${PROJECT_COLUMNS}
      from merge_request_blocks x join merge_requests m on m.id = x.blocked_id join projects p on p.id = m.project_id
      join merge_requests b on b.id = x.blocking_id join projects bp on bp.id = b.project_id`,
    key: "x.id",
    path: ({ place: where, request, blocking_project, blocking }) =>
      `${where}!${request} (blocked by ${blocking_project}!${blocking})`,
    within: ({ place: where, request }) => `${where}!${request}`,
    with: ({ blocking_project, blocking }) => `${blocking_project}!${blocking}`,
    record: without("project", "place", "request"),
  },
  {
    type: "merge train car",
    rows: { merge_train_cars: "id" },
    find: `select x.id as key, m.iid as request, ${PROJECT_COLUMNS} from merge_train_cars x
      join merge_requests m on m.id = x.merge_request_id join projects p on p.id = x.project_id`,
    key: "x.id",
    path: ({ place: where, request }) => `${where}!${request} (merge train)`,
    within: ({ place: where, request }) => `${where}!${request}`,
    api: (found) => `${ofProject(found)}/merge_trains/merge_requests/${found["request"]}`,
    noise: ["merge_request", "pipeline", "duration"],
  },
  {
    type: "approval",
    rows: { approvals: "merge_request_id || ' ' || user_id" },
    find: `select x.merge_request_id || ' ' || x.user_id as key, u.username, m.iid as request, null as issue,
      p.full_path as place from approvals x join users u on u.id = x.user_id
      join merge_requests m on m.id = x.merge_request_id join projects p on p.id = m.project_id`,
    key: "x.merge_request_id || ' ' || x.user_id",
    path: (found) => `${targetOf(found)} (approval ${found["username"]})`,
    within: targetOf,
    record: (_, { username }) => ({ user: { username } }),
  },
  {
    type: "approval rule",
    rows: {
      approval_rules: "id",
      approval_rule_users: "rule_id",
      approval_rule_groups: "rule_id",
      approval_rule_branches: "rule_id",
    },
    find: `select x.id as key, x.name, x.source_id as source, m.iid as request, ${OWNER_COLUMNS} from approval_rules x
      left join merge_requests m on m.id = x.merge_request_id ${HOMED}`,
    key: "x.id",
    path: ({ place: where, request, name }) =>
      `${where}${request === null ? "" : `!${request}`} (approval rule ${name})`,
    within: ({ place: where, request }) => `${where}${request === null ? "" : `!${request}`}`,
    api: (found) =>
      `${ofOwner(found)}${found["request"] === null ? "" : `/merge_requests/${found["request"]}`}/approval_rules/${found["key"]}`,
    noise: ["eligible_approvers", "contains_hidden_groups"],
    follows: ({ source }) => source !== null,
    comesAlong: true,
  },
  {
    type: "note",
    rows: { notes: "id", note_positions: "note_id", suggestions: "note_id" },
    find: `select x.id as key, x.system, i.iid as issue, m.iid as request, s.id as snippet, p.full_path as place,
      p.id as project, n.sha as sha, x.body, u.username as author from notes x left join users u on u.id = x.author_id left join issues i on i.id = x.issue_id
      left join merge_requests m on m.id = x.merge_request_id left join snippets s on s.id = x.snippet_id
      left join noted_commits n on n.id = x.noted_commit_id
      left join projects p on p.id = coalesce(i.project_id, m.project_id, s.project_id, n.project_id)`,
    key: "x.id",
    path: (found) => `${noted(found)} (note ${found["key"]})`,
    within: noted,
    // A list of a commit's discussions is all that shows its notes.
    api: (found) =>
      found["sha"] === null ? `${apiOfTarget(found)}/notes/${found["key"]}` : undefined,
    record: (record, { sha, key, body, author }) =>
      sha === null ? record : { id: key, body, author: { username: author }, commit_id: sha },
    noise: ["resolved_by", "commands_changes", "position", "suggestions"],
    follows: ({ system }) => system === 1,
  },
  {
    type: "draft note",
    rows: { draft_notes: "id" },
    find: `select x.id as key, u.username as author, null as issue, m.iid as request, ${PROJECT_COLUMNS} from draft_notes x
      join users u on u.id = x.author_id join merge_requests m on m.id = x.merge_request_id ${PROJECT}`,
    key: "x.id",
    path: (found) => `${targetOf(found)} (draft note ${found["key"]})`,
    within: targetOf,
    api: (found) => `${apiOfTarget(found)}/draft_notes/${found["key"]}`,
    as: ({ author }) => String(author),
  },
  {
    type: "award emoji",
    rows: { award_emoji: "id" },
    find: `select x.id as key, x.name, u.username as user, x.note_id as note, i.iid as issue, m.iid as request,
      s.id as snippet, p.full_path as place, p.id as project from award_emoji x join users u on u.id = x.user_id
      left join notes n on n.id = x.note_id
      left join issues i on i.id = coalesce(x.issue_id, n.issue_id)
      left join merge_requests m on m.id = coalesce(x.merge_request_id, n.merge_request_id)
      left join snippets s on s.id = coalesce(x.snippet_id, n.snippet_id)
      left join projects p on p.id = coalesce(i.project_id, m.project_id, s.project_id)`,
    key: "x.id",
    path: (found) => `${awarded(found)} (award emoji ${found["name"]} of ${found["user"]})`,
    within: awarded,
    record: (_, { name, user }) => ({ name, user: { username: user } }),
  },
  {
    type: "time spent",
    rows: { timelogs: "id" },
    find: `select x.id as key, x.time_spent, x.summary, u.username as user, ${TARGET_COLUMNS} from timelogs x
      join users u on u.id = x.user_id ${TARGET} ${TARGET_PROJECT}`,
    key: "x.id",
    path: (found) => `${targetOf(found)} (time spent ${found["key"]})`,
    within: targetOf,
    record: (_, { time_spent: seconds, summary, user }) => ({
      ...{ time_spent: seconds, summary, user: { username: user } },
    }),
  },
  {
    type: "subscription",
    rows: { issue_subscriptions: "'i ' || issue_id || ' ' || user_id" },
    find: subscriptions("issue_subscriptions", "'i ' || x.issue_id", "issue", "x.subscribed"),
    key: "'i ' || x.issue_id || ' ' || x.user_id",
    path: (found) => `${targetOf(found)} (subscription ${found["user"]})`,
    within: targetOf,
    record: subscription,
  },
  {
    type: "subscription",
    rows: { merge_request_subscriptions: "'m ' || merge_request_id || ' ' || user_id" },
    find: subscriptions(
      "merge_request_subscriptions",
      "'m ' || x.merge_request_id",
      "request",
      "x.subscribed",
    ),
    key: "'m ' || x.merge_request_id || ' ' || x.user_id",
    path: (found) => `${targetOf(found)} (subscription ${found["user"]})`,
    within: targetOf,
    record: subscription,
  },
  {
    type: "subscription",
    rows: { label_subscriptions: "'l ' || label_id || ' ' || user_id" },
    find: `select 'l ' || x.label_id || ' ' || x.user_id as key, u.username as user, 1 as subscribed, l.name,
      ${OWNER_COLUMNS} from label_subscriptions x join users u on u.id = x.user_id join labels l on l.id = x.label_id
      ${OWNER.replaceAll("x.", "l.")}`,
    key: "'l ' || x.label_id || ' ' || x.user_id",
    path: (found) => `${found["place"]} (label ${found["name"]}, subscription ${found["user"]})`,
    within: ({ place: where, name }) => `${where} (label ${name})`,
    record: subscription,
  },
  {
    type: "subscription",
    rows: { wiki_page_subscriptions: "'w ' || page_id || ' ' || user_id" },
    find: `select 'w ' || x.page_id || ' ' || x.user_id as key, u.username as user, 1 as subscribed, w.slug as name,
      p.full_path as place from wiki_page_subscriptions x join users u on u.id = x.user_id
      join wiki_pages w on w.id = x.page_id join projects p on p.id = w.project_id`,
    key: "'w ' || x.page_id || ' ' || x.user_id",
    path: (found) =>
      `${found["place"]} (wiki page ${found["name"]}, subscription ${found["user"]})`,
    within: ({ place: where, name }) => `${where} (wiki page ${name})`,
    record: subscription,
  },
  {
    type: "todo",
    rows: { todos: "id" },
    find: `select x.id as key, x.action, x.state, u.username as user, ${TARGET_COLUMNS} from todos x
      join users u on u.id = x.user_id ${TARGET} ${TARGET_PROJECT}`,
    key: "x.id",
    path: (found) => `${targetOf(found)} (todo of ${found["user"]})`,
    within: targetOf,
    api: ({ state }) => `/todos?state=${state}`,
    as: ({ user }) => String(user),
    pick: ({ id }, { key }) => id === key,
    noise: ["target", "body", "author", "project", "target_url"],
    follows: ({ action }) => action !== "marked",
  },
  refs("branch", "refs/heads/", "branches"),
  refs("tag", "refs/tags/", "tags"),
  {
    ...owned("protected branch", "protected_branches", {
      at: "protected_branches",
      name: "name",
      by: "name",
    }),
    find: `select x.id as key, x.name, ${OWNER_COLUMNS} from protected_branches x ${HOMED}`,
    rows: { protected_branches: "id", protection_grants: "branch_id" },
    comesAlong: true,
  },
  {
    ...ofProjects("protected tag", "protected_tags", {
      at: "protected_tags",
      name: "name",
      by: "name",
    }),
    rows: { protected_tags: "id", protection_grants: "tag_id" },
  },
  {
    ...ofProjects("release", "releases", { at: "releases", name: "tag", by: "name" }),
    rows: {
      releases: "id",
      release_links: "release_id",
      release_milestones: "release_id",
      release_evidences: "release_id",
    },
    noise: ["commit", "evidences", "commit_path", "tag_path", "upcoming_release"],
  },
  {
    ...ofProjects("wiki page", "wiki_pages", { at: "wikis", name: "slug", by: "name" }),
    noise: ["wiki_page_meta_id", "front_matter"],
  },
  {
    type: "snippet",
    rows: { snippets: "id", snippet_files: "snippet_id" },
    find: `select x.id as key, coalesce(p.full_path, u.username) as place, p.id as project,
      x.file_name, x.content, (select json_group_array(json_object('path', f.path, 'content', f.content))
       from snippet_files f where f.snippet_id = x.id order by f.path) as files from snippets x
      join users u on u.id = x.author_id left join projects p on p.id = x.project_id`,
    key: "x.id",
    path: ({ place: where, key }) => `${where}$${key}`,
    within: place,
    api: ({ project, key }) => `${project === null ? "" : `/projects/${project}`}/snippets/${key}`,
    // The API shows the content of files in requests of their own.
    record: (shown, { file_name: path, content, files }) => ({
      ...shown,
      files: [{ path, content }, ...JSON.parse(String(files))],
    }),
  },
  {
    ...ofProjects("pipeline", "pipelines", { at: "pipelines", name: "id" }),
    find: `select x.id as key, x.id as name, x.source, ${PROJECT_COLUMNS} from pipelines x ${PROJECT}`,
    follows: ({ source }) => !["api", "web", "trigger"].includes(String(source)),
    noise: ["detailed_status", "duration", "queued_duration", "before_sha"],
    comesAlong: true,
  },
  {
    ...ofProjects("job", "ci_jobs", { at: "jobs", name: "id" }),
    find: `select x.id as key, x.id as name, x.kind, ${PROJECT_COLUMNS} from ci_jobs x ${PROJECT}`,
    path: ({ place: where, key }) => `${where} (job ${key})`,
    where: "x.kind <> 'external'",
    follows: () => true,
    noise: [
      "pipeline",
      "commit",
      "project",
      "user",
      "runner",
      "runner_manager",
      "duration",
      "queued_duration",
      "artifacts",
    ],
  },
  {
    type: "commit status",
    rows: { ci_jobs: "id" },
    find: `select x.id as key, x.name, pl.sha, ${PROJECT_COLUMNS} from ci_jobs x
      join pipelines pl on pl.id = x.pipeline_id ${PROJECT}`,
    key: "x.id",
    where: "x.kind = 'external'",
    path: ({ place: where, name, sha }) =>
      `${where} (commit ${String(sha).slice(0, 8)}, status ${name})`,
    within: place,
    api: ({ project, sha }) => `/projects/${project}/repository/commits/${sha}/statuses?all=true`,
    pick: ({ id }, { key }) => id === key,
  },
  {
    ...ofProjects("schedule", "pipeline_schedules", {
      at: "pipeline_schedules",
      name: "description",
    }),
    rows: { pipeline_schedules: "id", pipeline_schedule_variables: "schedule_id" },
    noise: ["last_pipeline"],
  },
  {
    ...ofProjects("trigger", "pipeline_triggers", { at: "triggers", name: "description" }),
    record: without("token"),
    noise: ["last_used"],
  },
  {
    type: "deploy key",
    rows: { deploy_keys: "project_id || ' ' || key_id" },
    find: `select x.project_id || ' ' || x.key_id as key, x.key_id as id, k.title as name, ${PROJECT_COLUMNS}
      from deploy_keys x join ssh_keys k on k.id = x.key_id ${PROJECT}`,
    key: "x.project_id || ' ' || x.key_id",
    path: ({ place: where, name }) => `${where} (deploy key ${name})`,
    within: place,
    api: ({ project, id }) => `/projects/${project}/deploy_keys/${id}`,
  },
  {
    ...ofProjects("environment", "environments", { at: "environments", name: "name" }),
    noise: ["last_deployment"],
  },
  {
    ...ofProjects("deployment", "deployments", { at: "deployments", name: "iid" }),
    find: `select x.id as key, x.iid as name, x.job_id as job, ${PROJECT_COLUMNS} from deployments x ${PROJECT}`,
    follows: ({ job }) => job !== null,
    noise: ["deployable", "environment"],
  },
  {
    ...ofProjects("package", "packages", { at: "packages", name: "name" }),
    rows: { packages: "id", package_files: "package_id", package_tags: "package_id" },
    find: `select x.id as key, x.name || case when x.version is null then '' else ' ' || x.version end as name,
      ${PROJECT_COLUMNS} from packages x ${PROJECT}`,
    noise: ["pipelines", "tags", "last_downloaded_at"],
  },
  {
    ...ofProjects("status check", "hooks", { at: "external_status_checks", name: "check_name" }),
    rows: { hooks: "id", hook_secrets: "hook_id", status_check_branches: "hook_id" },
    where: "x.check_name is not null",
    api: (found) => `${ofProject(found)}/external_status_checks?per_page=100`,
    pick: ({ id }, { key }) => id === key,
  },
  {
    type: "status check response",
    rows: { status_check_responses: "id" },
    find: `select x.id as key, h.check_name as name, x.status, x.sha, m.iid as request, ${PROJECT_COLUMNS}
      from status_check_responses x join hooks h on h.id = x.hook_id
      join merge_requests m on m.id = x.merge_request_id join projects p on p.id = m.project_id`,
    key: "x.id",
    path: ({ place: where, request, name }) => `${where}!${request} (status check ${name})`,
    within: ({ place: where, request }) => `${where}!${request}`,
    record: without("project", "place", "request"),
  },
  {
    type: "upload",
    rows: { project_uploads: "id" },
    find: `select x.id as key, x.file_name as filename, x.size, ${PROJECT_COLUMNS} from project_uploads x ${PROJECT}`,
    key: "x.id",
    path: ({ place: where, filename }) => `${where} (upload ${filename})`,
    within: place,
    record: without("project", "place"),
  },
  jobTokenScope("p", "job_token_projects", "projects t on t.id = x.target_project_id"),
  jobTokenScope("g", "job_token_groups", "namespaces t on t.id = x.target_group_id"),
  {
    type: "runner",
    rows: { runners: "id", runner_tags: "runner_id", runner_projects: "runner_id" },
    find: "select x.id as key, coalesce(x.description, x.id) as name from runners x",
    key: "x.id",
    path: ({ key }) => `instance (runner ${key})`,
    api: ({ key }) => `/runners/${key}`,
    noise: [
      "online",
      "status",
      "ip_address",
      "version",
      "revision",
      "platform",
      "architecture",
      "job_execution_status",
    ],
  },
  {
    type: "metric image",
    rows: { metric_images: "id" },
    find: `select x.id as key, x.file_name as filename, i.iid as issue, ${PROJECT_COLUMNS}
      from metric_images x join issues i on i.id = x.issue_id join projects p on p.id = i.project_id`,
    key: "x.id",
    path: ({ place: where, issue, filename }) => `${where}#${issue} (metric image ${filename})`,
    within: ({ place: where, issue }) => `${where}#${issue}`,
    api: (found) => `${ofProject(found)}/issues/${found["issue"]}/metric_images?per_page=100`,
    pick: ({ id }, { key }) => id === key,
  },
  {
    type: "topic",
    rows: { topics: "id", avatars: "topic_id" },
    find: "select x.id as key, x.name from topics x",
    key: "x.id",
    path: ({ name }) => `instance (topic ${name})`,
    api: ({ key }) => `/topics/${key}`,
    comesAlong: true,
  },
  {
    type: "broadcast message",
    rows: { broadcast_messages: "id" },
    find: "select x.id as key from broadcast_messages x",
    key: "x.id",
    path: ({ key }) => `instance (broadcast message ${key})`,
    api: ({ key }) => `/broadcast_messages/${key}`,
    noise: ["active"],
  },
  {
    type: "application",
    rows: { oauth_applications: "id" },
    find: "select x.id as key, x.name, x.redirect_uris, x.scopes, x.confidential, x.trusted from oauth_applications x",
    key: "x.id",
    path: ({ name }) => `instance (application ${name})`,
  },
  {
    type: "application settings",
    rows: { application_settings: "id" },
    find: "select x.id as key from application_settings x",
    key: "x.id",
    isAlways: true,
    path: () => "instance (application settings)",
    api: () => "/application/settings",
  },
  {
    type: "appearance",
    rows: { appearances: "id", appearance_pictures: "1" },
    find: "select x.id as key from appearances x",
    key: "x.id",
    isAlways: true,
    path: () => "instance (appearance)",
    api: () => "/application/appearance",
  },
  {
    type: "plan limits",
    rows: { plan_limits: "id" },
    find: "select x.id as key, x.plan_name as name from plan_limits x",
    key: "x.id",
    isAlways: true,
    path: ({ name }) => `instance (plan limits ${name})`,
    api: ({ name }) => `/application/plan_limits?plan_name=${encoded(name)}`,
  },
  {
    type: "feature",
    rows: { features: "id" },
    find: "select x.id as key, x.name, x.value from features x",
    key: "x.id",
    path: ({ name }) => `instance (feature ${name})`,
  },
  {
    type: "scim user",
    rows: { scim_users: "id", scim_values: "scim_user_id" },
    find: `select x.id as key, x.uid, x.user_name, x.external_id, x.active, n.full_path as place
      from scim_users x join namespaces n on n.id = x.namespace_id`,
    key: "x.id",
    path: ({ place: where, user_name: name }) => `${where} (scim user ${name})`,
    within: place,
    record: without("place", "uid"),
  },
];

function noted(found: Found): string {
  const { place: where, sha } = found;
  if (sha === null || sha === undefined) return targetOf(found);
  return `${where} (commit ${String(sha).slice(0, 8)})`;
}

function awarded(found: Found): string {
  const { note } = found;
  return note === null ? targetOf(found) : `${targetOf(found)} (note ${note})`;
}

function subscriptions(table: string, target: string, name: string, subscribed: string): string {
  const [id, records] =
    name === "issue" ? ["issue_id", "issues"] : ["merge_request_id", "merge_requests"];
  return `select ${target} || ' ' || x.user_id as key, u.username as user, ${subscribed} as subscribed,
    ${name === "issue" ? "t.iid as issue, null as request" : "null as issue, t.iid as request"}, p.full_path as place
    from ${table} x join users u on u.id = x.user_id join ${records} t on t.id = x.${id}
    join projects p on p.id = t.project_id`;
}

function subscription(_: unknown, { user, subscribed }: Found) {
  return { user: { username: user }, subscribed: subscribed === 1 };
}

/** Tables that no kind above is told from, each with what it is. */
export const INTERNAL: Readonly<Record<string, string>> = {
  attempts: "counts of wrong passwords and tokens",
  audit_events: "what was done, again",
  bulk_import_entities: "groups and projects to be imported",
  bulk_import_failures: "what could not be imported",
  bulk_import_records: "what was imported",
  bulk_imports: "imports from other servers",
  ci_counts: "counts",
  ci_job_specs: "what runners get of a job",
  ci_job_tags: "what runners get of a job",
  ci_trace_parts: "logs of jobs",
  collapsed_board_lists: "how pages look",
  container_blobs: "content of container images",
  container_manifest_blobs: "content of container images",
  container_manifest_children: "content of container images",
  container_manifests: "content of container images",
  container_registry_keys: "what signs tokens",
  container_repository_blobs: "content of container images",
  container_uploads: "what is being uploaded",
  dependencies: "found in files",
  deployed_merge_requests: "what a deployment has deployed",
  dotenv_variables: "what jobs have written",
  downstream_pipelines: "which job has started a pipeline",
  mirrored_pipelines: "which job has the status of a pipeline",
  event_counts: "counts",
  events: "what was done, again",
  feature_flag_clients: "secrets",
  feed_tokens: "secrets",
  git_pack_indexes: "files and commits, which branches show",
  git_pack_pieces: "files and commits, which branches show",
  git_packs: "files and commits, which branches show",
  git_repositories: "facts about files",
  git_repository_packs: "files and commits, which branches show",
  gpg_key_parts: "found in GPG keys",
  group_exports: "archives to be written",
  group_imports: "archives to be read",
  group_link_sources: "found in shared groups and groups",
  half_sign_ins: "sign-in",
  hook_deliveries: "what webhooks were told",
  identities: "who people are at other providers",
  invitations: "links by which users set their passwords",
  job_artifacts: "what jobs have written",
  job_tokens: "tokens of running jobs",
  jobs: "when periodic work is due",
  label_counts: "counts",
  lfs_locks: "who works on which files",
  lfs_object_projects: "content of large files",
  lfs_objects: "content of large files",
  listeners: "who listens",
  merge_request_committers: "found in commits",
  merge_request_context_commits: "commits, which branches show",
  merge_request_issues: "found in texts",
  merge_request_versions: "what was pushed",
  namespace_ancestors: "found in groups",
  noted_commits: "commits with notes",
  oauth_devices: "sign-in",
  oauth_grants: "sign-in",
  oauth_tokens: "sign-in",
  open_issue_counts: "counts",
  outbox: "work to be done",
  outbox_workers: "who does work",
  pipeline_schedule_runs: "which schedule has started a pipeline",
  import_source_users: "who has done what was imported",
  placeholder_members: "memberships that wait",
  pipeline_variables: "what a pipeline was given",
  processes: "who does work",
  provider_sign_ins: "sign-in",
  service_accounts: "which users are programs",
  project_exports: "archives to be written",
  dependency_list_exports: "lists to be downloaded",
  project_fetches: "counts",
  project_imports: "archives to be read",
  project_redirects: "former paths",
  recovery_codes: "sign-in",
  sign_ups: "sign-in: an account comes of it once its address is confirmed",
  registration_tokens: "secrets",
  relation_export_files: "archives that were written",
  relation_exports: "archives to be written",
  resource_bots: "users of access tokens",
  resource_iteration_events: "what was done, again",
  resource_label_events: "what was done, again",
  resource_milestone_events: "what was done, again",
  resource_state_events: "what was done, again",
  resource_weight_events: "what was done, again",
  runner_managers: "programs of runners",
  schema_migrations: "the schema",
  scim_tokens: "secrets",
  secret_keys: "secrets",
  sessions: "sign-in",
  signing_keys: "what signs tokens",
  ssh_host_keys: "what the SSH server is known by",
  site_files: "files of sites",
  stored_file_pieces: "files",
  stored_files: "files",
  topic_counts: "counts",
  two_factor: "sign-in",
  wiki_attachments: "files of wikis",
  wiki_blob_pieces: "files of wikis",
  wiki_blobs: "files of wikis",
  wiki_page_versions: "earlier versions of wikis' pages",
  user_preferences: "how pages look",
  user_agents: "with which program a record was created",
};
