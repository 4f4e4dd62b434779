import * as v from "valibot";
import { closest, flagOption, OptionError, optionsOf, textOption } from "../../core/options.ts";
import type { AllChanges, ChangedRecord, UpdatedRecord } from "./changes.ts";
import { kinds } from "./kinds.ts";

/** What is expected of a record that was created or deleted: those attributes that are given. */
export interface ExpectedRecord {
  /** Its kind, such as `issue`. */
  type?: string | undefined;
  /** What names it, such as `acme/site#3`. */
  path?: string | undefined;
  /** Attributes, of which others may be missing, also within them; texts and records of a list in any order. */
  record?: Record<string, unknown> | undefined;
}

/** What is expected of a record that was changed. */
export interface ExpectedUpdate {
  type?: string | undefined;
  /** As it was before or is after. */
  path?: string | undefined;
  /** Attributes before and after. */
  changes?: Record<string, unknown> | undefined;
  /** Of a branch or tag. */
  from?: string | undefined;
  to?: string | undefined;
  /** Of a branch: the commits that it has got. */
  commits?: Record<string, unknown>[] | undefined;
}

/** What is expected to have changed. */
export interface Expectation {
  /** The snapshot to compare with. Default: the seed. */
  since?: string | undefined;
  /** Whether nothing else may have changed. Default: it may. */
  only?: boolean | undefined;
  created?: readonly ExpectedRecord[] | undefined;
  updated?: readonly ExpectedUpdate[] | undefined;
  deleted?: readonly ExpectedRecord[] | undefined;
}

/** Whether what has changed is what was expected, and else how it differs, in plain words. */
export interface Verdict {
  ok: boolean;
  differences: string[];
}

/** The most expectations of a kind. */
const MOST = 1000;
const listOf = <Item>(item: v.GenericSchema<unknown, Item>) =>
  v.optional(
    v.pipe(
      v.array(item, "must be a list"),
      v.maxLength(MOST, `can't have more than ${MOST} items`),
    ),
  );

const attributes = v.optional(v.record(v.string(), v.unknown(), "must be an object of attributes"));
const expectedRecord = optionsOf({
  type: v.optional(textOption),
  path: v.optional(textOption),
  record: attributes,
});

/** The schema of {@link Expectation}. */
export const expectationOption = optionsOf({
  since: v.optional(textOption),
  only: flagOption,
  created: listOf(expectedRecord),
  updated: listOf(
    optionsOf({
      type: v.optional(textOption),
      path: v.optional(textOption),
      changes: attributes,
      from: v.optional(textOption),
      to: v.optional(textOption),
      commits: listOf(v.record(v.string(), v.unknown(), "must be an object")),
    }),
  ),
  deleted: listOf(expectedRecord),
});

/** @throws OptionError if a type is none */
export function checkTypes(
  where: string,
  { created = [], updated = [], deleted = [] }: Expectation,
): void {
  const types = [...new Set(kinds.map(({ type }) => type))];
  for (const { type } of [...created, ...updated, ...deleted]) {
    if (type === undefined || types.includes(type)) continue;
    const near = closest(type, types);
    const meant = near === undefined ? "" : `. Did you mean ${near}?`;
    throw new OptionError(where, "type", `can't be ${type}${meant} There are ${types.join(", ")}`);
  }
}

/** Judges changes. */
export function judge(changes: AllChanges, expected: Expectation): Verdict {
  const differences = [
    ...judgeAll(
      "created",
      changes.created,
      expected.created ?? [],
      recordMismatches,
      expected.only,
    ),
    ...judgeAll(
      "updated",
      changes.updated,
      expected.updated ?? [],
      updateMismatches,
      expected.only,
    ),
    ...judgeAll(
      "deleted",
      changes.deleted,
      expected.deleted ?? [],
      recordMismatches,
      expected.only,
    ),
  ];
  return { ok: differences.length === 0, differences };
}

/** What an actual change is named by. */
interface Named {
  readonly type: string;
  readonly path: string;
  readonly formerPath: string;
  readonly follows: boolean;
}

type How = "created" | "updated" | "deleted";

/** How an actual change differs from an expected one; `isOnly`: also by what was not expected of it. */
type Mismatches<Expected, Actual> = (
  expected: Expected,
  actual: Actual,
  isOnly: boolean,
) => string[];

function judgeAll<Expected extends ExpectedRecord | ExpectedUpdate, Actual extends Named>(
  how: How,
  actual: readonly Actual[],
  expected: readonly Expected[],
  mismatches: Mismatches<Expected, Actual>,
  only = false,
): string[] {
  const fitting = expected.map((one) =>
    actual.filter(
      (candidate) => isNamed(one, candidate) && mismatches(one, candidate, only).length === 0,
    ),
  );
  const met = matched(fitting);
  const left = new Set(actual.filter((one) => !met.has(one)));
  const places = new Set(met.values());
  const unmet = expected.filter((_, at) => !places.has(at));
  const differences = unmet.flatMap((one) => {
    const candidates = [...left].filter((candidate) => isNamed(one, candidate));
    const [nearest] = candidates
      .map((candidate) => ({ candidate, found: mismatches(one, candidate, only) }))
      .sort((a, b) => a.found.length - b.found.length);
    if (!nearest) return [missing(how, one, [...left])];
    left.delete(nearest.candidate);
    return nearest.found;
  });
  if (!only) return differences;
  const unexpected = [...left].filter(({ follows }) => !follows);
  return [
    ...differences,
    ...unexpected.map((one) => `${one.path}: ${one.type} was ${how}, which is not expected`),
  ];
}

