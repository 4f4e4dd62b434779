import type { Database } from "../../store/port.ts";
import * as namespaces from "../namespaces/queries.ts";
import { insert, isEmailTaken } from "./queries.ts";

/** The columns, by table, in which the ghost user replaces a deleted one. */
const CONTRIBUTIONS = [
  ["issues", "author_id"],
  ["issues", "closed_by_id"],
  ["merge_requests", "author_id"],
  ["merge_requests", "merged_by_id"],
  ["merge_requests", "closed_by_id"],
  ["notes", "author_id"],
  ["notes", "resolved_by_id"],
  ["timelogs", "user_id"],
  ["resource_label_events", "user_id"],
  ["resource_milestone_events", "user_id"],
  ["resource_state_events", "user_id"],
] as const;

/**
 * Removes a user with their personal projects and snippets, memberships, tokens, stars and events. As in GitLab, the
 * ghost user becomes the author of their contributions to other projects. The number of statements does not depend on
 * the amount of data.
 *
 * @param now epoch milliseconds
 */
export async function remove(db: Database, userId: number, now: number): Promise<void> {
  await unstarAll(db, userId);
  await handToGhost(db, userId, now);
  await db.run("delete from users where id = ?", [userId]);
}

async function unstarAll(db: Database, userId: number): Promise<void> {
  await db.run(
    `update projects set star_count = star_count - 1
     where id in (select project_id from project_stars where user_id = ?)`,
    [userId],
  );
  await db.run("delete from project_stars where user_id = ?", [userId]);
}

async function handToGhost(db: Database, userId: number, now: number): Promise<void> {
  const ghost = await findOrCreateGhost(db, now);
  for (const [table, column] of CONTRIBUTIONS) {
    await db.run(`update ${table} set ${column} = ? where ${column} = ?`, [ghost, userId]);
  }
  await db.run("update snippets set author_id = ? where author_id = ? and project_id is not null", [
    ghost,
    userId,
  ]);
  // Each user can award an emoji only once, so those the ghost user has already awarded are deleted.
  const given = ["issue_id", "merge_request_id", "snippet_id", "note_id"].map(
    (column) => `exists (select 1 from award_emoji g
       where g.${column} = award_emoji.${column} and g.name = award_emoji.name and g.user_id = ?)`,
  );
  await db.run(`delete from award_emoji where user_id = ? and (${given.join(" or ")})`, [
    userId,
    ...given.map(() => ghost),
  ]);
  await db.run("update award_emoji set user_id = ? where user_id = ?", [ghost, userId]);
}

/** The ghost user's id. The ghost is created when the first user is deleted. */
async function findOrCreateGhost(db: Database, now: number): Promise<number> {
  const [found] = await db.rows("select id from users where state = 'ghost'");
  if (found) return found[0] as number;
  for (let number = 0; ; number += 1) {
    const username = `ghost${number || ""}`;
    const email = `${username}@example.invalid`;
    if (!(await namespaces.isTaken(db, username)) && !(await isEmailTaken(db, email))) {
      return insert(db, { username, name: "Ghost User", email, state: "ghost" }, now);
    }
  }
}
