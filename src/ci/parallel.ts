import { Entry } from "./entry.ts";
import type { Findings } from "./findings.ts";
import { KEYWORDS } from "./keywords.ts";
import { isList, isMapping, type Mapping, type Value } from "./values.ts";

/** Maximum number of jobs that one job becomes. */
const MAX_PARALLEL = 200;

/** One of the jobs that `parallel` makes of one: what its name ends in, and its variables. */
export interface Instance {
  readonly suffix: string;
  readonly variables: ReadonlyMap<string, string>;
}

/** Reads `parallel`. */
export function readParallel(
  value: Value,
  at: string,
  findings: Findings,
  { isBridge = false } = {},
): readonly Instance[] | undefined {
  if (typeof value === "number") {
    if (isBridge) return findings.error(at, 'config cannot use "parallel: <number>".');
    return readNumber(value, at, findings);
  }
  if (!isMapping(value)) return findings.error(at, "should be an integer or a hash");
  const entry = new Entry(value, at, findings);
  entry.allow(KEYWORDS.parallel);
  const matrix = entry.get("matrix");
  if (matrix === undefined) return entry.error("config missing required keys: matrix");
  const rows = readMatrix(matrix, `${at}:matrix`, findings);
  return rows && instancesOf(rows, `${at}:matrix`, findings);
}

function readNumber(value: number, at: string, findings: Findings) {
  if (!Number.isInteger(value)) return findings.error(at, "config must be an integer");
  if (value < 1) return findings.error(at, "config must be greater than or equal to 1");
  if (value > MAX_PARALLEL) {
    return findings.error(at, `config must be less than or equal to ${MAX_PARALLEL}`);
  }
  return Array.from({ length: value }, (_, index) => ({
    suffix: ` ${index + 1}/${value}`,
    variables: new Map<string, string>(),
  }));
}

/** Reads the variables of a matrix: each row stands for all combinations of its values. */
export function readMatrix(
  value: Value,
  at: string,
  findings: Findings,
): readonly ReadonlyMap<string, readonly string[]>[] | undefined {
  if (!isList(value) || !value.every(isMapping)) {
    return findings.error(at, "config should be an array of hashes");
  }
  const rows = value.map((row) => readRow(row));
  if (rows.every((row) => row !== undefined)) return rows;
  return findings.error(
    `${at}:variables`,
    "config should be a hash of key value pairs, value can be an array",
  );
}

function readRow(row: Mapping): ReadonlyMap<string, readonly string[]> | undefined {
  const values = new Map<string, readonly string[]>();
  for (const [key, value] of row) {
    const list = isList(value) ? value.flat() : [value];
    if (list.length === 0 || list.some((one) => one === null || typeof one === "object")) {
      return undefined;
    }
    values.set(key, list.map(String));
  }
  return values.size > 0 ? values : undefined;
}

function instancesOf(
  rows: readonly ReadonlyMap<string, readonly string[]>[],
  at: string,
  findings: Findings,
): readonly Instance[] | undefined {
  let count = 0;
  for (const row of rows) {
    let product = 1;
    for (const values of row.values()) product *= values.length;
    count += product;
  }
  if (count > MAX_PARALLEL) {
    return findings.error(at, `config generates too many jobs (maximum is ${MAX_PARALLEL})`);
  }
  return rows.flatMap(combinationsOf).map((variables) => ({
    suffix: `: [${[...variables.values()].join(", ")}]`,
    variables,
  }));
}

function combinationsOf(row: ReadonlyMap<string, readonly string[]>) {
  let combinations: ReadonlyMap<string, string>[] = [new Map()];
  for (const [key, values] of row) {
    combinations = combinations.flatMap((one) =>
      values.map((value) => new Map([...one, [key, value]])),
    );
  }
  return combinations;
}
