import type { Value } from "../../store/port.ts";
import { isDraft } from "../issuables/merge-request.ts";
import { idOf } from "../notes/discussions.ts";

// Rows of ours as the records of GitLab's archives (lib/gitlab/import_export/project/import_export.yml of GitLab): what its
// importer does not know, it passes over, and the reader here takes.

/** A row by its columns. */
export type Row = Readonly<Record<string, Value>>;
/** What an archive of GitLab says of something. */
export type Said = Readonly<Record<string, unknown>>;

/** Rows of some records and of their parts, by table. */
export type Rows = ReadonlyMap<string, readonly Row[]>;

/** What rows name: labels and milestones as they are said, and the full names of people. */
export interface Known {
  readonly label: (id: Value | undefined) => Said | null;
  readonly milestone: (id: Value | undefined) => Said | null;
  readonly name: (id: Value | undefined) => string;
}

/** The rows of a table, by the record that a column names. */
export function partsBy(rows: Rows, table: string, column: string): (id: Value) => readonly Row[] {
  const found = new Map<Value, Row[]>();
  for (const row of rows.get(table) ?? []) {
    const key = row[column] as Value;
    if (key == null) continue;
    const some = found.get(key) ?? [];
    found.set(key, some);
    some.push(row);
  }
  return (id) => found.get(id) ?? [];
}

const isSet = (value: Value | undefined) => value === 1;
/** An instant as text. */
export const instantOf = (at: Value | undefined) =>
  at == null ? null : new Date(Number(at)).toISOString();

/** When a row was created and changed last. */
const changedAt = ({ created_at, updated_at }: Row) => ({
  created_at: instantOf(created_at),
  updated_at: instantOf(updated_at),
});

/** A label of a project, or of a group above it. */
export function labelOf(row: Row): Said {
  const isGroups = row["project_id"] == null;
  return {
    id: row["id"],
    title: row["name"],
    color: row["color"],
    description: row["description"],
    type: isGroups ? "GroupLabel" : "ProjectLabel",
    project_id: row["project_id"],
    group_id: isGroups ? row["namespace_id"] : null,
    template: false,
    archived: isSet(row["archived"]),
    ...changedAt(row),
    priorities: row["priority"] == null ? [] : [{ priority: row["priority"], ...changedAt(row) }],
  };
}

/** A milestone of a project, or of a group above it. */
export function milestoneOf(row: Row): Said {
  const { id, iid, title, description, state, due_date, start_date } = row;
  return {
    ...{ id, iid, title, description, state, due_date, start_date, ...changedAt(row) },
    project_id: row["project_id"],
    group_id: row["project_id"] == null ? row["namespace_id"] : null,
  };
}

/** A badge. */
export const badgeOf = (row: Row): Said => ({
  ...{ name: row["name"], link_url: row["link_url"], image_url: row["image_url"] },
  ...{ type: "ProjectBadge", ...changedAt(row) },
});

/** A member. @param user who it is */
export const memberOf = (row: Row, user: Said): Said => ({
  ...{ id: row["id"], access_level: row["access_level"], source_type: "Project" },
  ...{ user_id: row["user_id"], created_by_id: row["created_by_id"], notification_level: 3 },
  ...{ expires_at: row["expires_at"], ...changedAt(row), user },
});

/** A rule about branches or tags. */
export function protectionOf(row: Row, grants: readonly Row[]): Said {
  const of = (action: string) =>
    grants
      .filter((grant) => grant["action"] === action)
      .map(({ access_level, user_id, group_id, deploy_key_id }) => ({
        ...{
          access_level: access_level ?? 40,
          user_id,
          group_id,
          deploy_key_id,
          ...changedAt(row),
        },
      }))
      // Groups and keys of this server are nobody elsewhere.
      .filter(({ group_id, deploy_key_id }) => group_id == null && deploy_key_id == null);
  const actions = ["push", "merge", "unprotect", "create"].map(
    (action) => [`${action}_access_levels`, of(action)] as const,
  );
  return {
    name: row["name"],
    allow_force_push: isSet(row["allow_force_push"]),
    code_owner_approval_required: isSet(row["code_owner_approval_required"]),
    ...changedAt(row),
    ...Object.fromEntries(actions.filter(([, grants]) => grants.length > 0)),
  };
}

