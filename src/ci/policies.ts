import { STEPS, type Steps } from "../turns/pace.ts";
import { Entry } from "./entry.ts";
import { readCondition } from "./expressions.ts";
import type { Findings } from "./findings.ts";
import { KEYWORDS } from "./keywords.ts";
import { isPattern, readPattern } from "./patterns.ts";
import { MAX_RULES } from "./rules.ts";
import type { Expression, Policy } from "./types.ts";
import { isList, isMapping, type Value } from "./values.ts";

const REFS_MESSAGE = "should be an array of strings or regular expressions using re2 syntax";

/** Reads `only` or `except`. */
export function* readPolicy(
  value: Value,
  at: string,
  findings: Findings,
): Steps<Policy | undefined> {
  if (isList(value)) {
    if (yield* areRefs(value)) return { refs: value as readonly string[] };
    return findings.error(at, `config ${REFS_MESSAGE}`);
  }
  if (!isMapping(value)) {
    return findings.error(at, "has to be either an array of conditions or a hash");
  }
  const entry = new Entry(value, at, findings);
  entry.allow(KEYWORDS["only, except"]);
  if (value.size === 0) entry.error("config can't be blank");
  const refs = entry.get("refs");
  const known = refs !== undefined && (yield* areRefs(refs)) ? refs : undefined;
  if (refs !== undefined && !known) entry.errorOf("refs", REFS_MESSAGE);
  const kubernetes = entry.get("kubernetes");
  if (kubernetes !== undefined && kubernetes !== "active") {
    entry.errorOf("kubernetes", `unknown value: ${String(kubernetes)}`);
  }
  const variables = yield* readExpressions(entry);
  const changes = entry.strings("changes");
  return {
    ...(known && { refs: known as readonly string[] }),
    ...(variables && { variables }),
    ...(changes && { changes }),
    ...(kubernetes !== undefined && { kubernetes: true }),
  };
}

function* readExpressions(entry: Entry): Steps<Policy["variables"]> {
  const texts = entry.strings("variables");
  if (!texts) return undefined;
  const read: { text: string; expression: Expression }[] = [];
  for (const text of texts) {
    const expression = texts.length > MAX_RULES ? undefined : readCondition(text);
    if (!expression) return entry.errorOf("variables", "invalid expression syntax");
    read.push({ text, expression });
    yield STEPS;
  }
  return read;
}

/** Whether a value is a list of refs, and not too long. */
function* areRefs(value: Value): Steps<boolean> {
  if (!isList(value) || value.length > MAX_RULES) return false;
  for (const one of value) {
    if (!isRef(one)) return false;
    yield STEPS;
  }
  return true;
}

function isRef(value: Value): boolean {
  if (typeof value !== "string") return false;
  const { pattern } = splitRef(value);
  return !isPattern(pattern) || readPattern(pattern) !== undefined;
}

/** The name or regular expression of a ref in a policy, and the project after `@`. */
export function splitRef(ref: string): { pattern: string; project: string | undefined } {
  const [, pattern = ref, project] = /^(\/.*\/[ismU]*|[^@]*)(?:@(.*))?$/s.exec(ref) ?? [];
  return { pattern, project };
}
