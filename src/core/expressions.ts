// The library is large, so this is loaded when the first regular expression is given.
import { RE2JS } from "re2js";

/** Maximum length of a regular expression in characters. */
const MAX_LENGTH = 1000;
/** Maximum number of steps that it is compiled to: matching costs that many for each character of a text. */
const MAX_STEPS = 2000;

const FLAGS: Readonly<Record<string, number>> = {
  i: RE2JS.CASE_INSENSITIVE,
  s: RE2JS.DOTALL,
  m: RE2JS.MULTILINE,
  U: 0,
};

/** A regular expression. */
export interface Expression {
  /** What comparing it with a character of a text costs at most, in steps: some ten nanoseconds each. */
  readonly steps: number;
  /** Whether a part of a text fits it. It takes time that grows with the text's length only. */
  fits(text: string): boolean;
  /** The last part of a text that fits it, or what its groups are there, with spaces between. As linear as {@link fits}. */
  last(text: string): string | undefined;
}

/**
 * Reads a regular expression of RE2, as GitLab has them: JavaScript's own can take exponential time.
 *
 * @param flags of `i`, `s`, `m` and `U`
 * @returns `undefined` if it is none, or too long
 */
export function readExpression(text: string, flags = ""): Expression | undefined {
  const bits = [...flags].map((letter) => FLAGS[letter]);
  if (text.length > MAX_LENGTH || bits.some((bit) => bit === undefined)) return undefined;
  try {
    const all = bits.reduce<number>((sum, bit) => sum | (bit as number), 0);
    const compiled = RE2JS.compile(text, all);
    const steps = compiled.programSize();
    if (steps > MAX_STEPS) return undefined;
    return {
      steps,
      fits: (one) => compiled.matcher(one).find(),
      last: (one) => lastOf(compiled, one),
    };
  } catch {
    return undefined;
  }
}

function lastOf(expression: RE2JS, text: string): string | undefined {
  const matcher = expression.matcher(text);
  let last: string | null = null;
  while (matcher.find()) {
    const groups = Array.from({ length: matcher.groupCount() }, (_, at) => at + 1);
    last = groups.length === 0 ? matcher.group() : groups.map((at) => matcher.group(at)).join(" ");
  }
  return last ?? undefined;
}
