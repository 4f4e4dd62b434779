import { applyPush, type Outcome } from "../../git/push.ts";
import { BRANCHES } from "../../git/refs.ts";
import { create } from "../../git/repository.ts";
import { updateRow } from "../../store/update.ts";
import { protectDefault } from "../protected-refs/changes.ts";
import { factsOf, setMain } from "../repositories/facts.ts";
import { mainChange } from "../repositories/pushes.ts";
import { type Fetched, type Fetching, fetchSome } from "./fetch.ts";

/**
 * Brings references, the default branch among the first, without what follows from pushes.
 *
 * @param names as {@link fetchSome} takes them
 * @param protects whether the default branch of an empty repository is protected
 * @returns those that could not be brought, each with the reason
 */
export async function bringRefs(
  fetching: Fetching,
  names: readonly string[],
  protects = true,
): Promise<string[]> {
  const { head } = fetching.listed;
  let open = names.toSorted((a, b) => Number(b === head) - Number(a === head));
  const left: Outcome[] = [];
  for (;;) {
    const outcomes = await fetchSome(fetching, open, (fetched) =>
      apply(fetching, fetched, protects),
    );
    if (outcomes.length === 0) break;
    left.push(...outcomes.filter(({ problem }) => problem !== undefined));
    const settled = new Set(outcomes.map(({ change }) => change.name));
    open = open.filter((name) => !settled.has(name));
  }
  return left.map(({ change, problem }) => `${change.name} (${problem})`);
}

/** Makes changes without what follows from pushes: the feed, webhooks and pipelines are not told. */
async function apply(
  { store, now, projectId, budget }: Fetching,
  { head, isEmpty, ...push }: Fetched,
  protects: boolean,
): Promise<readonly Outcome[]> {
  const main = mainChange(push, head, isEmpty);
  const facts = main?.to === undefined ? undefined : await factsOf(push.repository, main.to);
  return store.transaction(
    async (db) => {
      db.lock(projectId);
      const repositoryId = await create(db, projectId, "code");
      const outcomes = await applyPush(db, repositoryId, push, undefined, budget);
      const isMade = outcomes.some(({ change, problem }) => change === main && !problem);
      if (main && facts && isMade) {
        if (isEmpty) {
          const branch = main.name.slice(BRANCHES.length);
          await updateRow(db, "projects", projectId, { default_branch: branch }, now());
          if (protects) await protectDefault(db, projectId, branch, now());
        }
        await setMain(db, repositoryId, facts);
      }
      return outcomes;
    },
    { shared: true },
  );
}
