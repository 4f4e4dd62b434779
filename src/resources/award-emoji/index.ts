import { notFound, unauthorized } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { ISSUE, type Kind } from "../issues/queries.ts";
import { findTarget, isLockedOut } from "../issues/rules.ts";
import { MERGE_REQUEST } from "../merge-requests/queries.ts";
import * as notes from "../notes/queries.ts";
import * as todos from "../todos/queries.ts";
import { userSummaryFields } from "../users/json.ts";
import * as awards from "./queries.ts";
import { migrations } from "./table.ts";

const awardEmoji = presenter({
  id: field.integer("ae.id"),
  name: field.text("ae.name"),
  user: field.nested(userSummaryFields),
  created_at: field.instant("ae.created_at"),
  updated_at: field.instant("ae.updated_at"),
  awardable_id: field.integer("coalesce(ae.issue_id, ae.merge_request_id, ae.note_id)"),
  awardable_type: field.text(
    `case when ae.issue_id is not null then 'Issue'
      when ae.merge_request_id is not null then 'MergeRequest' else 'Note' end`,
  ),
});

const ALIASES: Readonly<Record<string, string>> = { "+1": "thumbsup", "-1": "thumbsdown" };

/** A validation error as GitLab's API answers it: 404 with the model's message. */
function refused(reason: string) {
  return notFound(`Award Emoji {:name=>["${reason}"]}`);
}

type In = Pick<Context, "source" | "viewer"> & { db: Reader; input: { target_iid: number } };

/** Finds the path's issue or merge request or, with a `note_id`, one of its notes. */
async function findAwardable(
  context: In & { input: { note_id?: number } },
  kind: Kind,
): Promise<awards.Awardable & { lockedOut: boolean; targetId: number }> {
  const { db, source, input } = context;
  const target = await findTarget(context, kind, input.target_iid);
  const known = { lockedOut: isLockedOut(source, target), targetId: target.id };
  if (input.note_id === undefined) return { column: kind.column, id: target.id, ...known };
  const note = await notes.find(db, kind, target.id, input.note_id);
  if (!note) throw notFound();
  return { column: "note_id", id: note.id, ...known };
}

/** The list of names is long, so it is loaded with the first emoji given. */
const knownNames = async () => (await import("./names.ts")).NAMES;

function routesOf(kind: Kind, on: "target" | "note", what: string) {
  const { del, get, list, post } = routes({
    source: "project",
    path: `/${kind.path}/:target_iid${on === "note" ? "/notes/:note_id" : ""}/award_emoji`,
    features: [kind.path],
    whenDisabled: kind.whenDisabled,
  });
  const awardable = {
    target_iid: param.recordId(),
    ...((on === "note" ? { note_id: param.recordId() } : {}) as {
      note_id: param.Attribute<number>;
    }),
  };
  const one = { ...awardable, award_id: param.recordId() };
  const findAward = async (context: In & { input: { award_id: number; note_id: number } }) => {
    const to = await findAwardable(context, kind);
    const found = await awards.find(context.db, to, context.input.award_id);
    if (!found) throw notFound("Award Emoji");
    return found;
  };
  return [
    list("", {
      summary: `List the emoji given to ${what}`,
      input: awardable,
      presenter: awardEmoji,
      handle: async (context) =>
        awards.list(
          context.db,
          context.presenter,
          context.page,
          await findAwardable(context, kind),
        ),
    }),
    get("/:award_id", {
      summary: "Get an award",
      input: one,
      presenter: awardEmoji,
      handle: async (context) =>
        awards.row(context.db, context.presenter, (await findAward(context)).id),
    }),
    post("", {
      summary: `Give an emoji to ${what}`,
      input: { ...awardable, name: param.anyText() },
      presenter: awardEmoji,
      prepare: knownNames,
      handle: async (context) => {
        const { db, presenter, caller, input, prepared, now } = context;
        const to = await findAwardable(context, kind);
        if (to.lockedOut) throw notFound("Award Emoji");
        const name = ALIASES[input.name] ?? input.name;
        if (!prepared.has(name)) throw refused("is not included in the list");
        const userId = caller.id;
        const id = await awards.insert(db, to, { name, user_id: userId }, now);
        if (id === undefined) throw refused("has already been taken");
        await todos.resolve(db, kind, to.targetId, userId, now);
        return awards.row(db, presenter, id);
      },
    }),
    del("/:award_id", {
      summary: "Take back an emoji; administrators may remove anyone's",
      input: one,
      handle: async (context) => {
        const { db, caller, requireUnmodified } = context;
        const found = await findAward(context);
        if (found.user_id !== caller?.id && !caller?.admin) throw unauthorized();
        requireUnmodified(found.updated_at);
        await awards.remove(db, found.id);
        return undefined;
      },
    }),
  ];
}

/** Emoji given to issues, merge requests and their notes. */
export const awardEmojiResource: Resource = {
  name: "Award emoji",
  migrations,
  routes: (
    [
      [ISSUE, "an issue"],
      [MERGE_REQUEST, "a merge request"],
    ] as const
  ).flatMap(([kind, what]) => [
    ...routesOf(kind, "target", what),
    ...routesOf(kind, "note", `a note on ${what}`),
  ]),
};
