import { homeOf } from "../../core/access/source.ts";
import { VISIBILITIES, VISIBILITY_WORDS, type Visibility } from "../../core/access/visibility.ts";
import type { Database } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import * as applicationSettings from "../application-settings/queries.ts";
import { isRestricted } from "../application-settings/rules.ts";
import { createGroup } from "../groups/changes.ts";
import { ensureHome } from "../namespaces/home.ts";
import { groupSettings } from "../namespaces/kept.ts";
import * as namespaces from "../namespaces/queries.ts";
import { bringWikiOf } from "./code.ts";
import {
  bringAvatar,
  bringBadges,
  bringBoards,
  bringHooks,
  bringLabels,
  bringMembers,
  bringVariables,
  keptOf,
} from "./common.ts";
import { bringEpics } from "./epics.ts";
import { bringIterations } from "./iterations.ts";
import * as imports from "./queries.ts";
import { flagIn, instantIn, milestoneRow, textIn } from "./rows.ts";
import type { Bringing, Running } from "./running.ts";
import type { Told } from "./source.ts";

/**
 * Creates the group that one of another server becomes.
 *
 * @returns its id
 * @throws ApiError if its place is taken or not allowed
 */
export async function makeGroup(
  db: Database,
  { by, importer, now }: Running,
  { destination_slug: path }: imports.Entity,
  parent: namespaces.Namespace | undefined,
  told: Told,
): Promise<number> {
  const name = textIn(told["name"])?.slice(0, 255) ?? path;
  const visibility = await levelOf(db, told, parent, importer.speaksForAll);
  const group = {
    ...{ name, path, parent, ownerId: parent ? undefined : importer.id, visibility },
    description: textIn(told["description"])?.slice(0, 500) ?? "",
    lfs_enabled: told["lfs_enabled"] !== false,
    request_access_enabled: told["request_access_enabled"] !== false,
  };
  const id = await createGroup(db, by, group, now());
  const settings = {
    kept_settings: keptOf(groupSettings as never, told),
    emails_disabled: flagIn(told["emails_disabled"]),
    created_at: instantIn(told["created_at"]) ?? now(),
  };
  await updateRow(db, "namespaces", id, settings, now());
  return id;
}

/** How visible it becomes: as there, if the group above it and this server allow that. */
async function levelOf(
  db: Database,
  told: Told,
  parent: namespaces.Namespace | undefined,
  admin: boolean,
): Promise<Visibility> {
  const there = VISIBILITIES[told["visibility"] as Visibility] ?? VISIBILITIES.private;
  const most = parent?.visibility ?? VISIBILITIES.public;
  const wanted = Math.min(there, most);
  const isTooMuch = isRestricted(await applicationSettings.find(db), { admin }, wanted);
  return VISIBILITY_WORDS[isTooMuch ? VISIBILITIES.private : wanted] as Visibility;
}

/** Brings what a group has, and notes which groups and projects below it are to be brought. */
export async function bringGroup(bringing: Bringing, told: Told): Promise<void> {
  await bringAvatar(bringing, told);
  await bringLabels(bringing, { only_group_labels: true, include_ancestor_groups: false });
  await bringing.list(
    "milestones",
    `${bringing.path}/milestones`,
    {},
    (milestone) =>
      bringing.record("milestones", String(milestone["id"]), [milestoneRow(milestone)], []),
    { newestFirst: true },
  );
  await bringBadges(bringing);
  await bringBoards(bringing);
  await bringIterations(bringing, told);
  await bringEpics(bringing);
  await bringing.part("wiki", () => groupWiki(bringing));
  await bringVariables(bringing);
  await bringHooks(bringing);
  await bringMembers(bringing);
  const { entity } = bringing;
  await bringing.part("subgroups", () => below(bringing, "group_entity"));
  if (entity.migrate_projects === 1) {
    await bringing.part("projects", () => below(bringing, "project_entity"));
  }
}

/** The wiki of a group, if it has one: a wiki without pages has no repository there. */
async function groupWiki(bringing: Bringing): Promise<void> {
  const { running, place, path } = bringing;
  const pages = await bringing.about("wiki", `${path}/wikis`);
  const group = pages.length > 0 && (await namespaces.find(running.store, place.id));
  if (!group) return;
  const home = { id: await homeOf(running.store, group.full_path), namespaceId: place.id };
  const projectId = await running.store.transaction((db) =>
    ensureHome(db, { ...home, fullPath: group.full_path }, running.now()),
  );
  await bringWikiOf(bringing, projectId);
}

/** Notes the groups or projects directly below a group. */
async function below(bringing: Bringing, entity_type: imports.EntityType): Promise<void> {
  const { running, entity, place, path } = bringing;
  const isGroup = entity_type === "group_entity";
  const list = isGroup ? `${path}/subgroups` : `${path}/projects`;
  const query = isGroup
    ? { all_available: false, order_by: "id", sort: "asc" }
    : { include_subgroups: false, with_shared: false, order_by: "id", sort: "asc" };
  const own = `${entity.source_full_path}/`.toLowerCase();
  for await (const { entries } of running.source.list(list, query)) {
    await running.store.transaction(async (db) => {
      const here = await namespaces.find(db, place.id);
      if (!here) return;
      for (const told of entries) {
        const full = textIn(told["full_path"] ?? told["path_with_namespace"]) ?? "";
        const slug = textIn(told["path"]) ?? "";
        // What an answer says of other groups is not asked for.
        if (full.toLowerCase() !== `${own}${slug.toLowerCase()}`) continue;
        const found = {
          ...{ entity_type, source_full_path: full, destination_slug: slug },
          destination_namespace: here.full_path,
          migrate_projects: entity.migrate_projects,
          migrate_memberships: entity.migrate_memberships,
        };
        await imports.addEntity(db, running.record.id, found, entity.id, running.now());
      }
    });
  }
}
