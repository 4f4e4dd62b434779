import type { Caller, Person } from "../../core/access/caller.ts";
import { type Source, sourcesById } from "../../core/access/source.ts";
import { BEING_DELETED } from "../../core/access/visibility.ts";
import { dayOf } from "../../core/time.ts";
import type { Reader } from "../../store/port.ts";
import { mayMirror } from "../protected-refs/abilities.ts";

/** A project, and who its changes are of. */
export interface Place {
  readonly project: Source;
  readonly caller: Caller;
}

/** A project for the user who has it updated; `undefined` if it may not be updated for them. */
export async function placeOf(
  db: Reader,
  { project_id, user_id }: { readonly project_id: number; readonly user_id: number | null },
  now: number,
): Promise<Place | undefined> {
  const caller = await callerOf(db, user_id);
  if (!caller) return undefined;
  const viewer = { caller, today: dayOf(now) };
  const project = (await sourcesById(db, "project", [project_id], viewer)).get(project_id);
  const mayUpdate = project && project.visibility > BEING_DELETED && mayMirror(project);
  return mayUpdate ? { project, caller } : undefined;
}

/** The user for whom something is done later; `undefined` if they are gone or not active. */
export async function callerOf(db: Reader, userId: number | null): Promise<Caller | undefined> {
  const user = await db.one<
    Omit<Person, "admin" | "external"> & { admin: number; external: number }
  >(
    "select u.id, u.username, u.admin, u.external from users u where u.id = ? and u.state = 'active'",
    [userId],
  );
  if (!user) return undefined;
  const person = { ...user, admin: user.admin === 1, external: user.external === 1 };
  return { ...person, scopes: [], by: { kind: "host" } };
}
