import { basicOf } from "../auth/authenticators/basic.ts";
import {
  BlockedError,
  callerOf,
  SESSION_SCOPES,
  USER_COLUMNS,
  type UserRow,
} from "../auth/authenticators/user-row.ts";
import { checkPassword } from "../auth/sign-in.ts";
import * as twoFactor from "../auth/two-factor.ts";
import type { Caller } from "../core/access/caller.ts";
import { isInScope } from "../core/access/job-tokens.ts";
import {
  findMoved,
  findSource,
  findVisible,
  homePlace,
  mayReadCode,
  type Source,
} from "../core/access/source.ts";
import { isOpenTo, type Viewer } from "../core/access/visibility.ts";
import { ApiError } from "../core/errors.ts";
import type { PrepareContext } from "../core/resource.ts";
import type { Scope } from "../core/scopes.ts";
import { dayOf } from "../core/time.ts";
import type { RepositoryKind } from "../git/repository.ts";
import { ensureHome } from "../resources/namespaces/home.ts";
import { mayPushSomewhere } from "../resources/protected-refs/abilities.ts";
import { mayWriteWiki } from "../resources/wikis/abilities.ts";
import type { Reader, Store } from "../store/port.ts";
import { newProjectAt, unknownProject } from "./creation.ts";

/** What clients can ask for, as they name it. */
export const SERVICES = ["git-upload-pack", "git-receive-pack"] as const;
export type Service = (typeof SERVICES)[number];

/** A project whose repository the caller may use. */
export interface Admitted {
  readonly kind: RepositoryKind;
  readonly caller: Caller | undefined;
  /** `undefined` if the caller's push creates it. That of a group's wiki is hidden; its id is 0 until it has one. */
  readonly project: Source | undefined;
  /** The path that the caller uses, if the project has another one by now. */
  readonly movedFrom?: string | undefined;
}

/** The end of the path of a wiki's repository. No project is created by a push to such a path. */
const WIKI = /\.wiki$/;

/** Scopes that allow fetching. */
export const FETCHING: readonly Scope[] = [
  "api",
  "read_api",
  "read_repository",
  "write_repository",
];
/** Scopes that allow pushing. */
export const PUSHING: readonly Scope[] = ["api", "write_repository"];

const refusal = (status: number, message: string) => new ApiError(status, { message });

/** 401, whatever exists: clients then ask their user for a name and a password. */
export const denied = () => refusal(401, "HTTP Basic: Access denied");

/**
 * Decides whether the caller may fetch from or push to a project, or the wiki of a project or group.
 *
 * @param path the project's full path; that of a wiki ends with `.wiki`
 * @throws ApiError 401 for anonymous callers who may not, and for wrong credentials; otherwise 403 or 404
 */
export async function admit(
  preparing: PrepareContext,
  path: string,
  service: Service,
): Promise<Admitted> {
  const caller = await identify(preparing);
  const viewer = { caller, today: dayOf(preparing.now) };
  const kind = WIKI.test(path) ? "wiki" : "code";
  const projectPath = path.replace(WIKI, "");
  const current =
    (await find(preparing, projectPath, viewer)) ??
    (kind === "wiki" ? await findHome(preparing.db, projectPath, viewer) : undefined);
  const project = current ?? (await findMoved(preparing.db, projectPath, viewer));
  const isHidden = !project || (kind === "wiki" && !project.features.includes("wiki"));
  if (!caller) {
    const isOpen =
      !isHidden && isOpenTo(viewer, project) && (kind === "wiki" || mayReadCode(project));
    if (service === "git-receive-pack" || !isOpen) throw denied();
    return { kind, caller, project };
  }
  const isElsewhere =
    caller.by.kind === "job" && !(project && (await isInScope(preparing.db, caller.by, project)));
  if (isElsewhere && !isHidden && service === "git-upload-pack") {
    const nobody = { ...viewer, caller: undefined };
    // Everybody may fetch it, whatever token they have.
    const open = await findVisible(preparing.db, "project", String(project.id), nobody);
    if (open) return { kind, caller: undefined, project: open };
  }
  if (kind === "wiki") {
    if (isHidden || isElsewhere) throw unknownWiki();
    if (service === "git-receive-pack") requireWriting(caller, project);
    return { kind, caller, project };
  }
  if (isElsewhere) throw unknownProject();
  if (!project) {
    const { db, now } = preparing;
    const isNew = service === "git-receive-pack" && (await newProjectAt(db, path, { caller, now }));
    if (!isNew) throw unknownProject();
    requireUploading(caller);
  } else if (service === "git-upload-pack") requireFetching(viewer, project);
  else await requirePushing(preparing.db, { ...viewer, caller }, project);
  return { kind, caller, project, movedFrom: current ? undefined : project && path };
}

/** 404, also for wikis that are disabled or that the caller must not know of. */
const unknownWiki = () => refusal(404, "The wiki you were looking for could not be found.");

