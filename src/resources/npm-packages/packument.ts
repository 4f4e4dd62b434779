import { ApiError } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import { RawReply, type RequestInfo } from "../../core/resource.ts";
import { isoInstant } from "../../core/time.ts";
import type { Condition } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { tagsOf } from "../packages/tags.ts";
import { compareVersions } from "../packages/versions.ts";
import { integrityOf, type Manifest } from "./published.ts";

/** What npm asks for when it installs: less of each version. */
const ABBREVIATED = "application/vnd.npm.install-v1+json";

/** What installing needs to know of a version. */
const INSTALLED = new Set([
  ..."name version deprecated dependencies optionalDependencies devDependencies bundleDependencies".split(
    " ",
  ),
  ..."bundledDependencies peerDependencies peerDependenciesMeta bin directories engines os cpu".split(
    " ",
  ),
  ..."libc funding hasInstallScript _hasShrinkwrap".split(" "),
]);

/** Versions that are read at a time. */
const BATCH = 50;

interface VersionRow {
  readonly id: number;
  readonly project_id: number;
  readonly version: string;
  readonly manifest: string;
  readonly created_at: number;
  readonly file_name: string;
  readonly sha1: string;
  readonly sha512: string;
  readonly size: number;
}

/** 404 for a package that is not there, or not for the caller. */
export const noPackage = (): ApiError => new ApiError(404, { error: "404 Package Not Found" });

/** Some versions of a package, the newest first. @param before the id of the last one that was read */
function versionsOf(db: Reader, name: string, where: Condition, before: number) {
  return db.all<VersionRow>(
    `select pk.id, pk.project_id, pk.version, pk.manifest, pk.created_at, pf.file_name, pf.sha1, pf.sha512, pf.size
     from packages pk join projects p on p.id = pk.project_id join package_files pf on pf.package_id = pk.id
     where pk.package_type = 'npm' and pk.name = ? and pk.id < ? and pf.sha512 is not null and ${where.sql}
     order by pk.id desc limit ${BATCH}`,
    [name, before, ...where.values],
  );
}

/**
 * What a registry tells of a package: all its versions, a few at a time.
 *
 * @param where which projects `p` the registry has
 * @throws ApiError 404 if it has no version there
 */
export async function packumentOf(
  db: Reader,
  request: Pick<RequestInfo, "header">,
  view: View,
  name: string,
  where: Condition,
): Promise<RawReply> {
  const first = await versionsOf(db, name, where, Number.MAX_SAFE_INTEGER);
  if (first.length === 0) throw noPackage();
  const isShort = (request.header("accept") ?? "").includes(ABBREVIATED);
  const headers = {
    "content-type": isShort ? ABBREVIATED : "application/json",
    "cache-control": "private, no-cache",
    vary: "Accept",
  };
  return new RawReply(200, headers, {
    chunks: () => written(db, view, name, where, first, isShort),
  });
}

async function* written(
  db: Reader,
  view: View,
  name: string,
  where: Condition,
  first: readonly VersionRow[],
  isShort: boolean,
): AsyncGenerator<Uint8Array> {
  const times = new Map<string, number>();
  yield Buffer.from(`{"name":${JSON.stringify(name)},"versions":{`);
  for (let rows = first; rows.length > 0; ) {
    let text = "";
    for (const row of rows) {
      // Of a version that several projects have, the newest counts.
      if (times.has(row.version)) continue;
      if (times.size > 0) text += ",";
      times.set(row.version, row.created_at);
      text += `${JSON.stringify(row.version)}:${versionOf(view, name, row, isShort)}`;
    }
    yield Buffer.from(text);
    const last = rows.at(-1) as VersionRow;
    rows = rows.length < BATCH ? [] : await versionsOf(db, name, where, last.id);
  }
  const tags = await distTagsOf(db, name, where, times);
  yield Buffer.from(`},"dist-tags":${JSON.stringify(Object.fromEntries(tags))}`);
  if (!isShort) {
    const all = [...times].map(([version, time]) => [version, isoInstant(time)]);
    yield Buffer.from(`,"time":${JSON.stringify(Object.fromEntries(all))}`);
  }
  yield Buffer.from("}");
}

function versionOf({ base }: View, name: string, row: VersionRow, isShort: boolean): string {
  const manifest = JSON.parse(row.manifest) as Manifest;
  const told = Object.entries(manifest).filter(([field]) => !isShort || INSTALLED.has(field));
  const dist = {
    shasum: row.sha1,
    integrity: integrityOf(row.sha512),
    tarball: `${base}/api/v4/projects/${row.project_id}/packages/npm/${name}/-/${row.file_name}`,
  };
  return JSON.stringify(Object.fromEntries([...told, ["dist", dist]]));
}

/** The tags of a package. There is always `latest`: without one, it is the highest version, a release if there is any. */
async function distTagsOf(
  db: Reader,
  name: string,
  where: Condition,
  versions: ReadonlyMap<string, unknown>,
): Promise<ReadonlyMap<string, string>> {
  const tags = new Map<string, string>();
  for (const tag of await tagsOf(db, { package_type: "npm", name }, where)) {
    if (!tags.has(tag.name) && versions.has(tag.version)) tags.set(tag.name, tag.version);
  }
  if (!tags.has("latest")) {
    const releases = [...versions.keys()].filter((version) => !version.includes("-"));
    const among = releases.length > 0 ? releases : [...versions.keys()];
    tags.set(
      "latest",
      among.reduce((a, b) => (compareVersions(a, b) < 0 ? b : a)),
    );
  }
  return tags;
}

/** The tags of a package, by their names. @throws ApiError 404 if there is no such package */
export async function allTags(
  db: Reader,
  name: string,
  where: Condition,
): Promise<Record<string, string>> {
  const found = await db.rows(
    `select pk.version from packages pk join projects p on p.id = pk.project_id
     where pk.package_type = 'npm' and pk.name = ? and ${where.sql}`,
    [name, ...where.values],
  );
  if (found.length === 0) throw noPackage();
  const versions = new Map(found.map(([version]) => [String(version), true]));
  return Object.fromEntries(await distTagsOf(db, name, where, versions));
}
