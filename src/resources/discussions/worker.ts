import { Pace } from "../../git/pace.ts";
import { startWorker, type Worker, type WorkerSettings } from "../../jobs/worker.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
import { latest, TRACER } from "../merge-request-versions/versions.ts";
import { findRecord, openRecord } from "../repositories/open.ts";
import type { FoundPlace, Position } from "./positions.ts";
import { refsOf } from "./requests.ts";
import { Tracer } from "./tracing.ts";

/** Positions that are followed into a new version, at most: the newest ones. */
const MOST = 1000;

/** Starts the worker that follows positions into new versions of merge requests. */
export function startTracer(
  settings: Pick<WorkerSettings, "store" | "now" | "onError">,
): Promise<Worker> {
  const { store } = settings;
  const work: WorkerSettings["work"] = async ({ payload }) => {
    const { merge_request: id } = JSON.parse(payload) as { merge_request: number };
    const moves = await movesOf(store, store.reader(), id);
    return { done: true, follow: (db) => applyMoves(db, id, moves) };
  };
  return startWorker({
    ...settings,
    name: TRACER,
    announced: false,
    ordered: true,
    interval: 1000,
    lanes: 1,
    work,
  });
}

/** A position, as JSON text, and where it is now. */
type Move = readonly [from: string, to: FoundPlace];

async function movesOf(store: Store, db: Reader, id: number): Promise<Move[]> {
  const request = await db.one<{ project_id: number }>(
    "select project_id from merge_requests where id = ?",
    [id],
  );
  const version = await latest(db, id);
  if (!request || !version) return [];
  const found = await db.rows(
    `select np.position, max(nt.id) from notes nt join note_positions np on np.note_id = nt.id
     where nt.merge_request_id = ? and np.position is not null group by np.position order by 2 desc limit ${MOST}`,
    [id],
  );
  const { row } = await findRecord(db, request.project_id);
  const tracer = new Tracer(await openRecord(store, row), refsOf(version));
  const pace = new Pace();
  const moves: Move[] = [];
  for (const [text] of found) {
    const position = JSON.parse(text as string) as Position;
    const place = tracer.isThere(position) ? undefined : await tracer.trace(position);
    if (place) moves.push([text as string, place]);
    if (pace.isDue) await pace.pause();
  }
  return moves;
}

async function applyMoves(db: Database, id: number, moves: readonly Move[]): Promise<void> {
  for (const [from, { path, line, line_type, line_code = null, position }] of moves) {
    await db.run(
      `update note_positions set path = ?, line = ?, line_type = ?, line_code = ?, position = ?
       where position = ? and note_id in (select id from notes where merge_request_id = ?)`,
      [path, line, line_type, line_code, position, from, id],
    );
  }
}
