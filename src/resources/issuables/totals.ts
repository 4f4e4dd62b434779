import {
  allConfidential,
  isKnownAs,
  usesFeature,
  type Viewer,
  visibleMergeRequests,
} from "../../core/access/visibility.ts";
import { PAGE_LIMITS } from "../../core/pagination.ts";
import { all, any, type Condition } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader } from "../../store/port.ts";
import type { Filtering, FilterValues } from "./filter.ts";
import type { IssuableType } from "./type.ts";

/** Of more labels of one name, in all projects, the counts of the others are not looked up. */
const MOST_LABELS = 100;
/** Of all projects, the caller may see none that have counts: no more of these are read. */
const MOST_COUNTS = 200;

/** The states of each type, which are part of what `label_counts` counts: see labels/table.ts. */
const STATES = {
  issue: ["opened", "closed"],
  merge_request: ["opened", "closed", "locked", "merged"],
} as const;

/**
 * A query for how many rows a list has that is filtered by a single label and at most by state, from the stored counts of
 * labels (docs/decisions/0032). It reads them until one label has more rows than any list counts. It finds `null` where
 * they do not tell: if there are fewer, and a row may have two labels of this name, the caller may see more rows than are
 * counted, or not all counts were read.
 *
 * @param projects the condition on `c.project_id` and projects `p` under which the list contains their rows
 */
export function labelledTotal(
  { dialect }: Pick<Reader, "dialect">,
  { type, viewer, values, isWithin }: Filtering,
  { not }: { readonly not?: FilterValues | undefined },
  projects: Condition,
): Condition | undefined {
  const { state, labels, scope, ...others } = values;
  const name = Array.isArray(labels) && new Set(labels).size === 1 ? labels[0] : undefined;
  const isFiltered =
    not !== undefined ||
    (scope !== undefined && scope !== "all") ||
    Object.values(others).some((value) => value !== undefined);
  // PostgreSQL has increments: the first ones alone tell nothing.
  const isReadable = isWithin || dialect === "sqlite";
  if (!isReadable || name === undefined || isFiltered) return undefined;
  const words = type.prefix.replace("_", " ");
  const kinds = (state === undefined ? STATES[type.prefix] : [state as string]).flatMap((one) => [
    `${one} ${words}`,
    `confidential ${one} ${words}`,
  ]);
  const among = placeholders(kinds);
  const visible = all([
    projects,
    { sql: `c.kind in (${among.sql})`, values: among.values },
    visibleCounts(type, viewer),
  ]);
  const stored = isWithin ? "label_counts" : "first_counts";
  const counts = `${stored} c join projects p on p.id = c.project_id
    where c.label_id in (select id from named) and ${visible.sql}`;
  const firstCounts = `, first_counts as (select label_id, project_id, kind, count from label_counts
    where label_id in (select id from named) order by label_id, project_id, kind limit ${MOST_COUNTS + 1})`;
  const areAll = isWithin ? "" : `and (select count(*) from first_counts) <= ${MOST_COUNTS}`;
  const many = `select total from (
      select sum(c.count) over (partition by c.label_id order by c.project_id, c.kind) as total from ${counts}
    ) as summed where total > ${PAGE_LIMITS.countedTotal} limit 1`;
  const exact = `select case when (select count(*) from named) <= ${MOST_LABELS} and max(labels) = 1 ${areAll} then sum(count) end
    from (select count(distinct c.label_id) as labels, sum(c.count) as count from ${counts}
      group by c.project_id, c.kind) as counted`;
  const isExact = viewer.caller === undefined || isKnownAs("reporter", viewer);
  return {
    sql: `with named as (select id from labels where name = ? limit ${MOST_LABELS + 1})${isWithin ? "" : firstCounts}
      select ${isExact ? `coalesce((${many}), (${exact}))` : `(${many})`}`,
    values: [name, ...visible.values, ...(isExact ? visible.values : [])],
  };
}

/** The condition under which the caller may read all rows that a row `c` of `label_counts` counts. */
function visibleCounts({ prefix }: IssuableType, viewer: Viewer): Condition {
  if (prefix === "merge_request") return visibleMergeRequests(viewer);
  return all([
    usesFeature(viewer, "issues"),
    any([{ sql: "c.kind not like 'confidential%'", values: [] }, allConfidential(viewer)]),
  ]);
}
