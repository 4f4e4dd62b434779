// The bare server's answers about issues and what belongs to them: one prepared statement each, objects and
// JSON.stringify.
const BASE = "http://pm.test";

const instant = (at) => (at === null ? null : new Date(at).toISOString());

const avatarOf = (username) => {
  let hue = 0;
  for (let index = 0; index < username.length; index += 1) {
    hue = (hue * 31 + username.charCodeAt(index)) % 360;
  }
  return `${BASE}/-/avatars/${username[0]}-${hue}.svg`;
};

export const userJson = (id, name, username, state, avatar) => ({
  id,
  name,
  username,
  state,
  avatar_url: avatar ?? avatarOf(username),
  web_url: `${BASE}/${username}`,
});

const authorJson = (row) =>
  userJson(
    row.author_id,
    row.author_name,
    row.author_username,
    row.author_state,
    row.author_avatar,
  );

/** Columns of a row's author `u`. */
const AUTHOR = `u.name as author_name, u.username as author_username, u.state as author_state,
  u.avatar_url as author_avatar`;

const milestoneJson = (row) =>
  row.milestone_id === null
    ? null
    : {
        id: row.milestone_id,
        iid: row.milestone_iid,
        project_id: row.project_id,
        title: row.milestone_title,
        description: row.milestone_description,
        state: row.milestone_state,
        created_at: instant(row.milestone_created_at),
        updated_at: instant(row.milestone_updated_at),
        due_date: row.milestone_due_date,
        start_date: row.milestone_start_date,
        expired:
          row.milestone_due_date !== null &&
          row.milestone_due_date < new Date().toISOString().slice(0, 10),
        web_url: `${BASE}/${row.full_path}/-/milestones/${row.milestone_iid}`,
      };

/** Columns of issues and merge requests, besides their own. */
const plannedColumns = (alias, prefix) => `p.full_path, ${AUTHOR},
  m.iid as milestone_iid, m.title as milestone_title, m.description as milestone_description,
  m.state as milestone_state, m.created_at as milestone_created_at, m.updated_at as milestone_updated_at,
  m.due_date as milestone_due_date, m.start_date as milestone_start_date,
  cb.name as closer_name, cb.username as closer_username, cb.state as closer_state, cb.avatar_url as closer_avatar,
  (select json_group_array(name) from (select l.name from ${prefix}_labels x join labels l on l.id = x.label_id
    where x.${prefix}_id = ${alias}.id order by l.name)) as labels,
  (select json_group_array(json_array(a.id, a.name, a.username, a.state, a.avatar_url)) from ${prefix}_assignees x
    join users a on a.id = x.user_id where x.${prefix}_id = ${alias}.id) as assignees,
  (select count(*) from notes nt where nt.${prefix}_id = ${alias}.id and nt.system = 0) as notes,
  (select count(*) from award_emoji e where e.${prefix}_id = ${alias}.id and e.name = 'thumbsup') as upvotes,
  (select count(*) from award_emoji e where e.${prefix}_id = ${alias}.id and e.name = 'thumbsdown') as downvotes`;

const plannedJoins = (alias) => `join projects p on p.id = ${alias}.project_id
  left join users u on u.id = ${alias}.author_id left join users cb on cb.id = ${alias}.closed_by_id
  left join milestones m on m.id = ${alias}.milestone_id`;

const closerJson = (row) =>
  row.closed_by_id === null
    ? null
    : userJson(
        row.closed_by_id,
        row.closer_name,
        row.closer_username,
        row.closer_state,
        row.closer_avatar,
      );

const assigneesJson = (row) => JSON.parse(row.assignees).map((values) => userJson(...values));

const timeJson = (row) => ({
  time_estimate: row.time_estimate,
  total_time_spent: row.total_time_spent,
  human_time_estimate: null,
  human_total_time_spent: null,
});

/** No description of the bench has tasks. */
const NO_TASKS = { count: 0, completed_count: 0 };

const referencesJson = (row, sigil) => {
  const short = `${sigil}${row.iid}`;
  return { short, relative: short, full: `${row.full_path}${short}` };
};

