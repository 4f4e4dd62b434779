import type { Caller } from "../../core/access/caller.ts";
import { ROLES } from "../../core/access/roles.ts";
import { requireRole } from "../../core/access/source.ts";
import { forbidden, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as events from "../events/record.ts";
import { instantOf } from "../issuables/filters.ts";
import { findIssuable, isLockedOut } from "../issuables/rules.ts";
import * as todos from "../issuables/todos.ts";
import type { IssuableType } from "../issuables/type.ts";
import { ISSUABLE_TYPES, targetOf } from "../issuables/types.ts";
import { userFields } from "../users/json.ts";
import * as notes from "./queries.ts";
import { migrations } from "./table.ts";

const noteable = targetOf("nt");

/** A note. As in GitLab, it has no votes. */
const note = presenter({
  id: field.integer("nt.id"),
  type: field.constant(null),
  body: field.text("nt.body"),
  attachment: field.constant(null),
  author: field.nested(userFields("u")),
  created_at: field.instant("nt.created_at"),
  updated_at: field.instant("nt.updated_at"),
  system: field.flag("nt.system"),
  noteable_id: field.integer(noteable.id),
  noteable_type: field.text(noteable.className),
  resolvable: field.constant(false),
  noteable_iid: field.integer(noteable.iid),
});

const target = { noteable_iid: param.recordId() };
const one = { ...target, note_id: param.recordId() };
const body = param.text({ max: 1_000_000 });

type In = Pick<Context, "source" | "viewer"> & { db: Reader };

async function findNote(
  context: In & { input: { noteable_iid: number; note_id: number } },
  type: IssuableType,
) {
  const found = await findIssuable(context, type, context.input.noteable_iid);
  const one = await notes.find(context.db, type, found.id, context.input.note_id);
  if (!one) throw notFound();
  return { ...one, target: found };
}

/** Authors and maintainers may change a note, unless the discussion is locked for them. */
function requireWriter(
  { source, caller }: Pick<Context, "source"> & { caller: Caller },
  found: Awaited<ReturnType<typeof findNote>>,
): void {
  if (isLockedOut(source, found.target)) throw forbidden();
  if (found.author_id !== caller.id) requireRole(source, "maintainer");
}

function routesOf(type: IssuableType) {
  const { del, get, list, post, put } = routes({
    source: "project",
    path: `/${type.path}/:noteable_iid/notes`,
    features: [type.path],
    whenDisabled: type.whenDisabled,
  });
  return [
    list("", {
      summary: `List the notes of ${type.one}, newest first`,
      input: {
        ...target,
        order_by: param.optional(param.choice(["created_at", "updated_at"])),
        sort: param.optional(param.choice(["asc", "desc"])),
      },
      presenter: note,
      handle: async (context) => {
        const { db, presenter, page, input } = context;
        const { id } = await findIssuable(context, type, input.noteable_iid);
        const { order_by: orderBy = "created_at", sort = "desc" } = input;
        return notes.list(db, type, presenter, page, id, { orderBy, sort });
      },
    }),
    get("/:note_id", {
      summary: "Get a note",
      input: one,
      presenter: note,
      handle: async (context) =>
        notes.row(context.db, context.presenter, (await findNote(context, type)).id),
    }),
    post("", {
      summary: `Write a note on ${type.one}`,
      input: { ...target, body, created_at: param.optional(param.anyText()) },
      presenter: note,
      handle: async (context) => {
        const { db, source, caller, presenter, input, now } = context;
        const at = instantOf("created_at", input.created_at);
        const found = await findIssuable(context, type, input.noteable_iid);
        if (isLockedOut(source, found)) throw forbidden();
        const userId = caller.id;
        const id = await notes.insert(
          db,
          type,
          { project_id: source.id, id: found.id, author_id: userId, body: input.body },
          at !== undefined && source.level >= ROLES.owner ? at : now,
        );
        events.record(
          db,
          {
            project_id: source.id,
            author_id: userId,
            action: "commented",
            target: { type: "note", id },
          },
          now,
        );
        await todos.resolve(db, type, found.id, userId, now);
        await todos.mention(context, type, { id: found.id, noteId: id }, { after: [input.body] });
        return notes.row(db, presenter, id);
      },
    }),
    put("/:note_id", {
      summary: "Change a note",
      input: { ...one, body },
      presenter: note,
      handle: async (context) => {
        const { db, presenter, input, now } = context;
        const found = await findNote(context, type);
        requireWriter(context, found);
        await updateRow(db, "notes", found.id, { body: input.body }, now);
        const about = { id: found.target.id, noteId: found.id };
        const text = { after: [input.body], before: [found.body] };
        await todos.mention(context, type, about, text);
        return notes.row(db, presenter, found.id);
      },
    }),
    del("/:note_id", {
      summary: "Delete a note",
      input: one,
      handle: async (context) => {
        const found = await findNote(context, type);
        requireWriter(context, found);
        context.requireUnmodified(found.updated_at);
        await events.forget(context.db, { type: "note", id: found.id });
        await notes.remove(context.db, found.id);
        return undefined;
      },
    }),
  ];
}

/** Notes on issuables. */
export const noteResource: Resource = {
  name: "Notes",
  migrations,
  routes: ISSUABLE_TYPES.flatMap(routesOf),
};
