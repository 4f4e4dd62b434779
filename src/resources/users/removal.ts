import { inBatches } from "../../jobs/batches.ts";
import { areFew, handPart, type Part, removeLater, removePart, SMALL } from "../../jobs/removal.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Store } from "../../store/port.ts";
import * as namespaces from "../namespaces/queries.ts";
import { hasFewRows, hide } from "../namespaces/removal.ts";
import { insert, isEmailTaken } from "./queries.ts";

/** In what the ghost user replaces a deleted one. */
export const CONTRIBUTIONS: readonly Part[] = [
  ["issues", "author_id", "id"],
  ["issues", "closed_by_id", "id"],
  ["merge_requests", "author_id", "id"],
  ["merge_requests", "merged_by_id", "id"],
  ["merge_requests", "closed_by_id", "id"],
  ["deployments", "user_id", "id"],
  ["notes", "author_id", "id"],
  ["notes", "resolved_by_id", "id"],
  ["timelogs", "user_id", "id"],
  ["releases", "author_id", "id"],
  ["resource_label_events", "user_id", "id"],
  ["resource_milestone_events", "user_id", "id"],
  ["resource_state_events", "user_id", "id"],
  ["resource_iteration_events", "user_id", "id"],
  ["resource_weight_events", "user_id", "id"],
];

/** Projects' snippets go to the ghost user, others are deleted. */
export const SNIPPETS: Part = ["snippets", "author_id", "id"];

/** What else a user has, and is deleted with them. */
export const USER_PARTS: readonly Part[] = [
  ["issue_assignees", "user_id", "issue_id"],
  ["merge_request_assignees", "user_id", "merge_request_id"],
  ["merge_request_reviewers", "user_id", "merge_request_id"],
  ["merge_request_committers", "user_id", "merge_request_id"],
  ["approvals", "user_id", "merge_request_id"],
  ["environment_grants", "user_id", "id"],
  ["deployment_approvals", "user_id", "id"],
  ["approval_rule_users", "user_id", "rule_id"],
  ["protection_grants", "user_id", "id"],
  ["draft_notes", "author_id", "id"],
  ["lfs_locks", "user_id", "id"],
  ["dependency_list_exports", "user_id", "id"],
  ["todos", "user_id", "id"],
  ["todos", "author_id", "id"],
  ["issue_subscriptions", "user_id", "issue_id"],
  ["merge_request_subscriptions", "user_id", "merge_request_id"],
  ["label_subscriptions", "user_id", "label_id"],
  ["wiki_page_subscriptions", "user_id", "page_id"],
  ["collapsed_board_lists", "user_id", "list_id"],
  ["board_lists", "assignee_id", "id"],
  ["notification_settings", "user_id", "id"],
  ["members", "user_id", "id"],
  ["access_requests", "user_id", "id"],
  ["user_follows", "follower_id", "id"],
  ["user_follows", "followed_id", "id"],
  ["avatars", "user_id", "id"],
  ["user_emails", "user_id", "id"],
  ["user_statuses", "user_id", "user_id"],
  ["user_preferences", "user_id", "user_id"],
  ["resource_bots", "user_id", "user_id"],
  ["service_accounts", "user_id", "user_id"],
  ["scim_users", "user_id", "id"],
  ["invitations", "user_id", "digest"],
  ["sessions", "user_id", "id"],
  ["half_sign_ins", "user_id", "digest"],
  ["provider_sign_ins", "user_id", "digest"],
  ["identities", "user_id", "id"],
  ["recovery_codes", "user_id", "id"],
  ["two_factor", "user_id", "user_id"],
  ["tokens", "user_id", "id"],
  ["feed_tokens", "user_id", "user_id"],
  ["job_tokens", "user_id", "id"],
  ["oauth_grants", "user_id", "id"],
  ["oauth_devices", "user_id", "id"],
  ["oauth_applications", "user_id", "id"],
  ["pipeline_triggers", "owner_id", "id"],
  ["ssh_keys", "user_id", "id"],
  ["gpg_keys", "user_id", "id"],
  ["custom_attributes", "user_id", "id"],
];

