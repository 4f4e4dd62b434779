import { ROLES } from "../../core/access/roles.ts";
import { OF_HOMES } from "../../core/access/visibility.ts";
import type { View } from "../../core/field.ts";
import * as field from "../../core/field.ts";
import { type Presenter, presenter } from "../../core/presenter.ts";
import type { Reader, Value } from "../../store/port.ts";
import { type Action, type RulesTable, rowsOfGrants } from "./grants.ts";

/** What access levels are called. */
const LEVELS: Readonly<Record<number, string>> = {
  0: "No one",
  [ROLES.developer]: "Developers + Maintainers",
  [ROLES.maintainer]: "Maintainers",
  60: "Instance admins",
};

/** The access level of a grant. As in GitLab, one for somebody else shows that of maintainers. */
export const LEVEL = `coalesce(g.access_level, ${ROLES.maintainer})`;

/** The columns of {@link whoIs}. */
export const WHO = ["g.access_level", "coalesce(u.name, n.name, k.title)"] as const;

/** Whom a grant is for, in words. */
export const whoIs = ([level, name]: readonly Value[]) => name ?? LEVELS[level as number];

const grant = presenter({
  id: field.integer("g.id"),
  access_level: field.integer(LEVEL),
  access_level_description: field.derived(WHO, "string", whoIs),
  deploy_key_id: field.integer("g.deploy_key_id"),
  user_id: field.integer("g.user_id"),
  group_id: field.integer("g.group_id"),
});

/** The grants of a right as an array, which {@link embedGrants} fills in: until then its column has the rule's id. */
const levels = (action: Action) =>
  field.json(`pr.id as ${action}_grants`, "array of access level", { items: grant.fields });

/** A protected branch. */
export const protectedBranch = presenter({
  id: field.integer("pr.id"),
  name: field.text("pr.name"),
  push_access_levels: levels("push"),
  merge_access_levels: levels("merge"),
  unprotect_access_levels: levels("unprotect"),
  allow_force_push: field.flag("pr.allow_force_push"),
  code_owner_approval_required: field.flag("pr.code_owner_approval_required"),
  inherited: field.flag(
    `(select case when h.visibility = ${OF_HOMES} then 1 else 0 end from projects h where h.id = pr.project_id)`,
  ),
});

const { inherited: _, ...fieldsOfGroups } = protectedBranch.fields;
/** A protected branch of a group. */
export const protectedBranchOfGroup = presenter(fieldsOfGroups);

/** A protected tag. */
export const protectedTag = presenter({
  name: field.text("pr.name"),
  create_access_levels: levels("create"),
});

/**
 * Fills the grants of rules into their rows, with one query.
 *
 * @param shown the presenter of the rows: {@link protectedBranch} or {@link protectedTag}
 */
export async function embedGrants(
  { db, view }: { readonly db: Reader; readonly view: View },
  shown: Presenter,
  rows: readonly Value[][],
): Promise<void> {
  if (rows.length === 0) return;
  const isTag = "create_access_levels" in shown.fields;
  const table: RulesTable = isTag ? "protected_tags" : "protected_branches";
  const actions: Action[] = isTag ? ["create"] : ["push", "merge", "unprotect"];
  const places = actions.map((action) => [action, shown.at(`${action}_access_levels`)] as const);
  const [[, idAt]] = places as [(typeof places)[number]];
  const ids = rows.map((row) => row[idAt] as Value);
  const written = new Map<string, string[]>();
  for (const found of await rowsOfGrants(db, table, grant.columns, ids)) {
    const [rule, action] = found.slice(-2);
    const key = `${rule} ${action}`;
    const texts = written.get(key) ?? [];
    written.set(key, texts);
    texts.push(grant.write(found, view));
  }
  for (const row of rows) {
    const id = row[idAt];
    for (const [action, at] of places) {
      row[at] = `[${(written.get(`${id} ${action}`) ?? []).join(",")}]`;
    }
  }
}
