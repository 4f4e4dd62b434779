import type { Caller } from "../../core/access/caller.ts";
import { ApiError, notFound, unauthorized } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Context, Json, type Resource, type Route } from "../../core/resource.ts";
import { recordHookEvent } from "../../hooks/events.ts";
import { recordRemoval } from "../../hooks/records.ts";
import type { Database, Reader } from "../../store/port.ts";
import { mayCreateNote } from "../issuables/abilities.ts";
import { routesBelow } from "../issuables/places.ts";
import * as todos from "../issuables/todos.ts";
import type { NoteableType } from "../issuables/type.ts";
import { isIssuable } from "../issuables/types.ts";
import { NOTED_TYPES } from "../notes/noteables.ts";
import { findNote, findNoteable } from "../notes/rules.ts";
import { awardEmoji, toldAward } from "./json.ts";
import { knownNames } from "./known.ts";
import * as awards from "./queries.ts";
import { migrations } from "./table.ts";

const ALIASES: Readonly<Record<string, string>> = { "+1": "thumbsup", "-1": "thumbsdown" };

/** A validation error as GitLab's API answers it: 404 with the model's message. */
function refused(reason: string) {
  return notFound(`Award Emoji {:name=>["${reason}"]}`);
}

/** The same error as GraphQL lists it. */
const refusedChange = (reason: string) => new ApiError(400, { message: { name: [reason] } });

type In = Pick<Context, "source" | "viewer"> & { db: Reader; input: { noteable_id: number } };

/** Finds the path's issue, merge request or snippet or, with a `note_id`, one of its notes. */
async function findAwardable(
  context: In & { input: { note_id?: number } },
  type: NoteableType,
): Promise<awards.Awardable & { lockedOut: boolean; targetId: number }> {
  const { source, viewer, input } = context;
  const target = await findNoteable(context, type, input.noteable_id);
  const lockedOut = !mayCreateNote(target, { source, caller: viewer.caller });
  const known = { lockedOut, targetId: target.id };
  if (input.note_id === undefined) return { column: type.column, id: target.id, ...known };
  return { column: "note_id", id: (await findNote(context, target, input.note_id)).id, ...known };
}

/** What emoji are given to: an issue, merge request or snippet itself, or one of its notes. */
type On = "target" | "note";

/** The attributes of a path that name it. */
const awardableOn = (on: On) => ({
  noteable_id: param.recordId(),
  ...((on === "note" ? { note_id: param.recordId() } : {}) as {
    note_id: param.Attribute<number>;
  }),
});

const builderOf = (type: NoteableType, on: On) =>
  routesBelow(
    type,
    `/${type.path}/:noteable_id${on === "note" ? "/notes/:note_id" : ""}/award_emoji`,
  );

type Giving = Pick<Context, "now" | "request" | "source"> & {
  db: Database;
  caller: Caller;
  prepared: ReadonlySet<string>;
};

/**
 * Gives an emoji, and marks the giver's todos on its target as done.
 *
 * @param refuse makes the error for an unknown emoji, or one that they already gave
 * @returns the award's id
 */
async function give(
  context: Giving,
  type: NoteableType,
  to: awards.Awardable & { targetId: number },
  name: string,
  refuse: (reason: string) => ApiError,
): Promise<number> {
  const { db, caller, source, prepared, now } = context;
  if (!prepared.has(name)) throw refuse("is not included in the list");
  const id = await awards.insert(db, to, { name, user_id: caller.id }, now);
  if (id === undefined) throw refuse("has already been taken");
  // Webhooks are told nothing of epics.
  if (!source.isHome) {
    const of = { project: source.id };
    recordHookEvent(context, { kind: "emoji", of, userId: caller.id, id, action: "award" });
  }
  if (isIssuable(type)) todos.resolve(db, type, to.targetId, caller.id, now);
  return id;
}

/** Takes an emoji back. */
async function take(context: Omit<Giving, "prepared">, id: number): Promise<void> {
  const of = { project: context.source.id };
  const moment = { kind: "emoji", of, userId: context.caller.id, id, action: "revoke" } as const;
  const from = "award_emoji ae where ae.id = ?";
  if (!context.source.isHome) {
    await recordRemoval(context, moment, { columns: toldAward.columns, from });
  }
  await awards.remove(context.db, id);
}

const nameOf = (sent: string) => ALIASES[sent] ?? sent;

const changeRoute = (type: NoteableType, on: On) =>
  builderOf(type, on).post("/change", {
    summary: "Give an emoji, or take it back",
    input: {
      ...awardableOn(on),
      name: param.anyText(),
      change: param.choice(["add", "remove", "toggle"]),
    },
    prepare: knownNames,
    handle: async (context) => {
      const { db, caller, input } = context;
      const to = await findAwardable(context, type);
      if (to.lockedOut) throw notFound("Award Emoji");
      const name = nameOf(input.name);
      const given = await awards.findNamed(db, to, { name, user_id: caller.id });
      const isGiven = given !== undefined && input.change !== "add";
      if (!isGiven && input.change !== "remove") {
        return new Json({ id: await give(context, type, to, name, refusedChange) });
      }
      if (!given) throw refusedChange("was not given");
      await take(context, given.id);
      return new Json({ id: null });
    },
  });

const CHANGE = new Map(
  NOTED_TYPES.map((type) => [
    type,
    { target: changeRoute(type, "target"), note: changeRoute(type, "note") },
  ]),
);

/** The route that gives an emoji, or takes it back, by its name: for GraphQL. It tells the award's id. */
export const changeRouteOf = (type: NoteableType, on: On): Route =>
  (CHANGE.get(type) as Record<On, Route>)[on];

function routesOf(type: NoteableType, on: On, what: string) {
  const { del, get, list, post } = builderOf(type, on);
  const awardable = awardableOn(on);
  const one = { ...awardable, award_id: param.recordId() };
  const findAward = async (context: In & { input: { award_id: number; note_id: number } }) => {
    const to = await findAwardable(context, type);
    const found = await awards.find(context.db, to, context.input.award_id);
    if (!found) throw notFound("Award Emoji");
    return found;
  };
  return [
    list("", {
      summary: `List the emoji given to ${what}`,
      isShownToVisitors: true,
      input: awardable,
      presenter: awardEmoji,
      handle: async (context) =>
        awards.list(
          context.db,
          context.presenter,
          context.page,
          await findAwardable(context, type),
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
        const { db, presenter, input } = context;
        const to = await findAwardable(context, type);
        if (to.lockedOut) throw notFound("Award Emoji");
        return awards.row(
          db,
          presenter,
          await give(context, type, to, nameOf(input.name), refused),
        );
      },
    }),
    del("/:award_id", {
      summary: "Take back an emoji; administrators may remove anyone's",
      input: one,
      handle: async (context) => {
        const { caller, requireUnmodified } = context;
        const found = await findAward(context);
        if (found.user_id !== caller.id && !caller.admin) throw unauthorized();
        requireUnmodified(found.updated_at);
        await take(context, found.id);
        return undefined;
      },
    }),
  ];
}

/** Emoji given to issues, epics, merge requests and snippets, and to their notes. */
export const awardEmojiResource: Resource = {
  name: "Award emoji",
  migrations,
  routes: NOTED_TYPES.flatMap((type) => [
    ...routesOf(type, "target", type.one),
    ...routesOf(type, "note", `a note on ${type.one}`),
  ]),
};
