import type { AdminContext } from "./context.ts";
import { type FlatAdmin, flatNames } from "./flat.ts";
import { type AdminParts, adminParts } from "./parts.ts";

/**
 * The operators' API (docs/library.md). It has no permission checks; its security events are in the audit log.
 *
 * @example
 * const ada = await app.admin.users.create({ username: "ada", name: "Ada", email: "ada@example.com" });
 * const { token } = await app.admin.tokens.create({ user: ada.username, name: "ci", scopes: ["api"] });
 */
export interface Admin extends AdminParts, FlatAdmin {}

/** Creates the operators' API of an application. */
export function createAdmin(context: AdminContext): Admin {
  const parts = adminParts(context);
  return { ...parts, ...flatNames(parts) };
}
