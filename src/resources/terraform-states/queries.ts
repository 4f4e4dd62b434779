import { sealerFor } from "../../core/sealed.ts";
import type { Secrets } from "../../core/secrets.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import { purposeOf } from "./table.ts";

/** What a program that locks a state says of it, as Terraform's `http` backend sends it. */
export interface LockInfo {
  readonly Operation: string;
  readonly Info: string;
  readonly Version: string;
  readonly Path: string;
}

/** A state. */
export interface State {
  readonly id: number;
  readonly name: string;
  /** `null` if nobody has locked it. */
  readonly lock_id: string | null;
  /** {@link LockInfo} as JSON. */
  readonly lock_info: string | null;
  /** A user name. */
  readonly locked_by: string | null;
  readonly locked_at: number | null;
}

/** A state of a project by its name, or `undefined`. */
export function find(db: Reader, projectId: number, name: string): Awaitable<State | undefined> {
  return db.one<State>(
    `select id, name, lock_id, lock_info, locked_by, locked_at from terraform_states
     where project_id = ? and name = ?`,
    [projectId, name],
  );
}

/** The id of a state of a project, which is made if there is none. */
export async function make(
  db: Database,
  projectId: number,
  name: string,
  now: number,
): Promise<number> {
  const found = await find(db, projectId, name);
  if (found) return found.id;
  const columns = { project_id: projectId, name, created_at: now, updated_at: now };
  return insertRow(db, "terraform_states", columns);
}

/** A version of a state. */
export interface Version {
  readonly serial: number;
  readonly content: string;
}

/**
 * A version of a state in plain text, or `undefined`.
 *
 * @param serial default: that of the newest one
 * @throws SecretKeyError if it can't be decrypted
 */
export async function findVersion(
  db: Reader,
  secrets: Pick<Secrets, "open">,
  stateId: number,
  serial?: number,
): Promise<Version | undefined> {
  const [which, values] = serial === undefined ? ["", []] : ["and serial = ?", [serial]];
  const found = await db.one<Version>(
    `select serial, content from terraform_state_versions where state_id = ? ${which}
     order by serial desc limit 1`,
    [stateId, ...values],
  );
  return (
    found && { ...found, content: secrets.open(found.content, purposeOf(stateId, found.serial)) }
  );
}

/** The serial of the newest version of a state; 0 if it has none. */
export async function lastSerial(db: Reader, stateId: number): Promise<number> {
  const [found] = await db.rows(
    "select coalesce(max(serial), 0) from terraform_state_versions where state_id = ?",
    [stateId],
  );
  return (found as [number])[0];
}

/** Stores a version of a state, encrypted: one with the same serial is replaced. */
export async function store(
  db: Database,
  secrets: Secrets,
  stateId: number,
  { serial, content }: Version,
  now: number,
): Promise<void> {
  const seal = await sealerFor(db, secrets);
  await db.run(
    `insert into terraform_state_versions (state_id, serial, content, created_at) values (?, ?, ?, ?)
     on conflict (state_id, serial) do update set content = excluded.content, created_at = excluded.created_at`,
    [stateId, serial, seal(content, purposeOf(stateId, serial)), now],
  );
}

/** Deletes a version of a state, and returns whether there was one. */
export async function removeVersion(
  db: Database,
  stateId: number,
  serial: number,
): Promise<boolean> {
  const removed = await db.run(
    "delete from terraform_state_versions where state_id = ? and serial = ?",
    [stateId, serial],
  );
  return removed > 0;
}
