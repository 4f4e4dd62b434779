import * as audit from "../audit/log.ts";
import { newOpaque } from "../auth/token-secrets.ts";
import { type OffsetWindow, type Page, paginate, type RowPage } from "../core/pagination.ts";
import { type Presenter, rowReader } from "../core/presenter.ts";
import { insertRow } from "../store/insert.ts";
import type { Awaitable, Database, Reader } from "../store/port.ts";
import { updateRow } from "../store/update.ts";
import { type ApplicationData, requireApplication } from "./rules.ts";

/** An application as stored. */
export interface Application {
  id: number;
  /** The owner's id; `null` if an administrator registered it for everybody. */
  user_id: number | null;
  /** The owner's user name. */
  username: string | null;
  /** What clients call `client_id`. */
  uid: string;
  /** The SHA-256 of the secret; `null` for public applications. */
  secret_digest: string | null;
  name: string;
  /** One per line. */
  redirect_uris: string;
  /** Separated by spaces. */
  scopes: string;
  confidential: number;
  /** Whether the consent page is skipped. */
  trusted: number;
  created_at: number;
  updated_at: number;
}

/** An application with its secret, which is not stored; public ones have none. */
export interface Registered {
  id: number;
  uid: string;
  secret: string | null;
}

const APPLICATION = `select a.id, a.user_id, u.username, a.uid, a.secret_digest, a.name, a.redirect_uris, a.scopes,
  a.confidential, a.trusted, a.created_at, a.updated_at
  from oauth_applications a left join users u on u.id = a.user_id`;

/** An application by its id, or `undefined`. */
export async function find(db: Reader, id: number): Promise<Application | undefined> {
  return db.one<Application>(`${APPLICATION} where a.id = ?`, [id]);
}

/** An application by its `client_id`, or `undefined`. */
export async function findByUid(db: Reader, uid: string): Promise<Application | undefined> {
  return db.one<Application>(`${APPLICATION} where a.uid = ?`, [uid]);
}

/** One page of an owner's applications, oldest first. */
export function listOwned(
  db: Reader,
  userId: number,
  { limit, offset }: OffsetWindow,
): Awaitable<Application[]> {
  return db.all<Application>(`${APPLICATION} where a.user_id = ? order by a.id limit ? offset ?`, [
    userId,
    limit,
    offset,
  ]);
}

/** All applications, or those of one owner, oldest first. */
export function listAll(db: Reader, userId?: number): Awaitable<Application[]> {
  return userId === undefined
    ? db.all<Application>(`${APPLICATION} order by a.id`)
    : db.all<Application>(`${APPLICATION} where a.user_id = ? order by a.id`, [userId]);
}

/** Applications as rows for the API's presenter, oldest first. */
export function list(db: Reader, presenter: Presenter, page: Page): Promise<RowPage> {
  return paginate(db, presenter, page, { from: "oauth_applications a", values: [], order: "a.id" });
}

/** One application as a row for its presenter. */
export const row = rowReader("oauth_applications a where a.id = ?");

/**
 * Registers an application.
 *
 * @param application `userId`: the owner, if anybody
 * @throws ApiError 400
 */
export async function register(
  db: Database,
  by: audit.Actor,
  application: ApplicationData & {
    userId: number | null;
    trusted: boolean;
  },
  now: number,
): Promise<Registered> {
  requireApplication(application);
  const { userId, name, redirectUris, scopes, confidential, trusted } = application;
  const uid = newOpaque().secret;
  const { secret, digest } = newOpaque();
  const id = await insertRow(db, "oauth_applications", {
    user_id: userId,
    uid,
    secret_digest: confidential ? digest : null,
    name,
    redirect_uris: redirectUris.join("\n"),
    scopes: scopes.join(" "),
    confidential: confidential ? 1 : 0,
    trusted: trusted ? 1 : 0,
    created_at: now,
    updated_at: now,
  });
  await audit.log({ db, by, now }, "application made", { target: name });
  return { id, uid, secret: confidential ? secret : null };
}

/**
 * Changes an application's settings. One that becomes public loses its secret; one that becomes confidential needs a
 * new one ({@link renewSecret}) before it gets tokens.
 *
 * @throws ApiError 400
 */
export async function change(
  db: Database,
  by: audit.Actor,
  id: number,
  data: ApplicationData,
  now: number,
): Promise<void> {
  requireApplication(data);
  const changes = {
    name: data.name,
    redirect_uris: data.redirectUris.join("\n"),
    scopes: data.scopes.join(" "),
    confidential: data.confidential ? 1 : 0,
    secret_digest: data.confidential ? undefined : null,
  };
  await updateRow(db, "oauth_applications", id, changes, now);
  await audit.log({ db, by, now }, "application changed", { target: data.name });
}

/**
 * Replaces an application's secret; the old one is refused from then on.
 *
 * @returns the new secret; `null` for public applications, which have none
 */
export async function renewSecret(
  db: Database,
  by: audit.Actor,
  application: Pick<Application, "id" | "name" | "confidential">,
  now: number,
): Promise<string | null> {
  if (application.confidential === 0) return null;
  const { secret, digest } = newOpaque();
  await updateRow(db, "oauth_applications", application.id, { secret_digest: digest }, now);
  await audit.log({ db, by, now }, "application secret renewed", { target: application.name });
  return secret;
}

/** Deletes an application and every grant it was given. */
export async function remove(
  db: Database,
  by: audit.Actor,
  { id, name }: Pick<Application, "id" | "name">,
  now: number,
): Promise<void> {
  await db.run("delete from oauth_applications where id = ?", [id]);
  await audit.log({ db, by, now }, "application deleted", { target: name });
}
