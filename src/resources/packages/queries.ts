import type { Caller } from "../../core/access/caller.ts";
import { badRequest } from "../../core/errors.ts";
import { type Page, pageReader, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import type { StoredFile } from "../../files/write.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader, Store, Value } from "../../store/port.ts";

/** Whether lists show a package or a file. */
export const STATUSES = ["default", "hidden"] as const;
export type Status = (typeof STATUSES)[number];

/** The orders of packages, with their columns. */
export const ORDERS = {
  created_at: "pk.created_at",
  name: "pk.name",
  version: "pk.version",
} as const;
export type Order = keyof typeof ORDERS;

/** The kinds of packages that there are. */
type PackageType = "composer" | "generic" | "helm" | "maven" | "npm" | "nuget" | "pypi";

/** Which packages are listed. */
export interface PackageFilter {
  package_type?: string | undefined;
  package_name?: string | undefined;
  package_version?: string | undefined;
  status?: Status | undefined;
  /** Whether what belongs to all versions of a package is listed, too. */
  include_versionless?: boolean | undefined;
}

const PACKAGES = "packages pk join projects p on p.id = pk.project_id";

/** A page of packages, without their tags. @param where the group or project that they are in, and which of them the caller may see */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  where: Condition,
  filter: PackageFilter,
  order: Order,
  sort: "asc" | "desc",
): Promise<RowPage> {
  const { package_type, package_name, package_version, status = "default" } = filter;
  const { sql, values } = all([
    where,
    filter.include_versionless ? undefined : when("pk.version <> ''"),
    when("pk.status = ?", status),
    when("pk.package_type = ?", package_type),
    when("pk.version = ?", package_version),
    package_name ? contains(["pk.name"], package_name) : undefined,
  ]);
  return paginate(db, presenter, page, {
    from: `${PACKAGES} where ${sql}`,
    values,
    order: `${ORDERS[order]} ${sort}, pk.id ${sort}`,
  });
}

/** A package of a project as a row of its presenter, without its tags, or `undefined`. */
export async function row(
  db: Reader,
  presenter: Presenter,
  projectId: number,
  packageId: number,
): Promise<Value[] | undefined> {
  const [found] = await db.rows(
    `select ${presenter.columns} from ${PACKAGES} where pk.project_id = ? and pk.id = ?`,
    [projectId, packageId],
  );
  return found;
}

/** A package as stored. */
export interface Package {
  readonly id: number;
  readonly name: string;
  readonly package_type: string;
  readonly updated_at: number;
}

/** A package of a project by its id, or `undefined`. */
export function find(
  db: Reader,
  projectId: number,
  packageId: number,
): Awaitable<Package | undefined> {
  return db.one<Package>(
    "select id, name, package_type, updated_at from packages where project_id = ? and id = ?",
    [projectId, packageId],
  );
}

/** What names a version of a package in a project. What belongs to all versions has an empty one. */
export interface Version {
  readonly package_type: PackageType;
  readonly name: string;
  readonly version: string;
}

/** The id of a version of a package in a project, or `undefined`. */
export async function findVersion(
  db: Reader,
  projectId: number,
  { package_type, name, version }: Version,
): Promise<number | undefined> {
  const [known] = await db.rows(
    "select id from packages where project_id = ? and package_type = ? and name = ? and version = ?",
    [projectId, package_type, name, version],
  );
  return known?.[0] as number | undefined;
}

/**
 * Creates a version of a package, and returns its id.
 *
 * @param made what is stored of it besides. `creator_id`: `null` for one by a deploy token. `manifest`: what its registry
 * tells of it, as JSON
 */
export function insertVersion(
  db: Database,
  projectId: number,
  version: Version,
  made: {
    readonly status: Status;
    readonly creator_id: number | null;
    readonly manifest?: string;
  },
  now: number,
): Promise<number> {
  return insertRow(db, "packages", {
    project_id: projectId,
    package_type: version.package_type,
    name: version.name,
    version: version.version,
    ...made,
    created_at: now,
    updated_at: now,
  });
}

/**
 * The id of a version of a package, which is created as {@link insertVersion} does if there is none.
 *
 * @param made as for that
 */
export async function findOrInsertVersion(
  db: Database,
  projectId: number,
  version: Version,
  made: Parameters<typeof insertVersion>[3],
  now: number,
): Promise<number> {
  const known = await findVersion(db, projectId, version);
  return known ?? insertVersion(db, projectId, version, made, now);
}

