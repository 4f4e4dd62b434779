import type { View } from "../../core/field.ts";
import { type Page, pageReader, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import { belowGroup } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { type Asked, repository, tag } from "./json.ts";
import { isRegistry } from "./settings.ts";

const REPOSITORIES = "container_repositories cr join projects p on p.id = cr.project_id";
const TAGS = `container_tags ct join container_repositories cr on cr.id = ct.repository_id
  join projects p on p.id = cr.project_id`;
/** Tags of one repository that lists of repositories have. */
const LISTED = 1000;

/** A page of the repositories of a project. */
export const ofProject = pageReader({
  from: `${REPOSITORIES} where cr.project_id = ?`,
  order: "cr.id",
});

/** A page of the repositories of the projects in a group and below it, unless their images are disabled. */
export function ofGroup(
  db: Reader,
  presenter: Presenter,
  page: Page,
  groupId: number,
): Promise<RowPage> {
  const { sql, values } = belowGroup("p.namespace_id", groupId);
  return paginate(db, presenter, page, {
    from: `${REPOSITORIES} where ${sql} and p.visibility > -1 and not ${isRegistry("disabled")}`,
    values,
    order: "cr.id",
  });
}

/** A repository as stored. */
export interface Found {
  readonly id: number;
  readonly project_id: number;
  readonly name: string;
  readonly cleaned_at: number | null;
  readonly updated_at: number;
}

/** A repository by its id, or `undefined`. @param projectId of the project that it must be in, if that is known */
export async function find(db: Reader, id: number, projectId?: number): Promise<Found | undefined> {
  const found = await db.one<Found>(
    "select id, project_id, name, cleaned_at, updated_at from container_repositories where id = ?",
    [id],
  );
  return projectId === undefined || found?.project_id === projectId ? found : undefined;
}

/** A repository as a row of its presenter. */
export const row = rowReader(`${REPOSITORIES} where cr.id = ?`);

/** Numbers of repositories, by their ids. */
const COUNTED = {
  tags_count: "select ct.repository_id, count(*) from container_tags ct where ct.repository_id in",
  size: `select l.repository_id, sum(b.size) from container_repository_blobs l
    join container_blobs b on b.id = l.blob_id where l.repository_id in`,
} as const;

/** Fills in what is asked of repositories, with one query for each: of tags the first {@link LISTED}. */
export async function embedAsked(
  db: Reader,
  rows: readonly Value[][],
  asked: Asked,
  view: View,
): Promise<void> {
  if (rows.length === 0) return;
  const idAt = repository.at("id");
  const among = placeholders(rows.map((one) => one[idAt] as Value));
  for (const name of ["tags_count", "size"] as const) {
    if (!asked[name]) continue;
    const found = await db.rows(`${COUNTED[name]} (${among.sql}) group by 1`, among.values);
    const counts = new Map(found as [Value, Value][]);
    for (const one of rows) one[repository.at(name)] = String(counts.get(one[idAt] as Value) ?? 0);
  }
  if (!asked.tags) return;
  const found = await db.rows(
    `select ${tag.columns}, cr.id from container_repositories cr join projects p on p.id = cr.project_id
     join container_tags ct on ct.repository_id = cr.id and ct.id in
       (select o.id from container_tags o where o.repository_id = cr.id order by o.name limit ${LISTED})
     where cr.id in (${among.sql}) order by cr.id, ct.name`,
    among.values,
  );
  const written = new Map<Value, string[]>(rows.map((one) => [one[idAt] as Value, []]));
  for (const one of found) written.get(one.at(-1) as Value)?.push(tag.write(one, view));
  for (const one of rows) {
    one[repository.at("tags")] = `[${written.get(one[idAt] as Value)?.join(",")}]`;
  }
}

/** A page of the tags of a repository, by name. */
export const tags = pageReader({
  from: `${TAGS} where ct.repository_id = ?`,
  order: "ct.name, ct.id",
});

/** A tag of a repository as a row of its presenter, or `undefined`. */
export async function tagRow(
  db: Reader,
  presenter: Presenter,
  repositoryId: number,
  name: string,
): Promise<Value[] | undefined> {
  const [found] = await db.rows(
    `select ${presenter.columns} from ${TAGS} join container_manifests cm on cm.id = ct.manifest_id
     where ct.repository_id = ? and ct.name = ?`,
    [repositoryId, name],
  );
  return found;
}

/** Deletes a repository with all that it has. */
export async function remove(db: Database, id: number): Promise<void> {
  await db.run("delete from container_repositories where id = ?", [id]);
}

/** A tag that may be cleaned up. */
export interface OldTag {
  readonly id: number;
  readonly name: string;
  readonly pushed_at: number;
}

/** The tags of a repository, those that were pushed last first. */
export function newestFirst(db: Reader, repositoryId: number) {
  return db.all<OldTag>(
    "select id, name, pushed_at from container_tags where repository_id = ? order by pushed_at desc, id desc",
    [repositoryId],
  );
}

/** Tags that one statement deletes. */
const AT_ONCE = 500;

/** Deletes tags, unless they were pushed again meanwhile, and notes when that was done in the repository. */
export async function removeTags(
  db: Database,
  repositoryId: number,
  tags: readonly OldTag[],
  now: number,
): Promise<void> {
  await db.run("update container_repositories set cleaned_at = ? where id = ?", [
    now,
    repositoryId,
  ]);
  for (let start = 0; start < tags.length; start += AT_ONCE) {
    const some = tags.slice(start, start + AT_ONCE);
    const among = placeholders(some.map(({ id }) => id));
    await db.run(
      `delete from container_tags where id in (${among.sql}) and repository_id = ? and pushed_at <= ?`,
      [...among.values, repositoryId, Math.max(...some.map((one) => one.pushed_at))],
    );
  }
}
