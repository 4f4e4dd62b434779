import type { Actor } from "../../audit/log.ts";
import { sourcesById } from "../../core/access/source.ts";
import { BEING_DELETED, type Viewer } from "../../core/access/visibility.ts";
import { dayOf } from "../../core/time.ts";
import { inBatches } from "../../jobs/batches.ts";
import { areFew, handPart, type Part, removePart } from "../../jobs/removal.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Store } from "../../store/port.ts";
import { hasAsMuch } from "../members/abilities.ts";
import { enroll } from "../members/changes.ts";
import * as members from "../members/queries.ts";
import {
  CONTRIBUTIONS,
  handAwards,
  remove,
  SNIPPETS,
  USER_PARTS,
  USER_REFERENCES,
} from "../users/removal.ts";
import * as sourceUsers from "./queries.ts";

/** What a placeholder has of which the user may have the same: then theirs stays. */
const SHARED_TABLES = new Set([
  ...["issue_assignees", "merge_request_assignees", "merge_request_reviewers"],
  ...["merge_request_committers", "approvals", "approval_rule_users", "protection_grants"],
  ...["issue_subscriptions", "merge_request_subscriptions"],
]);

/** The parts of a user that placeholders have, and are handed on. */
const SHARED: readonly Part[] = USER_PARTS.filter(([table]) => SHARED_TABLES.has(table));

/** What a user can't have twice. */
const OWN: readonly Part[] = [
  ...CONTRIBUTIONS,
  SNIPPETS,
  ["events", "author_id", "id"],
  ...USER_REFERENCES.filter(([table]) => table !== "import_source_users"),
];

const ALL: readonly Part[] = [...OWN, ...SHARED, ["award_emoji", "user_id", "id"]];

/**
 * Gives what a source user did, and their memberships, to the user who has agreed, in batches, between which others can
 * write. A later call goes on where this one stopped. In the end the placeholder is deleted.
 *
 * @param now epoch milliseconds
 * @throws what the signal was aborted with
 */
export async function reassign(
  store: Store,
  id: number,
  now: number,
  signal?: AbortSignal,
): Promise<void> {
  for (;;) {
    const found = await sourceUsers.find(store.reader(), id);
    if (found?.status !== "reassignment_in_progress") return;
    const { placeholder_user_id: from, reassign_to_user_id: to } = found;
    if (to === null) {
      const reassignment_error = "The user was deleted";
      await store.transaction((db) =>
        sourceUsers.move(db, id, [found.status], { status: "failed", reassignment_error }, now),
      );
      return;
    }
    if (from !== null) await handOver(store, from, to, signal);
    await admit(store, found, to, now);
    // What an import has written meanwhile is handed over, too.
    if (await store.transaction((db) => complete(db, found, now))) return;
  }
}

async function handOver(
  store: Store,
  from: number,
  to: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const part of OWN) await handPart(store, part, [from], to, { signal });
  for (const part of SHARED) {
    await inBatches(store, (db, batch) => handShared(db, part, { from, to }, batch), { signal });
    await removePart(store, part, placeholders([from]), signal);
  }
  await inBatches(store, (db, batch) => handAwards(db, from, to, batch), { signal });
}

/** Hands at most so many rows on of which the other has no such one, and returns how many. */
function handShared(
  db: Database,
  [table, owner, key]: Part,
  { from, to }: { readonly from: number; readonly to: number },
  batch: number,
) {
  return db.run(
    `update ${table} set ${owner} = ? where ${owner} = ? and ${key} in (
       select t.${key} from ${table} t where t.${owner} = ?
         and not exists (select 1 from ${table} o where o.${owner} = ? and o.${key} = t.${key}) limit ?)`,
    [to, from, from, to, batch],
  );
}

/** Makes the user a member where the source user was one, unless they have as high a role there. */
async function admit(
  store: Store,
  { id, reassigned_by_user_id }: sourceUsers.SourceUser,
  userId: number,
  now: number,
): Promise<void> {
  const today = dayOf(now);
  for (;;) {
    const isDone = await store.transaction(async (db) => {
      const [row] = await db.rows(
        `delete from placeholder_members where id = (
           select min(id) from placeholder_members where source_user_id = ?)
         returning namespace_id, project_id, access_level, expires_at`,
        [id],
      );
      if (!row) return true;
      const [group, project, level, expires_at] = row;
      const kind = project === null ? "group" : "project";
      const viewer = viewerOf(userId, today);
      const place = (project ?? group) as number;
      const source = (await sourcesById(db, kind, [place], viewer)).get(place);
      const access_level = level as number;
      const isOver = expires_at !== null && (expires_at as string) <= today;
      const needsNone = !source || hasAsMuch(source, access_level);
      if (isOver || needsNone || source.visibility <= BEING_DELETED) return false;
      if (await members.find(db, source, userId)) return false;
      const by = await actorOf(db, reassigned_by_user_id);
      const membership = { access_level, expires_at: expires_at as string | null };
      await enroll({ db, source, by, now }, userId, membership);
      return false;
    });
    if (isDone) return;
  }
}

/** Somebody, by what memberships let them do. */
const viewerOf = (id: number, today: string): Viewer => ({
  caller: {
    ...{ id, username: "", admin: false, external: false },
    ...{ scopes: [], by: { kind: "host" } },
  },
  today,
});

async function actorOf(db: Database, userId: number | null): Promise<Actor> {
  const [row] = await db.rows("select username from users where id = ?", [userId]);
  return { id: row ? userId : null, name: String(row?.[0] ?? "operator"), ip: "" };
}

/** Ends a reassignment and deletes the placeholder, unless it has something again. @returns whether it has ended */
async function complete(
  db: Database,
  { id, status, placeholder_user_id: from }: sourceUsers.SourceUser,
  now: number,
): Promise<boolean> {
  if (from !== null && !(await areFew(db, ALL, placeholders([from]), 0))) return false;
  await sourceUsers.move(db, id, [status], { status: "completed", reassignment_error: null }, now);
  if (from !== null) await remove(db, from, now);
  return true;
}
