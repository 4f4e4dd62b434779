import type { Condition } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader } from "../../store/port.ts";
import type { IssuableType } from "./type.ts";

interface Label {
  readonly id: number;
  /** How far apart the ids of its first rows are: the fewer rows have it, the farther. */
  readonly span: number;
}

/** The condition that a row `alias` of `issue_labels` or `merge_request_labels` is of a label with a name. */
function named(alias: string): string {
  return `${alias}.label_id in (select id from labels where name = ?)`;
}

/** A query for the ids of the rows that have all of some labels, by their names: at least two different ones. */
export async function withAll(
  db: Reader,
  type: IssuableType,
  names: readonly string[],
): Promise<Condition> {
  const combinations = db.dialect === "sqlite" ? await combinationsOf(db, type, names) : [];
  if (combinations.length === 0) return withAllNames(type, names);
  const queries = combinations.map((labels) => withAllLabels(type, labels));
  if (queries.length === 1) return queries[0] as Condition;
  return {
    sql: `select distinct id from (${queries.map(({ sql }) => `select id from (${sql})`).join(" union all ")})`,
    values: queries.flatMap(({ values }) => values),
  };
}

/** Names of which each may be that of many labels. */
function withAllNames({ column, prefix }: IssuableType, names: readonly string[]): Condition {
  const others = names
    .slice(1)
    .map(
      () =>
        ` and exists (select 1 from ${prefix}_labels y where y.${column} = x.${column} and ${named("y")})`,
    );
  return {
    sql: `select distinct ${column} as id from ${prefix}_labels x where ${named("x")}${others.join("")}`,
    values: [...names],
  };
}

/** With more combinations of labels, each of which is looked up, all rows of the first name are looked at instead. */
const MOST_COMBINATIONS = 4;
/** Rows with all labels of so many names are looked up. */
const MOST_NAMES = 8;
/** How many of a label's rows show how far apart they are. */
const SAMPLE = 1000;
/** If the rows of a label are so many times as far apart as those of another, looking at each is faster than merging. */
const FAR_APART = 4;

/** The labels to look up together: one of each name. None if these are too many. */
async function combinationsOf(
  db: Reader,
  { column, prefix }: IssuableType,
  names: readonly string[],
): Promise<Label[][]> {
  if (names.length > MOST_NAMES) return [];
  const rows = `select ${column} from ${prefix}_labels where label_id = l.id order by ${column} limit 1`;
  const among = placeholders(names);
  // If there are more labels, these alone make too many combinations, or none.
  const most = names.length + MOST_COMBINATIONS;
  const found = await db.rows(
    `select l.name, l.id, (${rows} offset ${SAMPLE}) - (${rows}) from labels l where l.name in (${among.sql}) limit ${most}`,
    among.values,
  );
  const combinations = names.reduce<Label[][]>(
    (begun, name) => {
      const labels = found
        .filter(([of]) => of === name)
        .map(([, id, span]) => ({ id: id as number, span: (span as number | null) ?? Infinity }));
      return begun.flatMap((chosen) => labels.map((label) => [...chosen, label]));
    },
    [[]],
  );
  return combinations.length > MOST_COMBINATIONS ? [] : combinations;
}

/**
 * The rows of each label are in the order of their ids in its index, so they are merged, unless one label has so few that
 * the others are looked for in each of them.
 */
function withAllLabels({ column, prefix }: IssuableType, labels: readonly Label[]): Condition {
  const sorted = [...labels].sort((one, other) => (one.span < other.span ? 1 : -1));
  const values = sorted.map(({ id }) => id);
  const least = sorted.at(-1) as Label;
  if ((sorted[0] as Label).span <= FAR_APART * least.span) {
    const ofLabel = `select ${column} as id from ${prefix}_labels where label_id = ?`;
    return { sql: `${sorted.map(() => ofLabel).join(" intersect ")} order by id`, values };
  }
  const others = sorted
    .slice(1)
    .map(
      () =>
        ` and exists (select 1 from ${prefix}_labels y where y.${column} = x.${column} and y.label_id = ?)`,
    );
  return {
    sql: `select x.${column} as id from ${prefix}_labels x where x.label_id = ?${others.join("")}`,
    values,
  };
}
