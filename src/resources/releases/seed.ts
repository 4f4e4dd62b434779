import * as v from "valibot";
import { optionsOf } from "../../core/options.ts";
import {
  type InstantSeed,
  instant,
  oneOf,
  SeedError,
  type SeededSource,
  seedList,
  type Word,
} from "../../core/seeding.ts";
import { TAGS } from "../../git/refs.ts";
import type { Reader } from "../../store/port.ts";
import { findFor } from "../milestones/queries.ts";
import * as releases from "./queries.ts";
import { LINK_TYPES, requireLink } from "./rules.ts";

/** A release of a tag of a project of a seed. */
export interface ReleaseSeed {
  /** A tag that the project's pushes have made. */
  tag: string;
  /** Default: the tag's. */
  name?: string | undefined;
  description?: string | undefined;
  author?: string | undefined;
  /** Titles of milestones. */
  milestones?: string[] | undefined;
  links?: ReleaseLinkSeed[] | undefined;
  /** Default: now. */
  released_at?: InstantSeed;
}

/** A link of a release to an asset. */
interface ReleaseLinkSeed {
  name: string;
  url: string;
  /** At which the API forwards to it: `/bin/tool`. */
  direct_asset_path?: string | undefined;
  /** Default `"other"`. */
  link_type?: Word<(typeof LINK_TYPES)[number]> | undefined;
}

/** The releases of a project. */
export const releasesPart = seedList({
  entries: {
    tag: v.string(),
    name: v.optional(v.string()),
    description: v.optional(v.string()),
    author: v.optional(v.string()),
    milestones: v.optional(v.array(v.string()), []),
    links: v.optional(
      v.array(
        optionsOf({
          name: v.string(),
          url: v.string(),
          direct_asset_path: v.optional(v.string()),
          link_type: v.optional(oneOf(LINK_TYPES), "other"),
        }),
      ),
      [],
    ),
    released_at: instant,
  },
  counted: "releases",
  async insert(seeding, release, project: SeededSource) {
    const { db, now } = seeding;
    const { tag, name = null, description = null, author, links } = release;
    const at = release.released_at ?? now;
    const sha = await commitOf(db, project.id, tag);
    if (sha === undefined) throw new SeedError(`the project ${project.fullPath} has no tag ${tag}`);
    if (await releases.find(db, project.id, tag)) {
      throw new SeedError(`the tag ${tag} of ${project.fullPath} has two releases`);
    }
    const row = {
      project_id: project.id,
      tag,
      name,
      description,
      sha,
      author_id: author === undefined ? null : seeding.userId(author),
      released_at: at,
    };
    const id = await releases.insert(db, row, at);
    const milestones: number[] = [];
    for (const title of release.milestones) {
      const found = await findFor(db, project, { title });
      if (!found) throw new SeedError(`the project ${project.fullPath} has no milestone ${title}`);
      milestones.push(found.id);
    }
    await releases.setMilestones(db, id, milestones);
    for (const { direct_asset_path: filepath = null, ...given } of links) {
      const link = { ...given, filepath };
      requireLink(link, await releases.takenBy(db, id, link, 0));
      await releases.insertLink(db, id, link, at);
    }
  },
});

/** The commit that a tag is for, if there is such a tag. */
async function commitOf(db: Reader, projectId: number, tag: string): Promise<string | undefined> {
  const [found] = await db.rows(
    `select coalesce(f.peeled, f.oid) from git_repositories r join git_refs f on f.repository_id = r.id
     where r.project_id = ? and r.kind = 'code' and f.name = ?`,
    [projectId, TAGS + tag],
  );
  return found?.[0] as string | undefined;
}
