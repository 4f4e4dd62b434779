import { type Source, sourcesById } from "../../core/access/source.ts";
import {
  memberProjects,
  usesFeature,
  type Viewer,
  visibleProjects,
} from "../../core/access/visibility.ts";
import type { Presenter } from "../../core/presenter.ts";
import type { Condition } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { statement } from "../../store/texts.ts";
import { type AttributeFilter, embedAttributes } from "../custom-attributes/queries.ts";
import { embedShared } from "../group-links/queries.ts";
import { mayCreateMergeRequestIn } from "../issuables/abilities.ts";
import { maySeeOrigin } from "./abilities.ts";
import { basicProject, PROJECTS } from "./json.ts";
import { COMMIT_COUNT, isCounted, SIZES } from "./sizes.ts";

/** Fills in the embedded values of all rows, one query each; no query waits for another's result. */
export async function embed(
  db: Reader,
  rows: Value[][],
  presenter: Presenter,
  viewer: Viewer,
  shown: AttributeFilter = {},
): Promise<void> {
  if (rows.length === 0) return;
  await Promise.all([
    embedOpenIssues(db, rows, presenter, viewer),
    embedForkSources(db, rows, presenter, viewer),
    embedPermissions(db, rows, presenter, viewer),
    embedStatistics(db, rows, presenter, viewer),
    embedShared(db, rows, presenter, "project_id", viewer),
    embedAttributes(db, rows, presenter, "project_id", shown),
  ]);
}

/** Fills in the source project of forks, if the caller may read it, with one query for all rows. */
async function embedForkSources(
  db: Reader,
  rows: Value[][],
  presenter: Presenter,
  viewer: Viewer,
): Promise<void> {
  if (!("forked_from_project" in presenter.fields)) return;
  const at = presenter.at("forked_from_project");
  const forks = rows.filter((row) => row[at] !== null);
  if (forks.length === 0) return;
  const among = placeholders([...new Set(forks.map((row) => row[at] as Value))]);
  const visible = visibleProjects(viewer);
  const found = await db.rows(
    `select ${basicProject.columns} from ${PROJECTS} where p.id in (${among.sql}) and ${visible.sql}`,
    [...among.values, ...visible.values],
  );
  const idAt = basicProject.at("id");
  const sources = new Map(found.map((row) => [row[idAt] as Value, JSON.stringify(row)]));
  for (const row of forks) row[at] = sources.get(row[at] as Value) ?? null;
}

/** Fills in {@link countOpenIssues}. */
async function embedOpenIssues(
  db: Reader,
  rows: Value[][],
  presenter: Presenter,
  viewer: Viewer,
): Promise<void> {
  if (!("open_issues_count" in presenter.fields)) return;
  const at = presenter.at("open_issues_count");
  const idAt = presenter.at("id");
  const ids = rows.map((row) => row[idAt] as Value);
  const counts = await countOpenIssues(db, ids, viewer);
  for (const row of rows) {
    const count = counts.get(row[idAt] as Value);
    if (count !== undefined) row[at] = String(count);
  }
}

/**
 * The numbers of open issues that are not confidential, by project, with one query for all. As in GitLab, projects whose issues
 * the viewer may not use have none.
 */
export async function countOpenIssues(
  db: Reader,
  projects: readonly Value[],
  viewer: Viewer,
): Promise<Map<Value, number>> {
  const [among, feature] = [placeholders(projects), usesFeature(viewer, "issues")];
  const counted = await db.rows(
    statement`select p.id, coalesce((select cast(sum(c.count) as bigint) from open_issue_counts c where c.project_id = p.id), 0)
     from projects p where p.id in (${among.sql}) and ${feature.sql}`,
    [...among.values, ...feature.values],
  );
  return new Map(counted.map(([id, count]) => [id as Value, count as number]));
}

/** Where a project comes from, which only those see who {@link maySeeOrigin}. */
const ORIGIN = ["import_url", "import_type", "import_error"];

/** Fills in the caller's access levels and what they may do, with one query for all rows. */
async function embedPermissions(
  db: Reader,
  rows: Value[][],
  presenter: Presenter,
  viewer: Viewer,
): Promise<void> {
  if (!("permissions" in presenter.fields) || !viewer.caller) return;
  const [at, idAt] = [presenter.at("permissions"), presenter.at("id")];
  const mayOpenAt = presenter.at("can_create_merge_request_in");
  const originAt = ORIGIN.map((name) => presenter.at(name));
  const ids = rows.map((row) => row[idAt] as Value);
  const sources = await sourcesById(db, "project", ids, viewer);
  for (const row of rows) {
    const source = sources.get(row[idAt] as Value) as Source;
    const { own, inherited } = source.memberships;
    row[at] = `{"project_access":${accessOf(own)},"group_access":${accessOf(inherited)}}`;
    row[mayOpenAt] = String(mayCreateMergeRequestIn(source));
    if (!maySeeOrigin(source)) for (const at of originAt) row[at] = null;
  }
}

const accessOf = (level: number | null): string =>
  level === null ? "null" : `{"access_level":${level},"notification_level":3}`;

/** What a project has and stores. */
export interface Statistics extends Record<keyof typeof SIZES, number> {
  readonly commit_count: number;
  readonly storage_size: number;
}

/** The statistics of the projects of which the caller is a reporter or above, with one query for all. */
export async function statisticsOf(
  db: Reader,
  projects: readonly Value[],
  viewer: Viewer,
): Promise<Map<Value, Statistics>> {
  const among = placeholders(projects);
  const reported: Condition = viewer.caller?.admin
    ? { sql: "1 = 1", values: [] }
    : memberProjects(viewer, "reporter");
  const names = Object.keys(SIZES) as (keyof typeof SIZES)[];
  const found = await db.rows(
    `select p.id, ${[COMMIT_COUNT, ...Object.values(SIZES)].join(", ")} from projects p
     where p.id in (${among.sql}) and ${reported.sql}`,
    [...among.values, ...reported.values],
  );
  return new Map(
    found.map(([id, commits, ...counted]) => {
      const bytes = counted.map(Number);
      const sizes = Object.fromEntries(names.map((name, at) => [name, bytes[at] as number]));
      const ofStorage = bytes.filter((_, at) => isCounted(names[at] as string));
      const storage_size = ofStorage.reduce((sum, size) => sum + size, 0);
      const all = { ...sizes, commit_count: Number(commits), storage_size };
      return [id as Value, all as Statistics];
    }),
  );
}

/** Fills in {@link statisticsOf}. */
async function embedStatistics(
  db: Reader,
  rows: Value[][],
  presenter: Presenter,
  viewer: Viewer,
): Promise<void> {
  if (!("statistics" in presenter.fields)) return;
  const [at, idAt] = [presenter.at("statistics"), presenter.at("id")];
  const ids = rows.map((row) => row[idAt] as Value);
  const statistics = await statisticsOf(db, ids, viewer);
  for (const row of rows) {
    const known = statistics.get(row[idAt] as Value);
    if (!known) continue;
    row[at] = JSON.stringify({
      commit_count: known.commit_count,
      storage_size: known.storage_size,
      repository_size: known.repository_size,
      wiki_size: known.wiki_size,
      lfs_objects_size: known.lfs_objects_size,
      job_artifacts_size: known.job_artifacts_size,
      pipeline_artifacts_size: 0,
      packages_size: known.packages_size,
      snippets_size: 0,
      uploads_size: known.uploads_size,
      container_registry_size: known.container_registry_size,
    });
  }
}