/** What names a user, and stays without them. */
export const USER_REFERENCES: readonly Part[] = [
  ["bulk_imports", "user_id", "id"],
  ["boards", "assignee_id", "id"],
  ["ci_jobs", "user_id", "id"],
  ["members", "created_by_id", "id"],
  ["member_invitations", "created_by_id", "id"],
  ["merge_requests", "auto_merge_user_id", "id"],
  ["merge_train_cars", "user_id", "id"],
  ["pipelines", "user_id", "id"],
  ["packages", "creator_id", "id"],
  ["project_uploads", "uploader_id", "id"],
  ["project_imports", "user_id", "project_id"],
  ["group_imports", "user_id", "namespace_id"],
  ["projects", "creator_id", "id"],
  ["resource_bots", "creator_id", "user_id"],
  ["service_accounts", "creator_id", "user_id"],
  ["runners", "creator_id", "id"],
  ["ssh_keys", "creator_id", "id"],
  ["pipeline_schedules", "owner_id", "id"],
  ["pull_mirrors", "user_id", "id"],
  ["wiki_attachments", "author_id", "id"],
  ["wiki_page_versions", "author_id", "id"],
  ["import_source_users", "placeholder_user_id", "id"],
  ["import_source_users", "reassign_to_user_id", "id"],
  ["import_source_users", "reassigned_by_user_id", "id"],
];

/** What is deleted or changed in ways of its own. */
export const OTHER_PARTS: readonly Part[] = [
  SNIPPETS,
  ["award_emoji", "user_id", "id"],
  ["project_stars", "user_id", "project_id"],
  ["events", "author_id", "id"],
];

/**
 * Removes a user with their personal projects and snippets, memberships, tokens, stars and events. As in GitLab, the
 * ghost user becomes the author of their contributions to other projects.
 *
 * A user with few rows is removed at once. Of others only what they wrote is still seen, without their name, and a
 * worker removes them.
 *
 * @param now epoch milliseconds
 * @returns whether they were removed at once
 */
export async function remove(db: Database, userId: number, now: number): Promise<boolean> {
  const personal = await namespaces.findPersonal(db, userId);
  const parts = [...CONTRIBUTIONS, ...USER_PARTS, ...USER_REFERENCES, ...OTHER_PARTS];
  const isSmall =
    (await areFew(db, parts, placeholders([userId]), SMALL)) &&
    (!personal || (await hasFewRows(db, personal.id)));
  if (isSmall) {
    await removeAtOnce(db, userId, now);
    return true;
  }
  if (personal) await hide(db, personal.id);
  await unstar(db, userId, UNSTARRED_AT_ONCE);
  // Whoever they are elsewhere may come back, and is somebody new.
  await db.run("delete from identities where user_id = ?", [userId]);
  const name = `ghost:${userId}`;
  await db.run(
    `update users set state = 'removed', username = ?, email = ?, name = ?, password_hash = null, admin = 0,
       bio = null, location = null, public_email = null, skype = null, linkedin = null, twitter = null,
       website_url = null, organization = null, avatar_url = null, commit_email = null,
       job_title = null, pronouns = null, discord = null, github = null, updated_at = ? where id = ?`,
    [name, name, GHOST_NAME, now, userId],
  );
  await removeLater(db, { user: userId }, now);
  return false;
}

async function removeAtOnce(db: Database, userId: number, now: number): Promise<void> {
  const all = Number.MAX_SAFE_INTEGER;
  await unstar(db, userId, all);
  const ghost = await findOrCreateGhost(db, now);
  for (const [table, column] of CONTRIBUTIONS) {
    await db.run(`update ${table} set ${column} = ? where ${column} = ?`, [ghost, userId]);
  }
  await db.run("update snippets set author_id = ? where author_id = ? and project_id is not null", [
    ghost,
    userId,
  ]);
  await handAwards(db, userId, ghost, all);
  await db.run("delete from users where id = ?", [userId]);
}

