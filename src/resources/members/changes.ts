import * as audit from "../../audit/log.ts";
import type { Caller } from "../../core/access/caller.ts";
import { ROLES, roleOf } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";
import { conflict, forbidden, invalid } from "../../core/errors.ts";
import type { Context } from "../../core/resource.ts";
import type { Recording } from "../../hooks/events.ts";
import type { Database } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { requireRole } from "../member-roles/rules.ts";
import { mayGrant } from "./abilities.ts";
import { changed, type PlaceChange } from "./followers.ts";
import * as members from "./queries.ts";
import * as requests from "./requests.ts";

/** The changeable fields of a membership: its level, the day it expires, and a role of one's own. */
export interface Membership {
  access_level: number;
  expires_at?: string | null | undefined;
  member_role_id?: number | null | undefined;
}

/** The context of a change to the members of a group or project. */
export interface MemberChange extends Recording {
  /** The group or project, with the caller's access level. */
  source: Source;
  by: audit.Actor;
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
  const { db, source, now, viewer, request } = context;
  return { db, source, by: audit.actorOf(context), now, today: viewer.today, request };
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
  await requireRole(db, source, membership.member_role_id, membership.access_level);
  return enroll(change, userId, membership);
}

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
  await changed(change, "joined", row);
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
  { access_level, expires_at, member_role_id: role }: Membership,
): Promise<void> {
  const { db, source, now } = change;
  requireLevel(source, access_level);
  if (!mayGrant(source, Math.max(access_level, found.access_level))) throw forbidden();
  await requireAboveInherited(change, found.user_id, access_level);
  await requireRole(db, source, role, access_level);
  // A role of one's own goes with its base role.
  const member_role_id = access_level === found.access_level ? role : (role ?? null);
  if (access_level !== ROLES.owner || isOver(expires_at, change.today)) {
    await requireAnotherOwner(change, found);
  }
  await updateRow(db, "members", found.id, { access_level, expires_at, member_role_id }, now);
  const { user_id, expires_at: before } = found;
  const after = {
    user_id,
    access_level,
    expires_at: expires_at === undefined ? before : expires_at,
  };
  await changed(change, "changed", after);
}

/**
 * Ends a membership. Members may end their own, whatever their level.
 *
 * @throws ApiError 403 for the last owner, and for members with a higher level than the caller
 */
export async function removeMember(change: MemberChange, found: members.Member): Promise<void> {
  const { db, source, by, today } = change;
  if (by.id !== found.user_id && !mayGrant(source, found.access_level)) throw forbidden();
  await requireAnotherOwner(change, found);
  await members.remove(db, found);
  await changed(change, isOver(found.expires_at, today) ? "expired" : "left", found);
}

/**
 * Ends the memberships below a group of somebody who has left it, as GitLab does, except of groups that would have no owner
 * then.
 */
export async function removeMembershipsBelow(change: MemberChange, userId: number): Promise<void> {
  const { db, source, today } = change;
  if (source.kind !== "group") return;
  for (const removed of await members.removeBelow(db, source.id, userId, today)) {
    await changed({ ...change, source: members.placeOf(removed) }, "left", removed);
  }
}

/**
 * Ends all memberships of a user in a group and everything below it.
 *
 * @throws ApiError 409 if a group would be left without an owner, own or inherited
 */
export async function removeFromGroup(change: MemberChange, userId: number): Promise<void> {
  const { db, source, today } = change;
  if (await members.isLastOwnerBelow(db, source.id, userId, today)) {
    throw conflict("The last owner of a group cannot be removed.");
  }
  for (const removed of await members.removeBelow(db, source.id, userId)) {
    await changed({ ...change, source: members.placeOf(removed) }, "left", removed);
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
