// The minimum cost of an answer: node:http, the token's user, one prepared statement and JSON.stringify, without any
// other checks.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import Database from "better-sqlite3";
import { reporting } from "./bare-pipelines.mjs";
import { labelJson, planning, userJson } from "./bare-planning.mjs";
import { stored } from "./bare-stored.mjs";
import { ready } from "./control.mjs";

const [file, callerId, port = "0"] = process.argv.slice(2);
const db = new Database(file);
db.pragma("journal_mode = WAL");
db.pragma("synchronous = NORMAL");

const userOf = db.prepare(
  `select t.user_id from tokens t join users u on u.id = t.user_id
   where t.digest = ? and t.revoked = 0 and u.state = 'active'`,
);
const planned = planning(db);
const report = reporting(db);
const answers = stored(db);

const LIST = `select bl.id, l.name, l.color, l.description, bl.position
  from board_lists bl join labels l on l.id = bl.label_id`;
const oneList = db.prepare(`${LIST} where bl.id = ?`);
const lists = db.prepare(`${LIST} where bl.board_id = ? order by bl.position limit 20`);

const PROJECT = `select p.*, n.name as group_name, n.path as group_path, n.full_path as group_full_path, n.kind,
    n.parent_id, n.avatar_url as group_avatar_url, not exists (select 1 from git_refs r
      join git_repositories g on g.id = r.repository_id where g.project_id = p.id and g.kind = 'code') as is_empty, pm.access_level as project_level, gm.access_level as group_level,
  (select group_concat(t.name, char(10)) from project_topics x join topics t on t.id = x.topic_id
    where x.project_id = p.id) as topics
  from projects p join namespaces n on n.id = p.namespace_id
  left join members pm on pm.project_id = p.id and pm.user_id = ${Number(callerId)}
  left join members gm on gm.namespace_id = n.id and gm.user_id = ${Number(callerId)}`;
const oneProject = db.prepare(
  `select *, (select count(*) from issues i where i.project_id = one.id and i.state = 'opened' and i.confidential = 0) as open
   from (${PROJECT} where p.full_path = ?) as one`,
);
const newest = db.prepare(`${PROJECT} order by p.created_at desc, p.id desc limit 20`);
const byKey = db.prepare(`${PROJECT} order by p.id desc limit 20`);

const insertLabel =
  db.prepare(`insert into labels (project_id, name, color, description, created_at, updated_at)
  values (?, ?, ?, ?, ?, ?) returning *`);

const BASE = "http://pm.test";
const VISIBILITIES = { 0: "private", 10: "internal", 20: "public" };

const listJson = (row) => ({
  id: row.id,
  label: { name: row.name, color: row.color, description: row.description },
  position: row.position,
});

const levelJson = (level) =>
  level === null ? null : { access_level: level, notification_level: 3 };

