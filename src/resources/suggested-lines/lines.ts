/** The lines of a text, each with its end. */
export const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** Lines that are changed, by their numbers from 1. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** What is in a range of lines. */
export const contentOf = (lines: readonly string[], { from, to }: Range): string =>
  lines.slice(from - 1, to).join("");
