import type { Ability } from "../../core/access/abilities.ts";
import { withSources } from "../../core/access/source.ts";
import { countedNotes, visibleNotes, visiblePlaces } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { escaped } from "../../core/markup.ts";
import {
  about,
  always,
  arg,
  boolean,
  connection,
  costing,
  deprecated,
  enumeration,
  first,
  type GraphContext,
  type GraphqlModule,
  int,
  leaf,
  loaded,
  mutation,
  type OutputFields,
  one,
  oneOf,
  property,
  required,
  routeOf,
  rowType,
  string,
  time,
  unionType,
  userPermissions,
  valueType,
} from "../../graphql/declare.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { mayCreateNote } from "../issuables/abilities.ts";
import { PLACE_PATH } from "../issuables/epic.ts";
import { placeRouteOf } from "../issuables/places.ts";
import type { NoteableType } from "../issuables/type.ts";
import { mayAdminNote, mayResolveNote } from "./abilities.ts";
import { idOf, NUMBER } from "./discussions.ts";
import { noteResource } from "./index.ts";
import { noteable, RESOLVABLE } from "./json.ts";
import { NOTEABLE_TYPES } from "./noteables.ts";
import { NOTE_CLASSES, type Place, placeOfNote } from "./places.ts";

/** What permissions depend on, by the ids of notes, or of the first notes of discussions. */
async function subjectsOf(
  what: "note" | "discussion",
  ids: readonly Value[],
  { db, viewer }: GraphContext,
) {
  const among = placeholders(ids);
  const found = await db.all<{
    id: number;
    project_id: number;
    author_id: number | null;
    system: number;
    discussion_locked: number;
    noteable_author_id: number | null;
  }>(
    `select nt.id, nt.project_id, nt.author_id, nt.system,
       coalesce(i.discussion_locked, mr.discussion_locked, 0) as discussion_locked,
       coalesce(i.author_id, mr.author_id, s.author_id) as noteable_author_id
     from notes nt ${noteable.joins} where nt.id in (${among.sql})`,
    among.values,
  );
  return (await withSources(db, found, viewer)).map(({ id, source, ...note }) => ({
    id,
    source,
    note,
    noteable: { author_id: note.noteable_author_id, discussion_locked: note.discussion_locked },
    resolved: what === "note" ? note : undefined,
  }));
}

type Subject = Awaited<ReturnType<typeof subjectsOf>>[number];

const mayWrite: Ability<Subject> = ({ noteable }, asking) => mayCreateNote(noteable, asking);
const permissions = userPermissions<Subject>("NotePermissions", "a note, or with a discussion", {
  readNote: always,
  createNote: mayWrite,
  awardEmoji: mayWrite,
  adminNote: mayAdminNote,
  resolveNote: mayResolveNote,
  repositionNote: mayAdminNote,
});

const rows = {
  from: `notes nt join projects p on p.id = nt.project_id ${noteable.joins}`,
  key: "nt.id",
};

/** As in REST, only users read notes. */
const readable = (viewer: GraphContext["viewer"]): Condition =>
  viewer.caller
    ? all([
        visiblePlaces(viewer),
        noteable.visible(viewer),
        visibleNotes(viewer),
        // Commits have no type of their own here.
        when("nt.noted_commit_id is null"),
      ])
    : { sql: "1 = 0", values: [] };

const position = valueType("DiffPosition", "The place in a diff that a note is about.", {
  diffRefs: property("DiffRefs"),
  filePath: property("String"),
  newLine: property("Int"),
  newPath: property("String"),
  oldLine: property("Int"),
  oldPath: property("String"),
  positionType: property("String"),
  width: property("Int"),
  height: property("Int"),
  x: property("Int"),
  y: property("Int"),
});

/** The values of {@link position} by the ids of notes. */
async function positionsOf(
  ids: readonly Value[],
  { db }: GraphContext,
): Promise<Map<Value, object>> {
  const among = placeholders(ids);
  const found = await db.rows(
    `select note_id, path, position from note_positions where position is not null and note_id in (${among.sql})`,
    among.values,
  );
  return new Map(
    found.map(([id, path, json]) => {
      const at = JSON.parse(json as string);
      const values = {
        diffRefs: { baseSha: at.base_sha, headSha: at.head_sha, startSha: at.start_sha },
        filePath: path,
        newLine: at.new_line,
        newPath: at.new_path,
        oldLine: at.old_line,
        oldPath: at.old_path,
        positionType: at.position_type,
        width: at.width,
        height: at.height,
        x: at.x,
        y: at.y,
      };
      return [id as Value, values];
    }),
  );
}

/** The first note of the discussion of a row `nt`, by which the schema knows discussions. */
const FIRST = `case when nt.reply = 0 then nt.id
  else (select f.id from notes f where f.thread_id = nt.thread_id and f.reply = 0 limit 1) end`;

