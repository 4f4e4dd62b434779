import * as field from "../../../core/field.ts";
import { presenter } from "../../../core/presenter.ts";
import { ISSUE } from "../../issuables/issue.ts";
import { MERGE_REQUEST } from "../../issuables/merge-request.ts";
import { idOf, NUMBER } from "../../notes/discussions.ts";
import { NOTE_TYPE, noteable } from "../../notes/json.ts";
import { type Block, blockOf, projectOf, repositoryOf, userOf } from "./blocks.ts";
import { commitBlock, openCode } from "./commits.ts";
import { issuableOf } from "./issuables.ts";
import type { HookPayload, Making, ToldHookEvent } from "./making.ts";

const none = field.constant(null);

const note = presenter({
  id: field.integer("nt.id"),
  note: field.text("nt.body"),
  description: field.text("nt.body"),
  noteable_type: field.text(`coalesce(${noteable.className}, 'Commit')`),
  noteable_id: field.integer(noteable.id),
  author_id: field.integer("nt.author_id"),
  commit_id: field.text("nc.sha"),
  discussion_id: field.derived([NUMBER], "string", ([number]) => idOf(Number(number))),
  type: field.text(NOTE_TYPE),
  system: field.flag("nt.system"),
  internal: field.flag("nt.internal"),
  line_code: field.text("np.line_code"),
  position: field.json("np.position", "object"),
  original_position: field.json("np.original_position", "object"),
  change_position: none,
  resolved_at: field.instant("nt.resolved_at"),
  resolved_by_id: field.integer("nt.resolved_by_id"),
  resolved_by_push: none,
  attachment: none,
  st_diff: none,
  project_id: field.integer("nt.project_id"),
  created_at: field.instant("nt.created_at"),
  updated_at: field.instant("nt.updated_at"),
  updated_by_id: none,
});

const FROM = `notes nt left join note_positions np on np.note_id = nt.id
  left join noted_commits nc on nc.id = nt.noted_commit_id where nt.id = ?`;

/** A note as payloads show it, with its project and what it is on. */
export interface ToldNote {
  /** With its address. */
  readonly attributes: Block;
  readonly project: Block;
  readonly on: Subject;
  readonly isConfidential: boolean;
}

/** A note as payloads show it, or `undefined` if it is gone. */
export async function noteOf(making: Making, id: number): Promise<ToldNote | undefined> {
  const found = await blockOf(making, note, FROM, [id]);
  const project = found && (await projectOf(making, found["project_id"] as number));
  if (!found || !project) return undefined;
  const on = await subjectOf(making, found);
  if (!on) return undefined;
  const url = `${project["web_url"]}/-/${on.path}#note_${id}`;
  const isConfidential = found["internal"] === true || on.isConfidential;
  return { attributes: { ...found, url }, project, on, isConfidential };
}

/** The payload about a comment: for hooks of confidential notes if it is internal, or on a confidential issue. */
export async function noteEvent(
  making: Making,
  { data, userId }: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const found = await noteOf(making, data.id);
  if (!found) return undefined;
  const { attributes, project, on, isConfidential } = found;
  return {
    event: isConfidential ? "confidential_note" : "note",
    title: isConfidential ? "Confidential Note Hook" : "Note Hook",
    body: {
      object_kind: "note",
      event_type: isConfidential ? "confidential_note" : "note",
      user: await userOf(making, userId),
      project_id: project["id"],
      project,
      object_attributes: { ...attributes, action: data.action },
      repository: repositoryOf(project),
      [on.name]: on.block,
    },
  };
}

const snippet = presenter({
  id: field.integer("s.id"),
  title: field.text("s.title"),
  file_name: field.text("s.file_name"),
  author_id: field.integer("s.author_id"),
  project_id: field.integer("s.project_id"),
  created_at: field.instant("s.created_at"),
  updated_at: field.instant("s.updated_at"),
});

/** What a note is on. */
export interface Subject {
  /** Its name in the payload. */
  readonly name: string;
  /** Its address below the project's. */
  readonly path: string;
  readonly block: Block | null;
  readonly isConfidential: boolean;
}

/** What a note or an emoji is on, or `undefined` if it is gone. */
export async function subjectOf(
  making: Making,
  { noteable_type: type, noteable_id: id, commit_id: sha, project_id: projectId }: Block,
): Promise<Subject | undefined> {
  if (type === "Commit") {
    const block = await commitBlock(await openCode(making, projectId as number), sha as string);
    return { name: "commit", path: `commit/${sha}`, block, isConfidential: false };
  }
  if (type === "Snippet") {
    const block = await blockOf(making, snippet, "snippets s where s.id = ?", [id as number]);
    return block && { name: "snippet", path: `snippets/${id}`, block, isConfidential: false };
  }
  const issuable = type === "Issue" ? ISSUE : MERGE_REQUEST;
  const found = await issuableOf(making, issuable, id as number);
  if (!found) return undefined;
  return {
    name: issuable.prefix,
    path: `${issuable.path}/${found.attributes["iid"]}`,
    block: found.attributes,
    isConfidential: found.attributes["confidential"] === true,
  };
}
