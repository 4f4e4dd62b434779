import type { Caller } from "../../core/access/caller.ts";
import { hasRole } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";
import { forbidden } from "../../core/errors.ts";
import type { Reader } from "../../store/port.ts";
import { fits } from "../protected-refs/wildcards.ts";

/** Who may do what a rule protects. */
export const LEVELS = ["maintainer", "owner", "admin"] as const;
type Level = (typeof LEVELS)[number];

/**
 * Checks that the rules of a project let somebody push or delete a package.
 *
 * @throws ApiError 403
 */
export async function requireUnprotected(
  {
    db,
    source,
    caller,
  }: { readonly db: Reader; readonly source: Source; readonly caller: Caller | undefined },
  action: "push" | "delete",
  { name, package_type: type }: { readonly name: string; readonly package_type: string },
): Promise<void> {
  const rules = await db.rows(
    `select pattern, ${action}_level from protection_rules
     where project_id = ? and kind = 'package' and package_type = ? and ${action}_level is not null`,
    [source.id, type],
  );
  // Deploy tokens have no role.
  const isNobody = caller === undefined || caller.by.kind === "deploy";
  const mayAt = (level: Level) =>
    !isNobody && (caller.admin || (level !== "admin" && hasRole(source, level)));
  const isProtected = rules.some(
    ([pattern, level]) => fits(String(pattern), name) && !mayAt(level as Level),
  );
  if (!isProtected) return;
  throw forbidden(action === "push" ? "Package protected." : "Package is deletion protected.");
}