/** The most characters of a first line, as in GitLab. */
const MAX_LINE = 125;

const firstLineHtml = field.derived(["nt.body"], "string", ([body]) => {
  const [line = ""] = String(body).trimStart().split("\n", 1);
  const characters = [...line.trimEnd().slice(0, 2 * MAX_LINE + 2)];
  const isLong = characters.length > MAX_LINE;
  return escaped(isLong ? `${characters.slice(0, MAX_LINE - 3).join("")}...` : characters.join(""));
});

const note = rowType("Note", {
  about: "A note: a comment, or the record of an action.",
  ...rows,
  implements: ["Awardable"],
  visible: readable,
  fields: {
    id: required(
      leaf(
        "NoteID",
        field.derived(
          ["nt.id", "nt.thread_id"],
          "string",
          ([id, threadId]) => `gid://gitlab/${threadId === null ? "Note" : "DiscussionNote"}/${id}`,
        ),
      ),
    ),
    body: required(string("nt.body")),
    bodyFirstLineHtml: required(string(firstLineHtml)),
    system: required(boolean("nt.system")),
    internal: boolean("nt.internal"),
    confidential: deprecated("Use `internal`.", boolean("nt.internal")),
    author: one("UserCore", "nt.author_id"),
    authorIsContributor: about(
      "Whether a merge request of the author was merged into the project.",
      costing(
        5,
        boolean(`case when exists (select 1 from merge_requests am where am.author_id = nt.author_id
          and am.project_id = nt.project_id and am.state = 'merged') then 1 else 0 end`),
      ),
    ),
    project: one("Project", "nt.project_id"),
    createdAt: required(time("nt.created_at")),
    updatedAt: required(time("nt.updated_at")),
    lastEditedAt: time("case when nt.updated_at > nt.created_at then nt.updated_at end"),
    url: string(
      field.url(
        [PLACE_PATH, `${noteable.path} || '#note_' || nt.id`],
        (path, rest) => `/${path}/-/${rest}`,
      ),
    ),
    noteableType: string(noteable.className),
    noteableId: int(noteable.id),
    resolvable: required(boolean(`case when ${RESOLVABLE} then 1 else 0 end`)),
    resolved: required(
      boolean(`case when ${RESOLVABLE} and nt.resolved_at is not null then 1 else 0 end`),
    ),
    resolvedAt: time(`case when ${RESOLVABLE} then nt.resolved_at end`),
    resolvedBy: one("UserCore", `case when ${RESOLVABLE} then nt.resolved_by_id end`),
    discussion: one("Discussion", FIRST),
    position: loaded(position, positionsOf),
    userPermissions: permissions((ids, context) => subjectsOf("note", ids, context)),
  },
});

/** Whether all notes of a discussion, of which `nt` is the first one, are resolved. */
const RESOLVED = `${RESOLVABLE} and not exists (
  select 1 from notes o where o.thread_id = nt.thread_id and o.resolved_at is null)`;
const discussionId = required(
  leaf(
    "DiscussionID",
    field.derived(
      [NUMBER],
      "string",
      ([number]) => `gid://gitlab/Discussion/${idOf(Number(number))}`,
    ),
  ),
);

/** Notes in the order in which they were written; in a discussion, its first note comes first. */
const WRITTEN = [{ sql: "nt.created_at" }, { sql: "nt.id" }];

const discussion = rowType("Discussion", {
  about: "A note that stands alone, or a thread: a note with its replies.",
  ...rows,
  visible: (viewer) => all([readable(viewer), when("nt.reply = 0")]),
  fields: {
    id: discussionId,
    replyId: discussionId,
    createdAt: required(time("nt.created_at")),
    resolvable: required(boolean(`case when ${RESOLVABLE} then 1 else 0 end`)),
    resolved: required(boolean(`case when ${RESOLVED} then 1 else 0 end`)),
    resolvedAt: time(
      `case when ${RESOLVED} then (select max(o.resolved_at) from notes o where o.thread_id = nt.thread_id) end`,
    ),
    resolvedBy: one(
      "UserCore",
      `case when ${RESOLVED} then (select o.resolved_by_id from notes o where o.thread_id = nt.thread_id
         order by o.resolved_at desc, o.id desc limit 1) end`,
    ),
    noteable: oneOf("NoteableType", {
      WorkItem: "case when i.issue_type = 'epic' then i.id end",
      ...Object.fromEntries(
        NOTEABLE_TYPES.map(({ className, column }) => [className, `nt.${column}`]),
      ),
    }),
    notes: costing(
      1,
      required(
        connection("Note", {
          needs: ["nt.thread_id", "nt.id"],
          maxPage: 200,
          query: (_, __, [threadId, id]) => ({
            where: threadId === null ? when("nt.id = ?", id) : when("nt.thread_id = ?", threadId),
            order: [{ sql: "nt.reply" }, ...WRITTEN],
          }),
        }),
      ),
    ),
    userPermissions: permissions((ids, context) => subjectsOf("discussion", ids, context)),
  },
});

