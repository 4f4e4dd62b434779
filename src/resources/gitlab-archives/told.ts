import { type Details, instantIn, listIn, numberIn, textIn, toldIn } from "../bulk-imports/rows.ts";
import { isTold, type Told } from "../bulk-imports/source.ts";

// What archives of GitLab say of records, in the form of its API.

/** Numbers for what has none in an archive. */
export class Numbers {
  #last = 0;

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}

/** Somebody with a user name. */
export function personIn(user: unknown): Told | undefined {
  const { id, username } = toldIn(user);
  const known = numberIn(id);
  const isNamed = typeof username === "string" && username.length <= 255;
  return known !== null && known > 0 && isNamed ? { id, username } : undefined;
}

/** Whether whoever has a number there has a user name, too. */
export type IsNamed = (id: unknown) => boolean;

/** The text of a note. Who wrote it stands below if nothing but that name is told of them, as in GitLab. */
function bodyOf(note: Told, isNamed: IsNamed): string {
  const text = textIn(note["note"]) ?? "";
  const name = textIn(toldIn(note["author"])["name"]);
  if (name === null || note["system"] === true || isNamed(note["author_id"])) return text;
  return `${text}\n\n*By ${name} on ${note["created_at"]} (imported from GitLab)*`;
}

/** The discussions of a record. */
export function discussionsIn(told: Told, numbers: Numbers, isNamed: IsNamed): Told[] {
  const threads = new Map<string, Told[]>();
  const notes = [...listIn(told["notes"])].sort(
    (a, b) => (instantIn(a["created_at"]) ?? 0) - (instantIn(b["created_at"]) ?? 0),
  );
  for (const [at, note] of notes.entries()) {
    const key = textIn(note["discussion_id"]) ?? String(at);
    const thread = threads.get(key) ?? [];
    threads.set(key, thread);
    thread.push({
      ...note,
      id: numbers.next(),
      body: bodyOf(note, isNamed),
      author: { id: note["author_id"] },
      resolved_by: { id: note["resolved_by_id"] },
      internal: note["internal"] ?? note["confidential"],
      position: positionIn(note["position"] ?? note["original_position"]),
      suggestions: suggestionsIn(note, numbers),
    });
  }
  return [...threads.values()].map((of) => ({
    // Only these have threads, also if nobody has replied.
    individual_note:
      of.length === 1 && !["DiffNote", "DiscussionNote"].includes(String(of[0]?.["type"])),
    notes: of,
  }));
}

/** Changes of lines that a note suggests. */
function suggestionsIn(note: Told, numbers: Numbers): Told[] {
  const line = numberIn(toldIn(positionIn(note["position"]))["new_line"]);
  if (line === null) return [];
  return listIn(note["suggestions"]).map((one) => ({
    id: numbers.next(),
    from_line: line - (numberIn(one["lines_above"]) ?? 0),
    to_line: line + (numberIn(one["lines_below"]) ?? 0),
    from_content: one["from_content"],
    to_content: one["to_content"],
    applied: one["applied"],
  }));
}

/** The place of a note on a line: an object, or its JSON. */
function positionIn(value: unknown): unknown {
  if (typeof value !== "string") return isTold(value) ? value : null;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return null;
  }
}

/** The emoji that are given to a record. */
export const emojiIn = (awards: unknown, numbers: Numbers): Told[] =>
  listIn(awards).map((award) => ({ ...award, id: numbers.next(), user: { id: award["user_id"] } }));

/** The emoji that are given to notes, by these. */
export function awardsOn(
  discussions: readonly Told[],
  numbers: Numbers,
): Map<number, readonly Told[]> {
  const found = new Map<number, readonly Told[]>();
  for (const note of discussions.flatMap(({ notes }) => listIn(notes))) {
    const given = emojiIn(note["award_emoji"], numbers);
    if (given.length > 0) found.set(note["id"] as number, given);
  }
  return found;
}

/** Discussions, emoji and events of an issue or merge request. @param milestones their numbers by their titles */
export function detailsIn(
  told: Told,
  numbers: Numbers,
  milestones: ReadonlyMap<string, number>,
  isNamed: IsNamed,
): Details {
  const discussions = discussionsIn(told, numbers, isNamed);
  const events = (name: string) =>
    listIn(told[`resource_${name}_events`]).map((event) => ({
      ...event,
      id: numbers.next(),
      user: { id: event["user_id"] },
    }));
  return {
    discussions,
    emoji: emojiIn(told["award_emoji"], numbers),
    noteEmoji: awardsOn(discussions, numbers),
    labelEvents: events("label").map((event: Told) => ({
      ...event,
      label: { name: toldIn(event["label"])["title"] },
    })),
    milestoneEvents: events("milestone").flatMap((event: Told) => {
      const id = milestones.get(String(toldIn(event["milestone"])["title"]));
      return id === undefined ? [] : [{ ...event, milestone: { id } }];
    }),
    stateEvents: events("state"),
    weightEvents: events("weight"),
  };
}

/** The version that an archive has of a merge request. */
export function versionsIn(told: Told, numbers: Numbers): Told[] {
  const diff = toldIn(told["merge_request_diff"]);
  const { base_commit_sha, head_commit_sha, start_commit_sha, created_at } = diff;
  if (typeof head_commit_sha !== "string" || typeof start_commit_sha !== "string") return [];
  const files = listIn(diff["merge_request_diff_files"]).length;
  return [
    {
      ...{ id: numbers.next(), base_commit_sha, head_commit_sha, start_commit_sha },
      created_at: created_at ?? told["created_at"],
      real_size: String(numberIn(diff["files_count"]) ?? files),
    },
  ];
}

/** Who reviews a merge request. */
export function reviewersIn(told: Told): Told[] {
  const approved = new Set(listIn(told["approvals"]).map(({ user_id }) => user_id));
  return listIn(told["merge_request_reviewers"]).map(({ user_id: id, state, created_at }) => ({
    user: { id },
    state: approved.has(id) ? "approved" : state === "unapproved" ? state : "unreviewed",
    created_at: created_at ?? told["created_at"],
  }));
}