/**
 * Checks that the caller may push to the wiki of a project or group.
 *
 * @throws ApiError 403
 */
function requireWriting(caller: Caller, project: Source): void {
  requireUploading(caller);
  if (!mayWriteWiki(project)) {
    const owner = project.isHome || project.kind === "group" ? "group" : "project";
    throw refusal(403, `You are not allowed to write to this ${owner}'s wiki.`);
  }
}

/**
 * Checks again, in the transaction of a push, that the caller may push to a wiki: a push takes its time to arrive.
 *
 * @throws ApiError 403 or 404
 */
export async function readmitToWiki(
  db: Reader,
  { id, namespaceId, isHome }: Source,
  caller: Caller,
  now: number,
): Promise<void> {
  const viewer = { caller, today: dayOf(now) };
  const project = isHome
    ? await findSource(db, "group", String(namespaceId), viewer)
    : await findSource(db, "project", String(id), viewer);
  if (!project.features.includes("wiki")) throw unknownWiki();
  requireWriting(caller, project);
}

function requireFetching(_viewer: Viewer, project: Source): void {
  if (!mayReadCode(project)) {
    throw refusal(403, "You are not allowed to download code from this project.");
  }
}

function requireUploading(caller: Caller): void {
  if (caller.by.kind === "job" || !PUSHING.some((scope) => caller.scopes.includes(scope))) {
    throw refusal(403, "You are not allowed to upload code.");
  }
}

async function requirePushing(
  db: Reader,
  viewer: Viewer & { readonly caller: Caller },
  project: Source,
): Promise<void> {
  requireUploading(viewer.caller);
  if (project.archived) throw refusal(403, "You can't push code to an archived project.");
  if (!mayReadCode(project) || !(await mayPushSomewhere(db, project))) {
    throw refusal(403, "You are not allowed to push code to this project.");
  }
}

/**
 * Who answers for a caller, as a text: a user; for the bot of an access token whoever created it, or, of an old one, its group
 * or project; for an administrator who acts as another user the administrator.
 */
export async function answerableFor(db: Reader, { id, sudoer }: Caller): Promise<string> {
  const userId = sudoer?.id ?? id;
  const bot = await db.one<Readonly<Record<string, number | null>>>(
    "select creator_id, namespace_id, project_id from resource_bots where user_id = ?",
    [userId],
  );
  if (!bot) return `user ${userId}`;
  const { creator_id, namespace_id, project_id } = bot;
  if (creator_id) return `user ${creator_id}`;
  return namespace_id === null ? `project ${project_id}` : `group ${namespace_id}`;
}

/** The place of the wiki of the group at a path, if there is one that the caller may read. */
async function findHome(db: Reader, path: string, viewer: Viewer): Promise<Source | undefined> {
  // A path of digits would be taken for an id.
  const group = /^\d+$/.test(path) ? undefined : await findVisible(db, "group", path, viewer);
  return group && homePlace(db, group);
}

/**
 * Makes the place of the wiki of a group that has none yet.
 *
 * @throws ApiError 404 if the caller can no longer read the group
 */
export function makeHome(store: Store, { fullPath, viewer }: Source, now: number): Promise<Source> {
  return store.transaction(async (db) => {
    const home = await findHome(db, fullPath, viewer);
    if (!home) throw unknownWiki();
    return { ...home, id: await ensureHome(db, home, now) };
  });
}

/** The project at a path, or with an alias, if there is one that the caller may read. */
async function find(
  { db }: PrepareContext,
  path: string,
  viewer: Parameters<typeof findSource>[3],
): Promise<Source | undefined> {
  // Without a slash it would be taken for an id.
  if (path.includes("/")) return findVisible(db, "project", path, viewer);
  if (path.includes("\0")) return undefined;
  const [row] = await db.rows("select project_id from project_aliases where name = ?", [path]);
  return row && findVisible(db, "project", String(row[0]), viewer);
}

/**
 * The caller: their token was found before, so what is left is a password.
 *
 * @throws ApiError 401 for credentials that are not valid
 */
export async function identify(preparing: PrepareContext): Promise<Caller | undefined> {
  const { caller, request, store } = preparing;
  if (caller || request.header("authorization") === undefined) return caller;
  const sent = basicOf(request);
  if (!sent || sent.login === "" || sent.password === "") throw denied();
  const account = await checkPassword(preparing, sent.login, sent.password);
  // Whoever has a second factor needs a token.
  if (!account || (await twoFactor.isOn(store, account.id))) throw denied();
  const sql = `select ${USER_COLUMNS} from users u where u.id = ?`;
  const row = await store.one<UserRow>(sql, [account.id]);
  if (row?.state !== "active") throw denied();
  await preparing.requireStanding(row.id).catch((error) => {
    throw error instanceof BlockedError ? denied() : error;
  });
  preparing.userActive(row.id);
  return callerOf(row, SESSION_SCOPES, { kind: "password" });
}
