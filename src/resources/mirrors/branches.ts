import { ApiError, invalid } from "../../core/errors.ts";
import { BRANCHES } from "../../git/refs.ts";
import type { Reader } from "../../store/port.ts";
import { rulesOf } from "../protected-refs/queries.ts";

/** Which branches of a project are mirrored: all, unless one of these says otherwise. Tags are mirrored in any case. */
export interface Choice {
  readonly onlyProtected: boolean;
  /** An RE2 expression for their names. */
  readonly pattern: string | null;
}

/**
 * Checks which branches are to be mirrored: the protected ones, or those with some names.
 *
 * @param flag the attribute that asks for the protected ones
 * @throws ApiError 400
 */
export async function requireChoice<Flag extends string>(
  given: { readonly mirror_branch_regex?: string | null | undefined } & {
    readonly [Name in Flag]?: boolean | undefined;
  },
  flag: Flag,
): Promise<void> {
  const { mirror_branch_regex: pattern } = given;
  if (!pattern) return;
  if (given[flag]) {
    throw new ApiError(400, { error: `mirror_branch_regex, ${flag} are mutually exclusive` });
  }
  const { readExpression } = await import("../../core/expressions.ts");
  if (!readExpression(pattern)) {
    throw invalid({ mirror_branch_regex: ["is not a valid regular expression"] });
  }
}

/** The columns of what {@link requireChoice} has checked: each of the two ways ends the other one. */
export function choiceColumns(
  onlyProtected: boolean | undefined,
  pattern: string | null | undefined,
): { onlyProtected: number | undefined; pattern: string | null | undefined } {
  return {
    onlyProtected: pattern ? 0 : onlyProtected === undefined ? undefined : Number(onlyProtected),
    pattern: onlyProtected || pattern === "" ? null : pattern,
  };
}

/**
 * Which of some references are mirrored.
 *
 * @param names in full
 */
export async function mirroredAmong(
  db: Reader,
  projectId: number,
  { onlyProtected, pattern }: Choice,
  names: readonly string[],
): Promise<(name: string) => boolean> {
  const branchOf = (name: string) => name.slice(BRANCHES.length);
  const orTag = (fits: (branch: string) => boolean) => (name: string) =>
    !name.startsWith(BRANCHES) || fits(branchOf(name));
  if (onlyProtected) {
    const rules = await rulesOf(db, projectId, names);
    return orTag((branch) => rules.branches(branch).length > 0);
  }
  if (pattern === null) return () => true;
  const { readExpression } = await import("../../core/expressions.ts");
  const expression = readExpression(pattern);
  return orTag((branch) => expression?.fits(branch) ?? false);
}
