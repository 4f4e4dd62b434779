import { STEPS, type Steps } from "../turns/pace.ts";
import { Entry, flatten, given } from "./entry.ts";
import { readCondition } from "./expressions.ts";
import type { Findings } from "./findings.ts";
import { KEYWORDS } from "./keywords.ts";
import { readNeeds, readNeedsElsewhere } from "./needs.ts";
import type { AutoCancel, Existing, Expression, Rule, When } from "./types.ts";
import { isMapping, type Value } from "./values.ts";
import { readVariables } from "./variables.ts";

const WEEK = 7 * 24 * 3600;

/** What rules of a kind may contain. */
export interface RuleKind {
  readonly keys: readonly string[];
  readonly when: readonly string[];
}

/** What `rules` of a job may contain. */
export const JOB_RULES: RuleKind = {
  keys: KEYWORDS.rules,
  when: ["on_success", "on_failure", "always", "never", "manual", "delayed"],
};

/** What `workflow:rules` may contain. */
export const WORKFLOW_RULES: RuleKind = {
  keys: KEYWORDS["workflow:rules"],
  when: ["always", "never"],
};

/** What `include:rules` may contain. */
export const INCLUDE_RULES: RuleKind = {
  keys: KEYWORDS["include:rules"],
  when: ["always", "never"],
};

/** Maximum number of rules in a list, and of conditions in `only` and `except`. */
export const MAX_RULES = 500;
/** Maximum number of globs in `changes` or `exists`. */
const MAX_GLOBS = 50;

/** Reads `rules`. */
export function* readRules(
  value: Value,
  at: string,
  findings: Findings,
  kind: RuleKind,
): Steps<readonly Rule[]> {
  const rules = flatten(value, isMapping);
  const parent = at.slice(0, at.lastIndexOf(":"));
  if (!rules) {
    findings.error(parent, "rules should be an array containing hashes and arrays of hashes");
    return [];
  }
  if (rules.length > MAX_RULES) {
    findings.error(parent, `rules are too many (maximum is ${MAX_RULES})`);
    return [];
  }
  const read: Rule[] = [];
  for (const rule of rules) {
    read.push(readRule(new Entry(rule, `${at}:rule`, findings), kind));
    yield STEPS;
  }
  return read;
}

function readRule(entry: Entry, kind: RuleKind): Rule {
  entry.allow(kind.keys);
  const when = entry.get("when");
  if (when !== undefined && !kind.when.includes(String(when))) {
    entry.errorOf("when", `unknown value: ${String(when)}`);
  }
  const needs = entry.get("needs");
  if (
    needs !== undefined &&
    readNeedsElsewhere(needs, entry.at("needs"), entry.findings).length > 0
  ) {
    entry.errorIn("needs", "of other projects and pipelines can't be used in rules");
  }
  const variables = entry.get("variables");
  const autoCancel = entry.child("auto_cancel");
  return given({
    if: readIf(entry),
    changes: readChanges(entry),
    exists: readExists(entry),
    when: when as When | "never" | undefined,
    startIn: readStart(entry, when === "delayed"),
    allowFailure: entry.boolean("allow_failure"),
    interruptible: entry.boolean("interruptible"),
    variables:
      variables === undefined
        ? undefined
        : readVariables(variables, entry.at("variables"), entry.findings),
    needs: needs === undefined ? undefined : readNeeds(needs, entry.at("needs"), entry.findings),
    autoCancel: autoCancel && readAutoCancel(autoCancel),
  });
}

const ON_NEW_COMMIT = ["conservative", "interruptible", "none"] as const;
const ON_JOB_FAILURE = ["all", "none"] as const;

/** Reads `auto_cancel`. */
export function readAutoCancel(entry: Entry): AutoCancel {
  entry.allow(KEYWORDS["workflow:auto_cancel"]);
  return given({
    onNewCommit: entry.word(
      "on_new_commit",
      ON_NEW_COMMIT,
      `must be one of: ${ON_NEW_COMMIT.join(", ")}`,
    ),
    onJobFailure: entry.word(
      "on_job_failure",
      ON_JOB_FAILURE,
      `must be one of: ${ON_JOB_FAILURE.join(", ")}`,
    ),
  });
}

function readIf(entry: Entry): Expression | undefined {
  const text = entry.get("if");
  if (text === undefined) return undefined;
  const condition = typeof text === "string" ? readCondition(text) : undefined;
  return condition ?? entry.errorOf("if", "invalid expression syntax");
}

function readStart(entry: Entry, isDelayed: boolean): number | undefined {
  if (isDelayed && entry.get("start_in") === undefined)
    return entry.errorOf("start_in", "can't be blank");
  if (isDelayed) return entry.duration("start_in", WEEK);
  if (!entry.mapping.has("start_in")) return undefined;
  return entry.error("config contains disallowed keys: start_in");
}

function readChanges(entry: Entry): Rule["changes"] {
  const value = entry.get("changes");
  if (!isMapping(value)) {
    const paths = readGlobs(entry, "changes");
    return paths && { paths };
  }
  const changes = new Entry(value, entry.at("changes"), entry.findings);
  changes.allow(KEYWORDS["rules:changes"]);
  const paths = readGlobs(changes, "paths");
  const compareTo = changes.text("compare_to");
  if (value.get("paths") === undefined) changes.error("config missing required keys: paths");
  return paths && { paths, ...(compareTo !== undefined && { compareTo }) };
}

function readExists(entry: Entry): Existing | undefined {
  const value = entry.get("exists");
  if (!isMapping(value)) {
    const paths = readGlobs(entry, "exists");
    return paths && { paths };
  }
  const exists = new Entry(value, entry.at("exists"), entry.findings);
  exists.allow(KEYWORDS["rules:exists"]);
  const project = exists.text("project");
  const ref = exists.text("ref");
  if (ref !== undefined && project === undefined) {
    exists.error("config ref requires project");
  }
  const paths = readGlobs(exists, "paths");
  return paths && { paths, ...given({ project, ref }) };
}

function readGlobs(entry: Entry, key: string): readonly string[] | undefined {
  const globs = entry.strings(key);
  if (globs && globs.length > MAX_GLOBS) {
    return entry.errorOf(key, `is too long (maximum is ${MAX_GLOBS} entries)`);
  }
  return globs;
}
