import * as audit from "../../audit/log.ts";
import { ApiError } from "../../core/errors.ts";
import type { Outgoing } from "../../core/outgoing.ts";
import type { Secrets } from "../../core/secrets.ts";
import type { Database, Store } from "../../store/port.ts";
import { ArchiveError, type Place } from "../exports/format.ts";
import { callerOf } from "../fetched-changes/place.ts";
import * as namespaces from "../namespaces/queries.ts";
import { type Origin, topOf } from "../placeholders/queries.ts";
import { mayFill, mayMake } from "./abilities.ts";
import { DIALECTS } from "./dialects.ts";
import { bringRepository } from "./forges.ts";
import { bringGroup, makeGroup } from "./groups.ts";
import { People } from "./people.ts";
import { bringProject, makeProject } from "./projects.ts";
import * as imports from "./queries.ts";
import { numberIn } from "./rows.ts";
import {
  Bringing,
  Canceled,
  type ImportProgress,
  type Running,
  repositoryPath,
} from "./running.ts";
import { Source, SourceError, type Told } from "./source.ts";
import { purposeOf } from "./table.ts";

/** What an import needs. */
export interface ImportSettings {
  readonly store: Store;
  readonly now: () => number;
  readonly secrets: Secrets;
  readonly outgoing: Pick<Outgoing, "allowLocal">;
  readonly onError: (error: unknown) => void;
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
}

const NOT_ALLOWED = "You don't have permission to import there.";
const BROKEN = "Something went wrong on the server.";

/**
 * Does an import, or goes on with one that was interrupted.
 *
 * @param signal interrupts it
 * @throws what the signal was aborted with
 */
export async function runImport(
  settings: ImportSettings,
  importId: number,
  signal: AbortSignal,
): Promise<void> {
  const { store, now } = settings;
  const record = await imports.find(store.reader(), importId);
  if (!record || !imports.OPEN.includes(record.status)) return;
  const running = await runningOf(settings, record, signal);
  if (!running) {
    await store.transaction((db) => imports.setStatus(db, importId, "failed", now()));
    return;
  }
  await store.transaction((db) => imports.setStatus(db, importId, "started", now()));
  try {
    for (;;) {
      const entity = await imports.nextEntity(store.reader(), importId);
      if (!entity) break;
      const counts = await imports.countEntities(store.reader(), importId);
      await bringEntity(settings, { ...running, counts }, entity);
    }
  } catch (error) {
    if (!(error instanceof Canceled)) throw error;
    return;
  }
  await store.transaction(async (db) =>
    imports.setStatus(db, importId, await imports.resultOf(db, importId), now()),
  );
}

/** What the import is done with; `undefined` if whoever has begun it may not any more. */
async function runningOf(
  { store, now, secrets, outgoing, onProgress }: ImportSettings,
  record: imports.BulkImport,
  signal: AbortSignal,
): Promise<Running | undefined> {
  const db = store.reader();
  const caller = await callerOf(db, record.user_id);
  if (!caller || record.token === null) return undefined;
  const token = secrets.open(record.token, purposeOf(record.id));
  const { allowLocal } = outgoing;
  const dialect = DIALECTS[record.source_type];
  const url = new URL(record.source_url);
  const source = new Source({ dialect, url, token, allowLocal, now }, signal);
  const importer = {
    id: caller.id,
    sourceUserId: record.source_user_id,
    speaksForAll: caller.admin,
  };
  const people = new People({ store, now }, source, importer);
  const by = { id: caller.id, name: caller.username, ip: "" };
  return {
    ...{ store, now, secrets, allowLocal, signal, source, token, people, importer, by, caller },
    ...{ record, onProgress, counts: { done: 0, total: 1 } },
  };
}

async function bringEntity(
  { store, now, onError }: ImportSettings,
  running: Running,
  entity: imports.Entity,
): Promise<void> {
  let place: Place | undefined;
  const end = (status: "finished" | "failed", message?: string) =>
    store.transaction(async (db) => {
      await tell(db, running, place, message);
      if (message !== undefined) {
        await imports.fail(db, entity.id, { relation: "entity", message }, now());
      }
      await imports.change(db, entity.id, { status }, now());
      if (place) await imports.setProjectStatus(db, place, status, message ?? null);
    });
  try {
    const told = await toldOf(running, entity);
    place = await placeOf(running, entity, told);
    const people = running.people.into(await originOf(running, place));
    const bringing = new Bringing({ ...running, people }, entity, place);
    await bring(bringing, told);
    await end("finished");
  } catch (error) {
    running.signal.throwIfAborted();
    if (error instanceof Canceled) throw error;
    const isKnown = error instanceof SourceError || error instanceof ArchiveError;
    if (!isKnown && !(error instanceof ApiError)) onError(error);
    const message = error instanceof ApiError ? textOf(error) : isKnown ? error.message : BROKEN;
    await end("failed", message);
  }
}

