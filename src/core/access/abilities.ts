import type { Person } from "./caller.ts";
import { hasRole, type Role } from "./roles.ts";
import type { Source } from "./source.ts";

/** Who asks whether they may do something, and in which group or project: the context of a handler is one. */
export interface Asking<S = Source> {
  readonly source: S;
  readonly caller: Pick<Person, "id" | "admin"> | undefined;
}

/**
 * A right: whether the caller may do something with a record that they can see. Every resource that has such rules has
 * them in its `abilities.ts`, and its routes, the fields of its answers and GraphQL's `userPermissions` read them there
 * (docs/decisions/0092).
 */
export type Ability<Subject = unknown, S = Source> = (
  subject: Subject,
  asking: Asking<S>,
) => boolean;

/** The right of whoever a record belongs to, and of everybody with a role. */
export const ownOr =
  (role: Role): Ability<{ readonly user_id: number | null }> =>
  ({ user_id }, { source, caller }) =>
    user_id === caller?.id || hasRole(source, role);
