import { badRequest, invalid } from "../../core/errors.ts";
import type { Expression } from "../../core/expressions.ts";
import type { Reader } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { newestFirst, type OldTag } from "./queries.ts";

/** Which tags are cleaned up. */
export interface Wanted {
  readonly name_regex?: string | undefined;
  readonly name_regex_delete?: string | undefined;
  readonly name_regex_keep?: string | undefined;
  readonly keep_n?: number | undefined;
  readonly older_than?: string | undefined;
}

const SECOND = 1000;
/** Milliseconds of each unit of time, by the first letters of its name. */
const UNITS = {
  s: SECOND,
  m: 60 * SECOND,
  h: 3600 * SECOND,
  d: 86_400 * SECOND,
  w: 7 * 86_400 * SECOND,
  mo: 30 * 86_400 * SECOND,
  y: 365 * 86_400 * SECOND,
} as const;
const AGE =
  /^(\d{1,6}) ?(?:(mo)(?:nths?)?|(s)(?:ec(?:ond)?s?)?|(m)(?:in(?:ute)?s?)?|(h)(?:ours?)?|(d)(?:ays?)?|(w)(?:eeks?)?|(y)(?:ears?)?)$/;

/** An age such as `1h`, `2d` or `1month` in milliseconds; `undefined` if it is none. */
export function readAge(text: string): number | undefined {
  const [, number, ...units] = AGE.exec(text.trim()) ?? [];
  const unit = units.find((one) => one !== undefined) as keyof typeof UNITS | undefined;
  return unit && Number(number) * UNITS[unit];
}

/** A regular expression that has to fit all of a name. @throws ApiError 400 */
async function wholeExpression(name: string, text: string): Promise<Expression> {
  const { readExpression } = await import("../../core/expressions.ts");
  const expression = readExpression(text) && readExpression(`\\A(?:${text})\\z`);
  if (!expression) throw invalid({ [name]: ["is an invalid regexp"] });
  return expression;
}

/**
 * The tags of a repository that are to be cleaned up, as GitLab chooses them: of those whose name fits, without `latest` and
 * what is kept by its name, the newest `keep_n` stay, and those that are not old enough.
 *
 * @param now epoch milliseconds
 * @throws ApiError 400 for a regular expression that is none
 */
export async function chosenTags(
  db: Reader,
  repositoryId: number,
  wanted: Wanted,
  now: number,
  budget: Budget,
): Promise<OldTag[]> {
  const { name_regex, name_regex_delete = name_regex, name_regex_keep, older_than } = wanted;
  if (!name_regex_delete) {
    throw badRequest("name_regex_delete, name_regex are missing, at least one must be provided");
  }
  const fitting = await wholeExpression("name_regex_delete", name_regex_delete);
  const keeping = name_regex_keep
    ? await wholeExpression("name_regex_keep", name_regex_keep)
    : undefined;
  const before = older_than === undefined ? now : now - (readAge(older_than) as number);
  const chosen: OldTag[] = [];
  for (const one of await newestFirst(db, repositoryId)) {
    if (budget.isDue) await budget.pause();
    if (one.name === "latest" || !fitting.fits(one.name)) continue;
    if (!keeping?.fits(one.name)) chosen.push(one);
  }
  return chosen
    .slice(wanted.keep_n ?? 0)
    .filter(({ pushed_at }) => older_than === undefined || pushed_at < before);
}