/**
 * Removes a hidden user, in batches; their own namespace and their events must have been deleted.
 *
 * @param now epoch milliseconds
 * @throws what the signal was aborted with
 */
export async function removeUser(
  store: Store,
  userId: number,
  now: number,
  signal?: AbortSignal,
): Promise<void> {
  const user = placeholders([userId]);
  const ghost = await store.transaction((db) => findOrCreateGhost(db, now));
  const inParts = (work: (db: Database, batch: number) => Promise<number>) =>
    inBatches(store, work, { signal });
  for (const part of CONTRIBUTIONS) await handPart(store, part, [userId], ghost, { signal });
  const only = "project_id is not null";
  await handPart(store, SNIPPETS, [userId], ghost, { signal, only });
  await removePart(store, SNIPPETS, user, signal);
  await inParts((db, batch) => handAwards(db, userId, ghost, batch));
  await inParts((db, batch) => unstar(db, userId, batch));
  for (const part of USER_PARTS) await removePart(store, part, user, signal);
  for (const part of USER_REFERENCES) await handPart(store, part, [userId], null, { signal });
  await removePart(store, ["users", "id", "id"], user, signal);
}

/** Takes a user's stars from at most so many projects, and returns from how many. */
async function unstar(db: Database, userId: number, most: number): Promise<number> {
  const starred =
    "select project_id from project_stars where user_id = ? order by project_id limit ?";
  await db.run(`update projects set star_count = star_count - 1 where id in (${starred})`, [
    userId,
    most,
  ]);
  return db.run(`delete from project_stars where user_id = ? and project_id in (${starred})`, [
    userId,
    userId,
    most,
  ]);
}

/**
 * Hands at most so many awards of a user to another one, and returns how many. Each user can award an emoji only once, so those
 * that the other has already awarded are deleted.
 */
export async function handAwards(
  db: Database,
  userId: number,
  to: number,
  most: number,
): Promise<number> {
  const given = "select id from award_emoji where user_id = ? order by id limit ?";
  const targets = ["issue_id", "merge_request_id", "snippet_id", "note_id"];
  const doubled = targets.map(
    (column) => `exists (select 1 from award_emoji g
       where g.${column} = award_emoji.${column} and g.name = award_emoji.name and g.user_id = ?)`,
  );
  const [last] = await db.rows(`select max(id) from (${given}) as given`, [userId, most]);
  const [until] = last as [number | null];
  if (until === null) return 0;
  const deleted = await db.run(
    `delete from award_emoji where user_id = ? and id <= ? and (${doubled.join(" or ")})`,
    [userId, until, ...targets.map(() => to)],
  );
  const handed = await db.run("update award_emoji set user_id = ? where user_id = ? and id <= ?", [
    to,
    userId,
    until,
  ]);
  return deleted + handed;
}

/** Projects that lose a star within the request; others lose it right after it. */
const UNSTARRED_AT_ONCE = 200;

/** What the ghost user is called, as in GitLab. */
export const GHOST_NAME = "Ghost User";

/** The ghost user's id. The ghost is created when the first user is deleted. */
export async function findOrCreateGhost(db: Database, now: number): Promise<number> {
  const [found] = await db.rows("select id from users where state = 'ghost'");
  if (found) return found[0] as number;
  for (let number = 0; ; number += 1) {
    const username = `ghost${number || ""}`;
    const email = `${username}@example.invalid`;
    if (!(await namespaces.isTaken(db, username)) && !(await isEmailTaken(db, email))) {
      return insert(db, { username, name: GHOST_NAME, email, state: "ghost" }, now);
    }
  }
}
