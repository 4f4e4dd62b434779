import type { Caller } from "../core/access/caller.ts";
import type { Source } from "../core/access/source.ts";
import { isJsonBody } from "../core/http/body.ts";
import type { PrepareContext } from "../core/resource.ts";
import { admit } from "../git-http/access.ts";
import { isEnabled } from "../resources/lfs/objects.ts";
import { lfsError, refusal } from "./errors.ts";
import { type Operation, SERVICES } from "./tokens.ts";

/** A project whose objects the caller may use. */
export interface Place {
  readonly project: Source;
  readonly caller: Caller | undefined;
}

/** {@link Place} of somebody who may push there. */
export interface PushPlace extends Place {
  readonly caller: Caller;
}

/**
 * Finds the project of a repository: callers who may fetch from it may download its objects, and those who may push may upload
 * some. Wikis have none.
 *
 * @param path that of the repository, with `.git`
 * @param whenDisabled the status where the project has no Git LFS
 * @throws ApiError 401, 403 or 404
 */
export async function enter(
  preparing: PrepareContext,
  path: string,
  operation: Operation,
  whenDisabled: 403 | 404 = 403,
): Promise<Place> {
  if (!path.endsWith(".git")) throw refusal(404);
  const { kind, project, caller } = await admit(
    preparing,
    path.slice(0, -".git".length),
    SERVICES[operation],
  );
  if (!project || kind === "wiki") throw refusal(404);
  if (!(await isEnabled(preparing.db, project.id))) throw refusal(whenDisabled);
  return { project, caller };
}

/** {@link enter} for those who push, who are somebody. */
export const enterToPush = (
  preparing: PrepareContext,
  path: string,
  whenDisabled: 403 | 404 = 403,
): Promise<PushPlace> => enter(preparing, path, "upload", whenDisabled) as Promise<PushPlace>;

/** Refuses bodies that pages of other sites could make a browser send, with the user's credentials. @throws ApiError 415 */
export function requireJson({ request }: PrepareContext): void {
  if (!isJsonBody(request))
    throw lfsError(415, "The content type must be application/vnd.git-lfs+json.");
}
