import { SeedError, type SeededSource, type Seeding } from "../../core/seeding.ts";
import { RefusedError } from "../../git/errors.ts";
import { Packs } from "../../git/packs.ts";
import { Input } from "../../git/pkt-line.ts";
import { checkChanges } from "../../git/push.ts";
import { receivePack } from "../../git/receive.ts";
import { BRANCHES, TAGS } from "../../git/refs.ts";
import { Repository } from "../../git/repository.ts";
import { findRecord } from "./open.ts";
import { storeSeeded } from "./stored.ts";

/** The references of a bundle, and its pack. */
interface Bundle {
  /** By name, in full, also `HEAD`. */
  readonly refs: ReadonlyMap<string, string>;
  readonly pack: Buffer;
}

/** Characters of the beginning of a bundle, at most. */
const MOST_HEADER = 4 * 1024 * 1024;

/**
 * Reads a bundle of Git (gitformat-bundle), of version 2 or 3.
 *
 * @throws RefusedError if it is none, or needs commits that it does not have
 */
function readBundle(bytes: Buffer): Bundle {
  const end = bytes.subarray(0, MOST_HEADER).indexOf("\n\n");
  const [first = "", ...lines] = bytes.subarray(0, Math.max(end, 0)).toString("utf8").split("\n");
  if (!/^# v[23] git bundle$/.test(first)) throw new RefusedError("it is no bundle of Git");
  const refs = new Map<string, string>();
  for (const line of lines) {
    if (line.startsWith("-")) {
      throw new RefusedError("the bundle needs commits that it does not have: make one of all");
    }
    if (line.startsWith("@") && line !== "@object-format=sha1") {
      throw new RefusedError(`the bundle has ${line}`);
    }
    const [, oid, name] = /^([0-9a-f]{40}) (.+)$/.exec(line) ?? [];
    if (oid !== undefined && name !== undefined) refs.set(name, oid);
  }
  return { refs, pack: bytes.subarray(end + 2) };
}

/**
 * Gives a project of a seed the branches and tags of a bundle.
 *
 * @throws SeedError if it can't be used
 */
export async function storeBundle(
  { db, now }: Seeding,
  project: SeededSource,
  bytes: Buffer,
): Promise<void> {
  try {
    const { refs, pack } = readBundle(bytes);
    const packs = Packs.within(db);
    const empty = new Repository(packs, []);
    const staged = await receivePack(new Input(once(pack)), empty, packs, now);
    const repository = staged ? empty.with(staged.pack) : empty;
    const wanted = [...refs].flatMap(([name, to]) =>
      name.startsWith(BRANCHES) || name.startsWith(TAGS) ? [{ name, from: undefined, to }] : [],
    );
    const changes = await checkChanges(repository, wanted, "server");
    const push = { changes, staged, repository, version: 0, isAtomic: false };
    const { defaultBranch } = await findRecord(db, project.id);
    await storeSeeded(db, project, push, mainOf(refs, defaultBranch), now);
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    throw new SeedError(`the repository of ${project.fullPath}: ${error.message}`);
  }
}

/** The default branch and its commit: the project's, if there is one; else that of `HEAD`, else the first one. */
function mainOf(refs: ReadonlyMap<string, string>, wanted: string) {
  const branches = [...refs].flatMap(([name, commit]) =>
    name.startsWith(BRANCHES) ? [{ name: name.slice(BRANCHES.length), commit }] : [],
  );
  const head = refs.get("HEAD");
  return (
    branches.find(({ name }) => name === wanted) ??
    branches.find(({ commit }) => commit === head) ??
    branches[0]
  );
}

async function* once(bytes: Buffer) {
  yield bytes;
}
