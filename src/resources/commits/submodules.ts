import * as param from "../../core/input.ts";
import { SUBMODULE } from "../../git/objects.ts";
import { openToCommit, stageCommit } from "../repositories/commit.ts";
import { impossible, treePath } from "../repositories/rules.ts";

/** What a change of a submodule is asked for with. */
export const submoduleInput = {
  submodule: param.text({ max: 4096 }),
  branch: param.text({ max: 1024 }),
  commit_sha: param.checked(param.anyText(), (sha) => /^[0-9a-f]{40}$/.test(sha)),
  commit_message: param.unlessBlank(param.text({ max: param.LONG_TEXT })),
};

/**
 * Stages a commit that lets a submodule be at another commit, which nothing looks for: it is in another repository.
 *
 * @throws ApiError 400 if there is no such submodule, or it is there already
 */
export async function stageSubmodule(
  preparing: Parameters<typeof openToCommit>[0],
  input: param.Input<typeof submoduleInput>,
) {
  const { branch, commit_sha: oid } = input;
  const path = treePath(input.submodule);
  const commit_message = input.commit_message ?? `Update submodule ${path} with oid ${oid}`;
  const place = await openToCommit(preparing, { branch, commit_message });
  const staged = await stageCommit(place, { branch, commit_message }, async (tree) => {
    const found = await tree.find(path);
    if (found?.mode !== SUBMODULE) throw impossible("Invalid submodule path");
    if (found.oid === oid) throw impossible(`The submodule ${path} is already at ${oid}`);
    await tree.set(path, { mode: SUBMODULE, oid });
  });
  return { place, staged };
}
