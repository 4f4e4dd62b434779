import type { Value } from "./port.ts";

/** Maximum different non-ASCII letters compared without case: each takes one more pass over the searched text. */
const FOLDED = 16;

/**
 * The condition that one of the columns contains a text, ignoring case. `lower` folds ASCII letters on both engines. Of
 * other letters the first 16 different ones in the text are folded; any further ones must match exactly. `instr` is
 * used because it compares memory, unlike `like`: see docs/decisions/0012.
 *
 * @param text not empty, of bounded length
 */
export function contains(
  columns: readonly string[],
  text: string,
): { sql: string; values: Value[] } {
  const pairs = new Map<string, string>();
  let folded = "";
  for (const letter of text) {
    const pair = casesOf(letter);
    const isFolded = pair && (pairs.has(pair.lower) || pairs.size < FOLDED);
    if (isFolded) pairs.set(pair.lower, pair.upper);
    folded += isFolded ? pair.lower : letter <= "\x7f" ? letter.toLowerCase() : letter;
  }
  const replaced = [...pairs].flatMap(([lower, upper]) => [upper, lower]);
  const begin = "replace(".repeat(pairs.size);
  const end = ", ?, ?)".repeat(pairs.size);
  return {
    sql: `(${columns.map((column) => `instr(${begin}lower(${column})${end}, ?) > 0`).join(" or ")})`,
    values: columns.flatMap(() => [...replaced, folded]),
  };
}

/** Both cases of a non-ASCII letter with exactly one of each, unlike `ß` and the final `ς`. */
export function casesOf(letter: string): { lower: string; upper: string } | undefined {
  if (letter <= "\x7f") return undefined;
  const lower = letter.toLowerCase();
  const upper = lower.toUpperCase();
  const fits = letter === lower || letter === upper;
  const isOneEach = [...lower].length === 1 && [...upper].length === 1;
  const isPair = lower !== upper && upper.toLowerCase() === lower;
  return fits && isOneEach && isPair && upper > "\x7f" ? { lower, upper } : undefined;
}
