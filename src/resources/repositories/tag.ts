import { commitId } from "../../git/commits.ts";
import { Draft } from "../../git/draft.ts";
import { isShortName, TAGS } from "../../git/refs.ts";
import { findCommit } from "../../git/revisions.ts";
import { impossible } from "./rules.ts";
import { type Place, signatureOf, stage } from "./write.ts";

/**
 * Stages a new tag: annotated, if it has a message.
 *
 * @param place opened with the tag and `target`
 * @throws ApiError 400 if there can't be such a tag
 */
export async function stageTag(place: Place, name: string, target: string, message: string) {
  const { repository, refs, store, caller, now } = place;
  if (!isShortName(name)) throw impossible("Tag name invalid");
  if (refs.has(TAGS + name)) throw impossible(`Tag ${name} already exists`);
  const number = await findCommit(place, target);
  if (number === undefined) throw impossible(`Target ${target} is invalid`);
  const commit = commitId(repository, number);
  const draft = new Draft(repository);
  const tagger = message === "" ? undefined : await signatureOf(store.reader(), caller.id, now);
  const oid = tagger ? draft.addTag({ commit, name, tagger, message }) : commit;
  const received = await stage(place, draft, [{ name: TAGS + name, from: undefined, to: oid }]);
  const ref = { name: TAGS + name, oid, peeled: tagger ? commit : null };
  return { received, ref, place: { ...place, repository: received.push.repository } };
}
