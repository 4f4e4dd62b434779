import * as v from "valibot";
import { optionsOf } from "../../core/options.ts";
import {
  type InstantSeed,
  instant,
  oneOf,
  SeedError,
  type SeededSource,
  type Seeding,
  type SeedPart,
  type Word,
} from "../../core/seeding.ts";
import { BRANCHES, findRef, TAGS } from "../../git/refs.ts";
import { recordEvent } from "../events/seed.ts";
import { findRecord } from "./open.ts";
import { notRead, SeededCode } from "./seeded.ts";

/** A push. With `commits`, the project's repository has them; otherwise it is an event only, as a Git hook reports it. */
export interface PushSeed {
  author: string;
  ref: string;
  ref_type?: Word<"branch" | "tag"> | undefined;
  action?: Word<"created" | "removed" | "pushed"> | undefined;
  /** The commits it adds to a branch, the oldest first. What its event says about commits follows from them. */
  commits?: CommitSeed[] | undefined;
  /** The branch that a new branch or tag begins at. Default: the default branch. */
  start_branch?: string | undefined;
  /** Makes a new tag an annotated one. */
  message?: string | undefined;
  commit_count?: number | undefined;
  commit_from?: string | undefined;
  commit_to?: string | undefined;
  commit_title?: string | undefined;
  created_at?: InstantSeed;
}

/** A commit of a push. */
interface CommitSeed {
  message: string;
  /** A user name. Default: who pushes it. */
  author?: string | undefined;
  /** Default: when it is pushed. */
  created_at?: InstantSeed;
  /** The contents of files by path, as texts or in Base64; `null` deletes a file. */
  files?: Record<string, string | FileSeed | null> | undefined;
  /** A folder whose files it brings: only in seeds that are files of a test server, or given to it. */
  folder?: string | undefined;
  /** A branch that it merges. Of files that both branches have changed, it has that branch's version. */
  merge?: string | undefined;
}

/** A file of a commit. */
interface FileSeed {
  content: string;
  encoding?: Word<"text" | "base64"> | undefined;
  executable?: boolean | undefined;
}

const file = v.union([
  v.string(),
  optionsOf({
    content: v.string(),
    encoding: v.optional(oneOf(["text", "base64"]), "text"),
    executable: v.optional(v.boolean(), false),
  }),
]);

const PushesSchema = v.optional(
  v.array(
    optionsOf({
      author: v.string(),
      ref: v.string(),
      ref_type: v.optional(oneOf(["branch", "tag"]), "branch"),
      action: v.optional(oneOf(["created", "removed", "pushed"]), "pushed"),
      commits: v.optional(
        v.array(
          optionsOf({
            message: v.string(),
            author: v.optional(v.string()),
            created_at: instant,
            files: v.optional(v.record(v.string(), v.nullable(file)), {}),
            folder: v.optional(v.string()),
            merge: v.optional(v.string()),
          }),
        ),
      ),
      start_branch: v.optional(v.string()),
      message: v.optional(v.string()),
      commit_count: v.optional(v.number(), 1),
      commit_from: v.optional(v.string()),
      commit_to: v.optional(v.string()),
      commit_title: v.optional(v.string()),
      created_at: instant,
    }),
  ),
  [],
);
type Push = v.InferOutput<typeof PushesSchema>[number];

/** A project's repository, as `git bundle create site.bundle --all` writes it. */
export interface RepositorySeed {
  /** A bundle, in Base64. */
  bundle?: string | undefined;
  /** The path of a bundle: only in seeds that are files of a test server, or given to it. */
  file?: string | undefined;
}

/** A project's repository from a bundle. Its pushes then only are events. */
export const repositoryPart: SeedPart<SeededSource, RepositorySeed | undefined> = {
  schema: v.optional(optionsOf({ bundle: v.optional(v.string()), file: v.optional(v.string()) })),
  sizeOf: () => 0,
  async insert(seeding, value, project) {
    const { bundle, file } = (value ?? {}) as RepositorySeed;
    if (file !== undefined) throw notRead(`the bundle ${file}`);
    if (bundle === undefined) return;
    const { storeBundle } = await import("./bundles.ts");
    await storeBundle(seeding, project, Buffer.from(bundle, "base64"));
  },
};

/** A project's pushes, and the repository that they make. */
export const pushesPart: SeedPart<SeededSource, PushSeed[] | undefined> = {
  schema: PushesSchema,
  sizeOf: (pushes) => (pushes as Push[]).length,
  async insert(seeding, value, project) {
    const pushes = value as Push[];
    const hasCode = pushes.some(({ commits }) => commits !== undefined);
    if (hasCode && (await findRecord(seeding.db, project.id)).row) {
      throw new SeedError(`${project.fullPath} has a repository: its pushes have no commits`);
    }
    const code = hasCode ? await SeededCode.of(seeding, project, pushes) : undefined;
    for (const push of pushes) {
      const at = push.created_at ?? seeding.now;
      const pushed = (await code?.push(push, at)) ?? reported(push);
      await recordEvent(seeding, project, push.author, pushed, at);
      seeding.inserted();
    }
    await code?.store();
  },
};

/** The commit of a branch or tag. @throws SeedError if it does not exist */
export async function tipOf(
  { db }: Seeding,
  projectId: number,
  ref: string,
  tag: boolean,
): Promise<string> {
  const { row } = await findRecord(db, projectId);
  const found = row && (await findRef(db, row.id, `${tag ? TAGS : BRANCHES}${ref}`));
  if (!found) throw new SeedError(`there is no branch or tag ${ref}, so a sha is needed`);
  return found.peeled ?? found.oid;
}

/** What a push says itself. */
function reported({ action: push_action, ref, ref_type, commit_count, ...push }: Push) {
  return {
    ref,
    ref_type,
    push_action,
    commit_count,
    commit_from: push.commit_from ?? null,
    commit_to: push.commit_to ?? null,
    commit_title: push.commit_title ?? null,
  };
}
