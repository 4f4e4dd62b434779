import { SeedError, type SeededSource } from "../../core/seeding.ts";
import { applyPush, type Push } from "../../git/push.ts";
import { create } from "../../git/repository.ts";
import type { Database } from "../../store/port.ts";
import { protectDefault } from "../protected-refs/changes.ts";
import { factsOf, setMain } from "./facts.ts";

/**
 * Gives a project of a seed its repository.
 *
 * @param main its default branch, if it has branches
 * @throws SeedError if a reference is not valid
 */
export async function storeSeeded(
  db: Database,
  { id, fullPath }: SeededSource,
  push: Push,
  main: { readonly name: string; readonly commit: string } | undefined,
  now: number,
): Promise<void> {
  const repositoryId = await create(db, id, "code");
  // The first problem undoes all of the seed.
  const each = { ...push, isAtomic: false };
  for (const { change, problem } of await applyPush(db, repositoryId, each, undefined)) {
    if (problem) throw new SeedError(`${change.name} in ${fullPath}: ${problem}`);
  }
  if (!main) return;
  await db.run("update projects set default_branch = ? where id = ?", [main.name, id]);
  await protectDefault(db, id, main.name, now);
  await setMain(db, repositoryId, await factsOf(push.repository, main.commit));
}
