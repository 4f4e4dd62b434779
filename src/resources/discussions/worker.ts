import { startWorker, type Worker, type WorkerSettings, type Working } from "../../jobs/worker.ts";
import type { Database, Reader, Store } from "../../store/port.ts";
import { Pace } from "../../turns/pace.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { recordAction } from "../issuables/notes.ts";
import { latest, TRACER, type Version } from "../merge-request-versions/versions.ts";
import { setResolved } from "../notes/changes.ts";
import * as notes from "../notes/queries.ts";
import { MAX_REPLIES } from "../notes/rules.ts";
import { findRecord, openRecord } from "../repositories/open.ts";
import type { FoundPlace, Position } from "./positions.ts";
import { refsOf } from "./requests.ts";
import { Tracer } from "./tracing.ts";

/** Positions that are followed into a new version, at most: the newest ones. */
const MOST = 1000;

/**
 * Starts the worker that follows positions into new versions of merge requests, and notes in their discussions if they
 * are outdated by one.
 */
export function startTracer(settings: Working): Promise<Worker> {
  const { store, now } = settings;
  const work: WorkerSettings["work"] = async ({ payload }) => {
    const { merge_request: id, user } = JSON.parse(payload) as Payload;
    const traced = await trace(store, store.reader(), id);
    return {
      done: true,
      follow: async (db) => {
        if (traced) await apply(db, traced, user, now());
      },
    };
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

interface Payload {
  readonly merge_request: number;
  /** Who has added the version. */
  readonly user?: number;
}

/** A position, as JSON text, and where it is now: `undefined` if what it is about is gone. */
type Move = readonly [from: string, to: FoundPlace | undefined];

/** Where the positions of a merge request are. */
interface Traced {
  readonly request: Request;
  readonly version: Version;
  readonly moves: readonly Move[];
}

interface Request {
  readonly id: number;
  readonly iid: number;
  readonly project_id: number;
}

async function trace(store: Store, db: Reader, id: number): Promise<Traced | undefined> {
  const request = await db.one<Request>(
    "select id, iid, project_id from merge_requests where id = ?",
    [id],
  );
  const version = await latest(db, id);
  if (!request || !version) return undefined;
  const found = await db.rows(
    `select np.position, max(nt.id) from notes nt join note_positions np on np.note_id = nt.id
     where nt.merge_request_id = ? and nt.commit_id is null and np.position is not null
     group by np.position order by 2 desc limit ${MOST}`,
    [id],
  );
  const { row } = await findRecord(db, request.project_id);
  const tracer = new Tracer(await openRecord(store, row), refsOf(version));
  const pace = new Pace();
  const moves: Move[] = [];
  for (const [text] of found) {
    const position = JSON.parse(text as string) as Position;
    if (tracer.isThere(position)) continue;
    moves.push([text as string, await tracer.trace(position)]);
    if (pace.isDue) await pace.pause();
  }
  return { request, version, moves };
}

/** The rows of `note_positions` at a position of a merge request. */
const AT = `position = ? and note_id in
  (select id from notes where merge_request_id = ? and commit_id is null)`;

async function apply(
  db: Database,
  { request, version, moves }: Traced,
  user: number | undefined,
  now: number,
): Promise<void> {
  const { id, project_id } = request;
  db.lock(project_id);
  const facts = await db.one<OutdatedFacts>(
    `select p.full_path, p.resolve_outdated_diff_discussions as resolves, u.id as user,
       (select count(*) from merge_request_versions v where v.merge_request_id = ? and v.id <= ?) as number
     from projects p left join users u on u.id = ? where p.id = ?`,
    [id, version.id, user ?? null, project_id],
  );
  if (!facts) return;
  for (const [from, to] of moves) {
    if (to) {
      const { path, line, line_type, line_code = null, position } = to;
      await db.run(
        `update note_positions set path = ?, line = ?, line_type = ?, line_code = ?, position = ?, outdated = 0
         where ${AT}`,
        [path, line, line_type, line_code, position, from, id],
      );
      continue;
    }
    const threads = await db.all<OutdatedThread>(
      `select nt.thread_id, max(np.line_code) as line_code, max(nt.internal) as internal,
         (select count(*) from notes r where r.thread_id = nt.thread_id and r.reply = 1) as replies
       from notes nt join note_positions np on np.note_id = nt.id
       where nt.merge_request_id = ? and nt.commit_id is null and nt.thread_id is not null
         and np.position = ? and np.outdated = 0 group by nt.thread_id order by nt.thread_id`,
      [id, from],
    );
    await db.run(`update note_positions set outdated = 1 where ${AT}`, [from, id]);
    for (const thread of threads) {
      await noteOutdated(db, { request, version, facts, position: from, thread }, now);
    }
  }
}

interface OutdatedFacts {
  readonly full_path: string;
  readonly resolves: number;
  /** Who has added the version; `null` if they are deleted. */
  readonly user: number | null;
  /** How many versions there are. */
  readonly number: number;
}

interface OutdatedThread {
  readonly thread_id: number;
  readonly line_code: string | null;
  readonly internal: number;
  readonly replies: number;
}

/** A thread whose line is gone with a version. */
interface Outdated {
  readonly request: Request;
  readonly version: Version;
  readonly facts: OutdatedFacts;
  /** JSON text. */
  readonly position: string;
  readonly thread: OutdatedThread;
}

/** Notes in a thread that its line is gone, and resolves it if the project wants that. */
async function noteOutdated(db: Database, outdated: Outdated, now: number): Promise<void> {
  const { request, version, facts, position, thread } = outdated;
  const { thread_id, internal, line_code, replies } = thread;
  if (facts.user === null) return;
  const acting = { db, source: { id: request.project_id }, caller: { id: facts.user }, now };
  if (replies < MAX_REPLIES.count) {
    const { position_type, head_sha } = JSON.parse(position) as Position;
    const query = `diff_id=${version.id}&start_sha=${head_sha}${line_code ? `#${line_code}` : ""}`;
    const page = `/${facts.full_path}/-/merge_requests/${request.iid}/diffs?${query}`;
    const body = `changed this ${position_type === "text" ? "line" : "file"} in [version ${facts.number} of the diff](${page})`;
    const reply = { thread_id, internal: internal === 1 };
    const noteId = await recordAction(acting, MERGE_REQUEST, request.id, body, reply);
    await notes.placeReply(db, noteId, thread_id);
  }
  if (facts.resolves) {
    await setResolved(acting, { type: MERGE_REQUEST, id: request.id }, thread_id, true);
  }
}
