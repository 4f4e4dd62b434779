import * as param from "../../core/input.ts";
import { effective, kept, keptIn, storedIn } from "../../core/kept.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import { HEAD } from "../ci/heads.ts";
import { queueReady } from "../ci/progress.ts";

const off = effective(kept(param.boolean(), false));

/** The settings of projects about merge trains. */
export const TRAIN_SETTINGS = {
  merge_trains_enabled: off,
  merge_trains_skip_train_allowed: off,
};

/** Whether a project has merge trains, and whether they may be skipped. */
export async function trainSettingsOf(db: Reader, projectId: number) {
  return keptIn("kept_settings", TRAIN_SETTINGS).read(await storedIn(db, "projects", projectId));
}

/** A merge request in a merge train. */
interface Car {
  readonly id: number;
  readonly project_id: number;
  readonly target_branch: string;
  readonly status: string;
  readonly user_id: number | null;
}

/** The car of a merge request that is in a merge train, and was not merged yet. */
export function carOf(db: Reader, requestId: number): Awaitable<Car | undefined> {
  return db.one<Car>(
    `select id, project_id, target_branch, status, user_id from merge_train_cars
     where merge_request_id = ? and merged_at is null`,
    [requestId],
  );
}

/** The merge request whose turn it is in a merge train. */
async function firstOf(
  db: Reader,
  { project_id, target_branch }: Pick<Car, "project_id" | "target_branch">,
): Promise<number | undefined> {
  const [row] = await db.rows(
    `select merge_request_id from merge_train_cars
     where project_id = ? and target_branch = ? and merged_at is null order by id limit 1`,
    [project_id, target_branch],
  );
  return row?.[0] as number | undefined;
}

/** Whether it is the turn of a merge request that is in a merge train. */
export const isFirst = async (db: Reader, requestId: number, car: Car): Promise<boolean> =>
  (await firstOf(db, car)) === requestId;

/** Puts a merge request at the end of the train of its target branch. @returns what a note says of it */
export async function enterTrain(
  db: Database,
  request: { readonly id: number; readonly project_id: number; readonly target_branch: string },
  userId: number,
  now: number,
): Promise<string> {
  const { id, project_id, target_branch } = request;
  await insertRow(db, "merge_train_cars", {
    ...{ project_id, merge_request_id: id, user_id: userId, target_branch, status: "idle" },
    ...{ created_at: now, updated_at: now },
  });
  const [counted] = await db.rows(
    "select count(*) from merge_train_cars where project_id = ? and target_branch = ? and merged_at is null",
    [project_id, target_branch],
  );
  const [position] = counted as [number];
  return position === 1
    ? "started a merge train"
    : `added this merge request to the merge train at position ${position}`;
}

/** What a note says of a merge request that is in no merge train any more, before why. */
export const LEFT_TRAIN = "removed this merge request from the merge train";

/** Takes a merge request out of its merge train, if it is in one; then it is the next one's turn. */
export async function leaveTrain(db: Database, requestId: number, now: number): Promise<void> {
  const car = await carOf(db, requestId);
  if (!car) return;
  await db.run("delete from merge_train_cars where id = ?", [car.id]);
  await startNext(db, car, now);
}

/** Notes that a merge request of a merge train is being merged by it, and did not skip it. */
export async function noteMerging(db: Database, { id }: Car): Promise<void> {
  await db.run("update merge_train_cars set status = 'merging' where id = ?", [id]);
}

/** Notes that a merge request was merged, if it is in a merge train; then it is the next one's turn. */
export async function arrive(db: Database, requestId: number, now: number): Promise<void> {
  const car = await carOf(db, requestId);
  if (!car) return;
  const { merge_trains_skip_train_allowed: maySkip } = await trainSettingsOf(db, car.project_id);
  const status = car.status !== "merging" && maySkip ? "skip_merged" : "merged";
  await db.run(
    `update merge_train_cars set status = ?, merged_at = cast(? as bigint), updated_at = cast(? as bigint),
       pipeline_id = (select ${HEAD} from merge_requests mr where mr.id = merge_request_id) where id = ?`,
    [status, now, now, car.id],
  );
  await startNext(db, car, now);
}

async function startNext(db: Database, car: Car, now: number): Promise<void> {
  const next = await firstOf(db, car);
  if (next !== undefined) await queueReady(db, next, now);
}