/** The settings of a project whose owner never changed one. */
const KEPT = {
  allow_pipeline_trigger_approve_deployment: false,
  analytics_access_level: "enabled",
  approvals_before_merge: 0,
  auto_cancel_pending_pipelines: "enabled",
  auto_devops_deploy_strategy: "continuous",
  auto_devops_enabled: false,
  auto_duo_code_review_enabled: false,
  build_coverage_regex: null,
  build_git_strategy: "fetch",
  ci_allow_fork_pipelines_to_run_in_parent_project: true,
  ci_delete_pipelines_in_seconds: null,
  ci_display_pipeline_variables: false,
  ci_forward_deployment_enabled: true,
  ci_forward_deployment_rollback_allowed: true,
  ci_id_token_sub_claim_components: ["project_path", "ref_type", "ref"],
  ci_pipeline_variables_minimum_override_role: "developer",
  ci_push_repository_for_job_token_allowed: false,
  ci_restrict_pipeline_cancellation_role: "developer",
  ci_separated_caches: true,
  cicd_catalog_enabled: false,
  container_registry_access_level: "enabled",
  duo_remote_flows_enabled: false,
  enforce_auth_checks_on_uploads: true,
  external_authorization_classification_label: "",
  feature_flags_access_level: "disabled",
  forking_access_level: "enabled",
  group_runners_enabled: true,
  infrastructure_access_level: "disabled",
  issue_branch_template: null,
  issues_template: null,
  keep_latest_artifact: true,
  merge_pipelines_enabled: false,
  merge_request_title_regex: "",
  merge_request_title_regex_description: null,
  merge_requests_template: null,
  merge_trains_enabled: false,
  merge_trains_skip_train_allowed: false,
  mirror: false,
  mirror_overwrites_diverged_branches: false,
  mirror_trigger_builds: false,
  model_experiments_access_level: "disabled",
  model_registry_access_level: "disabled",
  monitor_access_level: "disabled",
  mr_default_target_self: false,
  only_allow_merge_if_all_status_checks_passed: false,
  only_mirror_protected_branches: false,
  pages_access_level: "enabled",
  prevent_merge_without_jira_issue: false,
  printing_merge_request_link_enabled: true,
  protect_merge_request_pipelines: false,
  repository_storage: "default",
  requirements_access_level: "disabled",
  resource_group_default_process_mode: "unordered",
  restrict_user_defined_variables: false,
  security_and_compliance_access_level: "private",
  service_desk_enabled: false,
  show_default_award_emojis: true,
  show_diff_preview_in_email: true,
  spp_repository_pipeline_access: false,
  suggestion_commit_message: null,
  warn_about_potentially_unwanted_characters: true,
  web_based_commit_signing_enabled: false,
  container_expiration_policy: {
    cadence: "1d",
    enabled: false,
    keep_n: 10,
    older_than: "90d",
    name_regex: ".*",
    name_regex_keep: null,
    next_run_at: null,
  },
};

const accessLevel = (flag) => (flag === 1 ? "enabled" : "disabled");

