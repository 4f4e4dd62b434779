import { createHash, type Hash } from "node:crypto";
import { VISIBILITIES } from "../../core/access/visibility.ts";
import { notFound } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import { RawReply } from "../../core/resource.ts";
import type { Condition } from "../../store/conditions.ts";
import type { Awaitable, Reader } from "../../store/port.ts";
import type { Published } from "./published.ts";

/** Versions that are read at a time. */
const BATCH = 50;

const JSON_TYPE = { "content-type": "application/json", "cache-control": "private, no-cache" };

interface Row {
  readonly id: number;
  readonly project_id: number;
  readonly full_path: string;
  readonly visibility: number;
  readonly name: string;
  readonly version: string;
  readonly manifest: string;
}

/** Some versions by name and version. Of one that several projects have, the newest comes first. */
function rowsAfter(
  db: Reader,
  where: Condition,
  name: string | undefined,
  last: Row | undefined,
): Awaitable<Row[]> {
  const follows = last
    ? "and (pk.name > ? or (pk.name = ? and (pk.version > ? or (pk.version = ? and pk.id < ?))))"
    : "";
  return db.all<Row>(
    `select pk.id, pk.project_id, p.full_path, p.visibility, pk.name, pk.version, pk.manifest
     from packages pk join projects p on p.id = pk.project_id
     where pk.package_type = 'composer' and ${where.sql} ${name === undefined ? "" : "and pk.name = ?"} ${follows}
     order by pk.name, pk.version, pk.id desc limit ${BATCH}`,
    [
      ...where.values,
      ...(name === undefined ? [] : [name]),
      ...(last ? [last.name, last.name, last.version, last.version, last.id] : []),
    ],
  );
}

/** The versions of packages in order, each once. @param name of the only package that counts */
async function* versionsOf(db: Reader, where: Condition, name?: string): AsyncGenerator<Row> {
  let last: Row | undefined;
  for (let rows = await rowsAfter(db, where, name, last); rows.length > 0; ) {
    for (const row of rows) {
      if (row.name !== last?.name || row.version !== last.version) yield row;
      last = row;
    }
    rows = rows.length < BATCH ? [] : await rowsAfter(db, where, name, last);
  }
}

/** What Composer is told of a version. */
function shownOf({ base, sshUrl }: View, row: Row): string {
  const { sha, composer } = JSON.parse(row.manifest) as Manifest;
  const place = `${base}/api/v4/projects/${row.project_id}/packages/composer/archives/${row.name}.zip`;
  return JSON.stringify({
    ...composer,
    name: row.name,
    dist: { type: "zip", url: `${place}?sha=${sha}`, reference: sha, shasum: "" },
    source: {
      type: "git",
      url:
        row.visibility === VISIBILITIES.public
          ? `${base}/${row.full_path}.git`
          : sshUrl(row.full_path),
      reference: sha,
    },
    uid: row.id,
    version: row.version,
  });
}

/** What is kept of a version. */
type Manifest = Pick<Published, "sha" | "composer">;

/** A version as it is kept: its commit comes first, by which it is found. */
export const manifestOf = ({ sha, composer }: Manifest): string =>
  JSON.stringify({ sha, composer });

/** What is kept of all versions of a commit begins with this. */
export const beginningOf = (sha: string): string => `{"sha":${JSON.stringify(sha)},`;

const before = (name: string) => `{"packages":{${JSON.stringify(name)}:{`;
const after = "}}}";

/** The text of a version among those of its package. */
const entryOf = (view: View, row: Row, isFirst: boolean) =>
  `${isFirst ? "" : ","}${JSON.stringify(row.version)}:${shownOf(view, row)}`;

/**
 * All versions of a package, some at a time.
 *
 * @param where which projects `p` the registry has
 * @throws ApiError 404 if it has none there
 */
export async function packageReply(
  db: Reader,
  view: View,
  where: Condition,
  name: string,
): Promise<RawReply> {
  const versions = versionsOf(db, where, name);
  const first = await versions.next();
  if (first.done) throw notFound();
  return new RawReply(200, JSON_TYPE, {
    chunks: async function* () {
      yield Buffer.from(before(name) + entryOf(view, first.value, true));
      for await (const row of versions) yield Buffer.from(entryOf(view, row, false));
      yield Buffer.from(after);
    },
  });
}

/** For Composer 1: the SHA-256 of what {@link packageReply} tells of each package. */
async function* providers(db: Reader, view: View, where: Condition): AsyncGenerator<string> {
  yield '{"providers":{';
  let name: string | undefined;
  let hash: Hash | undefined;
  let isFirst = true;
  const ended = () => {
    const text = `${isFirst ? "" : ","}${JSON.stringify(name)}:{"sha256":"${hash?.update(after).digest("hex")}"}`;
    isFirst = false;
    return text;
  };
  for await (const row of versionsOf(db, where)) {
    const isNew = row.name !== name;
    if (isNew) {
      if (hash) yield ended();
      name = row.name;
      hash = createHash("sha256").update(before(name));
    }
    hash?.update(entryOf(view, row, isNew));
  }
  if (hash) yield ended();
  yield "}}";
}

/** For Composer 1: which packages there are. */
export function providersReply(db: Reader, view: View, where: Condition): RawReply {
  return new RawReply(200, JSON_TYPE, {
    chunks: async function* () {
      for await (const part of providers(db, view, where)) yield Buffer.from(part);
    },
  });
}

/**
 * Where Composer finds the packages of a group.
 *
 * @param isNew whether it is Composer 2, which needs to know nothing of all of them
 */
export async function rootOf(
  db: Reader,
  view: View,
  groupId: number,
  where: Condition,
  isNew: boolean,
): Promise<object> {
  const path = `${new URL(view.base).pathname.replace(/\/$/, "")}/api/v4/group/${groupId}/-/packages/composer`;
  const found = { packages: [], "metadata-url": `${path}/p2/%package%.json` };
  if (isNew) return found;
  const hash = createHash("sha256");
  for await (const part of providers(db, view, where)) hash.update(part);
  return {
    ...found,
    "provider-includes": { "p/%hash%.json": { sha256: hash.digest("hex") } },
    "providers-url": `${path}/%package%$%hash%.json`,
  };
}
