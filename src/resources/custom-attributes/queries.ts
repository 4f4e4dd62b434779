import { NOT_DELETED_USER, type Viewer } from "../../core/access/visibility.ts";
import type { Parameter } from "../../core/http/parameters.ts";
import * as param from "../../core/input.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import type { Condition } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Database, Reader, Value } from "../../store/port.ts";

/** What custom attributes are of: the column with the id of their owner. */
export type Owned = "user_id" | "namespace_id" | "project_id";

/** The owner of custom attributes. */
export interface AttributeOwner {
  readonly column: Owned;
  readonly id: number;
}

/** Whether there is a user with an id. */
export async function isUser(db: Reader, id: number): Promise<boolean> {
  const sql = `select 1 from users u where u.id = ? and ${NOT_DELETED_USER}`;
  return (await db.rows(sql, [id])).length > 0;
}

/** The attributes of an owner, by their keys. */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  { column, id }: AttributeOwner,
): Promise<RowPage> {
  return paginate(db, presenter, page, {
    from: `custom_attributes ca where ca.${column} = ?`,
    values: [id],
    order: "ca.key",
  });
}

/** An attribute as a row of its presenter, or `undefined`. */
export async function row(
  db: Reader,
  presenter: Presenter,
  { column, id }: AttributeOwner,
  key: string,
): Promise<Value[] | undefined> {
  const [found] = await db.rows(
    `select ${presenter.columns} from custom_attributes ca where ca.${column} = ? and ca.key = ?`,
    [id, key],
  );
  return found;
}

/** Attributes that an owner has at most. */
const MOST = 100;

/** Sets an attribute, new or not. @returns whether there was room for it */
export async function set(
  db: Database,
  { column, id }: AttributeOwner,
  { key, value }: { readonly key: string; readonly value: string },
  now: number,
): Promise<boolean> {
  const changed = await db.run(
    `update custom_attributes set value = ?, updated_at = ? where ${column} = ? and key = ?`,
    [value, now, id, key],
  );
  if (changed > 0) return true;
  const added = await db.run(
    `insert into custom_attributes (${column}, key, value, created_at, updated_at)
     select ?, ?, ?, ?, ? where (select count(*) from custom_attributes where ${column} = ?) < ${MOST}`,
    [id, key, value, now, now, id],
  );
  return added > 0;
}

/** Removes an attribute. @returns whether there was one */
export async function remove(
  db: Database,
  { column, id }: AttributeOwner,
  key: string,
): Promise<boolean> {
  const removed = await db.run(`delete from custom_attributes where ${column} = ? and key = ?`, [
    id,
    key,
  ]);
  return removed > 0;
}

/** Attributes that a list may be filtered by: each is another condition. */
const MOST_FILTERS = 20;

/** A key with its value. */
export type KeyAndValue = readonly [key: string, value: string];

/** What of them lists take: a filter, and whether they are shown. Both count for administrators only, as in GitLab. */
export const customAttributeInput = {
  custom_attributes: param.optional(
    param.attribute(
      { type: "object", about: "values by keys", attributes: {} },
      (given): readonly KeyAndValue[] | typeof param.REFUSED => pairsOf(given) ?? param.REFUSED,
    ),
  ),
  with_custom_attributes: param.optional(param.boolean()),
};

function pairsOf(given: unknown): KeyAndValue[] | undefined {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return undefined;
  const pairs = Object.entries(given as Record<string, Parameter>).map(([key, value]) => [
    key,
    typeof value === "number" || typeof value === "boolean" ? String(value) : value,
  ]);
  const areTexts = pairs.flat().every((text) => typeof text === "string" && !text.includes("\0"));
  return areTexts && pairs.length <= MOST_FILTERS ? (pairs as unknown as KeyAndValue[]) : undefined;
}

/** What a list is asked about custom attributes. */
export interface AttributeFilter {
  /** All of which a row must have. */
  readonly attributes?: readonly KeyAndValue[] | undefined;
  readonly areAttributesShown?: boolean | undefined;
}

/** What this caller asks about custom attributes: nothing, unless they are an administrator. */
export function attributeFilter(
  input: Partial<param.Input<typeof customAttributeInput>>,
  { caller }: Pick<Viewer, "caller">,
): AttributeFilter {
  if (!caller?.admin) return {};
  return {
    attributes: input.custom_attributes,
    areAttributesShown: input.with_custom_attributes,
  };
}

/** Queries for the ids of what has attributes, one for each: where lists start. */
export function withAttributes(column: Owned, { attributes = [] }: AttributeFilter): Condition[] {
  return attributes.map(([key, value]) => ({
    sql: `select ${column} as id from custom_attributes where ${column} is not null and key = ? and value = ?`,
    values: [key, value],
  }));
}

/** The conditions that rows have attributes. @param id SQL of their id */
export function haveAttributes(column: Owned, id: string, filter: AttributeFilter): Condition[] {
  return withAttributes(column, filter).map(({ sql, values }) => ({
    sql: `${id} in (${sql})`,
    values,
  }));
}

/** Fills in the attributes of rows, if they are shown, with one query for all. */
export async function embedAttributes(
  db: Reader,
  rows: readonly Value[][],
  presenter: Presenter,
  column: Owned,
  { areAttributesShown }: AttributeFilter,
): Promise<void> {
  if (!areAttributesShown || rows.length === 0) return;
  if (!("custom_attributes" in presenter.fields)) return;
  const [at, idAt] = [presenter.at("custom_attributes"), presenter.at("id")];
  const among = placeholders(rows.map((one) => one[idAt] as Value));
  const found = await db.rows(
    `select ${column}, key, value from custom_attributes where ${column} in (${among.sql}) order by key`,
    among.values,
  );
  const byOwner = new Map<Value, object[]>();
  for (const [id, key, value] of found) {
    byOwner.set(id as Value, [...(byOwner.get(id as Value) ?? []), { key, value }]);
  }
  for (const one of rows) one[at] = JSON.stringify(byOwner.get(one[idAt] as Value) ?? []);
}