/** A rule of who approves. @param branches the names of protected branches by their ids */
export const approvalRuleOf = (
  row: Row,
  users: readonly Row[],
  branches: readonly Row[],
  nameOf: (branch: Value) => Value | undefined,
): Said => ({
  name: row["name"],
  approvals_required: row["approvals_required"],
  rule_type: row["rule_type"],
  report_type: row["report_type"],
  applies_to_all_protected_branches: isSet(row["all_protected_branches"]),
  approval_project_rules_users: users.map(({ user_id }) => ({ user_id })),
  approval_project_rules_protected_branches: branches.map(({ branch_id }) => ({
    branch_name: nameOf(branch_id as Value),
  })),
});

/** A board with its lists. */
export function boardOf(row: Row, lists: readonly Row[], known: Known): Said {
  // Archives have neither people nor iterations by which GitLab would find those of the other lists.
  const told = lists.filter(({ assignee_id, iteration_id }) => !assignee_id && !iteration_id);
  const all = told.map((list) => ({
    ...{ list_type: list["list_type"], position: list["position"], ...changedAt(list) },
    label: known.label(list["label_id"]),
    milestone: known.milestone(list["milestone_id"]),
  }));
  // GitLab's boards have these two always.
  const ends = ["backlog", "closed"].filter(
    (type) => !lists.some(({ list_type }) => list_type === type),
  );
  return {
    ...{ name: row["name"], weight: row["weight"], ...changedAt(row) },
    hide_backlog_list: isSet(row["hide_backlog_list"]),
    hide_closed_list: isSet(row["hide_closed_list"]),
    milestone: known.milestone(row["milestone_id"]),
    lists: [
      ...all,
      ...ends.map((list_type) => ({
        ...{ list_type, position: null, ...changedAt(row), label: null, milestone: null },
      })),
    ],
  };
}

/** A release with its links. */
export const releaseOf = (
  row: Row,
  links: readonly Row[],
  milestones: readonly Row[],
  known: Known,
): Said => ({
  ...{ tag: row["tag"], name: row["name"], description: row["description"], sha: row["sha"] },
  ...{ author_id: row["author_id"], ...changedAt(row), released_at: instantOf(row["released_at"]) },
  links: links.map((link) => ({
    ...{ name: link["name"], url: link["url"], link_type: link["link_type"] },
    ...{
      filepath: link["filepath"],
      ...changedAt({ ...link, created_at: link["updated_at"] as Value }),
    },
  })),
  milestone_releases: milestones.map(({ milestone_id }) => ({
    milestone: known.milestone(milestone_id),
  })),
});

const awardOf = (type: string) => (row: Row) => ({
  ...{ name: row["name"], user_id: row["user_id"], awardable_type: type, ...changedAt(row) },
});

