import { newSecret } from "../../auth/token-secrets.ts";
import { type Owner, ownedBy } from "../../core/access/owner.ts";
import { BEING_DELETED } from "../../core/access/visibility.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";

/** A deploy token, as handlers need it. */
export interface DeployToken {
  id: number;
  name: string;
  updated_at: number;
}

/** Tokens of groups and projects that are not being deleted. */
const EVERYWHERE: Condition = {
  sql: `(dt.project_id is null or (select p.visibility from projects p where p.id = dt.project_id) > ${BEING_DELETED})
    and (dt.namespace_id is null or (select n.visibility from namespaces n where n.id = dt.namespace_id) > ${BEING_DELETED})`,
  values: [],
};

/**
 * The deploy tokens of a group or project, or all there are; in the order they were created.
 *
 * @param active whether they must not have expired, or must; `undefined`: both
 * @param now epoch milliseconds
 */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  owner: Owner | undefined,
  active: boolean | undefined,
  now: number,
): Promise<RowPage> {
  const where = all([
    owner ? ownedBy("dt", owner) : EVERYWHERE,
    when("(dt.expires_at is null or dt.expires_at > ?)", active === true ? now : undefined),
    when("dt.expires_at <= ?", active === false ? now : undefined),
  ]);
  return paginate(db, presenter, page, {
    from: `deploy_tokens dt where ${where.sql}`,
    values: where.values,
    order: "dt.id",
  });
}

/** One deploy token as a row for its presenter. */
export const row = rowReader("deploy_tokens dt where dt.id = ?");

/** A deploy token of a group or project, or `undefined`. */
export function find(db: Reader, owner: Owner, id: number): Awaitable<DeployToken | undefined> {
  return db.one<DeployToken>(
    `select id, name, updated_at from deploy_tokens where ${owner.column} = ? and id = ?`,
    [owner.id, id],
  );
}

/** The values of a new deploy token; its secret is created here. */
interface NewDeployToken {
  name: string;
  username?: string | null | undefined;
  scopes: readonly string[];
  expires_at?: number | null | undefined;
}

/** Adds a deploy token. @returns its id, and its secret, of which only a digest is stored */
export async function insert(
  db: Database,
  owner: Owner,
  { name, username = null, scopes, expires_at = null }: NewDeployToken,
  now: number,
): Promise<{ id: number; secret: string }> {
  const { secret, digest } = newSecret("gldt");
  const id = await insertRow(db, "deploy_tokens", {
    [owner.column]: owner.id,
    name,
    username,
    expires_at,
    scopes: scopes.join(" "),
    digest,
    created_at: now,
    updated_at: now,
  });
  return { id, secret };
}

/** Removes a deploy token. */
export async function remove(db: Database, id: number): Promise<void> {
  await db.run("delete from deploy_tokens where id = ?", [id]);
}
