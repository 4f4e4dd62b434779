import { isDraft } from "../issuables/merge-request.ts";
import type { Commits } from "./code.ts";
import { instantIn, listIn, numberIn, textIn, toldIn } from "./rows.ts";
import { isTold, type Told } from "./source.ts";

// What GitHub, Gitea and Forgejo answer, in the form of GitLab's answers: rows are made of these.

/** Whether somebody who is named there is somebody here. */
export type IsHere = (person: Told) => boolean;

/** Somebody, as GitLab names them; `null` for those whose account is gone. */
export function personIn(user: unknown): Told | null {
  const { id, login } = toldIn(user);
  const known = numberIn(id);
  return known !== null && known > 0 && typeof login === "string" ? { id, username: login } : null;
}

/** All people of some answers: who opened, wrote, closed or reviewed something. */
export function peopleIn(answers: readonly Told[]): Told[] {
  const found: Told[] = [];
  for (const told of answers) {
    for (const value of Object.values(told)) {
      for (const one of Array.isArray(value) ? value : [value]) {
        const person = personIn(one);
        if (person) found.push(person);
      }
    }
  }
  return found;
}

/** A text of somebody: whose it is stands above it if they are nobody here, as in GitLab. */
function signed(text: unknown, author: unknown, isHere: IsHere): string {
  const body = (textIn(text) ?? "").replaceAll("\0", "");
  const person = personIn(author);
  if (person && isHere(person)) return body;
  const name = person === null ? "somebody whose account is gone" : textIn(person["username"]);
  return `*Created by: ${name}*\n\n${body}`.trimEnd();
}

/** A label. */
export function labelOf(told: Told): Told {
  const color = String(told["color"] ?? "").replace(/^#/, "");
  return { ...told, color: `#${color}`, archived: told["is_archived"] === true };
}

/** A milestone. */
export const milestoneOf = (told: Told): Told => ({
  ...told,
  iid: numberIn(told["number"]) ?? numberIn(told["id"]),
  state: told["state"] === "closed" ? "closed" : "active",
  due_date: dayIn(told["due_on"]),
  created_at: told["created_at"] ?? told["due_on"],
});

const dayIn = (value: unknown): string | null => textIn(value)?.slice(0, 10) ?? null;

const LOCKED = (told: Told) => told["locked"] === true || told["is_locked"] === true;

/** What issues and pull requests have in common. */
const common = (told: Told, isHere: IsHere, closedBy: Told | null) => ({
  id: told["id"],
  iid: told["number"],
  web_url: told["html_url"],
  title: told["title"],
  description: signed(told["body"], told["user"], isHere),
  author: personIn(told["user"]),
  assignees: listIn(told["assignees"]).map(personIn).filter(isTold),
  labels: namesOf(told["labels"]),
  milestone: told["milestone"],
  discussion_locked: LOCKED(told),
  created_at: told["created_at"],
  updated_at: told["updated_at"],
  closed_at: told["closed_at"],
  closed_by: closedBy,
});

const namesOf = (labels: unknown): string[] =>
  listIn(labels)
    .map(({ name }) => textIn(name))
    .filter((name) => name !== null);

/** Something that happened to an issue or pull request, in GitHub's form. */
const happened = (told: Told, kind: string) => told["event"] === kind;

/** Who has closed something last. */
const closerIn = (events: readonly Told[]): Told | null =>
  personIn(events.findLast((event) => happened(event, "closed"))?.["actor"]);

/** An issue. @param events what happened to it */
export const issueOf = (told: Told, events: readonly Told[], isHere: IsHere): Told => ({
  ...common(told, isHere, closerIn(events)),
  state: told["state"] === "closed" ? "closed" : "opened",
});

/** Events of labels, milestones and states. @param milestones their ids by their titles */
export function eventsOf(
  events: readonly Told[],
  milestones: ReadonlyMap<string, number>,
): Record<"labelEvents" | "milestoneEvents" | "stateEvents", Told[]> {
  const merged = instantIn(events.find((event) => happened(event, "merged"))?.["created_at"]);
  const found: ReturnType<typeof eventsOf> = {
    labelEvents: [],
    milestoneEvents: [],
    stateEvents: [],
  };
  for (const [at, event] of events.entries()) {
    const { event: kind, created_at } = event;
    const own = { id: at + 1, user: personIn(event["actor"]), created_at };
    if (kind === "labeled" || kind === "unlabeled") {
      const action = kind === "labeled" ? "add" : "remove";
      found.labelEvents.push({ ...own, label: event["label"], action });
    } else if (kind === "milestoned" || kind === "demilestoned") {
      const id = milestones.get(String(toldIn(event["milestone"])["title"]));
      const action = kind === "milestoned" ? "add" : "remove";
      if (id !== undefined) found.milestoneEvents.push({ ...own, milestone: { id }, action });
    } else if (kind === "closed" || kind === "reopened" || kind === "merged") {
      // Who merges closes, which is no event of its own here.
      const isOfMerge = kind === "closed" && merged !== null;
      if (!isOfMerge) found.stateEvents.push({ ...own, state: kind, source_commit: null });
    }
  }
  return found;
}

/** Notes of the system about what happened and has no events of its own. */
function happenings(events: readonly Told[]): Told[] {
  return events.flatMap((event) => {
    const body = saidOf(event);
    return body === undefined ? [] : [noteOf(body, event["actor"], event, { system: true })];
  });
}

function saidOf(event: Told): string | undefined {
  const assignee = personIn(event["assignee"])?.["username"];
  const { from, to } = toldIn(event["rename"]);
  if (event["event"] === "renamed") return `changed title from **{-${from}-}** to **{+${to}+}**`;
  if (assignee === undefined) return undefined;
  if (event["event"] === "assigned") return `assigned to \`@${assignee}\``;
  return event["event"] === "unassigned" ? `unassigned \`@${assignee}\`` : undefined;
}

/** A note, with the key that its reactions are found by. */
const noteOf = (body: string, author: unknown, told: Told, more: Told = {}): Told => ({
  body,
  author: personIn(author),
  created_at: told["created_at"] ?? told["submitted_at"],
  updated_at: told["updated_at"] ?? told["submitted_at"] ?? told["created_at"],
  key: told["id"],
  ...more,
});

/** Comments, one a discussion. */
const commentsOf = (comments: readonly Told[], isHere: IsHere): Told[] =>
  comments.map((told) =>
    noteOf(signed(told["body"], told["user"], isHere), told["user"], told, { of: "comments" }),
  );

const SAID: Readonly<Record<string, string>> = {
  APPROVED: "Approved",
  CHANGES_REQUESTED: "Changes requested",
  REQUEST_CHANGES: "Changes requested",
  COMMENTED: "Commented",
  COMMENT: "Commented",
  DISMISSED: "Dismissed",
};

/** What reviews say, and that they approve. */
function reviewNotes(reviews: readonly Told[], isHere: IsHere): Told[] {
  return reviews.flatMap((review) => {
    const said = SAID[String(review["state"])];
    const author = review["user"];
    if (said === undefined) return [];
    const does =
      said === "Approved"
        ? [noteOf("approved this merge request", author, review, { system: true })]
        : said === "Changes requested"
          ? [noteOf("requested changes", author, review, { system: true })]
          : [];
    const body = (textIn(review["body"]) ?? "").trim();
    if (body === "") return does;
    const text = signed(`**Review:** ${said}\n\n${body}`, author, isHere);
    return [...does, noteOf(text, author, review)];
  });
}

/** What a comment on a change is about. */
interface Lines {
  readonly old_line: number | null;
  readonly new_line: number | null;
}

const HUNK = /^@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})/;