/** Where people are from who did what is imported into a place, if they may have placeholders there. */
async function originOf(
  { store, source, record }: Running,
  place: Place,
): Promise<Origin | undefined> {
  const namespaceId = await topOf(store.reader(), place);
  if (namespaceId === undefined) return undefined;
  const { importType } = source.dialect;
  return { namespaceId, importType, hostname: new URL(record.source_url).origin };
}

/** What the other server says of a group or project. @throws SourceError */
function toldOf(
  { source, record }: Running,
  { entity_type, source_full_path: path }: imports.Entity,
): Promise<Told> {
  if (record.source_type !== "gitlab") return source.get(repositoryPath(path));
  const encoded = encodeURIComponent(path);
  return entity_type === "group_entity"
    ? source.get(`groups/${encoded}`, { with_projects: false })
    : source.get(`projects/${encoded}`);
}

/** Brings what a group or project has. */
function bring(bringing: Bringing, told: Told): Promise<void> {
  if (bringing.running.record.source_type !== "gitlab") return bringRepository(bringing, told);
  return bringing.place.kind === "group"
    ? bringGroup(bringing, told)
    : bringProject(bringing, told);
}

/** Tells in the audit log of a group or project how its import has ended. */
async function tell(
  db: Database,
  { by, now }: Running,
  place: Place | undefined,
  problem: string | undefined,
): Promise<void> {
  const table = place?.kind === "project" ? "projects" : "namespaces";
  const [row] = place
    ? await db.rows(`select full_path from ${table} where id = ?`, [place.id])
    : [];
  // It was not made, or deleted meanwhile.
  if (!place || !row) return;
  const fullPath = row[0] as string;
  const source = { kind: place.kind, id: place.id, fullPath };
  const how = problem === undefined ? "imported" : "import failed";
  await audit.log({ db, now: now(), by, source }, `${place.kind} ${how}`, {
    target: problem ?? fullPath,
  });
}

const textOf = ({ body }: ApiError) =>
  "message" in body && typeof body.message === "string" ? body.message : JSON.stringify(body);

/**
 * The group or project that one of the other server becomes: the one that this import has made, the one that an earlier one
 * has brought there, or a new one.
 *
 * @throws ApiError if it may not be there
 */
async function placeOf(running: Running, entity: imports.Entity, told: Told): Promise<Place> {
  const { store, now, record } = running;
  const kind = entity.entity_type === "group_entity" ? "group" : "project";
  const made = kind === "group" ? entity.namespace_id : entity.project_id;
  if (made !== null) {
    await store.transaction((db) =>
      imports.setProjectStatus(db, { kind, id: made }, "started", null),
    );
    return { kind, id: made };
  }
  return store.transaction(async (db) => {
    const { destination_namespace: above } = entity;
    const parent = above === "" ? undefined : await namespaces.findByPath(db, above);
    if (above !== "" && !parent) throw new ApiError(422, { message: NOT_ALLOWED });
    const known = await imports.earlier(db, record, entity, imports.pathOf(entity));
    if (known !== undefined && !(await mayFill(db, running, { kind, id: known }))) {
      throw new ApiError(422, { message: NOT_ALLOWED });
    }
    if (known === undefined && !(await mayMake(db, running, kind, parent))) {
      throw new ApiError(422, { message: NOT_ALLOWED });
    }
    // Repositories have no names besides those in their paths.
    const isOfGitlab = record.source_type === "gitlab";
    const named = isOfGitlab ? told : { ...told, name: entity.destination_slug };
    const id =
      known ??
      (kind === "group"
        ? await makeGroup(db, running, entity, parent, told)
        : await makeProject(db, running, entity, parent as namespaces.Namespace, named));
    if (kind === "project" && !isOfGitlab) {
      const url = `${record.source_url}/${entity.source_full_path}.git`;
      await imports.noteProject(db, record, id, url, now());
      await imports.setProjectStatus(db, { kind, id }, "started", null);
    }
    const source_id = numberIn(told["id"]) ?? 0;
    const column = kind === "group" ? { namespace_id: id } : { project_id: id };
    await imports.change(db, entity.id, { status: "started", source_id, ...column }, now());
    return { kind, id };
  });
}
