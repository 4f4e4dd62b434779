import { ROLES } from "../../core/access/roles.ts";
import { invalid } from "../../core/errors.ts";
import * as param from "../../core/input.ts";

/** The access levels of rules; 0 stands for nobody, 60 for administrators. */
export const level = param.optional(param.oneOf([0, ROLES.developer, ROLES.maintainer, 60]));

const id = param.optional(param.clearable(param.integer()));

/** Who is to be let, as GitLab's lists have it: entries that are added, changed by their `id`, or removed. */
export const levels = param.optional(
  param.arrayOf(
    param.object({
      id,
      access_level: level,
      user_id: id,
      group_id: id,
      deploy_key_id: id,
      _destroy: param.optional(param.boolean()),
    }),
  ),
);

/** Who is to be let, as a request says it. */
interface Wanted {
  /** The name of the list. */
  readonly name: string;
  readonly list: param.Input<{ list: typeof levels }>["list"];
  /** The level that the request names by itself. */
  readonly level?: number | undefined;
}

/**
 * The access level that a rule gets. Rules have one for each thing that they are about: what can't be kept is refused, since
 * it may be what somebody relies on.
 *
 * @param now the level that the rule has, and its id; `undefined` for a new rule
 * @returns `undefined` if it stays, or is the default of a new rule; 0, nobody, if the last one is removed
 * @throws ApiError 400 for users, groups and deploy keys, several levels, and entries that the rule does not have
 */
export function levelFrom(
  { name, list = [], level: named }: Wanted,
  now?: { readonly id: number; readonly level: number },
): number | undefined {
  if (list.length === 0) return named;
  const problem = (text: string) => invalid({ [name]: [text] });
  let kept = now?.level;
  const added = new Set(named === undefined ? [] : [named]);
  for (const { id: known, access_level, user_id, group_id, deploy_key_id, _destroy } of list) {
    if ((user_id ?? group_id ?? deploy_key_id ?? null) !== null) {
      throw problem("can't have users, groups and deploy keys here, only one access level");
    }
    const isKnown = known !== undefined && known !== null;
    if (isKnown && known !== now?.id) throw problem(`has no entry with the id ${known}`);
    if (!isKnown && (_destroy || access_level === undefined)) {
      throw problem("needs an access_level, or the id of an entry, in each entry");
    }
    if (_destroy) kept = undefined;
    else if (!isKnown) added.add(access_level as number);
    else if (access_level !== undefined) kept = access_level;
  }
  const all = new Set([...added, ...(kept === undefined ? [] : [kept])]);
  if (all.size > 1) throw problem("can have only one access level: the others must be removed");
  const [only = 0] = all;
  return only;
}

/**
 * Checks who is to unprotect branches: it can't be anybody else than maintainers.
 *
 * @throws ApiError 400
 */
export function requireMaintainers(wanted: Wanted, ruleId?: number): void {
  const now = ruleId === undefined ? undefined : { id: ruleId, level: ROLES.maintainer };
  const asked = levelFrom(wanted, now) ?? ROLES.maintainer;
  if (asked !== ROLES.maintainer) {
    throw invalid({ [wanted.name]: ["can't be others than maintainers (40)"] });
  }
}