const issueJson = (row) => {
  const assignees = assigneesJson(row);
  const self = `${BASE}/api/v4/projects/${row.project_id}/issues/${row.iid}`;
  return {
    id: row.id,
    iid: row.iid,
    project_id: row.project_id,
    title: row.title,
    description: row.description,
    state: row.state,
    created_at: instant(row.created_at),
    updated_at: instant(row.updated_at),
    web_url: `${BASE}/${row.full_path}/-/issues/${row.iid}`,
    closed_at: instant(row.closed_at),
    closed_by: closerJson(row),
    labels: JSON.parse(row.labels),
    milestone: milestoneJson(row),
    assignees,
    author: authorJson(row),
    assignee: assignees[0] ?? null,
    user_notes_count: row.notes,
    upvotes: row.upvotes,
    downvotes: row.downvotes,
    issue_type: "issue",
    confidential: row.confidential === 1,
    start_date: row.start_date,
    due_date: row.due_date,
    weight: row.weight,
    discussion_locked: row.discussion_locked === 1,
    time_stats: timeJson(row),
    references: referencesJson(row, "#"),
    task_completion_status: NO_TASKS,
    imported: false,
    imported_from: "none",
    merge_requests_count: 0,
    type: "ISSUE",
    severity: "UNKNOWN",
    has_tasks: false,
    moved_to_id: row.moved_to_id,
    epic: null,
    epic_iid: null,
    iteration: null,
    health_status: null,
    service_desk_reply_to: null,
    _links: {
      self,
      notes: `${self}/notes`,
      award_emoji: `${self}/award_emoji`,
      project: `${BASE}/api/v4/projects/${row.project_id}`,
      closed_as_duplicate_of: null,
    },
  };
};

const singleIssueJson = (row) => ({
  ...issueJson(row),
  subscribed: row.subscribed === 1,
  blocking_issues_count: 0,
});

const mergeRequestJson = (row) => {
  const assignees = assigneesJson(row);
  return {
    id: row.id,
    iid: row.iid,
    project_id: row.project_id,
    title: row.title,
    description: row.description,
    state: row.state,
    created_at: instant(row.created_at),
    updated_at: instant(row.updated_at),
    web_url: `${BASE}/${row.full_path}/-/merge_requests/${row.iid}`,
    closed_at: instant(row.closed_at),
    closed_by: closerJson(row),
    labels: JSON.parse(row.labels),
    milestone: milestoneJson(row),
    assignees,
    author: authorJson(row),
    assignee: assignees[0] ?? null,
    user_notes_count: row.notes,
    upvotes: row.upvotes,
    downvotes: row.downvotes,
    discussion_locked: row.discussion_locked === 1,
    squash: row.squash === 1,
    force_remove_source_branch: row.remove_source_branch === 1,
    time_stats: timeJson(row),
    references: referencesJson(row, "!"),
    task_completion_status: NO_TASKS,
    imported: false,
    imported_from: "none",
    merged_by: null,
    merge_user: null,
    merged_at: instant(row.merged_at),
    target_branch: row.target_branch,
    source_branch: row.source_branch,
    reviewers: JSON.parse(row.reviewers).map((values) => userJson(...values)),
    source_project_id: row.source_project_id,
    target_project_id: row.project_id,
    draft: false,
    work_in_progress: false,
    merge_when_pipeline_succeeds: false,
    merge_status: "can_be_merged",
    detailed_merge_status: "mergeable",
    has_conflicts: false,
    blocking_discussions_resolved: true,
    sha: row.sha,
    merge_commit_sha: row.merge_commit_sha,
    squash_commit_sha: row.squash_commit_sha,
    should_remove_source_branch: null,
    reference: `!${row.iid}`,
    squash_on_merge: row.squash === 1,
    prepared_at: instant(row.created_at),
    merge_after: null,
    approvals_before_merge: null,
  };
};

const singleMergeRequestJson = (row) => ({
  ...mergeRequestJson(row),
  subscribed: row.subscribed === 1,
  changes_count: row.changed_files === 0 ? null : String(row.changed_files),
  merge_error: row.merge_error,
  diff_refs: { head_sha: row.head_sha, base_sha: row.base_sha, start_sha: row.start_sha },
  latest_build_started_at: null,
  latest_build_finished_at: null,
  pipeline: null,
  head_pipeline: null,
  user: { can_merge: true },
  first_contribution: false,
});

const noteJson = (row) => ({
  id: row.id,
  type: null,
  body: row.body,
  attachment: null,
  author: authorJson(row),
  created_at: instant(row.created_at),
  updated_at: instant(row.updated_at),
  system: row.system === 1,
  noteable_id: row.issue_id,
  noteable_type: "Issue",
  project_id: row.project_id,
  resolvable: false,
  confidential: row.internal === 1,
  internal: row.internal === 1,
  imported: false,
  imported_from: "none",
  noteable_iid: row.issue_iid,
  commands_changes: {},
});

const todoJson = (row) => ({
  id: row.todo_id,
  project: {
    id: row.project_id,
    description: row.project_description,
    name: row.project_name,
    name_with_namespace: `${row.group_name} / ${row.project_name}`,
    path: row.path,
    path_with_namespace: row.full_path,
    created_at: instant(row.project_created_at),
  },
  author: userJson(
    row.todo_author_id,
    row.todo_author_name,
    row.todo_author_username,
    row.todo_author_state,
    row.todo_author_avatar,
  ),
  action_name: row.action,
  target_type: "Issue",
  target: issueJson(row),
  target_url: `${BASE}/${row.full_path}/-/issues/${row.iid}`,
  body: row.title,
  state: row.todo_state,
  created_at: instant(row.todo_created_at),
});

