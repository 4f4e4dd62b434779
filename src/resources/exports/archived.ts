import * as v from "valibot";
import { FEATURE_LEVELS } from "../../core/access/features.ts";
import { ROLES } from "../../core/access/roles.ts";
import { OF_HOMES, VISIBILITIES } from "../../core/access/visibility.ts";
import { REPORT_TYPES } from "../approval-state/state.ts";
import { NAMES } from "../award-emoji/names.ts";
import { SUBJECTS } from "../boards/subjects.ts";
import { KINDS, ofEach } from "../issuables/attributes.ts";
import { SEVERITIES } from "../issuables/issue.ts";
import type { IssuableType } from "../issuables/type.ts";
import { groupSettings } from "../namespaces/kept.ts";
import { projectSettings } from "../projects/kept.ts";
import { MOST, MOST_LINES } from "../suggested-lines/record.ts";
import {
  type ArchivedColumn,
  anyPerson,
  author,
  day,
  elsewhere,
  flag,
  formed,
  instant,
  integer,
  json,
  maybe,
  number,
  oid,
  oneOf,
  orNone,
  person,
  place,
  row,
  text,
  word,
} from "./columns.ts";

const featureLevel = oneOf(...Object.values(FEATURE_LEVELS));

/** What the rows of a table belong to: the project, groups, or the hidden projects that have the epics of groups. */
export type Home = "project" | "tree" | "group" | "epics";

/**
 * The column by which rows belong to a home and, in archives of groups, SQL of the group that they are of. A tree is the
 * groups themselves.
 */
export const HOMES: Readonly<Record<Home, { column: string; group?: string }>> = {
  project: { column: "project_id" },
  tree: { column: "id" },
  group: { column: "namespace_id", group: "namespace_id" },
  epics: {
    column: "project_id",
    group: "(select h.namespace_id from projects h where h.id = project_id)",
  },
};

/** A table of which an archive has rows. */
export interface ArchivedTable {
  /** Besides `id` and the column of its home. */
  readonly columns: Readonly<Record<string, ArchivedColumn>>;
  /** Whether its rows have an `id`. */
  readonly numbered: boolean;
  /** What its rows belong to; `undefined` if that is rows of other tables. */
  readonly home?: Home;
  /** What a row is recognized by if its home has it already: then that one stands for it. */
  readonly same?: string;
  /** SQL of further rows, of `homes` with their ids: what these use of the groups above them. */
  readonly used?: string;
}

