import { type Heir, labelOwnerOf } from "../../core/access/owner.ts";
import {
  BEING_DELETED,
  NOT_DELETED_LABEL,
  NOT_DELETED_MILESTONE,
  OF_HOMES,
} from "../../core/access/visibility.ts";
import { inBatches } from "../../jobs/batches.ts";
import { roomLeft, SMALL } from "../../jobs/removal.ts";
import { aboveNamespace, belowGroup, type Condition } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as labels from "../labels/queries.ts";
import * as milestones from "../milestones/queries.ts";

/** A table whose rows name a label or milestone. */
export interface Naming {
  readonly table: string;
  /** The column with the id of the record that the row belongs to. */
  readonly of: string;
  /** How a record's rows are kept from naming the same twice: such a row is `linked` anew, or `unique`. */
  readonly once?: "linked" | "unique";
  /** The other columns of a row that is linked anew. */
  readonly columns?: readonly string[];
}

/** What names labels and milestones: those that a record has come first. */
interface Kind {
  readonly labels: readonly Naming[];
  readonly milestones: readonly Naming[];
}

const ISSUES: Kind = {
  labels: [
    {
      table: "issue_labels",
      of: "issue_id",
      once: "linked",
      columns: ["project_id", "open_position"],
    },
    { table: "resource_label_events", of: "issue_id" },
  ],
  milestones: [
    { table: "issues", of: "id" },
    { table: "resource_milestone_events", of: "issue_id" },
  ],
};

const MERGE_REQUESTS: Kind = {
  labels: [
    { table: "merge_request_labels", of: "merge_request_id", once: "linked" },
    { table: "resource_label_events", of: "merge_request_id" },
  ],
  milestones: [
    { table: "merge_requests", of: "id" },
    { table: "resource_milestone_events", of: "merge_request_id" },
  ],
};

const BOARDS: Kind = {
  labels: [{ table: "board_labels", of: "board_id", once: "linked" }],
  milestones: [{ table: "boards", of: "id" }],
};

const LISTS: Kind = {
  labels: [{ table: "board_lists", of: "board_id", once: "unique" }],
  milestones: [{ table: "board_lists", of: "board_id", once: "unique" }],
};

const RELEASES: Kind = {
  labels: [],
  milestones: [{ table: "release_milestones", of: "release_id", once: "linked" }],
};

/** All that names labels, and milestones. */
export const NAMINGS: Kind = {
  labels: [
    ...[ISSUES, MERGE_REQUESTS, BOARDS, LISTS].flatMap(({ labels: names }) => names),
    { table: "label_subscriptions", of: "user_id", once: "linked" },
  ],
  milestones: [ISSUES, MERGE_REQUESTS, BOARDS, LISTS, RELEASES].flatMap(
    ({ milestones: names }) => names,
  ),
};

/**
 * Gives boards, releases and, if they are few, issues and merge requests of a group or project its own labels and
 * milestones in place of those of groups it is no longer below: of the same name or title, which are made if it has none,
 * as GitLab does.
 *
 * @returns whether that was all: else {@link adoptAll} has to be called after the commit
 */
export async function adopt(db: Database, place: Heir, now: number): Promise<boolean> {
  const boards = ofPlace("boards", place);
  await adoptOf(db, place, BOARDS, boards, now);
  await adoptOf(db, place, LISTS, boards, now);
  const strange = outOfReach(place);
  await db.run(`delete from board_lists where board_id in (${boards.sql}) and ${strange.sql}`, [
    ...boards.values,
    ...strange.values,
  ]);
  if (place.column === "namespace_id") return true;
  await adoptOf(db, place, RELEASES, ofPlace("releases", place), now);
  const parts = ["issues", "merge_requests"].map((table) => [table, "project_id", "id"] as const);
  if ((await roomLeft(db, parts, placeholders([place.id]), SMALL)) < 0) return false;
  const issues = ofPlace("issues", place);
  await adoptOf(db, place, ISSUES, issues, now);
  await leaveIterations(db, place, issues);
  await adoptOf(db, place, MERGE_REQUESTS, ofPlace("merge_requests", place), now);
  return true;
}

/**
 * Does for all issues and merge requests of a project what {@link adopt} does, in batches. Doing it again changes nothing.
 *
 * @throws what the signal was aborted with
 */
export async function adoptAll(
  store: Store,
  place: Heir,
  now: number,
  signal: AbortSignal,
): Promise<void> {
  await adoptEach(store, place, { kind: ISSUES, table: "issues" }, now, signal);
  await adoptEach(store, place, { kind: MERGE_REQUESTS, table: "merge_requests" }, now, signal);
}

async function adoptEach(
  store: Store,
  place: Heir,
  { kind, table }: { kind: Kind; table: "issues" | "merge_requests" },
  now: number,
  signal: AbortSignal,
): Promise<void> {
  let done = 0;
  let reached = 0;
  const work = async (db: Database, batch: number) => {
    const found = await db.rows(
      `select iid from ${table} where project_id = ? and iid > ? order by iid limit ?`,
      [place.id, done, batch],
    );
    if (found.length === 0) return 0;
    reached = found.at(-1)?.[0] as number;
    const some = {
      sql: `select id from ${table} where project_id = ? and iid > ? and iid <= ?`,
      values: [place.id, done, reached],
    };
    await adoptOf(db, place, kind, some, now);
    if (table === "issues") await leaveIterations(db, place, some);
    return found.length;
  };
  // After the commit: a transaction that is done again begins with the same record.
  const onRemoved = () => {
    done = reached;
  };
  await inBatches(store, work, { onRemoved, signal });
}

