import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { type Presenter, rowReader } from "../../core/presenter.ts";
import { sealerFor } from "../../core/sealed.ts";
import type { Secrets } from "../../core/secrets.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { purposeOf } from "./table.ts";

/** What a variable belongs to: a group, a project, or the instance. */
export type VariableOwner =
  | { readonly column: "namespace_id" | "project_id"; readonly id: number }
  | "instance";

/** How a job gets a variable: as an environment variable, or as the path of a file with the value. */
export const VARIABLE_TYPES = ["env_var", "file"] as const;
export type VariableType = (typeof VARIABLE_TYPES)[number];

/** A variable as it is stored, without its value. */
export interface Variable {
  id: number;
  key: string;
  environment_scope: string;
  masked: number;
  hidden: number;
  raw: number;
  updated_at: number;
}

/** A new variable. */
export interface NewVariable {
  key: string;
  value: string;
  variable_type: VariableType;
  protected: boolean;
  masked: boolean;
  hidden: boolean;
  raw: boolean;
  environment_scope: string;
  description: string | null;
}

/** The scope of variables for all environments. */
export const EVERYWHERE = "*";

const ownedBy = (owner: VariableOwner): Condition =>
  owner === "instance"
    ? { sql: "v.namespace_id is null and v.project_id is null", values: [] }
    : { sql: `v.${owner.column} = ?`, values: [owner.id] };

/** What a value is encrypted for. @see purposeOf of table.ts */
const purpose = (owner: VariableOwner, key: string) => {
  if (owner === "instance") return `variable instance ${key}`;
  const kind = owner.column === "project_id" ? "project" : "group";
  return `variable ${kind} ${owner.id} ${key}`;
};

/** The variables of a group, a project or the instance, oldest first. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  owner: VariableOwner,
): Promise<RowPage> {
  const where = ownedBy(owner);
  return paginate(db, presenter, page, {
    from: `ci_variables v where ${where.sql}`,
    values: where.values,
    order: "v.id",
  });
}

/** One variable as a row for its presenter. */
export const row = rowReader("ci_variables v where v.id = ?");

/** The first two variables with a key, and with an environment scope if one is given. */
export function findTwo(
  db: Reader,
  owner: VariableOwner,
  key: string,
  scope: string | undefined,
): Awaitable<Variable[]> {
  const where = all([
    ownedBy(owner),
    { sql: "v.key = ?", values: [key] },
    when("v.environment_scope = ?", scope),
  ]);
  return db.all<Variable>(
    `select v.id, v.key, v.environment_scope, v.masked, v.hidden, v.raw, v.updated_at
     from ci_variables v where ${where.sql} limit 2`,
    where.values,
  );
}

/** Whether a group, a project or the instance has at least so many variables. */
export async function hasAtLeast(
  db: Reader,
  owner: VariableOwner,
  count: number,
): Promise<boolean> {
  const where = ownedBy(owner);
  const found = await db.rows(
    `select 1 from ci_variables v where ${where.sql} order by v.id limit 1 offset ?`,
    [...where.values, count - 1],
  );
  return found.length > 0;
}

/**
 * Adds a variable, with its value encrypted, and returns its id.
 *
 * @throws SecretKeyError if the value can't be encrypted
 */
export async function insert(
  db: Database,
  secrets: Secrets,
  owner: VariableOwner,
  variable: NewVariable,
  now: number,
): Promise<number> {
  const seal = await sealerFor(db, secrets);
  return insertRow(db, "ci_variables", {
    ...(owner !== "instance" && { [owner.column]: owner.id }),
    ...variable,
    value: seal(variable.value, purpose(owner, variable.key)),
    protected: Number(variable.protected),
    masked: Number(variable.masked),
    hidden: Number(variable.hidden),
    raw: Number(variable.raw),
    created_at: now,
    updated_at: now,
  });
}

/**
 * Changes a variable.
 *
 * @param changes what is `undefined` stays
 * @throws SecretKeyError if the value can't be encrypted
 */
export async function update(
  db: Database,
  secrets: Secrets,
  owner: VariableOwner,
  { id, key }: Pick<Variable, "id" | "key">,
  changes: { [Name in keyof NewVariable]?: NewVariable[Name] | undefined },
  now: number,
): Promise<void> {
  const { value, ...others } = changes;
  const columns = Object.entries(others).map(([name, given]): [string, Value | undefined] => [
    name,
    typeof given === "boolean" ? Number(given) : given,
  ]);
  const sealed =
    value === undefined ? undefined : (await sealerFor(db, secrets))(value, purpose(owner, key));
  await updateRow(db, "ci_variables", id, { ...Object.fromEntries(columns), value: sealed }, now);
}

/** The value of a variable. @throws SecretKeyError if it can't be decrypted */
export async function readValue(db: Reader, secrets: Secrets, id: number): Promise<string> {
  const found = await db.rows(
    `select v.value, ${purposeOf("v.")} from ci_variables v where v.id = ?`,
    [id],
  );
  const [value, of] = found[0] as [string, string];
  return secrets.open(value, of);
}

/** Removes a variable. */
export async function remove(db: Database, id: number): Promise<void> {
  await db.run("delete from ci_variables where id = ?", [id]);
}
