import { badRequest } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import type { Presenter } from "../../core/presenter.ts";
import { among, type Condition } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { packageTag } from "./json.ts";
import type { Version } from "./queries.ts";

/** Tags of one package, at most. */
const MOST_TAGS = 100;

/** What a tag belongs to: a package with all its versions. */
export type Tagged = Omit<Version, "version">;

/** The condition that names a tag of a package. */
const NAMED = "project_id = ? and package_type = ? and package_name = ?";
const valuesOf = (projectId: number, { package_type, name }: Tagged): Value[] => [
  projectId,
  package_type,
  name,
];

/**
 * Makes a tag stand for a version, and for no other any more.
 *
 * @param packageId the version
 * @throws ApiError 400 if the package has too many tags
 */
export async function setTag(
  db: Database,
  projectId: number,
  tagged: Tagged,
  tag: string,
  packageId: number,
  now: number,
): Promise<void> {
  const of = valuesOf(projectId, tagged);
  const moved = await db.run(
    `update package_tags set package_id = ?, updated_at = ? where ${NAMED} and name = ?`,
    [packageId, now, ...of, tag],
  );
  if (moved > 0) return;
  const [count] = await db.rows(`select count(*) from package_tags where ${NAMED}`, of);
  if (Number(count?.[0]) >= MOST_TAGS) {
    throw badRequest(`A package may have ${MOST_TAGS} tags at most`);
  }
  await insertRow(db, "package_tags", {
    project_id: projectId,
    package_type: tagged.package_type,
    package_name: tagged.name,
    name: tag,
    package_id: packageId,
    created_at: now,
    updated_at: now,
  });
}

/** Takes a tag away. @returns whether there was one */
export async function removeTag(
  db: Database,
  projectId: number,
  tagged: Tagged,
  tag: string,
): Promise<boolean> {
  const sql = `delete from package_tags where ${NAMED} and name = ?`;
  return (await db.run(sql, [...valuesOf(projectId, tagged), tag])) > 0;
}

/**
 * The tags of the packages of a name, with their versions, the one that was set last first.
 *
 * @param where which of their projects `p` count
 */
export async function tagsOf(
  db: Reader,
  { package_type, name }: Tagged,
  where: Condition,
): Promise<{ readonly name: string; readonly version: string }[]> {
  return db.all(
    `select pt.name, pk.version from packages pk join package_tags pt on pt.package_id = pk.id
       join projects p on p.id = pk.project_id
     where pk.package_type = ? and pk.name = ? and ${where.sql} order by pt.updated_at desc, pt.id desc`,
    [package_type, name, ...where.values],
  );
}

/** Puts their tags into the rows of packages. */
export async function fillInTags(
  db: Reader,
  presenter: Presenter,
  rows: Value[][],
  view: View,
): Promise<void> {
  if (rows.length === 0) return;
  const [id, at] = [presenter.at("id"), presenter.at("tags")];
  const { sql, values } = among(
    "pt.package_id",
    rows.map((row) => row[id] as Value),
  );
  const found = await db.rows(
    `select ${packageTag.columns} from package_tags pt where ${sql} order by pt.package_id, pt.id`,
    values,
  );
  const of = packageTag.at("package_id");
  for (const row of rows) {
    const own = found.filter((tag) => tag[of] === row[id]);
    row[at] = `[${own.map((tag) => packageTag.write(tag, view)).join(",")}]`;
  }
}
