import { OPERATOR } from "../audit/log.ts";
import { findSource, type Source } from "../core/access/source.ts";
import type { Viewer } from "../core/access/visibility.ts";
import { notFound } from "../core/errors.ts";
import type { ReadMetrics } from "../core/http/pipeline.ts";
import * as param from "../core/input.ts";
import type { SealedColumn } from "../core/sealed.ts";
import type { Secrets } from "../core/secrets.ts";
import { dayOf } from "../core/time.ts";
import type { Leases } from "../jobs/leases.ts";
import * as users from "../resources/users/queries.ts";
import type { Reader, Store } from "../store/port.ts";

/** What the operators' methods use. */
export interface AdminContext {
  store: Store;
  /** The clock, in epoch milliseconds. */
  now: () => number;
  /** The leases of this process. */
  leases: Leases;
  /** How long events are kept; `false` for no limit. */
  retention: string | false;
  /** The server's public address, if known. */
  url: string | undefined;
  readMetrics: ReadMetrics;
  /** Starts the pipelines of schedules that are due, and returns how many. */
  runSchedules: () => Promise<number>;
  /** Makes the pipelines that pushes, merge requests and jobs have asked for, and returns how many tasks that was. */
  runPipelines: () => Promise<number>;
  /** Writes and reads the archives of projects that were asked for, and returns how many. */
  runArchives: () => Promise<number>;
  /** Writes an archive of a project as GitLab does, unpacked. */
  gitlabArchive: (projectId: number) => Promise<AsyncIterable<Uint8Array>>;
  /** Updates projects from their pull mirrors where that is due, and returns how many. */
  updateMirrors: () => Promise<number>;
  /** Ends transfers of projects and groups with many issues, and returns how many. */
  endTransfers: () => Promise<number>;
  /** Asks LDAP servers about everybody who comes from them. */
  checkDirectories: () => Promise<void>;
  /** Encrypts secrets at rest. */
  secrets: Secrets;
  /** Where these secrets are. */
  sealedColumns: readonly SealedColumn[];
}

/** The name of a user, group, project or the like. */
export const reference = param.text();

/** A filter by user name. */
export const byUser = { user: param.optional(param.text()) };

/** A user by user name. @throws ApiError 404 */
export async function findUser(db: Reader, username: string): Promise<users.User> {
  const found = await users.findByUsername(db, username);
  if (!found || !users.isAccount(found)) throw notFound("User");
  return found;
}

/** A group or project; operators can see all of them. @throws ApiError 404 */
export function findAny(
  db: Reader,
  kind: Source["kind"],
  idOrPath: string,
  now: number,
): Promise<Source> {
  const caller = { id: 0, username: OPERATOR.name, admin: true, external: false };
  const viewer: Viewer = { caller, today: dayOf(now) };
  return findSource(db, kind, idOrPath, viewer);
}
