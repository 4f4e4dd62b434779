import type { Database, Reader } from "../../store/port.ts";

/** What an epic has besides what issues have, as it is stored. */
export interface Details {
  readonly color: string | null;
  readonly start_date_fixed: string | null;
  readonly start_date_is_fixed: number;
  readonly due_date_fixed: string | null;
  readonly due_date_is_fixed: number;
}

/** Those of an epic that was given none. */
export const NO_DETAILS: Details = {
  color: null,
  start_date_fixed: null,
  start_date_is_fixed: 0,
  due_date_fixed: null,
  due_date_is_fixed: 0,
};

/** What an epic has besides what issues have. */
export async function detailsOf(db: Reader, id: number): Promise<Details> {
  const found = await db.one<Details>(
    `select color, start_date_fixed, start_date_is_fixed, due_date_fixed, due_date_is_fixed
     from epic_details where issue_id = ?`,
    [id],
  );
  return found ?? NO_DETAILS;
}

/** Stores what an epic has besides what issues have. */
export async function replaceDetails(db: Database, id: number, details: Details): Promise<void> {
  const { color, start_date_fixed, start_date_is_fixed, due_date_fixed, due_date_is_fixed } =
    details;
  await db.run(
    `insert into epic_details
       (issue_id, color, start_date_fixed, start_date_is_fixed, due_date_fixed, due_date_is_fixed)
     values (?, ?, ?, ?, ?, ?)
     on conflict (issue_id) do update set color = excluded.color,
       start_date_fixed = excluded.start_date_fixed, start_date_is_fixed = excluded.start_date_is_fixed,
       due_date_fixed = excluded.due_date_fixed, due_date_is_fixed = excluded.due_date_is_fixed`,
    [id, color, start_date_fixed, start_date_is_fixed, due_date_fixed, due_date_is_fixed],
  );
}
