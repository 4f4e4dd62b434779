import { linesOf } from "./mentions.ts";

/** An issue that a text refers to, such as `#1`, `group/project#1` or the address of its page. */
export interface IssueReference {
  /** The path of its project, or the path's last part, as written; `undefined` for the project of the text. */
  readonly project: string | undefined;
  readonly iid: number;
  /** Whether the text says that it closes the issue, as in `Closes #1`. */
  readonly closes: boolean;
}

/** How many issues one record can refer to. */
const MAX_REFERENCES = 100;
/** How many numbers are looked at, since the same one may be repeated. */
const MAX_NUMBERS = 1000;
/** The most characters of a project's path. */
const MAX_PATH = 1000;

const NUMBER = /(?:#|\/issues\/)(\d{1,9})(?!\w)/g;
const PATH_CHARACTER = /[\w./-]/;
const PATH_PART = /^\w[\w.-]*$/;
/** GitLab's words before the first issue they close. */
const CLOSING =
  /(?<![\w-])(?:[Cc]los(?:e[sd]?|ing)|[Ff]ix(?:e[sd]|ing)?|[Rr]esolv(?:e[sd]?|ing)|[Ii]mplement(?:s|ed|ing)?):? {1,5}(?:issues? {1,5})?$/;
/** The most characters that {@link CLOSING} and {@link BETWEEN} need. */
const NEAR = 60;
/** What stands between two issues closed by the same word. */
const BETWEEN = /^(?:,? {1,5}and {1,5}| {0,5},? {0,5})(?:issues? {1,5})?$/;

/** Characters of the addresses of pages. */
const URL_CHARACTER = /[\w./:%[\]-]/;

/** Whether a text or a line of it may refer to an issue. */
const isRelevant = (part: string) => part.includes("#") || part.includes("/issues/");

/**
 * Returns the issues that texts refer to, each once, at most a hundred, found among the first thousand numbers. References
 * in Markdown code do not count. Takes time linear in the length of the texts.
 *
 * @param base the server's public address: pages below it are known. Default: none
 */
export function issuesIn(
  texts: readonly (string | null | undefined)[],
  base?: string,
): IssueReference[] {
  const found = new Map<string, IssueReference>();
  let numbers = 0;
  for (const text of texts) {
    for (const line of linesOf(text, isRelevant)) {
      for (const reference of referencesIn(line, base)) {
        numbers += 1;
        if (numbers > MAX_NUMBERS) return [...found.values()];
        if (!reference) continue;
        const { project, iid, closes } = reference;
        const key = `${project?.toLowerCase() ?? ""}#${iid}`;
        const before = found.get(key);
        if (!before && found.size === MAX_REFERENCES) return [...found.values()];
        found.set(key, { ...reference, closes: closes || before?.closes === true });
      }
    }
  }
  return [...found.values()];
}

/** The reference at each number of a line, or `undefined` if it is none. */
function* referencesIn(
  line: string,
  base: string | undefined,
): Generator<IssueReference | undefined> {
  let previous = { end: 0, closes: false };
  for (const match of line.matchAll(NUMBER)) {
    const [written, digits] = match;
    const at = match.index;
    const isUrl = written.startsWith("/");
    const character = isUrl ? URL_CHARACTER : PATH_CHARACTER;
    // What belongs to one reference belongs to no other, so this takes linear time.
    let start = at;
    while (start > previous.end && character.test(line[start - 1] as string)) start -= 1;
    const between = line.slice(previous.end, Math.min(start, previous.end + NEAR));
    const closes =
      CLOSING.test(line.slice(Math.max(0, start - NEAR), start)) ||
      (previous.closes && start <= previous.end + NEAR && BETWEEN.test(between));
    previous = { end: at + written.length, closes };
    const path = line.slice(start, at);
    const project = isUrl ? pathBelow(base, path) : path;
    const isEntity = !isUrl && path === "" && /[#&]/.test(line[start - 1] ?? "");
    if (isEntity || project === undefined || !(isPath(project) || path === "")) yield undefined;
    else yield { project: project || undefined, iid: Number(digits), closes };
  }
}

const isPath = (text: string) =>
  text.length <= MAX_PATH && text.split("/").every((part) => PATH_PART.test(part));

/** The path of a project by the address of its page; `undefined` if it is none of this server. */
function pathBelow(base: string | undefined, address: string): string | undefined {
  if (base === undefined || !address.startsWith(`${base}/`)) return undefined;
  return address.slice(base.length + 1).replace(/\/-$/, "");
}