/** A group with the groups and projects below it, at most `most`, without what is being deleted. */
export async function placesBelow(
  db: Reader,
  groupId: number,
  most = Number.MAX_SAFE_INTEGER,
): Promise<Heir[]> {
  const below = belowGroup("n.id", groupId);
  const found = await db.rows(
    `select 'namespace_id', n.id, n.id, 0 from namespaces n where ${below.sql} and n.visibility > ${BEING_DELETED}
     union all
     select 'project_id', p.id, p.namespace_id, case when p.visibility = ${OF_HOMES} then 1 else 0 end
     from projects p join namespaces n on n.id = p.namespace_id
     where ${below.sql} and p.visibility <> ${BEING_DELETED} limit ?`,
    [...below.values, ...below.values, most],
  );
  return found.map(
    ([column, id, namespaceId, isHome]) =>
      ({ column, id, namespaceId, ...(isHome === 1 && { isHome: true }) }) as Heir,
  );
}

/** The ids of all rows of a table that belong to a group or project. */
function ofPlace(table: string, { column, id }: Heir): Condition {
  return { sql: `select id from ${table} where ${column} = ?`, values: [id] };
}

/** @param some a query for the ids of the records whose labels and milestones are replaced */
async function adoptOf(
  db: Database,
  place: Heir,
  kind: Kind,
  some: Condition,
  now: number,
): Promise<void> {
  for (const label of await strangeLabels(db, place, kind, some)) {
    const { id, name } = label;
    const own = (await labels.findInherited(db, place, { name }))?.id;
    const to = own ?? (await labels.insert(db, labelOwnerOf(place), label, now));
    for (const naming of kind.labels) await rename(db, naming, "label_id", some, { from: id, to });
  }
  for (const milestone of await strangeMilestones(db, place, kind, some)) {
    const { id, title, state } = milestone;
    const own = (await milestones.findFor(db, place, { title }))?.id;
    const to = own ?? (await milestones.insert(db, place, milestone, now));
    if (own === undefined) await updateRow(db, "milestones", to, { state }, now);
    for (const naming of kind.milestones) {
      await rename(db, naming, "milestone_id", some, { from: id, to });
    }
  }
}

/** The condition that something is of an iteration that a place has not, and no group above it. */
function outOfReach({ namespaceId }: Heir): Condition {
  const { sql, values } = aboveNamespace("namespace_id", namespaceId);
  const above = `select id from iterations where ${sql}`;
  return { sql: `iteration_id is not null and iteration_id not in (${above})`, values };
}

/** Takes issues of a project out of iterations of groups that it is no longer below: those stay where they are. */
async function leaveIterations(
  db: Database,
  place: Heir,
  { sql, values }: Condition,
): Promise<void> {
  const strange = outOfReach(place);
  await db.run(`update issues set iteration_id = null where id in (${sql}) and ${strange.sql}`, [
    ...values,
    ...strange.values,
  ]);
}

/** The labels that records have and that belong to groups which the group or project is not below. */
async function strangeLabels(
  db: Reader,
  place: Heir,
  { labels: [first] }: Kind,
  some: Condition,
): Promise<(labels.NewLabel & { id: number })[]> {
  if (!first) return [];
  const above = aboveNamespace("l.namespace_id", place.namespaceId);
  return db.all(
    `select l.id, l.name, l.color, l.description, l.priority from labels l
     where l.id in (select label_id from ${first.table} where ${first.of} in (${some.sql}))
       and l.namespace_id is not null and not ${above.sql} and ${NOT_DELETED_LABEL} order by l.id`,
    [...some.values, ...above.values],
  );
}

interface StrangeMilestone {
  id: number;
  title: string;
  description: string | null;
  state: string;
  due_date: string | null;
  start_date: string | null;
}

/** The milestones that records have and that belong to groups which the group or project is not below. */
async function strangeMilestones(
  db: Reader,
  place: Heir,
  { milestones: [first] }: Kind,
  some: Condition,
): Promise<StrangeMilestone[]> {
  if (!first) return [];
  const above = aboveNamespace("m.namespace_id", place.namespaceId);
  return db.all<StrangeMilestone>(
    `select m.id, m.title, m.description, m.state, m.due_date, m.start_date from milestones m
     where m.id in (select milestone_id from ${first.table} where ${first.of} in (${some.sql}))
       and m.namespace_id is not null and not ${above.sql} and ${NOT_DELETED_MILESTONE} order by m.id`,
    [...some.values, ...above.values],
  );
}

/** Makes rows that name one label or milestone name another one. */
export async function rename(
  db: Database,
  { table, of, once, columns = [] }: Naming,
  column: "label_id" | "milestone_id",
  some: Condition,
  { from, to }: { from: number; to: number },
): Promise<void> {
  const chosen = `${column} = ? and ${of} in (${some.sql})`;
  const values = [from, ...some.values];
  if (once === undefined) {
    await db.run(`update ${table} set ${column} = ? where ${chosen}`, [to, ...values]);
    return;
  }
  if (once === "linked") {
    const kept = [of, ...columns].join(", ");
    await db.run(
      `insert into ${table} (${column}, ${kept}) select cast(? as bigint), ${kept} from ${table} where ${chosen}
       on conflict do nothing`,
      [to, ...values],
    );
  } else {
    await db.run(
      `update ${table} set ${column} = ? where ${chosen}
       and ${of} not in (select ${of} from ${table} where ${column} = ?)`,
      [to, ...values, to],
    );
  }
  await db.run(`delete from ${table} where ${chosen}`, values);
}
