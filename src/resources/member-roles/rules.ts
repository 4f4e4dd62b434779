import type { Source } from "../../core/access/source.ts";
import { invalid } from "../../core/errors.ts";
import type { Reader } from "../../store/port.ts";

/**
 * Checks a role that a member is to have.
 *
 * @param roleId `null` or `undefined` for none
 * @throws ApiError 400 if it is not one of the place, or its base role is another one than the member's
 */
export async function requireRole(
  db: Reader,
  { namespaceId }: Source,
  roleId: number | null | undefined,
  accessLevel: number,
): Promise<void> {
  if (roleId === null || roleId === undefined) return;
  const role = await db.one<{ base_access_level: number }>(
    `select base_access_level from member_roles mbr where mbr.id = ? and (mbr.namespace_id is null or exists (
       select 1 from namespace_ancestors a where a.namespace_id = ? and a.ancestor_id = mbr.namespace_id))`,
    [roleId, namespaceId],
  );
  if (!role) throw invalid({ member_role: ["not found"] });
  if (role.base_access_level !== accessLevel) {
    throw invalid({
      member_role_id: [
        "the custom role's base access level does not match the current access level",
      ],
    });
  }
}
