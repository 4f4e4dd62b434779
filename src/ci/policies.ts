import { Entry } from "./entry.ts";
import { readCondition } from "./expressions.ts";
import type { Findings } from "./findings.ts";
import { isPattern, readPattern } from "./patterns.ts";
import type { Policy } from "./types.ts";
import { isList, isMapping, type Value } from "./values.ts";

const REFS_MESSAGE = "should be an array of strings or regular expressions using re2 syntax";

/** Reads `only` or `except`. */
export function readPolicy(value: Value, at: string, findings: Findings): Policy | undefined {
  if (isList(value)) {
    if (areRefs(value)) return { refs: value };
    return findings.error(at, `config ${REFS_MESSAGE}`);
  }
  if (!isMapping(value)) {
    return findings.error(at, "has to be either an array of conditions or a hash");
  }
  const entry = new Entry(value, at, findings);
  entry.allow(["refs", "kubernetes", "variables", "changes"]);
  if (value.size === 0) entry.error("config can't be blank");
  const refs = entry.get("refs");
  if (refs !== undefined && !areRefs(refs)) entry.errorOf("refs", REFS_MESSAGE);
  const kubernetes = entry.get("kubernetes");
  if (kubernetes !== undefined && kubernetes !== "active") {
    entry.errorOf("kubernetes", `unknown value: ${String(kubernetes)}`);
  }
  const variables = readExpressions(entry);
  const changes = entry.strings("changes");
  return {
    ...(refs !== undefined && areRefs(refs) && { refs }),
    ...(variables && { variables }),
    ...(changes && { changes }),
    ...(kubernetes !== undefined && { kubernetes: true }),
  };
}

function readExpressions(entry: Entry): Policy["variables"] {
  const read = entry.strings("variables")?.map((text) => {
    const expression = readCondition(text);
    return expression && { text, expression };
  });
  if (read?.every((one) => one !== undefined)) return read;
  return read && entry.errorOf("variables", "invalid expression syntax");
}

function areRefs(value: Value): value is readonly string[] {
  return isList(value) && value.every(isRef);
}

function isRef(value: Value): value is string {
  if (typeof value !== "string") return false;
  const { pattern } = splitRef(value);
  return !isPattern(pattern) || readPattern(pattern) !== undefined;
}

/** The name or regular expression of a ref in a policy, and the project after `@`. */
export function splitRef(ref: string): { pattern: string; project: string | undefined } {
  const [, pattern = ref, project] = /^(\/.*\/[ismU]*|[^@]*)(?:@(.*))?$/s.exec(ref) ?? [];
  return { pattern, project };
}
