import * as audit from "../../audit/log.ts";
import type { Caller } from "../../core/access/caller.ts";
import { ROLES, roleOf } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";
import { conflict, forbidden, invalid } from "../../core/errors.ts";
import type { Context } from "../../core/resource.ts";
import { recordMember } from "../../hooks/records.ts";
import type { Database } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as events from "../events/record.ts";
import { mayGrant } from "./abilities.ts";
import * as members from "./queries.ts";
import * as requests from "./requests.ts";

/** The changeable fields of a membership: its level, and the day it expires. */
export interface Membership {
  access_level: number;
  expires_at?: string | null | undefined;
}

/** The context of a change to the members of a group or project. */
export interface MemberChange {
  db: Database;
  /** The group or project, with the caller's access level. */
  source: Source;
  by: audit.Actor;
  /** Epoch milliseconds. */
  now: number;
  /** `YYYY-MM-DD`. */
  today: string;
}

/** The context of a route that changes members, as the functions of this file take it. */
export function changeOf(
  context: Pick<Context, "source" | "request" | "now" | "viewer"> & {
    db: Database;
    caller: Caller;
  },
): MemberChange {
  const { db, source, now, viewer } = context;
  return { db, source, by: audit.actorOf(context), now, today: viewer.today };
}

/**
 * Adds a member.
 *
 * @returns the id of the membership
 * @throws ApiError 400 for an invalid level, 403 for one above the caller's, 409 if the user is already a member
 */
export async function addMember(
  change: MemberChange,
  userId: number,
  membership: Membership,
): Promise<number> {
  const { db, source } = change;
  if (await members.find(db, source, userId)) throw conflict("Member already exists");
  requireGrantable(source, membership.access_level);
  await requireAboveInherited(change, userId, membership.access_level);
  return enroll(change, userId, membership);
}

/** A change to the members of a place, whoever may make it. */
export type PlaceChange = Pick<MemberChange, "db" | "by" | "now"> & { source: Place };

/** A group or project that has members. */
export type Place = Pick<Source, "kind" | "id" | "column" | "fullPath">;

/** Adds a member whose right to be one has been checked, and returns the id of the membership. */
export async function enroll(
  change: PlaceChange,
  userId: number,
  membership: Membership,
): Promise<number> {
  const { db, source, by, now } = change;
  const created_by_id = by.id ?? undefined;
  const row = { ...membership, user_id: userId, created_by_id };
  const added = await members.insert(db, source, row, now);
  await requests.remove(db, source, userId);
  recordEvent(db, source, "joined", userId, now);
  await tellHooks(change, "add", userId, membership);
  await logChange(change, "member added", userId, membership.access_level);
  return added;
}

/**
 * Checks a level that somebody wants to give to others.
 *
 * @throws ApiError 400 for an invalid level, 403 for one above the caller's
 */
export function requireGrantable(source: Source, accessLevel: number): void {
  requireLevel(source, accessLevel);
  if (!mayGrant(source, accessLevel)) throw forbidden();
}

/**
 * Changes a member's level or the day their membership ends.
 *
 * @throws ApiError 400 for an invalid level, 403 for the last owner and for levels above the caller's
 */
export async function changeMember(
  change: MemberChange,
  found: members.Member,
  { access_level, expires_at }: Membership,
): Promise<void> {
  const { db, source, now } = change;
  requireLevel(source, access_level);
  if (!mayGrant(source, Math.max(access_level, found.access_level))) throw forbidden();
  await requireAboveInherited(change, found.user_id, access_level);
  if (access_level !== ROLES.owner || isOver(expires_at, change.today)) {
    await requireAnotherOwner(change, found);
  }
  await updateRow(db, "members", found.id, { access_level, expires_at }, now);
  const after = {
    access_level,
    expires_at: expires_at === undefined ? found.expires_at : expires_at,
  };
  await tellHooks(change, "update", found.user_id, after);
  await logChange(change, "member changed", found.user_id, access_level);
}

