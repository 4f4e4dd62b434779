/** How many people one message can mention. */
const MAX_NAMES = 100;
/** Maximum length of a name, in characters. */
const MAX_NAME_LENGTH = 255;

/**
 * `@` and a user name or the path of a group, outside of addresses, paths and longer words. {@link trimmed} cuts trailing
 * dots, dashes and slashes.
 */
const NAME = new RegExp(
  `(?<![\\w@./-])@([a-z0-9_][a-z0-9_./-]{0,${MAX_NAME_LENGTH - 1}})(?![a-z0-9_./-])`,
  "gi",
);
/** The opening fence of a code block. After a fence of backticks, the rest of the line has no backticks. */
const OPENING = /^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$/;
const CLOSING = /^ {0,3}(`{3,}|~{3,})\s*$/;

/**
 * Returns the user names and paths of groups that texts mention: in lower case, without duplicates, at most a hundred.
 * Names in Markdown code, fenced or inline, do not count. Takes time linear in the length of the texts.
 */
export function mentionsIn(texts: readonly (string | null | undefined)[]): string[] {
  const names = new Set<string>();
  for (const text of texts) {
    for (const line of linesOf(text, (part) => part.includes("@"))) {
      for (const [, name] of line.matchAll(NAME)) {
        names.add(trimmed(name as string).toLowerCase());
        if (names.size === MAX_NAMES) return [...names];
      }
    }
  }
  return [...names];
}

/**
 * The lines of a Markdown text that are worth a look, without code, fenced or inline.
 *
 * @param isRelevant says of a text or a line whether it may be
 */
export function* linesOf(
  text: string | null | undefined,
  isRelevant: (part: string) => boolean,
): Generator<string> {
  if (!text || !isRelevant(text)) return;
  for (const { line, isCode } of markedLines(text)) {
    if (!isCode && isRelevant(line)) yield withoutEscapes(withoutCode(line));
  }
}

/** The lines of a Markdown text, each with whether it belongs to a fenced block of code. */
export function* markedLines(text: string): Generator<{ line: string; isCode: boolean }> {
  let fence: string | undefined;
  for (const line of text.split("\n")) {
    if (fence !== undefined) {
      if (CLOSING.exec(line)?.[1]?.startsWith(fence)) fence = undefined;
      yield { line, isCode: true };
      continue;
    }
    const [, backticks, tildes] = OPENING.exec(line) ?? [];
    fence = backticks ?? tildes;
    yield { line, isCode: fence !== undefined };
  }
}

/** Removes inline code from a line: everything between two runs of equally many backticks. */
function withoutCode(line: string): string {
  if (!line.includes("`")) return line;
  const runs = [...line.matchAll(/`+/g)];
  const next = new Map<number, number>();
  const closing = new Array<number | undefined>(runs.length);
  for (let index = runs.length - 1; index >= 0; index -= 1) {
    const length = (runs[index]?.[0] ?? "").length;
    closing[index] = next.get(length);
    next.set(length, index);
  }
  const prose: string[] = [];
  let end = 0;
  for (let index = 0; index < runs.length; index += 1) {
    const last = closing[index];
    if (last === undefined) continue;
    prose.push(line.slice(end, runs[index]?.index));
    end = (runs[last]?.index ?? 0) + (runs[last]?.[0] ?? "").length;
    index = last;
  }
  prose.push(line.slice(end));
  return prose.join(" ");
}

/** Takes away the characters of references that a backslash escapes, and the backslashes of others. */
function withoutEscapes(line: string): string {
  return line.includes("\\")
    ? line.replace(/\\([!-/:-@[-`{-~])/g, (_, escaped: string) =>
        "#!$@~%&".includes(escaped) ? " " : escaped,
      )
    : line;
}

function trimmed(name: string): string {
  let end = name.length;
  while (end > 1 && /[./-]/.test(name[end - 1] as string)) end -= 1;
  return name.slice(0, end);
}
