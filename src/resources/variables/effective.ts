import type { Secrets } from "../../core/secrets.ts";
import type { Reader } from "../../store/port.ts";
import { fits } from "../protected-refs/wildcards.ts";
import { EVERYWHERE, type VariableType } from "./queries.ts";
import { purposeOf } from "./table.ts";

/** A variable as a job gets it. */
export interface EffectiveVariable {
  readonly key: string;
  readonly value: string;
  readonly variable_type: VariableType;
  /** Whether its value must never appear in a trace. */
  readonly masked: boolean;
  /** Whether `$` in its value refers to no other variable. */
  readonly raw: boolean;
}

/** What a job runs for. */
export interface VariableUse {
  /** Whether the job's branch or tag is protected: only then it gets protected variables. */
  readonly isProtected: boolean;
  /** The name of the job's environment. */
  readonly environment: string | undefined;
}

interface Candidate {
  key: string;
  value: string;
  purpose: string;
  variable_type: VariableType;
  masked: number;
  raw: number;
  environment_scope: string;
  id: number;
  /** How far above the project its owner is: 0 for the project itself. */
  distance: number;
}

const COLUMNS = `v.id, v.key, v.value, ${purposeOf("v.")} as purpose, v.variable_type, v.masked, v.raw,
  v.environment_scope`;

/** Farther than any group above a project. */
const INSTANCE = 1_000_000;

/**
 * The variables that a project, the groups above it and the instance give to a job, in one statement. Of several with the
 * same key the nearest owner's counts, and of that owner's the one whose scope fits the environment most closely.
 *
 * @returns by key, sorted
 * @throws SecretKeyError if a value can't be decrypted
 */
export async function variablesFor(
  db: Reader,
  secrets: Pick<Secrets, "open">,
  project: { readonly id: number; readonly namespaceId: number },
  { isProtected, environment }: VariableUse,
): Promise<EffectiveVariable[]> {
  const unprotected = isProtected ? "" : " and v.protected = 0";
  // A job without an environment gets only what is for all of them.
  const anywhere = environment === undefined ? ` and v.environment_scope = '${EVERYWHERE}'` : "";
  const of = (distance: string, from: string, where: string) =>
    `select ${COLUMNS}, ${distance} as distance from ${from} where ${where}${unprotected}${anywhere}`;
  const found = await db.all<Candidate>(
    [
      of("0", "ci_variables v", "v.project_id = ?"),
      of(
        "a.depth + 1",
        "namespace_ancestors a join ci_variables v on v.namespace_id = a.ancestor_id",
        "a.namespace_id = ?",
      ),
      of(String(INSTANCE), "ci_variables v", "v.project_id is null and v.namespace_id is null"),
    ].join(" union all "),
    [project.id, project.namespaceId],
  );
  const best = new Map<string, Candidate>();
  for (const one of found) {
    if (environment !== undefined && !fits(one.environment_scope, environment)) continue;
    const other = best.get(one.key);
    if (!other || isCloser(one, other, environment)) best.set(one.key, one);
  }
  return [...best.values()]
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ key, value, purpose, variable_type, masked, raw }) => ({
      key,
      value: secrets.open(value, purpose),
      variable_type,
      masked: masked === 1,
      raw: raw === 1,
    }));
}

/**
 * The values of all variables of a project, the groups above it and the instance that must never be shown.
 *
 * @throws SecretKeyError if a value can't be decrypted
 */
export async function maskedValues(
  db: Reader,
  secrets: Pick<Secrets, "open">,
  project: { readonly id: number; readonly namespaceId: number },
): Promise<string[]> {
  const of = (from: string, where: string) =>
    `select v.value, ${purposeOf("v.")} from ${from} where v.masked = 1 and ${where}`;
  const found = await db.rows(
    [
      of("ci_variables v", "v.project_id = ?"),
      of(
        "namespace_ancestors a join ci_variables v on v.namespace_id = a.ancestor_id",
        "a.namespace_id = ?",
      ),
      of("ci_variables v", "v.project_id is null and v.namespace_id is null"),
    ].join(" union all "),
    [project.id, project.namespaceId],
  );
  return found.map(([value, purpose]) => secrets.open(value as string, purpose as string));
}

/** Whether a variable counts rather than another one with the same key. */
function isCloser(one: Candidate, other: Candidate, environment: string | undefined): boolean {
  if (one.distance !== other.distance) return one.distance < other.distance;
  const closeness = ({ environment_scope: scope }: Candidate) =>
    scope === EVERYWHERE ? 0 : scope === environment ? Number.MAX_SAFE_INTEGER : scope.length;
  const [mine, others] = [closeness(one), closeness(other)];
  return mine === others ? one.id > other.id : mine > others;
}