/** The line at the end of a part of a difference, which a comment shows. */
function endOf(hunk: string): Lines | undefined {
  const lines = hunk.replace(/\n$/, "").split("\n");
  const [, before, after] = HUNK.exec(lines[0] ?? "") ?? [];
  if (before === undefined || lines.length < 2) return undefined;
  let [old, now] = [Number(before) - 1, Number(after) - 1];
  let last = " ";
  for (const line of lines.slice(1)) {
    const sign = line[0] ?? " ";
    if (sign === "\\") continue;
    if (sign !== "+") old += 1;
    if (sign !== "-") now += 1;
    last = sign;
  }
  return { old_line: last === "+" ? null : old, new_line: last === "-" ? null : now };
}

function linesOf(comment: Told): Lines | undefined {
  const shown = endOf(textIn(comment["diff_hunk"]) ?? "");
  if (shown) return shown;
  // GitHub names a side, Gitea the line before or after the change.
  const line = numberIn(comment["original_line"]) ?? numberIn(comment["line"]);
  if (line !== null) {
    const isOld = comment["side"] === "LEFT";
    return { old_line: isOld ? line : null, new_line: isOld ? null : line };
  }
  const after = numberIn(comment["position"]) || null;
  const before = numberIn(comment["original_position"]) || null;
  if (after === null && before === null) return undefined;
  return { old_line: after === null ? before : null, new_line: after };
}

