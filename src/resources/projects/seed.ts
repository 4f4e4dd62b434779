import * as v from "valibot";
import { ROLES } from "../../core/access/roles.ts";
import { VISIBILITIES } from "../../core/access/visibility.ts";
import { problemOfProjectPath } from "../../core/paths.ts";
import {
  type CheckedRecord,
  type InsertNested,
  SeedError,
  type SeededSource,
  type Seeding,
  type SeedParts,
  seedList,
} from "../../core/seeding.ts";
import { updateRow } from "../../store/update.ts";
import { recordEvent } from "../events/seed.ts";
import * as members from "../members/queries.ts";
import * as namespaces from "../namespaces/queries.ts";
import {
  requireVisibility,
  type SeededGroup,
  type SourceSeed,
  sourceEntries,
} from "../namespaces/seed.ts";
import * as projects from "./queries.ts";

/** A project of a seed. */
export interface ProjectSeed extends SourceSeed {
  /** User name of the creator; records a `created` event. Default: the owner of a user's own project. */
  creator?: string | undefined;
  default_branch?: string | undefined;
  topics?: string[] | undefined;
  /** User names of people who starred it. */
  starred_by?: string[] | undefined;
}

const entries = {
  ...sourceEntries,
  creator: v.optional(v.string()),
  default_branch: v.optional(v.string()),
  topics: v.optional(v.array(v.string())),
  starred_by: v.optional(v.array(v.string()), []),
};

/** A group's projects. @param nested what each of them has */
export const projectsPart = <Nested extends SeedParts<SeededSource>>(nested: Nested) =>
  seedList({
    entries,
    nested,
    counted: "projects",
    async insert(seeding, project, group: SeededGroup, insertNested: InsertNested<SeededSource>) {
      await insert(seeding, project, group.namespace, insertNested);
    },
  });

/** Users' own projects. @param nested what each of them has */
export const personalProjectsPart = <Nested extends SeedParts<SeededSource>>(nested: Nested) =>
  seedList({
    entries: { ...entries, namespace: v.string() },
    nested,
    counted: "projects",
    async insert(seeding, project, _seed: undefined, insertNested: InsertNested<SeededSource>) {
      const namespace = await namespaces.findByPath(seeding.db, project.namespace);
      if (!namespace) throw new SeedError(`there is no namespace ${project.namespace}`);
      const inserted = await insert(seeding, project, namespace, insertNested);
      if (namespace.owner_id === null) return;
      const owner = { user_id: namespace.owner_id, access_level: ROLES.owner };
      await members.insert(seeding.db, inserted, owner, inserted.createdAt);
    },
  });

async function insert(
  seeding: Seeding,
  project: CheckedRecord<typeof entries>,
  namespace: namespaces.Namespace,
  insertNested: InsertNested<SeededSource>,
): Promise<SeededSource> {
  const { db, now } = seeding;
  const { path, name = path, creator, created_at: createdAt = now } = project;
  const fullPath = `${namespace.full_path}/${path}`;
  const problem = problemOfProjectPath(path);
  if (problem !== undefined) throw new SeedError(`${fullPath}: the path ${problem}`);
  if (await namespaces.isTaken(db, fullPath)) throw new SeedError(`${fullPath} is taken`);
  requireVisibility(fullPath, project.visibility, namespace);
  const id = await projects.insert(
    db,
    {
      ...project,
      namespace,
      creator_id: creator === undefined ? namespace.owner_id : seeding.userId(creator),
      name,
      visibility: VISIBILITIES[project.visibility],
    },
    createdAt,
  );
  const inserted: SeededSource = {
    column: "project_id",
    id,
    namespaceId: namespace.id,
    fullPath,
    createdAt,
    lastEventAt: 0,
  };
  if (creator !== undefined) {
    const target = { type: "project", id, title: name } as const;
    await recordEvent(seeding, inserted, creator, { action: "created", target }, createdAt);
  }
  for (const username of project.starred_by) {
    await projects.star(db, id, seeding.userId(username), createdAt);
  }
  await insertNested(inserted);
  await seeding.flush();
  const { lastEventAt } = inserted;
  if (lastEventAt > createdAt) {
    await updateRow(db, "projects", id, { last_activity_at: lastEventAt }, lastEventAt);
  }
  return inserted;
}
