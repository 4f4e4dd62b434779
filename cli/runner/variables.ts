import type { JobVariable } from "./payload.ts";

/** How deep variables refer to each other. */
const MOST_LEVELS = 10;
/** Characters of a value with others in place. */
const MOST_LENGTH = 1024 * 1024;
const NAME = /\$(?:\$|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})/g;

/** Replaces `$NAME` and `${NAME}` in a text; what there is not becomes nothing. */
export function expand(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(NAME, (whole, name, braced) =>
    whole === "$$" ? "$" : (values.get(name ?? braced) ?? ""),
  );
}

/**
 * The values of a job's variables, in which those of others are in place. Of equal keys, the last one counts.
 *
 * @param own what the runner itself says
 */
export function valuesOf(
  variables: readonly JobVariable[],
  own: Readonly<Record<string, string>>,
): Map<string, string> {
  const last = new Map(variables.map((one) => [one.key, one]));
  const values = new Map([
    ...variables.map(({ key, value }) => [key, value] as const),
    ...Object.entries(own),
  ]);
  for (let level = 0; level < MOST_LEVELS; level += 1) {
    let hasChanged = false;
    for (const [key, value] of values) {
      const variable = last.get(key);
      if (!variable || variable.raw || variable.file || !value.includes("$")) continue;
      // A variable that names itself would grow for ever.
      const others = new Map(values).set(key, "");
      const expanded = expand(value, others).slice(0, MOST_LENGTH);
      hasChanged ||= expanded !== value;
      values.set(key, expanded);
    }
    if (!hasChanged) break;
  }
  return values;
}
