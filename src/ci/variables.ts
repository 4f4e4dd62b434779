import type { Findings } from "./findings.ts";
import { KEYWORDS } from "./keywords.ts";
import type { JobVariable, Lookup, Variable } from "./types.ts";
import { isList, isMapping, type Value } from "./values.ts";

/** Reads `variables`. */
export function readVariables(
  value: Value | undefined,
  at: string,
  findings: Findings,
  { areGlobal = false } = {},
): ReadonlyMap<string, JobVariable> {
  const variables = new Map<string, JobVariable>();
  if (value === undefined || value === null) return variables;
  if (!isMapping(value)) {
    findings.error(at, "config should be a hash");
    return variables;
  }
  const keys = areGlobal ? KEYWORDS["variables of all jobs"] : KEYWORDS.variables;
  for (const [key, one] of value) {
    const variable = readVariable(key, one, `${at}:${key}`, findings, keys);
    if (variable) variables.set(key, variable);
  }
  return variables;
}

function readVariable(
  key: string,
  value: Value,
  at: string,
  findings: Findings,
  keys: readonly string[],
): JobVariable | undefined {
  if (value === null) return { key, value: "", expand: true };
  if (typeof value !== "object") return { key, value: String(value), expand: true };
  if (!isMapping(value)) {
    return findings.error(at, "variable definition must be either a string or a hash");
  }
  const invalid = [...value.keys()].filter((name) => !keys.includes(name));
  if (invalid.length > 0) {
    return findings.error(at, `config uses invalid data keys: ${invalid.join(", ")}`);
  }
  const text = value.get("value") ?? "";
  const expand = value.get("expand") ?? true;
  const options = value.get("options");
  if (typeof text === "object") return findings.error(at, "config value must be a scalar");
  if (typeof expand !== "boolean") {
    return findings.error(at, "config expand should be a boolean value");
  }
  if (isList(options) && !options.some((option) => String(option) === String(text))) {
    return findings.error(at, "config value must be present in options");
  }
  return { key, value: String(text), expand };
}

/** Values of variables by name, in layers: earlier layers override later ones. Nothing is copied. */
export class Values implements Lookup {
  readonly #layers: readonly ReadonlyMap<string, string | Variable>[];

  constructor(...layers: readonly ReadonlyMap<string, string | Variable>[]) {
    this.#layers = layers;
  }

  get(name: string): string | undefined {
    for (const layer of this.#layers) {
      const found = layer.get(name);
      if (found !== undefined) return typeof found === "string" ? found : found.value;
    }
    return undefined;
  }
}

/** Variables by key; of equal keys, the last one counts. */
export function byKey(variables: Iterable<Variable>): ReadonlyMap<string, Variable> {
  const map = new Map<string, Variable>();
  for (const variable of variables) map.set(variable.key, variable);
  return map;
}

/** Maximum length of a text in which variables were replaced, in characters. */
const MAX_LENGTH = 64 * 1024;
const NAME = /\$(?:\$|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})/g;

/**
 * Replaces `$NAME` and `${NAME}` by the values of variables, and `$$` by a dollar. Values are put in as they are: names in
 * them are not replaced in turn.
 *
 * @param keepUnknown leaves unknown names as they are; otherwise nothing is put in their place
 * @returns the text, which ends after 64 KiB of values
 */
export function expandVariables(
  text: string,
  values: Lookup,
  { keepUnknown = false } = {},
): string {
  if (!text.includes("$")) return text;
  let length = 0;
  return text.replace(NAME, (whole, name, braced) => {
    if (whole === "$$") return keepUnknown ? whole : "$";
    const value = values.get(name ?? braced) ?? (keepUnknown ? whole : "");
    length += value.length;
    return length > MAX_LENGTH ? "" : value;
  });
}
