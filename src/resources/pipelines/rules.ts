import { type Source, sourcesById } from "../../core/access/source.ts";
import { BEING_DELETED, type Viewer } from "../../core/access/visibility.ts";
import { notFound } from "../../core/errors.ts";
import { dayOf } from "../../core/time.ts";
import { BRANCHES, TAGS } from "../../git/refs.ts";
import type { Reader } from "../../store/port.ts";
import { mayCreatePipeline } from "../ci/abilities.ts";
import { mayRun } from "../protected-refs/abilities.ts";

/** A pipeline, as far as rules need it. */
export interface FoundPipeline {
  readonly id: number;
  readonly user_id: number | null;
  readonly ref: string;
  readonly tag: number;
  readonly sha: string;
  readonly updated_at: number;
}

/** Finds a pipeline of a project. @throws ApiError 404 */
export async function findPipeline(
  db: Reader,
  project: Pick<Source, "id">,
  id: number,
): Promise<FoundPipeline> {
  const found = await db.one<FoundPipeline>(
    "select id, user_id, ref, tag, sha, updated_at from pipelines where id = ? and project_id = ?",
    [id, project.id],
  );
  if (!found) throw notFound();
  return found;
}

/**
 * Whether whoever a project was found for may run jobs of a branch or tag: not who may not change a protected branch, or
 * create a protected tag.
 */
export const mayRunJobsOf = (
  db: Reader,
  project: Source,
  { ref, tag }: { readonly ref: string; readonly tag: number },
): Promise<boolean> => mayRun(db, project, (tag === 1 ? TAGS : BRANCHES) + ref);

/** Somebody who is not here, as whoever decides about rights needs them; `undefined` if they may not sign in. */
export async function viewerOf(
  db: Reader,
  userId: number,
  now: number,
): Promise<Viewer | undefined> {
  const user = await db.one<{ id: number; username: string; admin: number; external: number }>(
    `select u.id, u.username, u.admin, u.external from users u where u.id = ? and u.state = 'active'`,
    [userId],
  );
  return (
    user && {
      caller: { ...user, admin: user.admin === 1, external: user.external === 1 },
      today: dayOf(now),
    }
  );
}

/**
 * A project as one of its people sees it who is not here, for pipelines that start without them.
 *
 * @returns `undefined` if they may not run pipelines there
 */
export async function projectFor(
  db: Reader,
  projectId: number,
  userId: number,
  now: number,
): Promise<Source | undefined> {
  const viewer = await viewerOf(db, userId, now);
  if (!viewer) return undefined;
  const project = (await sourcesById(db, "project", [projectId], viewer)).get(projectId);
  const mayRun =
    project !== undefined && project.visibility > BEING_DELETED && mayCreatePipeline(project);
  return mayRun ? project : undefined;
}
