import { among } from "../../store/conditions.ts";
import type { Awaitable, Reader, Value } from "../../store/port.ts";
import { idInLabel, type SiteOwner, UNIQUE_DOMAIN, uniqueLabel } from "./place.ts";

/** The site of a project, whether or not it has been published. */
export interface Site extends SiteOwner {
  readonly visibility: number;
  /** The kept settings of the project. */
  readonly kept: Value;
  /** 1 or 0. */
  readonly https_only: number;
  readonly primary_domain: string | null;
}

const SITE = `select p.id, p.full_path, p.visibility, p.kept_settings as kept, ${UNIQUE_DOMAIN} as unique_domain,
    coalesce(si.https_only, 0) as https_only, si.primary_domain
  from projects p left join site_settings si on si.project_id = p.id where p.visibility > -1`;

/** The site of a project, by its id. */
export const siteOf = (db: Reader, projectId: number): Awaitable<Site | undefined> =>
  db.one<Site>(`${SITE} and p.id = ?`, [projectId]);

/** A site, and the names of a path that are below it. */
export interface FoundSite {
  readonly site: Site;
  readonly rest: readonly string[];
}

/** Names of a path that may be those of a project: groups are no deeper than some twenty. */
const DEEPEST = 24;
const NAME = /^[\w.][\w.-]*$/;

/**
 * The site that a path leads to: of the project with the longest path that it begins with, of those that have one.
 *
 * @param names of the path; the first is that of a group or user
 * @param hostname the host names of sites: the site of a project of that name is that of its group
 */
export async function siteAt(
  db: Reader,
  names: readonly string[],
  hostname: string | undefined,
): Promise<FoundSite | undefined> {
  const end = names.findIndex((name) => !NAME.test(name));
  const usable = names.slice(0, Math.min(end < 0 ? names.length : end, DEEPEST));
  const paths = usable.slice(1).map((_, at) =>
    usable
      .slice(0, at + 2)
      .join("/")
      .toLowerCase(),
  );
  const [root = ""] = usable;
  if (hostname !== undefined && root !== "")
    paths.push(`${root}/${root}.${hostname}`.toLowerCase());
  if (paths.length === 0) return undefined;
  const these = among("lower(p.full_path)", paths);
  const found = await db.all<Site>(
    `${SITE} and ${these.sql} and exists (select 1 from site_deployments d where d.project_id = p.id and d.state = 'live')`,
    these.values,
  );
  const depthOf = ({ full_path: path }: Site) =>
    path.toLowerCase() === `${root}/${root}.${hostname}`.toLowerCase() ? 1 : path.split("/").length;
  const site = found.sort((a, b) => depthOf(b) - depthOf(a))[0];
  return site && { site, rest: names.slice(depthOf(site)) };
}

/** The site whose own host begins with a label. */
export async function siteOfLabel(db: Reader, label: string): Promise<Site | undefined> {
  const id = idInLabel(label);
  const site = id === undefined ? undefined : await siteOf(db, id);
  return site?.unique_domain === 1 && uniqueLabel(site) === label ? site : undefined;
}

/** The site that has a domain which was verified. */
export async function siteOfDomain(db: Reader, domain: string): Promise<Site | undefined> {
  const [row] = await db.rows(
    "select project_id from site_domains where domain = ? and verified_at is not null",
    [domain],
  );
  return row && siteOf(db, row[0] as number);
}

/** What is published of a site. */
export interface Deployment {
  readonly id: number;
  readonly path_prefix: string;
  readonly file_id: number;
}

/** The deployments of a site that a path may be of: the main one, and that with its first name as prefix. */
export const deploymentsAt = (
  db: Reader,
  projectId: number,
  first: string,
  now: number,
): Awaitable<Deployment[]> =>
  db.all<Deployment>(
    `select id, path_prefix, file_id from site_deployments
     where project_id = ? and state = 'live' and path_prefix in ('', ?) and (expires_at is null or expires_at > ?)`,
    [projectId, first.toLowerCase(), now],
  );

/** A file of a deployment, in its stored file. */
export interface SiteFile {
  readonly id: number;
  readonly path: string;
  readonly begins_at: number;
  readonly packed: number;
  readonly length: number;
  readonly deflated: number;
}

/** Those of some files that a deployment has, by their paths. */
export async function filesAt(
  db: Reader,
  deploymentId: number,
  paths: readonly string[],
): Promise<ReadonlyMap<string, SiteFile>> {
  const these = among("path", paths);
  const found = await db.all<SiteFile>(
    `select id, path, begins_at, packed, length, deflated from site_files where deployment_id = ? and ${these.sql}`,
    [deploymentId, ...these.values],
  );
  return new Map(found.map((file) => [file.path, file]));
}
