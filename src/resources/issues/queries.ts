import { randomInt } from "node:crypto";
import { NOT_DELETED_MILESTONE } from "../../core/access/visibility.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader } from "../../store/port.ts";
import { ISSUE } from "../issuables/issue.ts";
import { NEW_POSITION, positionOfNext } from "../issuables/positions.ts";
import { countOneMore, nextNumber } from "../issuables/queries.ts";

/** An issue to insert. */
export interface NewIssue {
  project_id: number;
  author_id: number | null;
  title: string;
  description?: string | null | undefined;
  confidential?: boolean | undefined;
  discussion_locked?: boolean | undefined;
  weight?: number | null | undefined;
  due_date?: string | null | undefined;
  milestone_id?: number | null | undefined;
}

/** Adds an issue with its project's next number. */
export async function insert(
  db: Database,
  issue: NewIssue,
  now: number,
): Promise<{ id: number; iid: number }> {
  const iid = await nextNumber(db, ISSUE, issue.project_id);
  const position = await positionOfNext(db);
  const id = await insertAs(db, { iid, position }, issue, now);
  if (position === null) {
    await db.run(`update issues set relative_position = ${NEW_POSITION} where id = ?`, [id]);
  }
  return { id, iid };
}

/**
 * Adds an issue and returns its id. On PostgreSQL it gets its project's next number only at the end of the transaction,
 * so that other transactions that add issues do not wait for the rest of this one.
 */
export async function insertUnnumbered(
  db: Database,
  issue: NewIssue,
  now: number,
): Promise<number> {
  if (db.dialect === "sqlite") return (await insert(db, issue, now)).id;
  // Until then it has a random negative number, which no other transaction sees.
  const placeholder = { iid: -randomInt(1, 2 ** 47), position: null };
  const id = await insertAs(db, placeholder, issue, now);
  db.last(COUNT_ONE_MORE, [issue.project_id]);
  db.last(
    `update issues set iid = (select issue_count from projects where id = ?), relative_position = ${NEW_POSITION}
     where id = ?`,
    [issue.project_id, id],
  );
  return id;
}

const COUNT_ONE_MORE = countOneMore(ISSUE);

function insertAs(
  db: Database,
  { iid, position }: { iid: number; position: number | null },
  issue: NewIssue,
  now: number,
): Promise<number> {
  return insertRow(db, "issues", {
    iid,
    relative_position: position,
    project_id: issue.project_id,
    author_id: issue.author_id,
    title: issue.title,
    description: issue.description ?? null,
    confidential: issue.confidential ? 1 : 0,
    discussion_locked: issue.discussion_locked ? 1 : 0,
    weight: issue.weight ?? null,
    due_date: issue.due_date ?? null,
    milestone_id: issue.milestone_id ?? null,
    created_at: now,
    updated_at: now,
  });
}

/** The columns that moving an issue copies, besides those of `Issuable`. */
export interface Details {
  confidential: number;
  weight: number | null;
  due_date: string | null;
  milestone_title: string | null;
}

/** The details of an issue that exists. */
export async function details(db: Reader, id: number): Promise<Details> {
  const found = await db.one<Details>(
    `select i.confidential, i.weight, i.due_date, m.title as milestone_title
     from issues i left join milestones m on m.id = i.milestone_id and ${NOT_DELETED_MILESTONE} where i.id = ?`,
    [id],
  );
  return found as Details;
}

/** The id of an issue's project; 0 if there is no such issue. */
export async function projectIdOf(db: Reader, id: number): Promise<number> {
  const [row] = await db.rows("select project_id from issues where id = ?", [id]);
  return Number(row?.[0] ?? 0);
}