/** Where a comment is in the code, if that is here. @param start the commit that a change is compared with */
function positionOf(comment: Told, start: string | null, commits: Commits): Told | undefined {
  const path = textIn(comment["path"]);
  const head = [comment["original_commit_id"], comment["commit_id"]].find(
    (sha) => typeof sha === "string" && commits.has(sha),
  ) as string | undefined;
  if (!path || !head || start === null || !commits.has(start)) return undefined;
  const shas = { base_sha: commits.baseOf(start, head) ?? start, start_sha: start, head_sha: head };
  const paths = { old_path: path, new_path: path };
  if (comment["subject_type"] === "file") return { ...shas, ...paths, position_type: "file" };
  const lines = linesOf(comment);
  return lines && { ...shas, ...paths, position_type: "text", ...lines };
}

/** Comments on lines in their threads. */
function threadsOf(
  comments: readonly Told[],
  start: string | null,
  commits: Commits,
  isHere: IsHere,
): Told[][] {
  const threads = new Map<string, Told[]>();
  for (const comment of comments) {
    const { id, in_reply_to_id: first, path, position, original_position: before } = comment;
    // Gitea has no replies: what is about the same line is one conversation.
    const isOnce = "in_reply_to_id" in comment || "original_line" in comment;
    const key = String(isOnce ? (first ?? id) : `${path}:${before}:${position}`);
    const thread = threads.get(key) ?? [];
    threads.set(key, thread);
    const place = positionOf(comment, start, commits);
    const at = place ? "" : `On \`${textIn(path) ?? "the change"}\`:\n\n`;
    const text = signed(`${at}${textIn(comment["body"]) ?? ""}`, comment["user"], isHere);
    thread.push(noteOf(text, comment["user"], comment, { of: "reviews", position: place }));
  }
  return [...threads.values()];
}

/** What discussions of an issue or pull request are made of. */
export interface Talk {
  readonly comments: readonly Told[];
  readonly events: readonly Told[];
  readonly reviews?: readonly Told[];
  /** Comments on lines, and what these are compared with. */
  readonly onLines?: readonly Told[];
  readonly start?: string | null;
  readonly commits?: Commits;
}

/** The discussions about an issue or pull request, in the order of their beginnings; notes have numbers of their own. */
export function discussionsOf(talk: Talk, isHere: IsHere): Told[] {
  const { comments, events, reviews = [], onLines = [], start = null, commits } = talk;
  const single = [
    ...happenings(events),
    ...commentsOf(comments, isHere),
    ...reviewNotes(reviews, isHere),
  ].map((note) => ({ individual_note: true, notes: [note] }));
  const threads = commits
    ? threadsOf(onLines, start, commits, isHere).map((notes) => ({ individual_note: false, notes }))
    : [];
  const begun = ({ notes }: { notes: Told[] }) => instantIn(notes[0]?.["created_at"]) ?? 0;
  const all = [...single, ...threads].sort((a, b) => begun(a) - begun(b));
  let next = 0;
  return all.map(({ individual_note, notes }) => ({
    individual_note,
    notes: notes.map((note) => {
      next += 1;
      return { ...note, id: next };
    }),
  }));
}

const EMOJI: Readonly<Record<string, string>> = {
  "+1": "thumbsup",
  "-1": "thumbsdown",
  laugh: "laughing",
  hooray: "tada",
};

/** Reactions as emoji. */
export const emojiOf = (reactions: readonly Told[], told: Told): Told[] =>
  reactions.map((reaction, at) => ({
    id: at + 1,
    name: EMOJI[String(reaction["content"])] ?? reaction["content"],
    user: personIn(reaction["user"]),
    // Only Gitea says when.
    created_at: reaction["created_at"] ?? told["created_at"],
  }));

/** A pull request as a merge request. @param events what happened to it */
export function requestOf(told: Told, events: readonly Told[], isHere: IsHere): Told {
  const [head, base] = [toldIn(told["head"]), toldIn(told["base"])];
  const isMerged = told["merged_at"] != null;
  const merged = events.find((event) => happened(event, "merged"));
  const title = textIn(told["title"]) ?? "";
  return {
    ...common(told, isHere, isMerged ? null : closerIn(events)),
    title: told["draft"] === true && !isDraft(title) ? `Draft: ${title}` : title,
    state: isMerged ? "merged" : told["state"] === "closed" ? "closed" : "opened",
    ...(isMerged && { closed_at: null }),
    merged_at: told["merged_at"],
    merge_user: personIn(told["merged_by"] ?? merged?.["actor"]),
    merge_commit_sha: isMerged ? told["merge_commit_sha"] : null,
    sha: head["sha"],
    source_branch: branchOf(head, base),
    target_branch: base["ref"],
  };
}

/** The branch that a change comes from; one of a fork has a name like that of GitLab's importer. */
function branchOf(head: Told, base: Told): unknown {
  const [from, to] = [toldIn(head["repo"])["id"], toldIn(base["repo"])["id"]];
  if (from === to) return head["ref"];
  const owner = textIn(toldIn(head["user"])["login"]) ?? "unknown";
  return `fork/${owner}/${head["ref"]}`;
}

