import * as param from "../core/input.ts";
import { RawReply, type Route, routes } from "../core/resource.ts";
import { FETCHING, PUSHING } from "../git-http/access.ts";
import { mayForceUnlock } from "../resources/lfs/abilities.ts";
import * as locks from "../resources/lfs/locks.ts";
import { LFS_JSON, lfsError } from "./errors.ts";
import { enter, enterToPush, requireJson } from "./place.ts";

/** Locks of one answer, unless fewer are asked for. */
const PAGE = 1000;

const shown = ({ id, path, created_at, name }: locks.Lock) => ({
  id: String(id),
  path,
  locked_at: new Date(created_at).toISOString().replace(/\.\d+Z$/, "Z"),
  owner: { name },
});

const answer = (status: number, value: object) =>
  new RawReply(status, { "content-type": LFS_JSON }, JSON.stringify(value));

/** An id as text; 0 of what can be none. */
const idOf = (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : 0);

/** Where a page of locks begins, and how many it has. */
interface Page {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

/** A page of the locks of a project, and where the next one begins. */
async function pageOf(
  db: Parameters<typeof locks.locksFrom>[0],
  projectId: number,
  { cursor, limit }: Page,
): Promise<{ found: locks.Lock[]; next: { next_cursor?: string } }> {
  const most = Math.min(limit || PAGE, PAGE);
  const from = cursor ? idOf(cursor) : 0;
  if (cursor && from === 0) throw lfsError(422, "The cursor is unknown.");
  const found = await locks.locksFrom(db, projectId, from, most + 1);
  const after = found[most];
  return { found: found.slice(0, most), next: after ? { next_cursor: String(after.id) } : {} };
}

const { get, post } = routes();

const repository = { repository: param.anyText({ max: 1024 }) };
const page = {
  cursor: param.optional(param.anyText({ max: 64 })),
  limit: param.optional(param.integer({ min: 0 })),
};
const ref = { ref: param.optional(param.json("the branch, with `name`")) };
const pushing = { access: "anyone", scopes: PUSHING, concurrency: "free" } as const;

const EXAMPLE = {
  id: "1",
  path: "images/logo.psd",
  locked_at: "2026-11-22T12:00:00Z",
  owner: { name: "Ann" },
};

/** The routes of locks of Git LFS (git-lfs, docs/api/locking.md). */
export const lockRoutes: readonly Route[] = [
  get("/:repository*/info/lfs/locks", {
    summary: "List the files of a project that are locked",
    access: "anyone",
    scopes: FETCHING,
    input: {
      ...repository,
      path: param.optional(param.anyText({ max: 4096 })),
      id: param.optional(param.anyText({ max: 64 })),
      refspec: param.optional(param.anyText({ max: 1024 })),
      ...page,
    },
    examples: [{ locks: [EXAMPLE] }],
    prepare: ({ repository: path }, preparing) => enter(preparing, path, "download"),
    handle: async ({ db, input, prepared: { project } }) => {
      const { path, id } = input;
      if (path === undefined && id === undefined) {
        const { found, next } = await pageOf(db, project.id, input);
        return answer(200, { locks: found.map(shown), ...next });
      }
      const lock =
        id === undefined
          ? await locks.findLockOf(db, project.id, path as string)
          : await locks.findLock(db, project.id, idOf(id));
      const isAsked = lock && (path === undefined || lock.path === path);
      return answer(200, { locks: isAsked ? [shown(lock)] : [] });
    },
  }),
  post("/:repository*/info/lfs/locks", {
    summary: "Lock a file of a project",
    ...pushing,
    input: { ...repository, path: param.text({ max: 4096 }), ...ref },
    examples: [{ lock: EXAMPLE }],
    prepare: ({ repository: path }, preparing) => {
      requireJson(preparing);
      return enterToPush(preparing, path);
    },
    handle: async ({ db, input: { path }, now, prepared: { project, caller } }) => {
      db.lock(project.id);
      const known = await locks.findLockOf(db, project.id, path);
      if (known) throw lfsError(409, "already locked", { lock: shown(known) });
      if ((await locks.countLocks(db, project.id)) >= locks.MOST_LOCKS) {
        throw lfsError(422, `A project has at most ${locks.MOST_LOCKS} locks`);
      }
      return answer(201, {
        lock: shown(await locks.lockPath(db, project.id, caller.id, path, now)),
      });
    },
  }),
  post("/:repository*/info/lfs/locks/verify", {
    summary: "List the files of a project that the caller has locked, and those that others have",
    ...pushing,
    status: 200,
    input: { ...repository, ...page, ...ref },
    examples: [{ ours: [EXAMPLE], theirs: [] }],
    // Where it is not there, git-lfs pushes without; whatever else it is told, it complains of at each push.
    prepare: ({ repository: path }, preparing) => {
      requireJson(preparing);
      return enterToPush(preparing, path, 404);
    },
    handle: async ({ db, input, prepared: { project, caller } }) => {
      const { found, next } = await pageOf(db, project.id, input);
      const isOurs = ({ user_id }: locks.Lock) => user_id === caller.id;
      const ours = found.filter(isOurs).map(shown);
      const theirs = found.filter((lock) => !isOurs(lock)).map(shown);
      return answer(200, { ours, theirs, ...next });
    },
  }),
  post("/:repository*/info/lfs/locks/:lock_id/unlock", {
    summary: "Unlock a file of a project; maintainers may also unlock what others have locked",
    ...pushing,
    status: 200,
    input: {
      ...repository,
      lock_id: param.anyText({ max: 64 }),
      force: param.optional(param.boolean()),
      ...ref,
    },
    examples: [{ lock: EXAMPLE }],
    prepare: ({ repository: path }, preparing) => {
      requireJson(preparing);
      return enterToPush(preparing, path);
    },
    handle: async ({ db, input: { lock_id, force }, prepared: { project, caller } }) => {
      db.lock(project.id);
      const lock = await locks.findLock(db, project.id, idOf(lock_id));
      if (!lock) throw lfsError(404, "Lock not found");
      if (force && !mayForceUnlock(project)) {
        const message = "You must have maintainer access to force delete a lock";
        throw lfsError(403, message, { lock: shown(lock) });
      }
      if (!force && lock.user_id !== caller.id) {
        const message = `${lock.path} is locked by GitLab User ${lock.user_id}`;
        throw lfsError(403, message, { lock: shown(lock) });
      }
      await locks.unlock(db, lock);
      return answer(200, { lock: shown(lock) });
    },
  }),
];