/**
 * Ends a membership. Members may end their own, whatever their level.
 *
 * @throws ApiError 403 for the last owner, and for members with a higher level than the caller
 */
export async function removeMember(change: MemberChange, found: members.Member): Promise<void> {
  const { db, source, by, now, today } = change;
  if (by.id !== found.user_id && !mayGrant(source, found.access_level)) throw forbidden();
  await requireAnotherOwner(change, found);
  await members.remove(db, found);
  const how = isOver(found.expires_at, today) ? "expired" : "left";
  recordEvent(db, source, how, found.user_id, now);
  await tellHooks(change, "remove", found.user_id, found);
  await logChange(change, "member removed", found.user_id, found.access_level);
}

/**
 * Ends all memberships of a user in a group and everything below it.
 *
 * @throws ApiError 409 if a group would be left without an owner, own or inherited
 */
export async function removeFromGroup(change: MemberChange, userId: number): Promise<void> {
  const { db, source, now, today } = change;
  if (await members.isLastOwnerBelow(db, source.id, userId, today)) {
    throw conflict("The last owner of a group cannot be removed.");
  }
  for (const removed of await members.removeBelow(db, source.id, userId)) {
    const { access_level, project_id, full_path } = removed;
    if (project_id !== null) {
      events.record(db, { project_id, author_id: userId, action: "left" }, now);
    }
    const target = `${full_path} (${roleOf(access_level) ?? access_level})`;
    await audit.log(change, "member removed", { userId, target });
  }
}

/** Levels must be known, and projects have no owners of their own. */
function requireLevel(source: Source, accessLevel: number): void {
  if (!roleOf(accessLevel) || (source.kind === "project" && accessLevel === ROLES.owner)) {
    throw invalid({ access_level: ["is not included in the list"] });
  }
}

async function requireAboveInherited(
  { db, source, today }: MemberChange,
  userId: number,
  accessLevel: number,
): Promise<void> {
  const above = await members.inherited(db, source, userId, today);
  if (above && accessLevel < above.access_level) {
    const role = roleOf(above.access_level) ?? "";
    const title = role.charAt(0).toUpperCase() + role.slice(1);
    throw invalid({
      access_level: [
        `should be greater than or equal to ${title} inherited membership from group ${above.name}`,
      ],
    });
  }
}

const isOver = (expiresAt: string | null | undefined, today: string) =>
  typeof expiresAt === "string" && expiresAt <= today;

/** Refuses to remove a group's only owner. As in GitLab, the membership may still expire on a later day. */
async function requireAnotherOwner(
  { db, source, today }: Pick<MemberChange, "db" | "source" | "today">,
  found: members.Member,
): Promise<void> {
  if (source.kind !== "group" || found.access_level !== ROLES.owner) return;
  if (isOver(found.expires_at, today)) return;
  if (!(await members.hasOtherOwner(db, source.id, found.id, today))) {
    throw forbidden("The last owner of a group cannot be removed.");
  }
}

async function tellHooks(
  { db, source, by, now }: PlaceChange,
  action: "add" | "update" | "remove",
  memberId: number,
  { access_level, expires_at = null }: Membership,
): Promise<void> {
  const { column, id } = source;
  const membership = { column, id, memberId, userId: by.id, access_level, expires_at };
  await recordMember({ db, now }, action, membership);
}

/** The member who joins or leaves a project is the author of the event; groups have no events. */
function recordEvent(
  db: Database,
  source: Place,
  action: "joined" | "left" | "expired",
  userId: number,
  now: number,
): void {
  if (source.kind !== "project") return;
  events.record(db, { project_id: source.id, author_id: userId, action }, now);
}

function logChange(
  change: PlaceChange,
  action: audit.AuditAction,
  userId: number,
  level: number,
): Promise<void> {
  const target = `${change.source.fullPath} (${roleOf(level) ?? level})`;
  return audit.log(change, action, { userId, target });
}
