import { toldAward } from "../../award-emoji/json.ts";
import { type Block, blockOf, fromRow, projectOf, userOf } from "./blocks.ts";
import type { HookPayload, Making, ToldHookEvent } from "./making.ts";
import { noteOf, subjectOf } from "./notes.ts";

/**
 * The payload about an emoji that is given or taken back. Nothing is told of those on what is confidential, since there
 * are no hooks of their own for them.
 */
export async function emojiEvent(
  making: Making,
  { data, userId }: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const found =
    fromRow(making, toldAward, data) ??
    (await blockOf(making, toldAward, "award_emoji ae where ae.id = ?", [data.id]));
  const given = found && (await givenTo(making, found));
  const project = given && (await projectOf(making, found["project_id"] as number));
  if (!given || !project) return undefined;
  const { project_id, ...attributes } = found;
  return {
    event: "emoji",
    title: "Emoji Hook",
    body: {
      object_kind: "emoji",
      event_type: data.action,
      user: await userOf(making, userId),
      project_id,
      project,
      object_attributes: {
        ...attributes,
        action: data.action,
        awarded_on_url: `${project["web_url"]}/-/${given.path}`,
      },
      ...given.blocks,
    },
  };
}

/** What an emoji is given to, unless it is gone or confidential. */
async function givenTo(
  making: Making,
  { awardable_type: type, awardable_id: id, project_id }: Block,
): Promise<{ path: string; blocks: Block } | undefined> {
  if (type === "Note") {
    const note = await noteOf(making, id as number);
    if (!note || note.isConfidential) return undefined;
    const { attributes, on } = note;
    return {
      path: `${on.path}#note_${id}`,
      blocks: { note: attributes, [on.name]: on.block },
    };
  }
  const on = await subjectOf(making, { noteable_type: type, noteable_id: id, project_id });
  if (!on || on.isConfidential) return undefined;
  return { path: on.path, blocks: { [on.name]: on.block } };
}
