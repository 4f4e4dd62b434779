import { digest } from "../../core/digest.ts";
import { isTold, type Told } from "./source.ts";

/** A row of an archived table; it names others by what their numbers are on the other server. */
export interface Row {
  readonly table: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** What the rows of a record name, as it is here. */
export interface Named {
  /** The id of a label with a name. */
  label(name: unknown): number | undefined;
  /** The id of a milestone by its id there. */
  milestone(there: unknown): number | undefined;
}

/** A text, or `null`. */
export const textIn = (value: unknown): string | null => (typeof value === "string" ? value : null);
/** A whole number, or `null`. */
export const numberIn = (value: unknown): number | null =>
  Number.isSafeInteger(value) ? (value as number) : null;
/** 0 or 1. */
export const flagIn = (value: unknown): 0 | 1 => (value === true ? 1 : 0);
/** An instant in epoch milliseconds, or `null`. */
export function instantIn(value: unknown): number | null {
  const at = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}
/** The objects of a list. */
export const listIn = (value: unknown): readonly Told[] =>
  Array.isArray(value) ? value.filter(isTold) : [];
/** An object, or one without anything. */
export const toldIn = (value: unknown): Told => (isTold(value) ? value : {});
/** The id of an object, or `null`. */
export const idIn = (value: unknown): number | null => numberIn(toldIn(value)["id"]);

const changed = (told: Told) => ({
  created_at: instantIn(told["created_at"]) ?? 0,
  updated_at: instantIn(told["updated_at"]) ?? instantIn(told["created_at"]) ?? 0,
});

/** A label. */
export function labelRow(told: Told, now: number): Row {
  const color = textIn(told["color"]) ?? "";
  return {
    table: "labels",
    values: {
      id: told["id"],
      name: told["name"],
      color: /^#[\da-f]{3}$/i.test(color) ? color.replace(/[^#]/g, "$&$&") : color,
      description: textIn(told["description"]),
      priority: numberIn(told["priority"]),
      archived: flagIn(told["archived"]),
      created_at: now,
      updated_at: now,
    },
  };
}

/** A milestone. */
export function milestoneRow(told: Told): Row {
  return {
    table: "milestones",
    values: {
      id: told["id"],
      iid: told["iid"],
      title: told["title"],
      description: textIn(told["description"]),
      state: told["state"],
      due_date: textIn(told["due_date"]),
      start_date: textIn(told["start_date"]),
      ...changed(told),
    },
  };
}

/** A badge. */
export function badgeRow(told: Told, now: number): Row {
  const { id, name, link_url, image_url } = told;
  const values = { id, name: textIn(name), link_url, image_url, created_at: now, updated_at: now };
  return { table: "badges", values };
}

/** A member. */
export function memberRow(told: Told, now: number): Row {
  const at = instantIn(told["created_at"]) ?? now;
  return {
    table: "members",
    values: {
      id: told["id"],
      user_id: told["id"],
      access_level: told["access_level"],
      expires_at: textIn(told["expires_at"]),
      created_by_id: idIn(told["created_by"]),
      created_at: at,
      updated_at: at,
    },
  };
}

/** A board with its lists. */
export function boardRows(told: Told, named: Named, now: number): Row[] {
  const id = told["id"];
  const at = { created_at: now, updated_at: now };
  const board = {
    id,
    name: told["name"],
    milestone_id: named.milestone(idIn(told["milestone"])) ?? null,
    assignee_id: idIn(told["assignee"]),
    weight: numberIn(told["weight"]),
    hide_backlog_list: flagIn(told["hide_backlog_list"]),
    hide_closed_list: flagIn(told["hide_closed_list"]),
    ...at,
  };
  const labels = listIn(told["labels"]).flatMap(({ name }): Row[] => {
    const label_id = named.label(name);
    return label_id === undefined
      ? []
      : [{ table: "board_labels", values: { board_id: id, label_id } }];
  });
  const lists = listIn(told["lists"]).flatMap((list): Row[] => {
    const subject = {
      label: named.label(toldIn(list["label"])["name"]),
      milestone: named.milestone(idIn(list["milestone"])),
      assignee: idIn(list["assignee"]),
    };
    const [found] = Object.entries(subject).filter(([, id]) => id != null);
    // Iterations are not brought along.
    if (!found) return [];
    const [list_type, subjectId] = found;
    const values = {
      ...{ id: list["id"], board_id: id, list_type, [`${list_type}_id`]: subjectId },
      ...{ position: numberIn(list["position"]), ...at },
    };
    return [{ table: "board_lists", values }];
  });
  return [{ table: "boards", values: board }, ...labels, ...lists];
}

/** The rules about a branch, or about a tag. */
export function protectionRows(
  told: Told,
  table: "protected_branches" | "protected_tags",
  now: number,
): Row[] {
  const id = numberIn(told["id"]) ?? 1;
  const name = textIn(told["name"]) ?? "";
  const at = { created_at: now, updated_at: now };
  const isBranch = table === "protected_branches";
  const rule = {
    id,
    name,
    is_wildcard: name.includes("*") ? 1 : 0,
    ...(isBranch && {
      allow_force_push: flagIn(told["allow_force_push"]),
      code_owner_approval_required: flagIn(told["code_owner_approval_required"]),
    }),
    ...at,
  };
  const actions = isBranch ? (["push", "merge", "unprotect"] as const) : (["create"] as const);
  let next = 0;
  const grants = actions.flatMap((action) =>
    listIn(told[`${action}_access_levels`]).map((grant): Row => {
      next += 1;
      const user = numberIn(grant["user_id"]);
      const group = numberIn(grant["group_id"]);
      const key = numberIn(grant["deploy_key_id"]);
      const isLevel = user === null && group === null && key === null;
      return {
        table: "protection_grants",
        values: {
          id: next,
          branch_id: isBranch ? id : null,
          tag_id: isBranch ? null : id,
          action,
          access_level: isLevel ? numberIn(grant["access_level"]) : null,
          user_id: user,
          group_id: group,
          deploy_key_id: key,
        },
      };
    }),
  );
  return [{ table, values: rule }, ...grants];
}

/** A rule of who approves the merge requests of a project. @param branches the ids here of its branches, by their names */
export function approvalRuleRows(
  told: Told,
  branches: ReadonlyMap<string, number | null>,
  now: number,
): Row[] {
  const id = told["id"];
  const rule = {
    id,
    merge_request_id: null,
    source_id: null,
    name: told["name"],
    rule_type: told["rule_type"] ?? "regular",
    report_type: textIn(told["report_type"]),
    approvals_required: told["approvals_required"],
    all_protected_branches: flagIn(told["applies_to_all_protected_branches"]),
    section: null,
    is_optional: 0,
    roles: null,
    created_at: now,
    updated_at: now,
  };
  const users = listIn(told["users"]).map(({ id: user_id }) => ({
    table: "approval_rule_users",
    values: { rule_id: id, user_id },
  }));
  const named = listIn(told["protected_branches"]).flatMap(({ name }) => {
    const branch_id = branches.get(String(name));
    return branch_id == null
      ? []
      : [{ table: "approval_rule_branches", values: { rule_id: id, branch_id } }];
  });
  return [{ table: "approval_rules", values: rule }, ...users, ...named];
}

/** What a record of an issue or merge request is told of besides itself. */
export interface Details {
  readonly discussions: readonly Told[];
  readonly emoji: readonly Told[];
  /** Of notes, by their ids. */
  readonly noteEmoji: ReadonlyMap<number, readonly Told[]>;
  readonly labelEvents: readonly Told[];
  readonly milestoneEvents: readonly Told[];
  readonly stateEvents: readonly Told[];
  readonly weightEvents: readonly Told[];
}

type Prefix = "issue" | "merge_request";

const common = (told: Told, named: Named) => {
  const times = toldIn(told["time_stats"]);
  return {
    id: told["id"],
    iid: told["iid"],
    author_id: idIn(told["author"]),
    title: told["title"],
    description: textIn(told["description"]),
    state: told["state"],
    milestone_id: named.milestone(idIn(told["milestone"])) ?? null,
    discussion_locked: flagIn(told["discussion_locked"]),
    closed_at: instantIn(told["closed_at"]),
    closed_by_id: idIn(told["closed_by"]),
    time_estimate: numberIn(times["time_estimate"]) ?? 0,
    total_time_spent: numberIn(times["total_time_spent"]) ?? 0,
    ...changed(told),
  };
};

/** An issue with all that is about it. */
export function issueRows(told: Told, details: Details, named: Named): Row[] {
  const type = textIn(told["issue_type"]) ?? "issue";
  const issue = {
    ...common(told, named),
    issue_type: ["issue", "incident", "test_case", "task"].includes(type) ? type : "issue",
    confidential: flagIn(told["confidential"]),
    start_date: textIn(told["start_date"]),
    due_date: textIn(told["due_date"]),
    weight: numberIn(told["weight"]),
    severity: textIn(told["severity"])?.toLowerCase() ?? "unknown",
    relative_position: null,
  };
  return [
    { table: "issues", values: issue },
    ...people("issue", told, "assignees"),
    ...labels("issue", told, named),
    ...about("issue", told, details, named),
    ...details.weightEvents.map(
      (event): Row => ({
        table: "resource_weight_events",
        values: {
          id: event["id"],
          issue_id: told["id"],
          user_id: idIn(event["user"]),
          weight: numberIn(event["weight"]),
          created_at: instantIn(event["created_at"]),
        },
      }),
    ),
  ];
}

/** An epic with all that is about it. */
export function epicRows(told: Told, details: Details, named: Named): Row[] {
  const epic = { ...told, issue_type: undefined, milestone: null, assignees: [] };
  const rows = issueRows(epic, details, named).map((row) =>
    row.table === "issues" ? { ...row, values: { ...row.values, issue_type: "epic" } } : row,
  );
  return [...rows, epicDetailsRow(told)];
}

/** What an epic has besides what issues have. */
export const epicDetailsRow = (told: Told): Row => ({
  table: "epic_details",
  values: {
    issue_id: told["id"],
    color: textIn(told["color"]),
    start_date_fixed: textIn(told["start_date_fixed"]),
    start_date_is_fixed: flagIn(told["start_date_is_fixed"]),
    due_date_fixed: textIn(told["due_date_fixed"]),
    due_date_is_fixed: flagIn(told["due_date_is_fixed"]),
  },
});

/** What a merge request is told of besides itself. */
export interface RequestDetails extends Details {
  readonly versions: readonly Told[];
  readonly approvals: Told;
  readonly reviewers: readonly Told[];
}

/** A merge request with all that is about it. @param has whether a commit is in the repository */
export function requestRows(
  told: Told,
  details: RequestDetails,
  named: Named,
  has: (sha: string) => boolean,
): Row[] {
  const id = told["id"];
  const request = {
    ...common(told, named),
    source_branch: told["source_branch"],
    target_branch: told["target_branch"],
    sha: textIn(told["sha"]),
    merge_commit_sha: textIn(told["merge_commit_sha"]),
    squash_commit_sha: textIn(told["squash_commit_sha"]),
    squash: flagIn(told["squash"]),
    remove_source_branch: flagIn(told["force_remove_source_branch"]),
    should_remove_source_branch:
      told["should_remove_source_branch"] == null
        ? null
        : flagIn(told["should_remove_source_branch"]),
    merged_at: instantIn(told["merged_at"]),
    merged_by_id: idIn(told["merge_user"] ?? told["merged_by"]),
  };
  const versions = [...details.versions].reverse().flatMap((version): Row[] => {
    const [head, base, start] = ["head", "base", "start"].map((name) =>
      textIn(version[`${name}_commit_sha`]),
    );
    const known = [head, base, start].every((sha) => sha == null || has(sha));
    if (!head || !start || !known) return [];
    const changed_files = Number.parseInt(
      String(version["real_size"] ?? told["changes_count"] ?? "0"),
      10,
    );
    return [
      {
        table: "merge_request_versions",
        values: {
          id: version["id"],
          merge_request_id: id,
          head_sha: head,
          base_sha: base,
          start_sha: start,
          changed_files: Number.isSafeInteger(changed_files) ? changed_files : 0,
          created_at: instantIn(version["created_at"]),
        },
      },
    ];
  });
  const approvals = listIn(details.approvals["approved_by"]).map(
    (approval): Row => ({
      table: "approvals",
      values: {
        merge_request_id: id,
        user_id: idIn(approval["user"]),
        created_at: instantIn(approval["approved_at"]) ?? changed(told).updated_at,
      },
    }),
  );
  const states = ["unreviewed", "approved", "unapproved"];
  const reviewers = details.reviewers.map(
    (reviewer): Row => ({
      table: "merge_request_reviewers",
      values: {
        merge_request_id: id,
        user_id: idIn(reviewer["user"]),
        state: states.includes(String(reviewer["state"])) ? reviewer["state"] : "unreviewed",
        created_at: instantIn(reviewer["created_at"]) ?? changed(told).created_at,
      },
    }),
  );
  return [
    { table: "merge_requests", values: request },
    ...people("merge_request", told, "assignees"),
    ...labels("merge_request", told, named),
    ...versions,
    ...approvals,
    ...reviewers,
    ...about("merge_request", told, details, named),
  ];
}

const people = (prefix: Prefix, told: Told, list: "assignees"): Row[] =>
  listIn(told[list]).map(({ id }) => ({
    table: `${prefix}_${list}`,
    values: { [`${prefix}_id`]: told["id"], user_id: id },
  }));

const labels = (prefix: Prefix, told: Told, named: Named): Row[] =>
  (Array.isArray(told["labels"]) ? told["labels"] : []).flatMap((label: unknown): Row[] => {
    const label_id = named.label(isTold(label) ? label["name"] : label);
    const values = { [`${prefix}_id`]: told["id"], label_id };
    return label_id === undefined ? [] : [{ table: `${prefix}_labels`, values }];
  });

/** Discussions, emoji and events. */
function about(prefix: Prefix, told: Told, details: Details, named: Named): Row[] {
  const other = prefix === "issue" ? "merge_request" : "issue";
  const on = { [`${prefix}_id`]: told["id"], [`${other}_id`]: null };
  const happened = (event: Told) => ({
    id: event["id"],
    ...on,
    user_id: idIn(event["user"]),
    created_at: instantIn(event["created_at"]),
  });
  return [
    ...noteRows(
      details.discussions,
      { ...on, snippet_id: null, noted_commit_id: null },
      details.noteEmoji,
    ),
    ...details.emoji.map((award) => awardRow(award, { ...on, snippet_id: null, note_id: null })),
    ...details.labelEvents.map((event) => ({
      table: "resource_label_events",
      values: {
        ...happened(event),
        label_id: named.label(toldIn(event["label"])["name"]) ?? null,
        action: event["action"],
      },
    })),
    ...details.milestoneEvents.map((event) => ({
      table: "resource_milestone_events",
      values: {
        ...happened(event),
        milestone_id: named.milestone(idIn(event["milestone"])) ?? null,
        action: event["action"],
        state: event["state"] ?? told["state"],
      },
    })),
    ...details.stateEvents.map((event) => ({
      table: "resource_state_events",
      values: {
        ...happened(event),
        state: event["state"],
        source_commit: textIn(event["source_commit"]),
        source_merge_request_id: null,
      },
    })),
  ];
}

/** The notes of discussions, in their order. @param on what they are on */
function noteRows(
  discussions: readonly Told[],
  on: Readonly<Record<string, unknown>>,
  emoji: ReadonlyMap<number, readonly Told[]>,
): Row[] {
  const notes = discussions.flatMap((discussion) => {
    const all = listIn(discussion["notes"]);
    const first = all[0]?.["id"];
    const thread = discussion["individual_note"] === true ? null : first;
    return all.map((note, at) => ({ note, thread, reply: at > 0 ? 1 : 0 }));
  });
  const written = notes.flatMap(({ note, thread, reply }): Row[] => [
    {
      table: "notes",
      values: {
        id: note["id"],
        ...on,
        author_id: idIn(note["author"]),
        body: note["body"],
        system: flagIn(note["system"]),
        internal: flagIn(note["internal"] ?? note["confidential"]),
        thread_id: thread,
        reply,
        resolved_at: instantIn(note["resolved_at"]),
        resolved_by_id: idIn(note["resolved_by"]),
        commit_id: textIn(note["commit_id"]),
        ...changed(note),
      },
    },
    ...positionRows(note),
  ]);
  const awards = notes.flatMap(({ note }) =>
    (emoji.get(note["id"] as number) ?? []).map((award) =>
      awardRow(award, {
        issue_id: null,
        merge_request_id: null,
        snippet_id: null,
        note_id: note["id"],
      }),
    ),
  );
  return [...written, ...awards];
}

/** Notes on a commit. @param isFirst whether its row is to be made */
export function commitNoteRows(
  commit: { readonly id: number; readonly sha: string },
  discussions: readonly Told[],
  emoji: ReadonlyMap<number, readonly Told[]>,
  isFirst: boolean,
): Row[] {
  const on = { issue_id: null, merge_request_id: null, snippet_id: null };
  return [
    ...(isFirst ? [{ table: "noted_commits", values: commit }] : []),
    ...noteRows(discussions, { ...on, noted_commit_id: commit.id }, emoji),
  ];
}

/** The place of a note on a changed file. */
function positionRows(note: Told): Row[] {
  if (!isTold(note["position"])) return [];
  const told = note["position"];
  const path = textIn(told["new_path"]) ?? textIn(told["old_path"]) ?? "";
  const { base_sha, start_sha, head_sha, position_type } = told;
  const old_path = textIn(told["old_path"]) ?? path;
  const new_path = textIn(told["new_path"]) ?? path;
  const [before, after] = [numberIn(told["old_line"]), numberIn(told["new_line"])];
  const isText = position_type === "text";
  const range = isTold(told["line_range"]) ? told["line_range"] : null;
  const line_range = range && { start: endIn(range["start"]), end: endIn(range["end"]) };
  const { width, height, x, y } = told;
  const position = JSON.stringify({
    ...{ base_sha, start_sha, head_sha, old_path, new_path, position_type },
    ...(isText
      ? { old_line: before, new_line: after, line_range }
      : position_type === "image" && { width, height, x, y }),
  });
  const type = before === null ? "new" : after === null ? "old" : null;
  const code = textIn(note["line_code"]) ?? `${digest("sha1", path)}_${before ?? 0}_${after ?? 0}`;
  return [
    {
      table: "note_positions",
      values: {
        id: note["id"],
        note_id: note["id"],
        path,
        line: isText ? (after ?? before) : null,
        line_type: isText ? type : null,
        line_code: isText ? code : null,
        position,
        original_position: position,
        outdated: 0,
      },
    },
    ...suggestionRows(note, after),
  ];
}

/** Changes of lines that a note suggests. @param line the one that it is on, after the change */
function suggestionRows(note: Told, line: number | null): Row[] {
  if (line === null) return [];
  return listIn(note["suggestions"]).map((told, place) => ({
    table: "suggestions",
    values: {
      id: told["id"],
      note_id: note["id"],
      place,
      lines_above: line - (numberIn(told["from_line"]) ?? line),
      lines_below: (numberIn(told["to_line"]) ?? line) - line,
      from_content: JSON.stringify(told["from_content"]),
      to_content: JSON.stringify(told["to_content"]),
      // Which commit has applied it is not told.
      applied_sha: told["applied"] === true ? textIn(toldIn(note["position"])["head_sha"]) : null,
    },
  }));
}

const endIn = (value: unknown) => {
  const { line_code, type, old_line, new_line } = toldIn(value);
  return {
    line_code: textIn(line_code) ?? "",
    type: type === "new" || type === "old" ? type : null,
    old_line: numberIn(old_line),
    new_line: numberIn(new_line),
  };
};

const awardRow = (award: Told, on: Readonly<Record<string, unknown>>): Row => ({
  table: "award_emoji",
  values: {
    id: award["id"],
    ...on,
    name: award["name"],
    user_id: idIn(award["user"]),
    ...changed(award),
  },
});

/** A release with its links and milestones. */
export function releaseRows(told: Told, named: Named): Row[] {
  const id = 1;
  const at = instantIn(told["created_at"]) ?? 0;
  const release = {
    id,
    tag: told["tag_name"],
    name: textIn(told["name"]),
    description: textIn(told["description"]),
    sha: textIn(toldIn(told["commit"])["id"]),
    author_id: idIn(told["author"]),
    released_at: instantIn(told["released_at"]) ?? at,
    created_at: at,
    updated_at: at,
  };
  // They are listed the newest first.
  const links = [...listIn(toldIn(told["assets"])["links"])].reverse().map(
    (link): Row => ({
      table: "release_links",
      values: {
        id: link["id"],
        release_id: id,
        name: link["name"],
        url: link["url"],
        filepath: pathIn(link),
        link_type: link["link_type"] ?? "other",
        updated_at: at,
      },
    }),
  );
  const milestones = listIn(told["milestones"]).flatMap((milestone): Row[] => {
    const milestone_id = named.milestone(milestone["id"]);
    return milestone_id === undefined
      ? []
      : [{ table: "release_milestones", values: { release_id: id, milestone_id } }];
  });
  return [{ table: "releases", values: release }, ...links, ...milestones];
}

/** The path of a release's link, which is only told as the end of an address. */
function pathIn(link: Told): string | null {
  const found = /\/releases\/[^/]+\/downloads(\/.+)$/.exec(textIn(link["direct_asset_url"]) ?? "");
  return found?.[1] ?? null;
}

/** A snippet with its files and notes. @param contents of its files, by their paths */
export function snippetRows(
  told: Told,
  contents: ReadonlyMap<string, string>,
  details: Pick<Details, "discussions" | "emoji" | "noteEmoji">,
  visibility: number,
): Row[] {
  const id = told["id"];
  const [[path, content] = ["snippet.txt", ""], ...others] = contents;
  const on = { issue_id: null, merge_request_id: null };
  return [
    {
      table: "snippets",
      values: {
        id,
        author_id: idIn(told["author"]),
        title: told["title"],
        file_name: path,
        description: textIn(told["description"]),
        content,
        visibility,
        ...changed(told),
      },
    },
    ...others.map(
      ([path, content], at): Row => ({
        table: "snippet_files",
        values: { id: at + 1, snippet_id: id, path, content },
      }),
    ),
    ...noteRows(
      details.discussions,
      { ...on, snippet_id: id, noted_commit_id: null },
      details.noteEmoji,
    ),
    ...details.emoji.map((award) => awardRow(award, { ...on, snippet_id: id, note_id: null })),
  ];
}
