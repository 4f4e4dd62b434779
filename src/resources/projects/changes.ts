import { ROLES } from "../../core/access/roles.ts";
import type { Database } from "../../store/port.ts";
import { tell } from "../members/followers.ts";
import * as members from "../members/queries.ts";
import type { Namespace } from "../namespaces/queries.ts";
import { copyRule } from "../push-rules/queries.ts";
import { changed } from "./followers.ts";
import * as projects from "./queries.ts";
import { requireFree, requireVisibility } from "./rules.ts";

/**
 * Creates a project. In a personal namespace its owner becomes an owner of it.
 *
 * @param project `creator_id`: the author of its first event; with `null` there is none
 * @returns its id
 * @throws ApiError 400 if it would be more visible than its group, 409 for a name or path that is taken
 */
export async function createProject(
  db: Database,
  project: projects.NewProject & { namespace: Namespace },
  now: number,
): Promise<number> {
  const { namespace, creator_id, name } = project;
  requireVisibility(namespace, project.visibility);
  await requireFree(db, namespace, project);
  const id = await projects.insert(db, project, now);
  await copyRule(db, namespace.id, id, now);
  await changed({ db, now }, "create", { id, name, userId: creator_id });
  if (namespace.owner_id !== null) {
    const membership = {
      user_id: namespace.owner_id,
      access_level: ROLES.owner,
      created_by_id: creator_id ?? undefined,
    };
    const place = { column: "project_id", id } as const;
    await members.insert(db, place, membership, now);
    await tell({ db, now }, place, "add", membership, creator_id);
  }
  return id;
}