/** Says the notes about records of a type. */
function notesIn(rows: Rows, type: string, known: Known): (notes: readonly Row[]) => Said[] {
  const awards = partsBy(rows, "award_emoji", "note_id");
  const places = partsBy(rows, "note_positions", "note_id");
  const suggestions = partsBy(rows, "suggestions", "note_id");
  const kindOf = ({ thread_id }: Row, place: Row | undefined) =>
    place ? "DiffNote" : thread_id == null ? null : "DiscussionNote";
  return (notes) =>
    notes.map((row) => {
      const [place] = places(row["id"] as Value);
      return {
        id: row["id"],
        note: row["body"],
        noteable_type: type,
        type: kindOf(row, place),
        author_id: row["author_id"],
        author: { name: known.name(row["author_id"]) },
        system: isSet(row["system"]),
        confidential: isSet(row["internal"]),
        discussion_id: idOf(Number(row["thread_id"] ?? row["id"])),
        commit_id: row["commit_id"],
        line_code: place?.["line_code"] ?? null,
        position: jsonIn(place?.["position"]),
        original_position: jsonIn(place?.["original_position"]),
        resolved_at: instantOf(row["resolved_at"]),
        resolved_by_id: row["resolved_by_id"],
        ...changedAt(row),
        award_emoji: awards(row["id"] as Value).map(awardOf("Note")),
        suggestions: suggestions(row["id"] as Value).map((one) => ({
          relative_order: one["place"],
          applied: one["applied_sha"] != null,
          commit_id: one["applied_sha"],
          from_content: jsonIn(one["from_content"]),
          to_content: jsonIn(one["to_content"]),
          lines_above: one["lines_above"],
          lines_below: one["lines_below"],
          outdated: isSet(place?.["outdated"]),
        })),
      };
    });
}

const jsonIn = (text: Value | undefined): unknown =>
  typeof text === "string" ? (JSON.parse(text) as unknown) : null;

/** Says what issues and merge requests have in common. */
function commonIn(rows: Rows, prefix: "issue" | "merge_request", type: string, known: Known) {
  const by = (table: string) => partsBy(rows, table, `${prefix}_id`);
  const [notes, awards, labels, times] = [
    ...[by("notes"), by("award_emoji"), by(`${prefix}_labels`), by("timelogs")],
  ] as const;
  const events = (["label", "milestone", "state", "weight"] as const).map(
    (name) => [name, by(`resource_${name}_events`)] as const,
  );
  const say = notesIn(rows, type, known);
  return (row: Row): Said => {
    const id = row["id"] as Value;
    const { iid, author_id, title, description, state, time_estimate } = row;
    return {
      ...{ id, iid, author_id, title, description, state, time_estimate, ...changedAt(row) },
      discussion_locked: isSet(row["discussion_locked"]),
      milestone: known.milestone(row["milestone_id"]),
      notes: say(notes(id)),
      award_emoji: awards(id).map(awardOf(type)),
      label_links: labels(id).map(({ label_id }) => ({
        ...{ target_type: type, ...changedAt(row), label: known.label(label_id) },
      })),
      timelogs: times(id).map((one) => ({
        ...{ time_spent: one["time_spent"], user_id: one["user_id"], summary: one["summary"] },
        ...{ spent_at: instantOf(one["spent_at"]), created_at: instantOf(one["created_at"]) },
        updated_at: instantOf(one["created_at"]),
      })),
      ...Object.fromEntries(
        events.map(([name, of]) => [
          `resource_${name}_events`,
          of(id).map((event) => ({
            ...{ user_id: event["user_id"], action: event["action"], state: event["state"] },
            ...{ created_at: instantOf(event["created_at"]), weight: event["weight"] },
            ...(name === "label" && { label: known.label(event["label_id"]) }),
            ...(name === "milestone" && { milestone: known.milestone(event["milestone_id"]) }),
            ...(name === "state" && { source_commit: event["source_commit"] }),
          })),
        ]),
      ),
    };
  };
}

const userIn = ({ user_id }: Row) => ({ user_id });

/** Says issues with what is about them. */
export function issuesIn(rows: Rows, known: Known): Said[] {
  const say = commonIn(rows, "issue", "Issue", known);
  const assignees = partsBy(rows, "issue_assignees", "issue_id");
  return (rows.get("issues") ?? []).map((row) => ({
    ...say(row),
    issue_type: row["issue_type"],
    work_item_type: { base_type: row["issue_type"] },
    confidential: isSet(row["confidential"]),
    ...{ weight: row["weight"], start_date: row["start_date"], due_date: row["due_date"] },
    severity: row["severity"],
    relative_position: row["relative_position"],
    closed_at: instantOf(row["closed_at"]),
    closed_by_id: row["closed_by_id"],
    issue_assignees: assignees(row["id"] as Value).map(userIn),
  }));
}

