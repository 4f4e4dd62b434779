import type { Caller } from "../core/access/caller.ts";
import { findSource, type Source } from "../core/access/source.ts";
import { VISIBILITIES } from "../core/access/visibility.ts";
import { ApiError } from "../core/errors.ts";
import { dayOf } from "../core/time.ts";
import type { Namespace } from "../resources/namespaces/queries.ts";
import { createProject } from "../resources/projects/changes.ts";
import { creatableNamespace, requireFree } from "../resources/projects/rules.ts";
import type { Reader, Store } from "../store/port.ts";

/** Who pushes to a path without a project, and when. */
interface Pushing {
  readonly caller: Caller;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** A project that a push creates. */
interface NewProject {
  readonly namespace: Namespace;
  readonly path: string;
}

/**
 * Decides whether a push to a path without a project creates one: in a namespace where the caller may.
 *
 * @returns `undefined` if they may not, or must not know whether there is such a namespace
 * @throws ApiError 422 if a project can't have the path
 */
export async function newProjectAt(
  db: Reader,
  fullPath: string,
  { caller, now }: Pushing,
): Promise<NewProject | undefined> {
  const end = fullPath.lastIndexOf("/");
  const path = fullPath.slice(end + 1);
  // What ends so is the address of a wiki.
  if (end < 0 || path.endsWith(".wiki")) return undefined;
  try {
    const viewer = { caller, today: dayOf(now) };
    const namespace = await creatableNamespace({ db, caller, viewer }, fullPath.slice(0, end));
    if (!namespace) return undefined;
    await requireFree(db, namespace, { name: path, path });
    return { namespace, path };
  } catch (error) {
    throw error instanceof ApiError ? impossible(error) : error;
  }
}

/**
 * Creates the private project of a push.
 *
 * @throws ApiError 404 if the caller may no longer create it, 422 if it can't be created
 */
export async function createByPush(
  store: Store,
  fullPath: string,
  pushing: Pushing,
): Promise<Source> {
  const { caller, now } = pushing;
  const id = await store.transaction(async (db) => {
    const project = await newProjectAt(db, fullPath, pushing);
    if (!project) throw unknownProject();
    const { namespace, path } = project;
    const visibility = VISIBILITIES.private;
    const values = { namespace, creator_id: caller.id, name: path, path, visibility };
    return createProject(db, values, now);
  });
  return findSource(store.reader(), "project", String(id), { caller, today: dayOf(now) });
}

/** 404, also for projects that the caller must not know of. */
export const unknownProject = () =>
  new ApiError(404, {
    message:
      "The project you were looking for could not be found or you don't have permission to view it.",
  });

/** Says in a sentence why a project can't be created. */
function impossible({ body }: ApiError): ApiError {
  const { message } = body as { message: string | Record<string, string[]> };
  const reason =
    typeof message === "string"
      ? message
      : Object.entries(message)
          .map(([name, [problem]]) => `${name[0]?.toUpperCase()}${name.slice(1)} ${problem}`)
          .join(", ");
  return new ApiError(422, { message: `Could not create project: ${reason}` });
}

/** Addresses that Git's client is told. */
export interface Addresses {
  /** The public address. */
  readonly base: string;
  /** That of a repository, by the full path of its project, for what the client uses: HTTP or SSH. */
  readonly remote: (path: string) => string;
}

/** What Git's client is told about a project that its push has created. */
export function creationMessage({ id, fullPath }: Source, { base, remote }: Addresses): string {
  return [
    "",
    `The private project ${fullPath} was successfully created.`,
    "",
    "To configure the remote, run:",
    `  git remote add origin ${remote(fullPath)}`,
    "",
    "To view the project, visit:",
    `  ${base}/api/v4/projects/${id}`,
    "",
  ].join("\n");
}
