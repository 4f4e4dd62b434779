import { type Viewer, visibleIssues } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { type Page, pageOf, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, presenter } from "../../core/presenter.ts";
import type { Reader } from "../../store/port.ts";
import type { Milestone } from "./queries.ts";

/** Something that burndown charts show. */
export const burndownEvent = presenter({
  created_at: field.instant("b.created_at"),
  weight: field.integer("b.weight"),
  action: field.text("b.action"),
});

const DAY = 86_400_000;

/**
 * When the issues of a milestone that the viewer can read were created, closed and reopened, up to the day it is due, in that
 * order; nothing of a milestone that does not say when it starts and is due.
 */
export async function burndown(
  db: Reader,
  shown: Presenter,
  page: Page,
  viewer: Viewer,
  { id, start_date: start, due_date: due }: Pick<Milestone, "id" | "start_date" | "due_date">,
): Promise<RowPage> {
  if (start === null || due === null) return pageOf(page, 0, async () => []);
  const visible = visibleIssues(viewer);
  const end = Date.parse(due) + DAY;
  const some = `join projects p on p.id = i.project_id where i.milestone_id = ? and ${visible.sql}`;
  const values = [id, ...visible.values, end];
  return paginate(db, shown, page, {
    from: `(
      select i.created_at, i.weight, 'created' as action, i.id as issue_id, 0 as event_id from issues i ${some}
        and i.created_at < ?
      union all
      select e.created_at, i.weight, e.state, i.id, e.id from issues i
        join resource_state_events e on e.issue_id = i.id ${some} and e.created_at < ?
        and e.state in ('closed', 'reopened')
    ) as b`,
    values: [...values, ...values],
    order: "b.created_at, b.issue_id, b.event_id",
  });
}