export const labelJson = (row) => ({
  id: row.id,
  name: row.name,
  color: row.color,
  description: row.description,
  text_color: "#FFFFFF",
  open_issues_count: row.open ?? 0,
  closed_issues_count: row.closed ?? 0,
  open_merge_requests_count: row.requests ?? 0,
  subscribed: false,
  priority: row.priority,
  is_project_label: row.project_id !== null,
});

const callerJson = (row) => ({
  ...userJson(row.id, row.name, row.username, row.state, row.avatar_url),
  created_at: instant(row.created_at),
  locked: false,
  bio: row.bio,
  location: row.location,
  public_email: row.public_email ?? "",
  skype: row.skype ?? "",
  linkedin: row.linkedin ?? "",
  twitter: row.twitter ?? "",
  website_url: row.website_url ?? "",
  organization: row.organization,
  job_title: row.job_title ?? "",
  pronouns: row.pronouns,
  discord: row.discord ?? "",
  github: row.github ?? "",
  work_information: row.job_title ?? row.organization,
  bot: row.bot === 1,
  local_time: null,
  last_sign_in_at: instant(row.last_sign_in_at),
  confirmed_at: instant(row.created_at),
  last_activity_on: row.last_activity_on,
  email: row.email,
  commit_email: row.commit_email ?? row.email,
  theme_id: 1,
  color_scheme_id: 1,
  projects_limit: row.projects_limit,
  current_sign_in_at: instant(row.current_sign_in_at),
  identities: [],
  can_create_group: row.can_create_group === 1,
  can_create_project: row.projects_limit > 0,
  two_factor_enabled: row.two_factor === 1,
  external: row.external === 1,
  private_profile: row.private_profile === 1,
  preferred_language: "en",
  shared_runners_minutes_limit: null,
  extra_shared_runners_minutes_limit: null,
  namespace_id: row.namespace_id,
  followers: row.followers,
  following: row.following,
  is_followed: false,
});

/**
 * What the bare server answers about planning.
 *
 * @param {import("better-sqlite3").Database} db
 */
