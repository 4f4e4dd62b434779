import { ROLES } from "../../core/access/roles.ts";
import { recordProject } from "../../hooks/records.ts";
import type { Database } from "../../store/port.ts";
import * as events from "../events/record.ts";

import * as members from "../members/queries.ts";
import type { Namespace } from "../namespaces/queries.ts";
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
  if (creator_id !== null) {
    const target = { type: "project", id, title: name } as const;
    const created = { project_id: id, author_id: creator_id, action: "created", target } as const;
    events.record(db, created, now);
  }
  if (namespace.owner_id !== null) {
    const membership = {
      user_id: namespace.owner_id,
      access_level: ROLES.owner,
      created_by_id: creator_id ?? undefined,
    };
    await members.insert(db, { column: "project_id", id }, membership, now);
  }
  await recordProject({ db, now }, "create", { id, userId: creator_id });
  return id;
}