const projectJson = (row) => {
  const self = `${BASE}/api/v4/projects/${row.id}`;
  const topics = row.topics?.split("\n") ?? [];
  return {
    id: row.id,
    description: row.description,
    name: row.name,
    name_with_namespace: `${row.group_name} / ${row.name}`,
    path: row.path,
    path_with_namespace: row.full_path,
    created_at: new Date(row.created_at).toISOString(),
    default_branch: row.default_branch ?? "main",
    tag_list: topics,
    topics,
    ssh_url_to_repo: `git@pm.test:${row.full_path}.git`,
    http_url_to_repo: `${BASE}/${row.full_path}.git`,
    web_url: `${BASE}/${row.full_path}`,
    readme_url: null,
    avatar_url: row.avatar_url,
    star_count: row.star_count,
    forks_count: 0,
    last_activity_at: new Date(row.last_activity_at).toISOString(),
    visibility: VISIBILITIES[row.visibility],
    namespace: {
      id: row.namespace_id,
      name: row.group_name,
      path: row.group_path,
      kind: row.kind,
      full_path: row.group_full_path,
      parent_id: row.parent_id,
      avatar_url: row.group_avatar_url,
      web_url: `${BASE}/groups/${row.group_full_path}`,
    },
    _links: {
      self,
      issues: `${self}/issues`,
      merge_requests: `${self}/merge_requests`,
      repo_branches: `${self}/repository/branches`,
      labels: `${self}/labels`,
      events: `${self}/events`,
      members: `${self}/members`,
    },
    empty_repo: row.is_empty === 1,
    archived: row.archived === 1,
    issues_enabled: row.issues_enabled === 1,
    merge_requests_enabled: row.merge_requests_enabled === 1,
    wiki_enabled: row.wiki_enabled === 1,
    jobs_enabled: row.jobs_enabled === 1,
    snippets_enabled: row.snippets_enabled === 1,
    packages_enabled: row.package_registry_enabled === 1,
    issues_access_level: accessLevel(row.issues_enabled),
    merge_requests_access_level: accessLevel(row.merge_requests_enabled),
    repository_access_level: accessLevel(row.repository_enabled),
    releases_access_level: accessLevel(row.releases_enabled),
    environments_access_level: accessLevel(row.environments_enabled),
    package_registry_access_level: accessLevel(row.package_registry_enabled),
    wiki_access_level: accessLevel(row.wiki_enabled),
    builds_access_level: accessLevel(row.jobs_enabled),
    snippets_access_level: accessLevel(row.snippets_enabled),
    shared_runners_enabled: row.shared_runners_enabled === 1,
    lfs_enabled: true,
    service_desk_address: null,
    creator_id: row.creator_id,
    import_url: null,
    import_type: null,
    import_error: null,
    import_status: "none",
    open_issues_count: row.open ?? 0,
    public_jobs: row.public_jobs === 1,
    ci_config_path: row.ci_config_path,
    ci_default_git_depth: row.ci_default_git_depth,
    build_timeout: row.build_timeout,
    max_artifacts_size: row.max_artifacts_size,
    ci_job_token_scope_enabled: false,
    runners_token: null,
    runner_token_expiration_interval: null,
    shared_with_groups: [],
    merge_method: row.merge_method,
    request_access_enabled: row.request_access_enabled === 1,
    only_allow_merge_if_pipeline_succeeds: row.only_allow_merge_if_pipeline_succeeds === 1,
    allow_merge_on_skipped_pipeline: row.allow_merge_on_skipped_pipeline === 1,
    only_allow_merge_if_all_discussions_are_resolved:
      row.only_allow_merge_if_all_discussions_are_resolved === 1,
    only_allow_merge_if_all_status_checks_passed:
      row.only_allow_merge_if_all_status_checks_passed === 1,
    remove_source_branch_after_merge: row.remove_source_branch_after_merge === 1,
    squash_option: row.squash_option,
    repository_object_format: "sha1",
    resolve_outdated_diff_discussions: row.resolve_outdated_diff_discussions === 1,
    autoclose_referenced_issues: row.autoclose_referenced_issues === 1,
    merge_commit_template: row.merge_commit_template,
    squash_commit_template: row.squash_commit_template,
    requirements_enabled: false,
    security_and_compliance_enabled: false,
    secret_push_protection_enabled: false,
    pre_receive_secret_detection_enabled: false,
    compliance_frameworks: [],
    updated_at: new Date(row.updated_at).toISOString(),
    marked_for_deletion_at: null,
    marked_for_deletion_on: null,
    emails_enabled: row.emails_disabled === 0,
    emails_disabled: row.emails_disabled === 1,
    ...KEPT,
    container_registry_image_prefix: `${new URL(BASE).host}/${row.full_path}`,
    container_registry_enabled: true,
    can_create_merge_request_in: row.archived === 0 && row.merge_requests_enabled === 1,
    permissions: {
      project_access: levelJson(row.project_level),
      group_access: levelJson(row.group_level),
    },
  };
};

const byUserName = db.prepare(`select s.* from scim_users s
  where s.namespace_id = (select id from namespaces where full_path = ?) and lower(s.user_name) = lower(?)`);
const emailsOf = db.prepare(`select value, type, is_primary from scim_values
  where scim_user_id = ? and attribute = 'emails' order by position`);

const scimJson = (row) => ({
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
  id: row.uid,
  externalId: row.external_id,
  userName: row.user_name,
  name: { familyName: row.family_name, givenName: row.given_name },
  displayName: row.display_name,
  active: row.active === 1,
  emails: emailsOf.all(row.id).map(({ value, type, is_primary }) => ({
    value,
    type,
    primary: is_primary === 1,
  })),
  meta: {
    resourceType: "User",
    created: new Date(row.created_at).toISOString(),
    lastModified: new Date(row.updated_at).toISOString(),
    location: `${BASE}/api/scim/v2/groups/acme/Users/${row.uid}`,
    version: `W/"${row.version}"`,
  },
});

