import type { Source } from "../../core/access/source.ts";
import { invalid } from "../../core/errors.ts";
import type { Parameter } from "../../core/http/parameters.ts";
import type { PrepareContext } from "../../core/resource.ts";
import type { VersionFacts } from "../merge-request-versions/versions.ts";
import { openCode } from "../merge-requests/code.ts";
import type { Place } from "../notes/queries.ts";
import { type DiffRefs, NOTHING, type Position, placeOf, readPosition } from "./positions.ts";
import { Tracer } from "./tracing.ts";

/** What a note on a merge request is prepared with. */
interface Preparing extends Pick<PrepareContext, "db" | "store" | "caller" | "now"> {
  readonly source: Source;
}

/**
 * Finds the place of a note on a merge request, before its transaction: in the diff of the latest version, if it is still
 * there, whichever diff the client saw. A note on a commit stays in the diff that the client saw.
 *
 * @throws ApiError 404 if the caller may not read the merge request, 400 if the diff does not have the place, or there is
 *   no such commit
 */
export async function placeOnRequest(
  preparing: Preparing,
  iid: number,
  {
    position: sent,
    commit_id,
  }: { position?: Parameter | undefined; commit_id?: string | undefined },
): Promise<Place | undefined> {
  if (sent === undefined && commit_id === undefined) return undefined;
  const { opened, version } = await openCode(preparing, iid);
  if (commit_id !== undefined && !(await opened.shown.hasCommitNamed(commit_id))) {
    throw invalid({ commit_id: ["is invalid"] });
  }
  if (sent === undefined) return undefined;
  const position = readPosition(sent);
  const place = await placeOf(opened, position);
  if (!version || commit_id !== undefined) return place;
  const tracer = new Tracer(opened.repository, refsOf(version));
  if (tracer.isThere(position)) return place;
  const now = await tracer.trace(JSON.parse(place.position) as Position);
  return now ? { ...now, original_position: place.position } : place;
}

/** The diff of a version. */
export const refsOf = ({ base_sha, start_sha, head_sha }: VersionFacts): DiffRefs => ({
  base_sha: base_sha ?? NOTHING,
  start_sha,
  head_sha,
});