/** Files of one version, at most. */
const MOST_FILES = 10_000;

/** @throws ApiError 400 if a version has as many files as may be */
export async function requireRoom(db: Reader, packageId: number): Promise<void> {
  const [count] = await db.rows("select count(*) from package_files where package_id = ?", [
    packageId,
  ]);
  if (Number(count?.[0]) >= MOST_FILES) {
    throw badRequest(`A version may have ${MOST_FILES} files at most`);
  }
}

/** Who has made a package: nobody, if a deploy token has, which is no user. */
export const creatorOf = (caller: Caller | undefined): number | null =>
  caller && caller.by.kind !== "deploy" ? caller.id : null;

/** Further digests of a file, in hex. */
export interface Digests {
  readonly md5?: string;
  readonly sha1?: string;
  readonly sha512?: string;
}

/** A file that is added to a package. */
type Added = StoredFile &
  Digests & {
    readonly name: string;
    /** Where it is listed: of a chart of Helm. */
    readonly channel?: string;
    /** What its registry tells of it, as JSON, if not of all files of its version the same. */
    readonly manifest?: string;
  };

/** Adds a file to a package, and returns its id. */
export async function insertFile(
  db: Database,
  packageId: number,
  file: Added,
  status: Status,
  now: number,
): Promise<number> {
  await db.run("update packages set updated_at = ? where id = ?", [now, packageId]);
  return insertRow(db, "package_files", {
    package_id: packageId,
    file_id: file.id,
    file_name: file.name,
    size: file.size,
    sha256: file.sha256,
    md5: file.md5 ?? null,
    sha1: file.sha1 ?? null,
    sha512: file.sha512 ?? null,
    channel: file.channel ?? null,
    manifest: file.manifest ?? null,
    status,
    created_at: now,
  });
}

/** A page of the files of a package. */
export const files = pageReader({
  from: "package_files pf where pf.package_id = ?",
  order: "pf.id",
});

/** A file of a package as a row of its presenter, or `undefined`. */
export async function fileRow(
  db: Reader,
  presenter: Presenter,
  packageId: number,
  fileId: number,
): Promise<Value[] | undefined> {
  const [found] = await db.rows(
    `select ${presenter.columns} from package_files pf join packages pk on pk.id = pf.package_id
     where pf.package_id = ? and pf.id = ?`,
    [packageId, fileId],
  );
  return found;
}

/** The content of the newest file of a package with a name, or `undefined`. */
export function findContent(
  db: Reader,
  projectId: number,
  { package_type, name, version }: Version,
  fileName: string,
): Awaitable<StoredFile | undefined> {
  return db.one<StoredFile>(
    `select pf.file_id as id, pf.size, pf.sha256 from packages pk join package_files pf on pf.package_id = pk.id
     where pk.project_id = ? and pk.package_type = ? and pk.name = ? and pk.version = ? and pf.file_name = ?
     order by pf.id desc limit 1`,
    [projectId, package_type, name, version, fileName],
  );
}

/** Deletes a package with its files. */
export async function remove(db: Database, packageId: number): Promise<void> {
  await db.run("delete from packages where id = ?", [packageId]);
}

/** Deletes a file of a package, which stays without files until {@link removeEmpty} comes to it. */
export async function removeFile(db: Database, fileId: number): Promise<void> {
  await db.run("delete from package_files where id = ?", [fileId]);
}

/** Versions for Composer have no files: they are in repositories. */
const IS_EMPTY =
  "package_type <> 'composer' and not exists (select 1 from package_files pf where pf.package_id = packages.id)";

/** Packages that are deleted by one transaction. */
const BATCH = 500;

/** Deletes the packages that have no files any more. */
export async function removeEmpty(store: Store): Promise<void> {
  const found = await store.rows(`select id from packages where ${IS_EMPTY}`);
  for (let start = 0; start < found.length; start += BATCH) {
    const ids = found.slice(start, start + BATCH).map(([id]) => id as Value);
    // Alone, so that nobody adds a file meanwhile.
    await store.transaction(async (db) => {
      const { sql, values } = placeholders(ids);
      await db.run(`delete from packages where id in (${sql}) and ${IS_EMPTY}`, values);
    });
  }
}
