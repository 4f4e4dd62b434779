import { digest } from "../../core/digest.ts";
import { invalid } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { link, milestone, storedRelease } from "./json.ts";
import { linksOf, milestonesOf, stored } from "./queries.ts";

/** Evidences of a release. */
const MOST = 100;

/** Stores what a release is as evidence. @throws ApiError 400 if it has too many */
export async function collect(
  db: Database,
  releaseId: number,
  view: View,
  now: number,
): Promise<void> {
  const [counted] = await db.rows("select count(*) from release_evidences where release_id = ?", [
    releaseId,
  ]);
  if ((counted?.[0] as number) >= MOST) {
    throw invalid({ base: [`A release has at most ${MOST} evidences`] });
  }
  const row = (await stored(db, releaseId)) as Value[];
  const milestones = await milestonesOf(db, milestone.columns, [releaseId]);
  const links = await linksOf(db, link.columns, [releaseId]);
  const { author: _, ...release } = storedRelease.value(row, view) as Record<string, unknown>;
  const summary = JSON.stringify({
    release: {
      ...release,
      milestones: milestones.get(releaseId)?.map((one) => milestone.value(one, view)),
      links: links.get(releaseId)?.map((one) => link.value(one, view)),
    },
  });
  await insertRow(db, "release_evidences", {
    release_id: releaseId,
    sha: digest("sha256", summary),
    summary,
    collected_at: now,
  });
}

/** An evidence of a release, as JSON, or `undefined`. */
export async function summaryOf(
  db: Reader,
  projectId: number,
  tag: string,
  id: number,
): Promise<string | undefined> {
  const [row] = await db.rows(
    `select evd.summary from release_evidences evd join releases r on r.id = evd.release_id
     where r.project_id = ? and r.tag = ? and evd.id = ?`,
    [projectId, tag, id],
  );
  return row?.[0] as string | undefined;
}
