import type { Condition } from "../../store/conditions.ts";
import type { Database } from "../../store/port.ts";

/** Finds the groups anew whose members belong to something by links: of those that a condition on a row `l` names. */
async function spread(db: Database, links: Condition): Promise<void> {
  await db.run(
    `insert into group_link_sources (link_id, namespace_id)
     select l.id, a.ancestor_id from group_links l
     join namespace_ancestors a on a.namespace_id = l.group_id where ${links.sql}`,
    links.values,
  );
}

/** Lets the members of the invited group, and of those above it, in by a new link. */
export const spreadLink = (db: Database, linkId: number): Promise<void> =>
  spread(db, { sql: "l.id = ?", values: [linkId] });

/** Does the same anew for all links to a group that was moved, and to groups below it. */
export async function spreadBelow(db: Database, groupId: number): Promise<void> {
  const moved = `l.group_id in (select namespace_id from namespace_ancestors where ancestor_id = ?)`;
  await db.run(
    `delete from group_link_sources where link_id in (select l.id from group_links l where ${moved})`,
    [groupId],
  );
  await spread(db, { sql: moved, values: [groupId] });
}
