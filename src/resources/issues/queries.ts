import { randomInt } from "node:crypto";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { KINDS, ofEach } from "../issuables/attributes.ts";
import { ISSUE } from "../issuables/issue.ts";
import { NEW_POSITION, positionOfNext } from "../issuables/positions.ts";
import { countOneMore, nextNumber } from "../issuables/queries.ts";

/** An issue to insert. */
export interface NewIssue {
  project_id: number;
  author_id: number | null;
  title: string;
  description?: string | null | undefined;
  milestone_id?: number | null | undefined;
  iteration_id?: number | undefined;
  /** The columns of its attributes. Default: they are empty. */
  columns?: Readonly<Record<string, Value>> | undefined;
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
 *
 * @param isNumberedNow whether it gets its number at once
 */
export async function insertUnnumbered(
  db: Database,
  issue: NewIssue,
  now: number,
  isNumberedNow = false,
): Promise<number> {
  if (isNumberedNow || db.dialect === "sqlite") return (await insert(db, issue, now)).id;
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
const EMPTY = ofEach("issue", ({ kind }) => KINDS[kind].empty);

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
    milestone_id: issue.milestone_id ?? null,
    iteration_id: issue.iteration_id ?? null,
    ...EMPTY,
    ...issue.columns,
    created_at: now,
    updated_at: now,
  });
}

/** The id of an issue's project; 0 if there is no such issue. */
export async function projectIdOf(db: Reader, id: number): Promise<number> {
  const [row] = await db.rows("select project_id from issues where id = ?", [id]);
  return Number(row?.[0] ?? 0);
}