/** What a change is now: one version, if its code is here. */
export function versionsOf(told: Told, commits: Commits): Told[] {
  const head = textIn(toldIn(told["head"])["sha"]);
  const start = textIn(toldIn(told["base"])["sha"]);
  if (!head || !start || !commits.has(head) || !commits.has(start)) return [];
  const base = textIn(told["merge_base"]);
  return [
    {
      id: 1,
      head_commit_sha: head,
      start_commit_sha: start,
      base_commit_sha: base && commits.has(base) ? base : (commits.baseOf(start, head) ?? start),
      real_size: String(numberIn(told["changed_files"]) ?? 0),
      created_at: told["created_at"],
    },
  ];
}

/** Who approves: whose last review that says something does. */
export function approvalsOf(reviews: readonly Told[]): Told[] {
  const last = new Map<unknown, Told>();
  for (const review of reviews) {
    const said = SAID[String(review["state"])];
    const person = personIn(review["user"]);
    if (!person || review["dismissed"] === true) continue;
    if (said !== undefined && said !== "Commented") last.set(person["id"], review);
  }
  return [...last.values()]
    .filter(({ state }) => state === "APPROVED")
    .map((review) => ({ user: personIn(review["user"]), approved_at: review["submitted_at"] }));
}

/** The people who were asked to review, and those who have. */
export function reviewersOf(told: Told, reviews: readonly Told[]): Told[] {
  const approved = new Set(approvalsOf(reviews).map(({ user }) => toldIn(user)["id"]));
  const author = personIn(told["user"])?.["id"];
  const found = new Map<unknown, Told>();
  const asked = listIn(told["requested_reviewers"]);
  const have = reviews.map((review) => review["user"]);
  for (const person of [...have, ...asked].map(personIn).filter(isTold)) {
    const { id } = person;
    if (id === author) continue;
    const state = approved.has(id) ? "approved" : "unreviewed";
    found.set(id, { user: person, state, created_at: told["created_at"] });
  }
  return [...found.values()];
}

/** A release. */
export const releaseOf = (told: Told, isHere: IsHere): Told => ({
  tag_name: told["tag_name"],
  name: told["name"],
  description: signed(told["body"], told["author"], isHere),
  author: personIn(told["author"]),
  created_at: told["created_at"],
  released_at: told["published_at"] ?? told["created_at"],
  assets: {
    links: listIn(told["assets"])
      .filter(({ browser_download_url: url }) => typeof url === "string")
      .map(({ id, name, browser_download_url: url }) => ({ id, name, url })),
  },
});

/** What Gitea's list of what happened says, in GitHub's form. */
export function fromTimeline(entries: readonly Told[]): Told[] {
  return entries.flatMap((entry): Told[] => {
    const { id, created_at, type } = entry;
    const of = { id, created_at, actor: entry["user"] };
    const title = (value: unknown) => ({ title: toldIn(value)["title"] });
    switch (type) {
      case "close":
        return [{ ...of, event: "closed" }];
      case "reopen":
        return [{ ...of, event: "reopened" }];
      case "merge_pull":
        return [{ ...of, event: "merged" }];
      case "label":
        return [
          { ...of, event: entry["body"] === "1" ? "labeled" : "unlabeled", label: entry["label"] },
        ];
      case "milestone":
        return [
          ...(isTold(entry["old_milestone"])
            ? [{ ...of, event: "demilestoned", milestone: title(entry["old_milestone"]) }]
            : []),
          ...(isTold(entry["milestone"])
            ? [{ ...of, event: "milestoned", milestone: title(entry["milestone"]) }]
            : []),
        ];
      case "change_title": {
        const rename = { from: entry["old_title"], to: entry["new_title"] };
        return [{ ...of, event: "renamed", rename }];
      }
      case "assignees": {
        const event = entry["removed_assignee"] === true ? "unassigned" : "assigned";
        return [{ ...of, event, assignee: entry["assignee"] }];
      }
      default:
        return [];
    }
  });
}

const ROLES: Readonly<Record<string, number>> = {
  read: 10,
  triage: 20,
  write: 30,
  maintain: 40,
  admin: 50,
};

/** The access level here of a collaborator; `undefined` for none. */
export function levelOf(told: Told): number | undefined {
  const named = ROLES[String(told["role_name"] ?? told["permission"])];
  if (named !== undefined) return named;
  const { admin, maintain, push, triage, pull } = toldIn(told["permissions"]);
  if (admin === true) return 50;
  if (maintain === true) return 40;
  if (push === true) return 30;
  if (triage === true) return 20;
  return pull === true ? 10 : undefined;
}
