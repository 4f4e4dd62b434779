import { sourcesById } from "../core/access/source.ts";
import type { Context } from "../core/resource.ts";
import type { Author, Entry } from "./atom.ts";

/** A user as answers of the API show one. */
export interface ShownUser {
  readonly name: string;
  readonly avatar_url: string | null;
  readonly web_url: string;
  readonly public_email?: string | null;
}

/** An event as the API shows it. */
export interface ShownEvent {
  readonly id: number;
  readonly project_id: number;
  readonly action_name: string;
  readonly target_iid: number | null;
  readonly target_type: string | null;
  readonly target_title: string | null;
  readonly created_at: string;
  readonly author: ShownUser;
  readonly push_data?: {
    readonly action: string;
    readonly ref_type: string;
    readonly ref: string;
    readonly commit_title: string | null;
  };
  readonly note?: {
    readonly id: number;
    readonly body: string;
    readonly noteable_type: string;
    readonly noteable_iid: number | null;
  };
}

/** A user as an author. */
export const authorOf = ({ name, avatar_url, web_url, public_email }: ShownUser): Author => ({
  name,
  email: public_email,
  uri: web_url,
  avatar: avatar_url,
});

/** Where records with a number have their pages, and the sign before it. */
const NUMBERED: Readonly<Record<string, readonly [path: string, sign: string]>> = {
  Issue: ["issues", "#"],
  MergeRequest: ["merge_requests", "!"],
  Milestone: ["milestones", "%"],
};

/** The path of what an event is about, below that of its project; `""` for the project itself. */
function pathOf({ target_type, target_iid, note, push_data }: ShownEvent): string {
  if (push_data) {
    if (push_data.action === "removed") return "";
    return `/-/commits/${push_data.ref.split("/").map(encodeURIComponent).join("/")}`;
  }
  const numbered = NUMBERED[note?.noteable_type ?? target_type ?? ""];
  const number = note ? note.noteable_iid : target_iid;
  if (!numbered || number === null) return "";
  return `/-/${numbered[0]}/${number}${note ? `#note_${note.id}` : ""}`;
}

/** What has happened, in a line: `Ada opened issue #1: Title at acme/site`. */
function titleOf(event: ShownEvent, project: string): string {
  const { author, action_name, target_type, target_iid, target_title, note, push_data } = event;
  const words = [author.name, action_name];
  if (push_data) words.push(push_data.ref_type, push_data.ref);
  else if (target_type !== null) {
    const kind = note?.noteable_type ?? target_type;
    const number = note ? note.noteable_iid : target_iid;
    const sign = NUMBERED[kind]?.[1];
    words.push(kind.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase());
    if (sign !== undefined && number !== null) words.push(`${sign}${number}`);
    if (target_title) words.push(`"${target_title}"`);
  }
  return [...words, "at", project].join(" ");
}

/** Entries that tell of events. */
export async function entriesOfEvents(
  { db, viewer, view }: Pick<Context, "db" | "viewer" | "view">,
  events: readonly ShownEvent[],
): Promise<Entry[]> {
  const ids = [...new Set(events.map(({ project_id }) => project_id))];
  const projects = await sourcesById(db, "project", ids, viewer);
  return events.map((event) => {
    const project = projects.get(event.project_id)?.fullPath ?? "";
    return {
      id: `tag:${view.host},${event.created_at.slice(0, 10)}:${event.id}`,
      title: titleOf(event, project),
      url: `${view.base}/${project}${pathOf(event)}`,
      updated: event.created_at,
      author: authorOf(event.author),
      summary: event.note?.body ?? event.push_data?.commit_title ?? event.target_title,
    };
  });
}
