import { visibleNotes, visiblePlaces } from "../../core/access/visibility.ts";
import {
  arg,
  computed,
  connection,
  constant,
  costing,
  type GlobalId,
  type GraphqlModule,
  interfaceType,
  type MutationContext,
  mutation,
  one,
  property,
  required,
  rowType,
  string,
} from "../../graphql/declare.ts";
import { all } from "../../store/conditions.ts";
import { NOTEABLE_TYPES } from "../notes/noteables.ts";
import { NOTE_CLASSES, NOTEABLE_CLASSES, placeOfNote, placeOfNoteable } from "../notes/places.ts";
import { changeRouteOf } from "./index.ts";

const targets = NOTEABLE_TYPES.map(
  ({ table, alias, column }) =>
    `left join ${table} ${alias} on ${alias}.id = coalesce(ae.${column}, nt.${column})`,
);
const projects = NOTEABLE_TYPES.map(({ alias }) => `${alias}.project_id`);

const award = rowType("AwardEmoji", {
  about: "An emoji that somebody gave.",
  from: `award_emoji ae left join notes nt on nt.id = ae.note_id ${targets.join(" ")}
    join projects p on p.id = coalesce(${projects.join(", ")})`,
  key: "ae.id",
  visible: (viewer) => {
    // As in REST, only users see who gave what.
    if (!viewer.caller) return { sql: "1 = 0", values: [] };
    const notes = visibleNotes(viewer);
    return all([
      visiblePlaces(viewer),
      ...NOTEABLE_TYPES.map(({ alias, visible }) => {
        const { sql, values } = visible(viewer);
        return { sql: `(${alias}.id is null or ${sql})`, values };
      }),
      { sql: `(nt.id is null or ${notes.sql})`, values: notes.values },
    ]);
  },
  fields: {
    name: required(string("ae.name")),
    description: required(
      computed("String", ["ae.name"], ([name]) => String(name).replaceAll("_", " ")),
    ),
    // The characters are not known here.
    emoji: constant("String", null),
    unicode: constant("String", null),
    unicodeVersion: constant("String", null),
    user: required(one("UserCore", "ae.user_id")),
  },
});

/** The emoji given to a record, by the column that refers to it. */
export const awardsOf = (column: string) => ({
  awardEmoji: costing(1, connection("AwardEmoji", { query: () => ({ parent: `ae.${column}` }) })),
});

const AWARDABLE_ID = arg.gidOf("AwardableID", [...NOTEABLE_CLASSES, ...NOTE_CLASSES]);

const input = {
  awardableId: arg.required(AWARDABLE_ID),
  name: arg.required(arg.string),
};

/** Changes what the caller gave, and gives the award's id, or `null` if it was taken back. */
export async function changeAward(
  change: "add" | "remove" | "toggle",
  { awardableId, name }: { awardableId: GlobalId; name: string },
  { call, db }: MutationContext,
): Promise<unknown> {
  const isNote = NOTE_CLASSES.includes(awardableId.type);
  const { type, at } = await (isNote
    ? placeOfNote(db, awardableId.id)
    : placeOfNoteable(db, awardableId));
  const changed = await call(changeRouteOf(type, isNote ? "note" : "target"), {
    ...at,
    ...(isNote && { note_id: awardableId.id }),
    name,
    change,
  });
  return changed["id"];
}

const payload = { awardEmoji: property("AwardEmoji") };

/** Award emoji. */
export const graphqlModule: GraphqlModule = {
  types: [
    award,
    // Each type has its own.
    interfaceType("Awardable", "What emoji are given to.", awardsOf("id")),
  ],
  extend: {
    ...Object.fromEntries(
      NOTEABLE_TYPES.map(({ className, column }) => [className, awardsOf(column)]),
    ),
    Note: awardsOf("note_id"),
    Query: {
      awardable: property(
        "Awardable",
        (_, __, { id: { type, id } }) => ({
          type: NOTE_CLASSES.includes(type) ? "Note" : type === "ProjectSnippet" ? "Snippet" : type,
          key: id,
        }),
        { id: arg.required(AWARDABLE_ID) },
      ),
    },
  },
  mutations: {
    awardEmojiAdd: mutation({
      about: "Give an emoji.",
      input,
      payload,
      run: async (sent, context) => ({ awardEmoji: await changeAward("add", sent, context) }),
    }),
    awardEmojiRemove: mutation({
      about: "Take back an emoji.",
      input,
      payload,
      run: async (sent, context) => ({ awardEmoji: await changeAward("remove", sent, context) }),
    }),
    awardEmojiToggle: mutation({
      about: "Give an emoji, or take it back if it was given.",
      input,
      payload: {
        ...payload,
        toggledOn: required(
          property(
            "Boolean",
            ({ awardEmoji = null }: { awardEmoji?: unknown }) => awardEmoji !== null,
          ),
        ),
      },
      run: async (sent, context) => ({ awardEmoji: await changeAward("toggle", sent, context) }),
    }),
  },
};
