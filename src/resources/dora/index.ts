import type { Source } from "../../core/access/source.ts";
import { badRequest } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { Json, type Resource, routes } from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import { among, belowGroup, type Condition, when } from "../../store/conditions.ts";
import type { Reader, Value } from "../../store/port.ts";
import { TIERS } from "../ci/environment-names.ts";
import { migrations } from "./table.ts";

const DAY = 86_400_000;
/** Days that a request may be about, at most. */
const MOST_DAYS = 180;
/** Months before the end, unless the request says when it starts. */
const MONTHS = 3;

const METRICS = [
  "deployment_frequency",
  "lead_time_for_changes",
  "time_to_restore_service",
  "change_failure_rate",
] as const;
const INTERVALS = ["daily", "monthly", "all"] as const;

const input = {
  metric: param.choice(METRICS),
  start_date: param.optional(param.date()),
  end_date: param.optional(param.date()),
  interval: param.optional(param.choice(INTERVALS)),
  environment_tiers: param.optional(param.arrayOf(param.choice(TIERS))),
};
type Asked = param.Input<typeof input>;

/** A part of the time that is asked about, from one instant up to another one. */
interface Span {
  readonly date: string | null;
  readonly from: number;
  readonly to: number;
}

const startOf = (day: string) => Date.parse(`${day}T00:00:00Z`);

/** @throws ApiError 400 */
function spansOf({ start_date, end_date, interval = "daily" }: Asked, now: number): Span[] {
  const last = startOf(end_date ?? dayOf(now));
  const before = new Date(last);
  before.setUTCMonth(before.getUTCMonth() - MONTHS);
  const first = start_date === undefined ? before.getTime() : startOf(start_date);
  if (first > last) throw badRequest("The start date must be earlier than the end date.");
  if (last - first >= MOST_DAYS * DAY) {
    throw badRequest(`Date range must be shorter than ${MOST_DAYS} days.`);
  }
  const end = last + DAY;
  if (interval === "all") return [{ date: null, from: first, to: end }];
  const spans: Span[] = [];
  for (let from = first; from < end; ) {
    const at = new Date(from);
    const next =
      interval === "daily" ? from + DAY : Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1);
    const month = `${dayOf(from).slice(0, 7)}-01`;
    const to = Math.min(next, end);
    spans.push({ date: interval === "daily" ? dayOf(from) : month, from, to });
    from = to;
  }
  return spans;
}

/** What metrics are counted from: rows with an instant, and how long something took until then, in milliseconds. */
interface Counted {
  /** Joins of projects `p`, with the condition that the instant is in the time between two values. */
  readonly sql: string;
  readonly at: string;
  readonly took: string;
  /** What follows the two values. */
  readonly values: readonly Value[];
}

const isWithin = (column: string) =>
  `${column} >= cast(? as bigint) and ${column} < cast(? as bigint)`;

function deployments(tiers: readonly string[], more = "", took = "0"): Counted {
  const ofTiers = among("en.tier", tiers);
  const at = "dp.finished_at";
  return {
    sql: `join deployments dp on dp.project_id = p.id and dp.status = 'success' and ${isWithin(at)}
       join environments en on en.id = dp.environment_id and ${ofTiers.sql} ${more}`,
    at,
    took,
    values: ofTiers.values,
  };
}

function incidents(column: "created_at" | "closed_at"): Counted {
  const at = `i.${column}`;
  const ended = column === "closed_at" ? "and i.state = 'closed'" : "";
  return {
    sql: `join issues i on i.project_id = p.id and i.issue_type = 'incident' ${ended} and ${isWithin(at)}`,
    at,
    took: "i.closed_at - i.created_at",
    values: [],
  };
}

const MERGED = `join deployed_merge_requests dm on dm.deployment_id = dp.id
  join merge_requests mr on mr.id = dm.merge_request_id and mr.merged_at is not null`;

