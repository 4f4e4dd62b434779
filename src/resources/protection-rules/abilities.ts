import type { Caller } from "../../core/access/caller.ts";
import { hasRole } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";
import { forbidden } from "../../core/errors.ts";
import type { Reader, Value } from "../../store/port.ts";
import { fits } from "../protected-refs/wildcards.ts";

/** Who may do what a rule protects. */
export const LEVELS = ["maintainer", "owner", "admin"] as const;
type Level = (typeof LEVELS)[number];

/** Who wants to do what a rule may protect. */
interface Acting {
  readonly db: Reader;
  readonly source: Source;
  readonly caller: Caller | undefined;
}
type Guarded = "push" | "delete";

/** Whether one of some rules, as rows of a pattern and a level, fits a name and asks for more than the caller has. */
function isGuarded(
  rules: readonly (readonly Value[])[],
  name: string,
  { source, caller }: Pick<Acting, "source" | "caller">,
): boolean {
  // Deploy tokens have no role.
  const isNobody = caller === undefined || caller.by.kind === "deploy";
  const mayAt = (level: Level) =>
    !isNobody && (caller.admin || (level !== "admin" && hasRole(source, level)));
  return rules.some(([pattern, level]) => fits(String(pattern), name) && !mayAt(level as Level));
}

/**
 * Checks that the rules of a project let somebody push or delete a package.
 *
 * @throws ApiError 403
 */
export async function requireUnprotected(
  acting: Acting,
  action: Guarded,
  { name, package_type: type }: { readonly name: string; readonly package_type: string },
): Promise<void> {
  const rules = await acting.db.rows(
    `select pattern, ${action}_level from protection_rules
     where project_id = ? and kind = 'package' and package_type = ? and ${action}_level is not null`,
    [acting.source.id, type],
  );
  if (!isGuarded(rules, name, acting)) return;
  throw forbidden(action === "push" ? "Package protected." : "Package is deletion protected.");
}

/** Whether the rules of a project keep somebody from pushing to, or deleting from, a repository of container images. */
export async function isProtected(acting: Acting, action: Guarded, name: string): Promise<boolean> {
  const rules = await acting.db.rows(
    `select lower(pattern), ${action}_level from protection_rules
     where project_id = ? and kind = 'repository' and ${action}_level is not null`,
    [acting.source.id],
  );
  return isGuarded(rules, name, acting);
}
