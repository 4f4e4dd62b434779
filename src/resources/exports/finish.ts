import { VISIBILITIES } from "../../core/access/visibility.ts";
import { BRANCHES, findRef } from "../../git/refs.ts";
import type { Database, Store, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as applicationSettings from "../application-settings/queries.ts";
import { isRestricted } from "../application-settings/rules.ts";
import * as namespaces from "../namespaces/queries.ts";
import { factsOf, setMain } from "../repositories/facts.ts";
import { findRecord, openRecord } from "../repositories/open.ts";
import { setTopics } from "../topics/queries.ts";
import type { Place } from "./format.ts";

/** What another server says of a project itself: values by column. */
export type Settings = Readonly<Record<string, Value>>;

/** A project that was read. */
interface Finished {
  readonly store: Store;
  readonly place: Place;
  /** Whether the importer is an administrator. */
  readonly speaksForAll: boolean;
  readonly now: number;
}

/**
 * Applies an archive's settings to its project, and notes what is noted of projects. It stays private if whoever imports
 * it may not make it as visible as it was.
 */
export async function finish(
  { store, place: { id: projectId }, speaksForAll: admin, now }: Finished,
  settings: Settings,
): Promise<void> {
  const { visibility, topics, ...others } = settings;
  await store.transaction(
    async (db) => {
      const [row] = await db.rows("select namespace_id from projects where id = ?", [projectId]);
      if (!row) return;
      const namespace = await namespaces.find(db, row[0] as number);
      const most = namespace?.kind === "group" ? namespace.visibility : Number.POSITIVE_INFINITY;
      const wanted = Math.min((visibility ?? 0) as number, most);
      const restricted = isRestricted(await applicationSettings.find(db), { admin }, wanted);
      const level = restricted ? VISIBILITIES.private : wanted;
      await updateRow(db, "projects", projectId, { ...others, visibility: level }, now);
      if (topics != null) await setTopics(db, projectId, JSON.parse(String(topics)), now);
      await countIssues(db, projectId);
    },
    { shared: true },
  );
  const { row, defaultBranch } = await findRecord(store.reader(), projectId);
  const ref = row && (await findRef(store, row.id, BRANCHES + defaultBranch));
  if (!ref) return;
  const facts = await factsOf(await openRecord(store, row), ref.oid);
  await store.transaction((db) => setMain(db, row.id, facts), { shared: true });
}

/** Notes the highest number of an issue and of a merge request of a project: new ones get the next. */
export async function countIssues(db: Database, projectId: number): Promise<void> {
  for (const [table, count] of [
    ["issues", "issue_count"],
    ["merge_requests", "merge_request_count"],
  ]) {
    await db.run(
      `update projects set ${count} = coalesce((select max(iid) from ${table} where project_id = ?), 0)
       where id = ?`,
      [projectId, projectId],
    );
  }
}