/**
 * Gives as many expectations as possible a change of their own, of those that fit them.
 *
 * @returns the places of the expectations, by their changes
 */
function matched<Actual extends Named>(
  fitting: readonly (readonly Actual[])[],
): Map<Actual, number> {
  const taken = new Map<Actual, number>();
  const take = (place: number, tried: Set<Actual>): boolean => {
    // What has not come by itself is explained first.
    const candidates = [...(fitting[place] as readonly Actual[])].sort(
      (a, b) => Number(a.follows) - Number(b.follows),
    );
    for (const candidate of candidates) {
      if (tried.has(candidate)) continue;
      tried.add(candidate);
      const other = taken.get(candidate);
      if (other !== undefined && !take(other, tried)) continue;
      taken.set(candidate, place);
      return true;
    }
    return false;
  };
  for (const place of fitting.keys()) take(place, new Set());
  return taken;
}

function isNamed({ type, path }: ExpectedRecord | ExpectedUpdate, actual: Named): boolean {
  return (
    (type === undefined || type === actual.type) &&
    (path === undefined || path === actual.path || path === actual.formerPath)
  );
}

function missing(
  how: How,
  { type, path }: ExpectedRecord | ExpectedUpdate,
  left: readonly Named[],
): string {
  const what = [type, path].filter((one) => one !== undefined).join(" ") || "record";
  const alike = left.filter((one) => type === undefined || one.type === type).slice(0, 5);
  const others = alike.map((one) => one.path).join(", ");
  return `${what}: expected to be ${how}, is not${others === "" ? "" : `; ${how} were ${others}`}`;
}

function recordMismatches(
  { record = {} }: ExpectedRecord,
  actual: ChangedRecord & Named,
): string[] {
  return mismatchesIn(record, actual.record, actual.path);
}

function updateMismatches(
  { changes, from, to, commits }: ExpectedUpdate,
  actual: UpdatedRecord & Named,
  isOnly: boolean,
): string[] {
  const { path } = actual;
  const found: string[] = [];
  for (const [name, expected] of Object.entries(changes ?? {})) {
    const pair = actual.changes[name];
    if (!Array.isArray(expected) || expected.length !== 2) {
      found.push(
        `${path}: ${name}: expected changes are pairs [before, after], not ${shown(expected)}`,
      );
    } else if (!pair)
      found.push(`${path}: ${name}: expected to change to ${shown(expected[1])}, is unchanged`);
    else {
      found.push(
        ...mismatchesIn(expected[0], pair[0], `${path}: ${name} before`),
        ...mismatchesIn(expected[1], pair[1], `${path}: ${name}`),
      );
    }
  }
  for (const [name, expected, is] of [
    ["from", from, actual.from],
    ["to", to, actual.to],
  ] as const) {
    if (expected !== undefined && expected !== is) {
      found.push(`${path}: ${name}: expected ${shown(expected)}, is ${shown(is)}`);
    }
  }
  if (commits !== undefined) {
    found.push(...mismatchesIn(commits, actual.commits ?? [], `${path}: commits`));
  }
  if (!isOnly || changes === undefined) return found;
  for (const [name, [was, is]] of Object.entries(actual.changes)) {
    if (name in changes || (name === "commit" && (to !== undefined || commits !== undefined)))
      continue;
    found.push(
      `${path}: ${name}: changed from ${shown(was)} to ${shown(is)}, which is not expected`,
    );
  }
  return found;
}

/** How a value differs from what is expected of it. */
function mismatchesIn(expected: unknown, actual: unknown, at: string): string[] {
  const differs = [`${at}: expected ${shown(expected)}, is ${shown(actual)}`];
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || expected.length !== actual.length) return differs;
    return areMatched(expected, actual) ? [] : differs;
  }
  if (typeof expected === "object" && expected !== null) {
    if (typeof actual !== "object" || actual === null || Array.isArray(actual)) return differs;
    return Object.entries(expected).flatMap(([name, value]) =>
      mismatchesIn(value, (actual as Record<string, unknown>)[name], `${at}: ${name}`),
    );
  }
  // A person or another record is named by what people call it.
  if (typeof expected === "string" && typeof actual === "object" && actual !== null) {
    return nameOf(actual as Record<string, unknown>) === expected ? [] : differs;
  }
  return expected === actual ? [] : differs;
}

/** Whether each expected value has an actual one of its own, in any order. */
function areMatched(expected: readonly unknown[], actual: readonly unknown[]): boolean {
  const left = [...actual];
  return expected.every((one) => {
    const at = left.findIndex((candidate) => mismatchesIn(one, candidate, "").length === 0);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}

function nameOf({ username, title, name, path }: Record<string, unknown>): unknown {
  return username ?? title ?? name ?? path;
}

const MOST_SHOWN = 300;

function shown(value: unknown): string {
  const text = JSON.stringify(named(value)) ?? "missing";
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}

/** Records in it by their names alone. */
function named(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(named);
  if (typeof value !== "object" || value === null) return value;
  const record = value as Record<string, unknown>;
  return "id" in record ? (nameOf(record) ?? record["id"]) : value;
}
