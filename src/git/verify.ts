import type { Reader } from "../store/port.ts";
import { Pace } from "../turns/pace.ts";
import { COMMIT, eachEntry, linksOf, oidOf, SUBMODULE, TAG, TREE, tagLinkOf } from "./objects.ts";
import { OID_BYTES } from "./oid-table.ts";
import type { Pack } from "./pack.ts";
import { PackReader } from "./packs.ts";
import { listRefs } from "./refs.ts";
import { load, type Repository, type RepositoryKind } from "./repository.ts";

/**
 * Checks all repositories: that each object has the content its name stands for, that everything it refers to is there,
 * and that each reference is for an object that is there.
 *
 * @param most how many problems to report
 * @returns the problems, each a sentence
 */
export async function verifyRepositories(db: Reader, most: number): Promise<string[]> {
  const problems: string[] = [];
  const repositories = await db.rows(
    "select id, project_id, kind from git_repositories order by id",
  );
  const packs = new PackReader(db);
  const pace = new Pace();
  for (const [id, projectId, kind] of repositories as [number, number, RepositoryKind][]) {
    const where = `the repository of ${kind === "wiki" ? "the wiki of " : ""}project ${projectId}`;
    try {
      const repository = await load(db, packs, id);
      for (const pack of repository.list) {
        for (let entry = 0; entry < pack.count && problems.length < most; entry += 1) {
          const problem = await problemOf(repository, pack, entry);
          if (problem) problems.push(`${where}: ${problem}`);
          if (pace.isDue) await pace.pause();
        }
      }
      for (const { name, oid } of await listRefs(db, id)) {
        if (repository.findHex(oid) < 0)
          problems.push(`${where}: ${name} is for ${oid}, which is missing`);
      }
    } catch (error) {
      problems.push(`${where} can't be read: ${error instanceof Error ? error.message : error}`);
    }
    if (problems.length >= most) break;
  }
  return problems.slice(0, most);
}

/** What is wrong with an object, if anything. */
async function problemOf(
  repository: Repository,
  pack: Pack,
  entry: number,
): Promise<string | undefined> {
  const expected = pack.oids.bytesOf(entry);
  const name = expected.toString("hex");
  const { type, data } = await repository.packs.read(pack, entry).catch((error: Error) => ({
    type: 0,
    data: Buffer.from(error.message),
  }));
  if (type === 0) return `the object ${name} can't be read: ${data.toString()}`;
  if (type !== pack.types[entry] || !oidOf(type, data).equals(expected)) {
    return `the object ${name} has another content`;
  }
  const missing = referredBy(type, data).find((oid) => repository.find(oid) < 0);
  return missing && `the object ${name} refers to ${missing.toString("hex")}, which is missing`;
}

/** The names that an object refers to. */
function referredBy(type: number, data: Buffer): Buffer[] {
  if (type === TAG) return [tagLinkOf(data).target];
  if (type === COMMIT) {
    const { tree, parents } = linksOf(data);
    return [tree, ...parents];
  }
  const oids: Buffer[] = [];
  if (type !== TREE) return oids;
  eachEntry(data, (mode, _from, _to, at) => {
    if (mode !== SUBMODULE) oids.push(data.subarray(at, at + OID_BYTES));
  });
  return oids;
}