/** What is told of a merge request beside its rows. */
export interface Beside {
  readonly projectId: number;
  /** The project that its branch is in, by its id. */
  readonly sourceOf: (id: Value) => Value | undefined;
  /** What it changes: its latest version. */
  readonly diffOf: (version: Row) => Promise<Said>;
}

/** Says merge requests with what is about them. */
export async function* requestsIn(rows: Rows, known: Known, beside: Beside): AsyncGenerator<Said> {
  const say = commonIn(rows, "merge_request", "MergeRequest", known);
  const by = (table: string) => partsBy(rows, table, "merge_request_id");
  const [assignees, reviewers, approvals, versions] = [
    by("merge_request_assignees"),
    by("merge_request_reviewers"),
    by("approvals"),
    by("merge_request_versions"),
  ] as const;
  for (const row of rows.get("merge_requests") ?? []) {
    const id = row["id"] as Value;
    const latest = versions(id).at(-1);
    const { source_branch, target_branch, sha, merge_commit_sha, squash_commit_sha } = row;
    yield {
      ...say(row),
      ...{ source_branch, target_branch, merge_commit_sha, squash_commit_sha },
      source_project_id: beside.sourceOf(id) ?? beside.projectId,
      target_project_id: beside.projectId,
      merge_status: "unchecked",
      squash: isSet(row["squash"]),
      draft: isDraft(String(row["title"])),
      merge_params: {
        force_remove_source_branch: isSet(row["remove_source_branch"]),
        ...(row["should_remove_source_branch"] != null && {
          should_remove_source_branch: isSet(row["should_remove_source_branch"]),
        }),
      },
      merge_user_id: row["merged_by_id"],
      ...{ diff_head_sha: sha, source_branch_sha: sha },
      target_branch_sha: latest?.["start_sha"] ?? null,
      metrics: {
        ...{ merged_at: instantOf(row["merged_at"]), merged_by_id: row["merged_by_id"] },
        latest_closed_at: instantOf(row["closed_at"]),
        latest_closed_by_id: row["closed_by_id"],
        ...changedAt(row),
      },
      merge_request_assignees: assignees(id).map((one) => ({
        ...{ ...userIn(one), created_at: instantOf(row["created_at"]) },
      })),
      merge_request_reviewers: reviewers(id).map((one) => ({
        ...{ ...userIn(one), state: one["state"], created_at: instantOf(one["created_at"]) },
      })),
      approvals: approvals(id).map((one) => {
        const at = instantOf(one["created_at"]);
        return { ...userIn(one), created_at: at, updated_at: at };
      }),
      ...(latest && { merge_request_diff: await beside.diffOf(latest) }),
    };
  }
}

/** Says snippets; GitLab takes the first of their files. */
export function snippetsIn(rows: Rows, known: Known): Said[] {
  const [notes, awards, files] = [
    partsBy(rows, "notes", "snippet_id"),
    partsBy(rows, "award_emoji", "snippet_id"),
    partsBy(rows, "snippet_files", "snippet_id"),
  ] as const;
  const say = notesIn(rows, "Snippet", known);
  return (rows.get("snippets") ?? []).map((row) => {
    const id = row["id"] as Value;
    const { author_id, title, description, file_name, content } = row;
    return {
      ...{ id, author_id, title, description, file_name, content, ...changedAt(row) },
      visibility_level: row["visibility"],
      files: files(id).map(({ path, content }) => ({ path, content })),
      notes: say(notes(id)),
      award_emoji: awards(id).map(awardOf("Snippet")),
    };
  });
}

/** Says the notes on commits. */
export function commitNotesIn(rows: Rows, known: Known): Said[] {
  const notes = partsBy(rows, "notes", "noted_commit_id");
  const say = notesIn(rows, "Commit", known);
  return (rows.get("noted_commits") ?? []).flatMap(({ id, sha }) =>
    say(notes(id as Value)).map((note) => ({ ...note, commit_id: sha })),
  );
}