const LONG = 1_048_576;
const long = text(LONG);
const changed = { created_at: instant, updated_at: instant };
const visibility = oneOf(...Object.values(VISIBILITIES));
const roles = oneOf(...Object.values(ROLES));
const path = text(4096);
const address = formed(/^(https?|ftp):\/\//i, 2048);
const webAddress = formed(/^https?:\/\//i, 2048);
/** The number of an issue or merge request. */
const iid = integer(1, 2 ** 31 - 1);
const ref = text(1024);

/** Rows of the project itself. */
const owned = (columns: ArchivedTable["columns"], more: Partial<ArchivedTable> = {}) => ({
  columns,
  numbered: true,
  home: "project" as const,
  ...more,
});
/**
 * Rows that belong to those of other tables: their first column names which, or, if that may be null, one of the first
 * columns does.
 */
const nested = (columns: ArchivedTable["columns"]) => ({ columns, numbered: true });
/** {@link nested} rows without an id. */
const joined = (columns: ArchivedTable["columns"]) => ({ columns, numbered: false });

const noteable = { issue_id: maybe(row("issues")), merge_request_id: maybe(row("merge_requests")) };
/** At most some thousand years, in seconds. */
const seconds = integer(0, 2 ** 40);
const estimates = { time_estimate: seconds, total_time_spent: seconds };
const closing = { closed_at: maybe(instant), closed_by_id: maybe(author) };
const label = row("labels");
const attributes = (prefix: IssuableType["prefix"]) =>
  ofEach(prefix, ({ kind }) => ({ schema: KINDS[kind].stored(), isNeeded: true }));
const isVisited = { subscribed: flag };

const lineEnd = v.object({
  line_code: v.string(),
  type: v.nullable(v.picklist(["new", "old"])),
  old_line: v.nullable(v.number()),
  new_line: v.nullable(v.number()),
});
const optional = v.optional(v.nullable(v.number()));
const sha = v.pipe(v.string(), v.regex(/^[0-9a-f]{40}$/));
const position = json(
  v.strictObject({
    base_sha: sha,
    start_sha: sha,
    head_sha: sha,
    old_path: v.string(),
    new_path: v.string(),
    position_type: v.picklist(["text", "image", "file"]),
    old_line: optional,
    new_line: optional,
    line_range: v.optional(v.nullable(v.strictObject({ start: lineEnd, end: lineEnd }))),
    width: optional,
    height: optional,
    x: optional,
    y: optional,
  }),
);

const ofThese = "project_id in (select id from homes)";
const ofIssues = `select id from issues where ${ofThese}`;
const ofRequests = `select id from merge_requests where ${ofThese}`;
const ofBoards = `select id from boards where ${ofThese}`;

/**
 * The tables of which an archive of a project has rows, each after those that its columns name. What a project uses of its groups
 * becomes its own. Left out is what is about this server or secret: events, todos, hooks, variables, tokens, runners,
 * pipelines, packages, and what people have set for themselves.
 */
export const ARCHIVED: Readonly<Record<string, ArchivedTable>> = {
  labels: owned(
    {
      name: text(),
      color: formed(/^#[\da-f]{6}$/i),
      description: maybe(long),
      priority: maybe(integer()),
      archived: flag,
      ...changed,
    },
    {
      same: "name",
      used: `select label_id from issue_labels where issue_id in (${ofIssues})
        union select label_id from merge_request_labels where merge_request_id in (${ofRequests})
        union select label_id from board_lists where board_id in (${ofBoards})
        union select label_id from board_labels where board_id in (${ofBoards})`,
    },
  ),
  milestones: owned(
    {
      iid: number,
      title: text(),
      description: maybe(long),
      state: word("active", "closed"),
      due_date: maybe(day),
      start_date: maybe(day),
      ...changed,
    },
    {
      same: "title",
      used: `select milestone_id from issues where ${ofThese} and milestone_id is not null
        union select milestone_id from merge_requests where ${ofThese} and milestone_id is not null
        union select milestone_id from boards where ${ofThese} and milestone_id is not null
        union select milestone_id from board_lists where board_id in (${ofBoards}) and milestone_id is not null`,
    },
  ),
  badges: owned({ name: maybe(text()), link_url: webAddress, image_url: webAddress, ...changed }),
  members: owned({
    user_id: person,
    access_level: roles,
    expires_at: maybe(day),
    created_by_id: maybe(person),
    ...changed,
  }),
  protected_branches: owned({
    name: ref,
    is_wildcard: flag,
    allow_force_push: flag,
    code_owner_approval_required: flag,
    ...changed,
  }),
  protected_tags: owned({ name: ref, is_wildcard: flag, ...changed }),
  target_branch_rules: owned({ name: text(255), target_branch: text(255), created_at: instant }),
  protection_grants: nested({
    branch_id: maybe(row("protected_branches")),
    tag_id: maybe(row("protected_tags")),
    action: word("push", "merge", "unprotect", "create"),
    access_level: maybe(oneOf(0, ROLES.developer, ROLES.maintainer, 60)),
    user_id: anyPerson,
    group_id: elsewhere,
    deploy_key_id: elsewhere,
  }),
  issues: owned({
    iid,
    author_id: maybe(author),
    title: text(),
    description: maybe(long),
    state: word("opened", "closed"),
    ...attributes("issue"),
    severity: word(...SEVERITIES),
    milestone_id: maybe(row("milestones")),
    relative_position: place,
    ...closing,
    ...changed,
    ...estimates,
  }),
  merge_requests: owned({
    iid,
    author_id: maybe(author),
    title: text(),
    description: maybe(long),
    state: word("opened", "closed", "merged", "locked"),
    source_branch: ref,
    target_branch: ref,
    sha: maybe(oid),
    merge_commit_sha: maybe(oid),
    squash_commit_sha: maybe(oid),
    ...attributes("merge_request"),
    should_remove_source_branch: maybe(flag),
    milestone_id: maybe(row("milestones")),
    merged_at: maybe(instant),
    merged_by_id: maybe(author),
    ...closing,
    ...changed,
    ...estimates,
  }),
  snippets: owned({
    author_id: author,
    title: text(),
    file_name: text(),
    description: maybe(long),
    content: long,
    visibility,
    ...changed,
  }),
  snippet_files: nested({
    snippet_id: row("snippets"),
    path: formed(/^(?!.*\/\/)/s),
    content: long,
  }),
  noted_commits: owned({ sha: oid }, { same: "sha" }),
  notes: owned({
    ...noteable,
    snippet_id: maybe(row("snippets")),
    noted_commit_id: maybe(row("noted_commits")),
    author_id: maybe(author),
    body: long,
    system: flag,
    internal: flag,
    thread_id: maybe(row("notes")),
    reply: flag,
    resolved_at: maybe(instant),
    resolved_by_id: maybe(author),
    commit_id: maybe(oid),
    ...changed,
  }),
  note_positions: nested({
    note_id: row("notes"),
    path,
    line: maybe(integer()),
    line_type: maybe(word("new", "old")),
    line_code: maybe(text(5000)),
    position: maybe(position),
    original_position: maybe(position),
    outdated: flag,
  }),
  suggestions: nested({
    note_id: row("notes"),
    place: integer(0, MOST),
    lines_above: integer(0, MOST_LINES),
    lines_below: integer(0, MOST_LINES),
    from_content: json(v.string()),
    to_content: json(v.string()),
    applied_sha: maybe(oid),
  }),
  award_emoji: nested({
    ...noteable,
    snippet_id: maybe(row("snippets")),
    note_id: maybe(row("notes")),
    name: word(...NAMES),
    user_id: author,
    ...changed,
  }),
  issue_assignees: joined({ issue_id: row("issues"), user_id: person }),
  issue_labels: joined({ issue_id: row("issues"), label_id: label }),
  issue_subscriptions: joined({ issue_id: row("issues"), user_id: person, ...isVisited }),
  work_item_parents: joined({
    issue_id: row("issues"),
    parent_id: row("issues"),
    position: integer(-(2 ** 52), 2 ** 52),
  }),
  issue_links: nested({
    source_id: row("issues"),
    target_id: row("issues"),
    link_type: word("relates_to", "blocks"),
    ...changed,
  }),
  merge_request_assignees: joined({ merge_request_id: row("merge_requests"), user_id: person }),
  merge_request_reviewers: joined({
    merge_request_id: row("merge_requests"),
    user_id: person,
    state: word("unreviewed", "approved", "unapproved"),
    created_at: instant,
  }),
  merge_request_labels: joined({ merge_request_id: row("merge_requests"), label_id: label }),
  merge_request_subscriptions: joined({
    merge_request_id: row("merge_requests"),
    user_id: person,
    ...isVisited,
  }),
  merge_request_committers: joined({ merge_request_id: row("merge_requests"), user_id: person }),
  merge_request_issues: joined({
    merge_request_id: row("merge_requests"),
    issue_id: row("issues"),
    closes: flag,
  }),
  merge_request_versions: nested({
    merge_request_id: row("merge_requests"),
    head_sha: oid,
    base_sha: maybe(oid),
    start_sha: oid,
    changed_files: integer(),
    created_at: instant,
  }),
  approvals: joined({
    merge_request_id: row("merge_requests"),
    user_id: person,
    created_at: instant,
  }),
  approval_rules: owned({
    merge_request_id: maybe(row("merge_requests")),
    source_id: maybe(row("approval_rules")),
    name: text(1024),
    rule_type: word("regular", "any_approver", "code_owner", "report_approver"),
    report_type: maybe(word(...REPORT_TYPES)),
    approvals_required: integer(),
    all_protected_branches: flag,
    section: maybe(text(1024)),
    is_optional: flag,
    roles: maybe(json(v.array(v.picklist(Object.values(ROLES))))),
    ...changed,
  }),
  approval_rule_users: joined({ rule_id: row("approval_rules"), user_id: person }),
  approval_rule_branches: joined({
    rule_id: row("approval_rules"),
    branch_id: row("protected_branches"),
  }),
  resource_label_events: nested({
    ...noteable,
    user_id: maybe(author),
    label_id: maybe(label),
    action: word("add", "remove"),
    created_at: instant,
  }),
  resource_milestone_events: nested({
    ...noteable,
    user_id: maybe(author),
    milestone_id: maybe(row("milestones")),
    action: word("add", "remove"),
    state: word("opened", "closed", "merged", "locked"),
    created_at: instant,
  }),
  resource_state_events: nested({
    ...noteable,
    user_id: maybe(author),
    state: word("closed", "reopened", "merged"),
    created_at: instant,
    source_commit: maybe(oid),
    source_merge_request_id: maybe(row("merge_requests")),
  }),
  resource_weight_events: nested({
    issue_id: row("issues"),
    user_id: maybe(author),
    weight: maybe(integer()),
    created_at: instant,
  }),
  timelogs: owned({
    ...noteable,
    user_id: maybe(author),
    time_spent: integer(-(2 ** 40), 2 ** 40),
    spent_at: instant,
    summary: maybe(text(1024)),
    created_at: instant,
  }),
  boards: owned({
    name: text(),
    milestone_id: maybe(row("milestones")),
    assignee_id: maybe(person),
    weight: maybe(integer()),
    hide_backlog_list: flag,
    hide_closed_list: flag,
    ...changed,
  }),
  board_labels: joined({ board_id: row("boards"), label_id: label }),
  board_lists: nested({
    board_id: row("boards"),
    label_id: orNone(label),
    milestone_id: orNone(row("milestones")),
    assignee_id: anyPerson,
    iteration_id: elsewhere,
    position: maybe(integer()),
    list_type: word("backlog", "closed", ...SUBJECTS),
    ...changed,
  }),
  releases: owned({
    tag: ref,
    name: maybe(text(1024)),
    description: maybe(long),
    sha: maybe(oid),
    author_id: maybe(author),
    released_at: instant,
    ...changed,
  }),
  release_links: nested({
    release_id: row("releases"),
    name: text(1024),
    url: address,
    filepath: maybe(text(1024)),
    link_type: word("other", "runbook", "image", "package"),
    updated_at: instant,
  }),
  release_milestones: joined({ release_id: row("releases"), milestone_id: row("milestones") }),
};

const ofGroups = "namespace_id in (select id from homes)";
const groupBoards = `select id from boards where ${ofGroups}`;
const groupEpics = `select i.id from issues i join projects h on h.id = i.project_id
  where h.visibility = ${OF_HOMES} and h.${ofGroups}`;

/** A table of {@link ARCHIVED} in archives of groups. */
const of = (name: string, home: "group" | "epics", more: Partial<ArchivedTable> = {}) => ({
  ...(ARCHIVED[name] as ArchivedTable),
  home,
  ...more,
});
/** Tables of {@link ARCHIVED} whose rows belong to those of others. */
const same = (...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, ARCHIVED[name] as ArchivedTable]));

/**
 * The tables of which an archive of a group has rows, of the group and of those below it: each that is no part of another
 * names its group. What they use of groups above becomes the group's own.
 */
export const GROUP_ARCHIVED: Readonly<Record<string, ArchivedTable>> = {
  namespaces: {
    numbered: true,
    home: "tree",
    columns: {
      parent_id: maybe(row("namespaces")),
      name: text(255),
      path: text(255),
      description: text(500),
      visibility,
      lfs_enabled: flag,
      request_access_enabled: flag,
      emails_disabled: flag,
      kept_settings: maybe(json(groupSettings.schema, LONG)),
    },
  },
  labels: of("labels", "group", {
    used: `select label_id from board_lists where board_id in (${groupBoards})
      union select label_id from board_labels where board_id in (${groupBoards})
      union select label_id from issue_labels where issue_id in (${groupEpics})`,
  }),
  milestones: of("milestones", "group", {
    used: `select milestone_id from boards where ${ofGroups} and milestone_id is not null
      union select milestone_id from board_lists where board_id in (${groupBoards}) and milestone_id is not null`,
  }),
  badges: of("badges", "group"),
  members: of("members", "group"),
  boards: of("boards", "group"),
  ...same("board_labels", "board_lists"),
  issues: of("issues", "epics", {
    columns: { ...ARCHIVED["issues"]?.columns, issue_type: word("epic") },
  }),
  epic_details: joined({
    issue_id: row("issues"),
    color: maybe(formed(/^#[\da-f]{6}$/i)),
    start_date_fixed: maybe(day),
    start_date_is_fixed: flag,
    due_date_fixed: maybe(day),
    due_date_is_fixed: flag,
  }),
  notes: of("notes", "epics"),
  ...same("award_emoji", "issue_labels", "issue_subscriptions", "work_item_parents", "issue_links"),
  ...same("resource_label_events", "resource_state_events"),
};

/** The settings of a project that an archive has: columns of its own row, and its topics. */
export const SETTINGS: Readonly<Record<string, ArchivedColumn>> = {
  description: maybe(text(2000)),
  visibility,
  default_branch: maybe(ref),
  archived: flag,
  topics: json(v.pipe(v.array(v.pipe(v.string(), v.maxLength(255))), v.maxLength(100))),
  merge_method: word("merge", "rebase_merge", "ff"),
  squash_option: word("never", "always", "default_on", "default_off"),
  ci_config_path: maybe(text(255)),
  ci_default_git_depth: integer(0, 1000),
  build_timeout: integer(600, 2_592_000),
  merge_commit_template: maybe(text(500)),
  squash_commit_template: maybe(text(500)),
  issues_enabled: featureLevel,
  merge_requests_enabled: featureLevel,
  repository_enabled: featureLevel,
  releases_enabled: featureLevel,
  environments_enabled: featureLevel,
  package_registry_enabled: featureLevel,
  wiki_enabled: featureLevel,
  jobs_enabled: featureLevel,
  snippets_enabled: featureLevel,
  shared_runners_enabled: flag,
  lfs_enabled: flag,
  request_access_enabled: flag,
  public_jobs: flag,
  only_allow_merge_if_pipeline_succeeds: flag,
  only_allow_merge_if_all_status_checks_passed: flag,
  allow_merge_on_skipped_pipeline: flag,
  only_allow_merge_if_all_discussions_are_resolved: flag,
  autoclose_referenced_issues: flag,
  resolve_outdated_diff_discussions: flag,
  remove_source_branch_after_merge: flag,
  reset_approvals_on_push: flag,
  selective_code_owner_removals: flag,
  disable_overriding_approvers_per_merge_request: flag,
  merge_requests_author_approval: flag,
  merge_requests_disable_committers_approval: flag,
  require_password_to_approve: flag,
  kept_settings: maybe(json(projectSettings.schema, 16 * LONG)),
  emails_disabled: flag,
};