/** Which notes a list has. */
export const FILTER = enumeration<Condition>("NotesFilterType", "Which notes a list has.", {
  ALL_NOTES: { sql: "1 = 1", values: [] },
  ONLY_COMMENTS: { sql: "nt.system = 0", values: [] },
  ONLY_ACTIVITY: { sql: "nt.system = 1", values: [] },
});

/** How many comments, or how many discussions that begin with one, each record has. */
async function countsOf(
  { column }: NoteableType,
  ids: readonly Value[],
  { db, viewer }: GraphContext,
  where = "1 = 1",
): Promise<Map<Value, unknown>> {
  const [among, visible] = [placeholders(ids), countedNotes(viewer)];
  const counted = await db.rows(
    `select nt.${column}, count(*) from notes nt
     where nt.${column} in (${among.sql}) and nt.system = 0 and ${where} and ${visible.sql} group by nt.${column}`,
    [...among.values, ...visible.values],
  );
  return new Map(counted.map(([id, count]) => [id as Value, count]));
}

const notesOf = (column: string) =>
  connection("Note", {
    args: { filter: arg.choice(FILTER) },
    query: ({ filter }) => ({ parent: `nt.${column}`, where: filter, order: WRITTEN }),
  });
const discussionsOf = ({ column }: NoteableType) =>
  connection("Discussion", { query: () => ({ parent: `nt.${column}`, order: WRITTEN }) });

/** The discussions of work items, which can be filtered and sorted. */
const SORT = enumeration("WorkItemDiscussionsSort", "The order of discussions.", {
  CREATED_ASC: WRITTEN,
  CREATED_DESC: WRITTEN.map(({ sql }) => ({ sql, descending: true })),
});
/** The notes and discussions of a work item. */
export const workItemNotes = ({ column }: NoteableType): OutputFields => ({
  notes: required(notesOf(column)),
  discussions: connection("Discussion", {
    args: {
      filter: arg.choice(FILTER),
      sort: arg.withDefault(arg.choice(SORT), SORT.values["CREATED_ASC"]),
    },
    query: ({ filter, sort }) => ({ parent: `nt.${column}`, where: filter, order: sort }),
  }),
});

/** How many discussions begin with a comment. */
export const discussionsCount = (type: NoteableType) =>
  required(
    loaded("Int", (ids, context) => countsOf(type, ids, context, "nt.reply = 0"), { empty: 0 }),
  );

/** What records with notes have. */
const noteableFields = (type: NoteableType): OutputFields => ({
  notes: required(notesOf(type.column)),
  discussions: costing(1, required(discussionsOf(type))),
  userNotesCount: required(
    loaded("Int", (ids, context) => countsOf(type, ids, context), { empty: 0 }),
  ),
  userDiscussionsCount: discussionsCount(type),
});

const noteId = arg.gid("Note", NOTE_CLASSES);

const routeAt = (method: string, { type }: Place) =>
  routeOf(noteResource, `${method} ${placeRouteOf(type)}/:noteable_id/notes/:note_id`);

const payload = { note: property("Note") };

/** Notes and the discussions they are in. */
export const graphqlModule: GraphqlModule = {
  types: [
    note,
    discussion,
    unionType("NoteableType", "What notes are written on.", [
      ...NOTEABLE_TYPES.map(({ className }) => className),
      "WorkItem",
    ]),
  ],
  extend: {
    ...Object.fromEntries(NOTEABLE_TYPES.map((type) => [type.className, noteableFields(type)])),
    Query: {
      note: first("Note", {
        args: { id: arg.required(noteId) },
        query: ({ id }) => ({ where: when("nt.id = ?", id) }),
      }),
    },
  },
  mutations: {
    updateNote: mutation({
      about: "Change the text of a note.",
      input: { id: arg.required(noteId), body: arg.string },
      payload,
      run: async ({ id, body }, { call, db }) => {
        const place = await placeOfNote(db, id);
        await call(routeAt("PUT", place), { ...place.at, note_id: id, body });
        return { note: id };
      },
    }),
    destroyNote: mutation({
      about: "Delete a note; its replies stay.",
      input: { id: arg.required(noteId) },
      payload,
      run: async ({ id }, { call, db }) => {
        const place = await placeOfNote(db, id);
        await call(routeAt("DELETE", place), { ...place.at, note_id: id });
        return { note: null };
      },
    }),
  },
};