/** What a filter such as `userName eq "a"` finds in a group. */
function scimList(group, query) {
  const [, userName] = /"(.*)"/.exec(new URLSearchParams(query).get("filter"));
  const users = byUserName.all(group, userName).map(scimJson);
  return {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
    totalResults: users.length,
    startIndex: 1,
    itemsPerPage: users.length,
    Resources: users,
  };
}

const PAGE = `select w.content, w.format, w.slug, w.title from wiki_pages w
  join projects p on p.id = w.project_id where p.full_path = ?`;
const page = db.prepare(`${PAGE} and w.slug = ?`);
const pages = db.prepare(`${PAGE} order by w.title, w.id limit 20`);
const badges = db.prepare(`select b.*, p.full_path, p.default_branch from badges b
  join projects p on p.id = b.project_id where p.full_path = ? order by b.created_at, b.id limit 20`);
const dependencies = db.prepare(`select d.* from dependencies d
  join projects p on p.id = d.project_id where p.full_path = ? order by d.name, d.id limit 100`);

const badgeJson = (row) => {
  const values = {
    project_path: row.full_path,
    project_id: row.project_id,
    default_branch: row.default_branch,
  };
  const render = (url) =>
    url.replace(/%\{(\w+)\}/g, (placeholder, name) => values[name] ?? placeholder);
  return {
    id: row.id,
    name: row.name,
    link_url: row.link_url,
    image_url: row.image_url,
    rendered_link_url: render(row.link_url),
    rendered_image_url: render(row.image_url),
    kind: "project",
  };
};

const dependencyJson = (row) => ({
  name: row.name,
  version: row.version,
  package_manager: row.package_manager,
  dependency_file_path: row.dependency_file_path,
  vulnerabilities: JSON.parse(row.vulnerabilities),
});

const EVENT = `select e.*, i.title as issue_title, u.name, u.username, u.state, u.avatar_url
  from events e join users u on u.id = e.author_id
  left join issues i on e.target_type = 'Issue' and i.id = e.target_id`;
const LAST = "order by e.created_at desc, e.id desc limit 20";
const ofProject = db.prepare(
  `${EVENT} where e.project_id = (select id from projects where full_path = ?) ${LAST}`,
);
const ofCaller = db.prepare(`${EVENT} where e.author_id = ? ${LAST}`);
const ofUser = db.prepare(
  `${EVENT} where e.author_id = (select id from users where username = ?) ${LAST}`,
);
// The + keeps SQLite from sorting all records of the projects.
const ofProjects = db.prepare(
  `${EVENT} where +e.project_id in (select p.id from projects p
    join members m on m.namespace_id = p.namespace_id where m.user_id = ?) ${LAST}`,
);

const eventJson = (row) => ({
  id: row.id,
  title: null,
  project_id: row.project_id,
  action_name: row.action,
  target_id: row.target_id,
  target_iid: row.target_iid,
  target_type: row.target_type,
  target_title: row.issue_title ?? row.target_title,
  author_id: row.author_id,
  created_at: new Date(row.created_at).toISOString(),
  author: userJson(row.author_id, row.name, row.username, row.state, row.avatar_url),
  author_username: row.username,
  ...(row.action === "pushed" && {
    push_data: {
      commit_count: row.commit_count,
      action: row.push_action,
      ref_type: row.ref_type,
      commit_from: row.commit_from,
      commit_to: row.commit_to,
      ref: row.ref,
      commit_title: row.commit_title,
    },
  }),
});
const projectEventJson = (row) => ({ ...eventJson(row), data: null });

function send(res, status, value) {
  const body = JSON.stringify(value);
  res.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  });
  res.end(body);
}

/** Reads the JSON of a request, and sends what `answer` makes of it. */
function sendFor(req, res, status, answer) {
  let text = "";
  req.setEncoding("utf8");
  req.on("data", (chunk) => {
    text += chunk;
  });
  req.on("end", () => send(res, status, answer(JSON.parse(text))));
}

