import * as audit from "../../audit/log.ts";
import { roleOf } from "../../core/access/roles.ts";
import { findVisible, type Source } from "../../core/access/source.ts";
import { ApiError, conflict, forbidden, notFound } from "../../core/errors.ts";
import type { Database, Reader } from "../../store/port.ts";
import { isMember, mayGrant } from "../members/abilities.ts";
import { isBelow } from "../namespaces/queries.ts";
import * as links from "./queries.ts";

/** A group or project can be shared with this many groups: what its answers show, and rights ask for, is bounded by it. */
const MOST_LINKS = 500;

/** A change of the links of a group or project, whoever may make it. */
interface LinkChange {
  readonly db: Database;
  readonly by: audit.Actor;
  readonly now: number;
}

/** What a group is invited with. */
interface Invitation {
  readonly group_id: number;
  readonly access_level: number;
  readonly expires_at?: string | null | undefined;
}

/**
 * Shares a group or project with a group.
 *
 * @returns the id of the link
 * @throws ApiError 400 if its groups don't let projects be shared, 403 for owners whom the caller may not let in, 404 for a
 *   group that the caller is not a member of, or outside of a hierarchy that is closed, 409 if it is shared with it already
 */
export async function share(
  change: LinkChange,
  source: Source,
  { group_id, access_level, expires_at = null }: Invitation,
): Promise<number> {
  const { db, now } = change;
  const limits = await limitsOf(db, source.namespaceId);
  if (source.kind === "project" && limits.isLocked) {
    throw new ApiError(400, { message: "The project sharing with group is disabled" });
  }
  if (!mayGrant(source, access_level)) throw forbidden();
  const group = await findVisible(db, "group", String(group_id), source.viewer);
  if (!group || !isMember(group)) throw notFound();
  if (limits.isClosed && !(await isBelow(db, group.id, limits.rootId))) throw notFound();
  await requireShareable(db, source, group);
  const id = await links.insert(db, source, { group_id, access_level, expires_at }, now);
  const target = targetOf(group.fullPath, source.fullPath, { access_level });
  await audit.log(change, "group invited", { target });
  return id;
}

/** Ends a link. @throws ApiError 403 for one that lets in owners, whom the caller may not let in */
export async function unshare(change: LinkChange, source: Source, link: links.Link): Promise<void> {
  if (!mayGrant(source, link.access_level)) throw forbidden();
  await links.remove(change.db, link);
  await tell(change, "invitation of group removed", link);
}

/** Tells of a link that has expired, and was removed. */
export const toldExpired = (change: LinkChange, link: links.Link): Promise<void> =>
  tell(change, "invitation of group expired", link);

async function tell(
  change: LinkChange,
  action: audit.AuditAction,
  link: links.Link,
): Promise<void> {
  const [place, group] = await links.pathsOf(change.db, link);
  await audit.log(change, action, { target: targetOf(group, place, link) });
}

const targetOf = (
  group: string,
  place: string,
  { access_level: level }: { access_level: number },
) => `${group} in ${place} (${roleOf(level) ?? level})`;

async function requireShareable(db: Reader, source: Source, group: Source): Promise<void> {
  const isProject = source.kind === "project";
  if (await links.find(db, source, group.id)) {
    throw conflict(
      isProject
        ? "Project already shared with this group"
        : "Shared group The group has already been shared with this group",
    );
  }
  if (await isBelow(db, source.namespaceId, group.id)) {
    throw conflict(
      isProject
        ? "Project cannot be shared with the group it is in or one of its ancestors."
        : "Group cannot be shared with itself or one of its ancestors.",
    );
  }
  if ((await links.count(db, source)) >= MOST_LINKS) {
    throw conflict(`A ${source.kind} can be shared with at most ${MOST_LINKS} groups.`);
  }
}

/** What the settings of a namespace and of the groups above it say about sharing. */
export async function limitsOf(
  db: Reader,
  namespaceId: number,
): Promise<{ isLocked: boolean; isClosed: boolean; rootId: number }> {
  const has = (setting: string) =>
    `max(case when instr(n.kept_settings, '"${setting}":true') > 0 then 1 else 0 end)`;
  const [row] = await db.rows(
    `select ${has("share_with_group_lock")}, ${has("prevent_sharing_groups_outside_hierarchy")},
       max(case when n.parent_id is null then n.id end)
     from namespace_ancestors a join namespaces n on n.id = a.ancestor_id where a.namespace_id = ?`,
    [namespaceId],
  );
  return { isLocked: row?.[0] === 1, isClosed: row?.[1] === 1, rootId: Number(row?.[2]) };
}