/** The rows of all spans, which follow one another, as `from_at`, the start of the row's span, and `took`. */
function rowsIn(place: Condition, spans: readonly Span[], counted: Counted): Condition {
  const [first, last] = [spans[0] as Span, spans.at(-1) as Span];
  const starts = spans.slice(1).reverse();
  const cases = starts.map(() => `when ${counted.at} >= cast(? as bigint) then cast(? as bigint)`);
  const start = `cast(? as bigint)`;
  return {
    sql: `with counted as (
      select ${cases.length === 0 ? start : `case ${cases.join(" ")} else ${start} end`} as from_at, ${counted.took} as took
      from projects p ${counted.sql} where ${place.sql} and p.visibility > -1)`,
    values: [
      ...starts.flatMap(({ from }) => [from, from]),
      ...[first.from, first.from, last.to],
      ...counted.values,
      ...place.values,
    ],
  };
}

type BySpan = ReadonlyMap<number, number>;

const bySpan = (rows: readonly (readonly unknown[])[]): BySpan =>
  new Map(rows.map(([from, value]) => [Number(from), Number(value)]));

async function countIn(db: Reader, { sql, values }: Condition): Promise<BySpan> {
  return bySpan(
    await db.rows(`${sql} select from_at, count(*) from counted group by from_at`, values),
  );
}

/** The median of each span, in seconds. */
async function medianIn(db: Reader, { sql, values }: Condition): Promise<BySpan> {
  const rows = await db.rows(
    `${sql}, ranked as (select from_at, took, row_number() over (partition by from_at order by took) as place,
       count(*) over (partition by from_at) as many from counted)
     select from_at, avg(cast(took as double precision)) / 1000 from ranked
     where place in ((many + 1) / 2, (many + 2) / 2) group by from_at`,
    values,
  );
  return bySpan(rows);
}

/** A metric's value of each span that has one; `null` if there is nothing to divide by. */
async function valuesOf(
  db: Reader,
  source: Pick<Source, "kind" | "id">,
  { metric, environment_tiers: tiers = ["production"] }: Asked,
  spans: readonly Span[],
): Promise<ReadonlyMap<number, number | null>> {
  const place =
    source.kind === "group"
      ? belowGroup("p.namespace_id", source.id)
      : (when("p.id = ?", source.id) as Condition);
  const rows = (counted: Counted) => rowsIn(place, spans, counted);
  if (metric === "deployment_frequency") return countIn(db, rows(deployments(tiers)));
  if (metric === "lead_time_for_changes") {
    return medianIn(db, rows(deployments(tiers, MERGED, "dp.finished_at - mr.merged_at")));
  }
  if (metric === "time_to_restore_service") return medianIn(db, rows(incidents("closed_at")));
  const deployed = await countIn(db, rows(deployments(tiers)));
  const broken = await countIn(db, rows(incidents("created_at")));
  return new Map(
    [...new Set([...deployed.keys(), ...broken.keys()])].map((from) => {
      const count = deployed.get(from);
      return [from, count === undefined ? null : (broken.get(from) ?? 0) / count];
    }),
  );
}

/** DORA metrics, from deployments, merge requests and incidents. */
export const doraResource: Resource = {
  name: "DORA metrics",
  migrations,
  routes: (["project", "group"] as const).map((kind) =>
    routes({ source: kind, path: "/dora" }).get("/metrics", {
      role: "reporter",
      tier: "ultimate",
      summary: `Get a DORA metric of a ${kind}: of the days or months that have one, or of all the time`,
      input,
      examples: [[{ date: "2026-12-01", value: 0.25 }], [{ date: null, value: null }]],
      handle: async ({ db, source, input: asked, now }) => {
        const spans = spansOf(asked, now);
        const values = await valuesOf(db, source, asked, spans);
        const isWhole = asked.interval === "all";
        return new Json(
          spans
            .filter(({ from }) => isWhole || values.has(from))
            .map(({ date, from }) => ({ date, value: values.get(from) ?? null })),
        );
      },
    }),
  ),
};