/** Answers about issues and what belongs to them, and returns whether the path is about these. */
function answerPlanned(req, res) {
  const { method, url } = req;
  const [, , , kind, id, below, number, notes] = url.split("/");
  const path = id?.replace("%2F", "/");
  if (kind === "user") send(res, 200, planned.caller(callerId));
  else if (kind === "todos") send(res, 200, planned.todos(callerId));
  else if (kind === "issues?scope=all") send(res, 200, planned.newest());
  else if (kind !== "projects") return false;
  else if (below === "statuses") {
    sendFor(req, res, 201, (sent) => report(path, number, sent, callerId));
  } else if (below === undefined) send(res, 200, projectJson(oneProject.get(path)));
  else if (below === "merge_requests" && number === undefined) {
    send(res, 200, planned.mergeRequests(path));
  } else if (below === "merge_requests" && notes === undefined) {
    send(res, 200, planned.mergeRequest(path, number, callerId));
  } else if (below === "labels" && method === "GET") {
    const name = number?.replace("%20", " ");
    send(res, 200, name === undefined ? planned.labels(path) : planned.label(path, name));
  } else if (below !== "issues") return false;
  else if (method === "PUT") {
    sendFor(req, res, 200, (sent) => planned.changeIssue(path, number, sent, callerId));
  } else if (notes !== undefined) {
    if (method === "GET") send(res, 200, planned.notes(path, number));
    else sendFor(req, res, 201, (sent) => planned.createNote(path, number, sent, callerId));
  } else if (number !== undefined) send(res, 200, planned.issue(path, number, callerId));
  else if (method === "GET") send(res, 200, planned.issues(path));
  else sendFor(req, res, 201, (sent) => planned.createIssue(path, sent, callerId));
  return true;
}

const server = createServer((req, res) => {
  const digest = createHash("sha256").update(req.headers["private-token"]).digest("hex");
  if (!userOf.get(digest)) return send(res, 401, { message: "401 Unauthorized" });
  const answer = answers.get(req.url);
  if (answer) return send(res, 200, answer());
  if (answerPlanned(req, res)) return undefined;
  // /api/v4/groups/:id/boards/:board_id/lists/:list_id, /api/v4/projects/:id/labels
  const [, , , kind, id, below, boardId, , listId] = req.url.split("/");
  const path = id?.replace("%2F", "/");
  if (req.url.startsWith("/api/scim/")) {
    // /api/scim/v2/groups/:group/Users?filter=…
    send(res, 200, scimList(below, req.url.slice(req.url.indexOf("?"))));
  } else if (kind === "events") send(res, 200, ofCaller.all(callerId).map(eventJson));
  else if (kind === "events?scope=all") send(res, 200, ofProjects.all(callerId).map(eventJson));
  else if (below === "events") {
    const events =
      kind === "users" ? ofUser.all(id).map(eventJson) : ofProject.all(path).map(projectEventJson);
    send(res, 200, events);
  } else if (below === "badges") send(res, 200, badges.all(path).map(badgeJson));
  else if (below?.startsWith("dependencies")) {
    send(res, 200, dependencies.all(path).map(dependencyJson));
  } else if (below === "wikis") send(res, 200, page.get(path, boardId));
  else if (below?.startsWith("wikis")) send(res, 200, pages.all(path));
  else if (listId) send(res, 200, listJson(oneList.get(listId)));
  else if (boardId) send(res, 200, lists.all(boardId).map(listJson));
  else if (below === "labels") {
    sendFor(req, res, 201, ({ name, color, description = null }) => {
      const now = Date.now();
      return labelJson(insertLabel.get(id, name, color, description, now, now));
    });
  } else if (req.url.includes("keyset")) send(res, 200, byKey.all().map(projectJson));
  else send(res, 200, newest.all().map(projectJson));
});
server.listen(Number(port), "127.0.0.1", () => ready(`http://127.0.0.1:${server.address().port}`));