export function planning(db) {
  const OF_PROJECT = "project_id = (select id from projects where full_path = ?)";
  const LAST = "order by i.created_at desc, i.id desc limit 20";
  const ISSUE = `select i.*, ${plannedColumns("i", "issue")} from issues i ${plannedJoins("i")}`;
  const SINGLE = `select i.*, ${plannedColumns("i", "issue")},
      case when i.author_id = ? or exists (select 1 from issue_assignees s where s.issue_id = i.id and s.user_id = ?)
        then 1 else 0 end as subscribed
    from issues i ${plannedJoins("i")}`;
  const LABELS = `select l.*, p.id as of_project from projects p
    join labels l on l.project_id = p.id or l.namespace_id = p.namespace_id where p.full_path = ?`;
  // Counted after the limit, so only for the labels that are sent; the + keeps SQLite from starting with the project.
  const counted = (labels) => `select l.*,
      (select count(*) from issue_labels x join issues i on i.id = x.issue_id
        where x.label_id = l.id and +i.project_id = l.of_project and i.state = 'opened') as open,
      (select count(*) from issue_labels x join issues i on i.id = x.issue_id
        where x.label_id = l.id and +i.project_id = l.of_project and i.state = 'closed') as closed,
      (select count(*) from merge_request_labels x join merge_requests mr on mr.id = x.merge_request_id
        where x.label_id = l.id and +mr.project_id = l.of_project and mr.state = 'opened') as requests
    from (${labels}) as l`;
  const NOTE = `select nt.*, i.iid as issue_iid, ${AUTHOR} from notes nt join issues i on i.id = nt.issue_id
    left join users u on u.id = nt.author_id`;
  const caller = db.prepare(`select u.*,
      exists (select 1 from two_factor t where t.user_id = u.id and t.enabled_at is not null) as two_factor,
      exists (select 1 from resource_bots rb where rb.user_id = u.id) as bot,
      (select n.id from namespaces n where n.owner_id = u.id) as namespace_id,
      (select count(*) from user_follows f where f.followed_id = u.id) as followers,
      (select count(*) from user_follows f where f.follower_id = u.id) as following
    from users u where u.id = ?`);
  const issue = db.prepare(`${SINGLE} where i.${OF_PROJECT} and i.iid = ?`);
  const issueById = db.prepare(`${SINGLE} where i.id = ?`);
  const issues = db.prepare(`${ISSUE} where i.${OF_PROJECT} ${LAST}`);
  const newest = db.prepare(`${ISSUE} ${LAST}`);
  const label = db.prepare(counted(`${LABELS} and l.name = ?`));
  const labels = db.prepare(counted(`${LABELS} order by l.name, l.id limit 20`));
  const REQUEST = `mr.*, ${plannedColumns("mr", "merge_request")},
      (select json_group_array(json_array(a.id, a.name, a.username, a.state, a.avatar_url)) from merge_request_reviewers x
        join users a on a.id = x.user_id where x.merge_request_id = mr.id) as reviewers`;
  const mergeRequests = db.prepare(`select ${REQUEST} from merge_requests mr ${plannedJoins("mr")}
      where mr.${OF_PROJECT} order by mr.created_at desc, mr.id desc limit 20`);
  const mergeRequest =
    db.prepare(`select ${REQUEST}, v.changed_files, v.head_sha, v.base_sha, v.start_sha,
        case when mr.author_id = ? then 1 else 0 end as subscribed
      from merge_requests mr ${plannedJoins("mr")}
      join merge_request_versions v on v.id = (select max(id) from merge_request_versions where merge_request_id = mr.id)
      where mr.${OF_PROJECT} and mr.iid = ?`);
  const notes =
    db.prepare(`${NOTE} where nt.issue_id = (select id from issues where ${OF_PROJECT} and iid = ?)
    order by nt.created_at desc, nt.id desc limit 20`);
  const note = db.prepare(`${NOTE} where nt.id = ?`);
  const todos =
    db.prepare(`select td.id as todo_id, td.action, td.state as todo_state, td.created_at as todo_created_at,
      td.author_id as todo_author_id, tu.name as todo_author_name, tu.username as todo_author_username,
      tu.state as todo_author_state, tu.avatar_url as todo_author_avatar, p.path, p.name as project_name,
      p.description as project_description, p.created_at as project_created_at, n.full_name as group_name,
      i.*, ${plannedColumns("i", "issue")}
    from todos td join users tu on tu.id = td.author_id join issues i on i.id = td.issue_id ${plannedJoins("i")}
    join namespaces n on n.id = p.namespace_id
    where td.user_id = ? and td.state = 'pending' order by td.id desc limit 20`);
  const insertIssue =
    db.prepare(`insert into issues (project_id, iid, author_id, title, description, created_at, updated_at)
    select p.id, coalesce((select max(iid) from issues where project_id = p.id), 0) + 1, ?, ?, ?, ?, ?
    from projects p where p.full_path = ? returning id`);
  const insertNote =
    db.prepare(`insert into notes (project_id, issue_id, author_id, body, created_at, updated_at)
    select i.project_id, i.id, ?, ?, ?, ? from issues i where i.${OF_PROJECT} and i.iid = ? returning id`);
  const changeTitle = db.prepare(
    `update issues set title = ?, updated_at = ? where ${OF_PROJECT} and iid = ? returning id`,
  );
  const changeState = db.prepare(
    `update issues set state = ?, closed_at = ?, closed_by_id = ?, updated_at = ?
     where ${OF_PROJECT} and iid = ? returning id`,
  );

  const byId = (id, callerId) => singleIssueJson(issueById.get(callerId, callerId, id));
  return {
    caller: (callerId) => callerJson(caller.get(callerId)),
    issue: (path, iid, callerId) => singleIssueJson(issue.get(callerId, callerId, path, iid)),
    issues: (path) => issues.all(path).map(issueJson),
    newest: () => newest.all().map(issueJson),
    label: (path, name) => labelJson(label.get(path, name)),
    labels: (path) => labels.all(path).map(labelJson),
    mergeRequests: (path) => mergeRequests.all(path).map(mergeRequestJson),
    mergeRequest: (path, iid, callerId) =>
      singleMergeRequestJson(mergeRequest.get(callerId, path, iid)),
    notes: (path, iid) => notes.all(path, iid).map(noteJson),
    todos: (callerId) => todos.all(callerId).map(todoJson),
    createIssue(path, { title, description }, callerId) {
      const now = Date.now();
      return byId(insertIssue.get(callerId, title, description, now, now, path).id, callerId);
    },
    createNote(path, iid, { body }, callerId) {
      const now = Date.now();
      return noteJson(note.get(insertNote.get(callerId, body, now, now, path, iid).id));
    },
    changeIssue(path, iid, { title, state_event }, callerId) {
      const now = Date.now();
      const changed =
        title !== undefined
          ? changeTitle.get(title, now, path, iid)
          : state_event === "close"
            ? changeState.get("closed", now, callerId, now, path, iid)
            : changeState.get("opened", null, null, now, path, iid);
      return byId(changed.id, callerId);
    },
  };
}
