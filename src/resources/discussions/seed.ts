import * as v from "valibot";
import { SeedError, type SeededSource, type Seeding, seedList } from "../../core/seeding.ts";
import { Packs } from "../../git/packs.ts";
import { findRow, load, type Repository } from "../../git/repository.ts";
import type { SeededIssuable } from "../issuables/seed.ts";
import { latest } from "../merge-request-versions/versions.ts";
import { insertNote, type ThreadSeed, threadEntries } from "../notes/seed.ts";
import { findPlace } from "./positions.ts";
import { refsOf } from "./requests.ts";

/** A thread on a line of a merge request of a seed, which is in the diff of its branches. */
export interface DiffNoteSeed extends ThreadSeed {
  /** The file after the change; of a deleted one, before it. */
  path: string;
  /** The number of a removed line; with `new_line`, that of an unchanged one. */
  old_line?: number | undefined;
  /** The number of an added line. */
  new_line?: number | undefined;
}

const lineNumber = v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)));
const repositories = new WeakMap<SeededSource, Repository>();

async function repositoryOf(
  { db }: Seeding,
  project: SeededSource,
): Promise<Repository | undefined> {
  const row = repositories.has(project) ? undefined : await findRow(db, project.id);
  if (row) repositories.set(project, await load(db, Packs.within(db), row.id));
  return repositories.get(project);
}

/** The threads on lines of a merge request. */
export const diffNotesPart = seedList({
  entries: { ...threadEntries, path: v.string(), old_line: lineNumber, new_line: lineNumber },
  counted: "notes",
  async insert(seeding, note, request: SeededIssuable) {
    const { path, old_line, new_line } = note;
    const repository = await repositoryOf(seeding, request.project);
    const version = await latest(seeding.db, request.id);
    const place =
      repository &&
      version &&
      (await findPlace(repository, {
        ...refsOf(version),
        old_path: path,
        new_path: path,
        position_type: "text",
        line: { before: old_line, after: new_line },
        range: undefined,
        image: undefined,
      }));
    if (!place)
      throw new SeedError(`the diff of the merge request does not have this line of ${path}`);
    await insertNote(seeding, request, note, { place });
  },
});
