import * as audit from "../../audit/log.ts";
import { membershipsIn } from "../../core/access/memberships.ts";
import { ROLES } from "../../core/access/roles.ts";
import type { Source } from "../../core/access/source.ts";
import { NOT_DELETED_USER } from "../../core/access/visibility.ts";
import { ApiError, conflict, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { unsupported } from "../../core/kept.ts";
import { paginate } from "../../core/pagination.ts";
import { type Context, type Resource, routes, type SourceKind } from "../../core/resource.ts";
import { among, type Condition } from "../../store/conditions.ts";
import { insertMany, insertRow } from "../../store/insert.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { nameErrors, TIERS } from "../ci/environment-names.ts";
import type { EnvironmentRight } from "../ci/environment-rights.ts";
import { approvalRule, deployGrant, protectedEnvironment } from "./json.ts";
import { migrations } from "./table.ts";

/** Protected environments of a project or group, and grants of each right of one, at most. */
const MOST = 1000;
const MOST_GRANTS = 100;

const LEVELS = {
  project: [ROLES.developer, ROLES.maintainer, 60],
  group: [ROLES.developer, ROLES.maintainer, ROLES.owner],
} as const;

const optionalId = param.optional(param.clearable(param.integer()));

/** The attributes that say who may deploy, and whose approvals are needed. */
function listsOf(kind: SourceKind) {
  const grant = {
    id: optionalId,
    access_level: param.optional(param.oneOf<number>(LEVELS[kind])),
    user_id: optionalId,
    group_id: optionalId,
    group_inheritance_type: param.optional(param.oneOf([0, 1])),
    _destroy: param.optional(param.boolean()),
  };
  const rule = { ...grant, required_approvals: param.optional(param.integer({ min: 1, max: 5 })) };
  return {
    deploy_access_levels: param.arrayOf(param.object(grant)),
    approval_rules: param.optional(param.arrayOf(param.object(rule))),
    required_approval_count: unsupported(param.integer(), 0),
  };
}

type Entry = {
  readonly id?: number | null | undefined;
  readonly access_level?: number | null | undefined;
  readonly user_id?: number | null | undefined;
  readonly group_id?: number | null | undefined;
  readonly group_inheritance_type?: number | undefined;
  readonly required_approvals?: number | undefined;
  readonly _destroy?: boolean | undefined;
};

/** Whom a grant is for. */
const WHO = ["access_level", "user_id", "group_id"] as const;

const NAMES: Readonly<Record<EnvironmentRight, string>> = {
  deploy: "Deploy access levels",
  approve: "Approval rules",
};

const refuse = (...problems: string[]) => new ApiError(422, { message: problems });

/** Queries for those among some users or groups that can have rights in a group or project, up to their ids. */
function holdersIn(source: Source): Record<"user_id" | "group_id", Condition> {
  const members = membershipsIn(source);
  const { viewer, namespaceId, id } = source;
  const groups: Condition =
    source.kind === "group"
      ? {
          sql: `select id from (select namespace_id as id from namespace_ancestors where ancestor_id = ?
            union all select l.group_id from group_links l where l.namespace_id = ? and (l.expires_at is null or l.expires_at > ?)) as n where n.id`,
          values: [id, id, viewer.today],
        }
      : {
          sql: `select id from (select a.ancestor_id as id from namespace_ancestors a where a.namespace_id = ?
            union all select l.group_id from group_links l where l.project_id = ? and (l.expires_at is null or l.expires_at > ?)) as n where n.id`,
          values: [namespaceId, id, viewer.today],
        };
  return {
    user_id: {
      sql: `select m.user_id from (${members.sql}) as m where (m.expires_at is null or m.expires_at > ?) and m.user_id`,
      values: [...members.values, viewer.today],
    },
    group_id: groups,
  };
}

/** Checks that those whom entries name can have the right. @throws ApiError 422 */
async function requireHolders(
  { db, source }: { readonly db: Reader; readonly source: Source },
  action: EnvironmentRight,
  entries: readonly Entry[],
): Promise<void> {
  const problems = new Set<string>();
  const holders = holdersIn(source);
  const texts = {
    user_id: `user must be a member of the ${source.kind}`,
    group_id: `group must have access to the ${source.kind}`,
  };
  for (const column of ["user_id", "group_id"] as const) {
    const ids = [...new Set(entries.flatMap((entry) => entry[column] ?? []))];
    if (ids.length === 0) continue;
    const marks = ids.map(() => "?").join(", ");
    const { sql, values } = holders[column];
    const found = await db.rows(`${sql} in (${marks})`, [...values, ...ids]);
    const known = new Set(found.map(([id]) => id));
    if (ids.some((id) => !known.has(id))) problems.add(`${NAMES[action]} ${texts[column]}`);
  }
  if (problems.size > 0) throw refuse(...problems);
}

/** Writes the entries of a list: those with an `id` change a grant or remove it, others add one. @throws ApiError 422 */
async function write(
  context: { readonly db: Database; readonly source: Source },
  environmentId: number,
  action: EnvironmentRight,
  entries: readonly Entry[],
): Promise<void> {
  const { db } = context;
  await requireHolders(context, action, entries);
  const rows = await db.rows(
    "select id from environment_grants where environment_id = ? and action = ?",
    [environmentId, action],
  );
  const known = new Set(rows.map(([id]) => id as number));
  const added: Value[][] = [];
  let count = known.size;
  for (const entry of entries) {
    const { id, _destroy: isRemoved } = entry;
    const named = WHO.filter((column) => entry[column] != null);
    if (id != null && !known.has(id))
      throw refuse(`${NAMES[action]} has no entry with the id ${id}`);
    if (id != null && isRemoved) {
      await db.run("delete from environment_grants where id = ?", [id]);
      count -= 1;
      continue;
    }
    if (named.length > 1 || (id == null && named.length === 0)) {
      throw refuse(`${NAMES[action]} must have one of access level, user and group in each entry`);
    }
    const who =
      named.length === 0 ? {} : Object.fromEntries(WHO.map((one) => [one, entry[one] ?? null]));
    const { group_inheritance_type, required_approvals } = entry;
    if (id != null) {
      const set = { ...who, group_inheritance_type, required_approvals };
      const given = Object.entries(set).filter(([, value]) => value !== undefined);
      if (given.length === 0) continue;
      const columns = given.map(([name]) => `${name} = ?`).join(", ");
      const values = given.map(([, value]) => value as Value);
      await db.run(`update environment_grants set ${columns} where id = ?`, [...values, id]);
      continue;
    }
    count += 1;
    const required = action === "approve" ? (required_approvals ?? 1) : 0;
    added.push([
      ...[environmentId, action],
      ...WHO.map((one) => entry[one] ?? null),
      ...[group_inheritance_type ?? 0, required],
    ]);
  }
  if (count > MOST_GRANTS)
    throw refuse(`${NAMES[action]} has too many entries (maximum is ${MOST_GRANTS})`);
  const columns = [
    "environment_id",
    "action",
    ...WHO,
    "group_inheritance_type",
    "required_approvals",
  ];
  await insertMany(db, "environment_grants", columns, added);
}

/** Fills the grants of protected environments into their rows, with one query. */
async function fill(
  { db, view, presenter }: Pick<Context, "view" | "presenter"> & { readonly db: Reader },
  rows: readonly Value[][],
): Promise<void> {
  if (rows.length === 0) return;
  const places = [
    ["deploy", presenter.at("deploy_access_levels"), deployGrant],
    ["approve", presenter.at("approval_rules"), approvalRule],
  ] as const;
  const [[, idAt]] = places;
  const these = among(
    "eg.environment_id",
    rows.map((row) => row[idAt] as Value),
  );
  const grants = await db.rows(
    `select ${approvalRule.columns}, eg.environment_id, eg.action from environment_grants eg
     left join users u on u.id = eg.user_id left join namespaces n on n.id = eg.group_id
     where ${these.sql} and (eg.user_id is null or ${NOT_DELETED_USER}) order by eg.id`,
    these.values,
  );
  for (const row of rows) {
    const id = row[idAt];
    const own = grants.filter((grant) => grant.at(-2) === id);
    for (const [action, at, shown] of places) {
      const some = own.filter((grant) => grant.at(-1) === action);
      row[at] = `[${some.map((grant) => shown.write(grant, view)).join(",")}]`;
    }
  }
}

type In = Pick<Context, "source" | "view" | "presenter"> & { readonly db: Reader };

interface Found {
  readonly id: number;
  readonly updated_at: number;
}

/** Finds a protected environment by its name. @throws ApiError 404 */
async function find({ db, source }: Pick<In, "db" | "source">, name: string): Promise<Found> {
  const sql = `select id, updated_at from protected_environments where ${source.column} = ? and name = ?`;
  const found = await db.one<Found>(sql, [source.id, name]);
  if (!found) throw notFound();
  return found;
}

async function rowOf(context: In, id: number): Promise<Value[]> {
  const { db, presenter } = context;
  const sql = `select ${presenter.columns} from protected_environments pe where pe.id = ?`;
  const rows = await db.rows(sql, [id]);
  await fill(context, rows);
  return rows[0] as Value[];
}

/** Checks the name of a new one. @throws ApiError 400, 409, 422 */
async function requireName({ db, source }: Pick<In, "db" | "source">, name: string): Promise<void> {
  const of = `from protected_environments where ${source.column} = ?`;
  if ((await db.rows(`select 1 ${of} and name = ?`, [source.id, name])).length > 0) {
    throw conflict(`Protected environment '${name}' already exists`);
  }
  const errors =
    source.kind === "project"
      ? nameErrors(name)
      : (TIERS as readonly string[]).includes(name)
        ? []
        : ["is not included in the list"];
  if (errors.length > 0) throw refuse(...errors.map((error) => `Name ${error}`));
  const [counted] = await db.rows(`select count(*) ${of}`, [source.id]);
  if ((counted as [number])[0] >= MOST)
    throw refuse(`Maximum number of protected environments (${MOST}) exceeded`);
}

function routesOf(kind: SourceKind) {
  const { del, get, list, post, put } = routes({ source: kind, path: "/protected_environments" });
  const common = { role: "maintainer", tier: "premium" } as const;
  const showing = { ...common, presenter: protectedEnvironment };
  const named = { name: param.anyText() };
  const { deploy_access_levels, ...others } = listsOf(kind);
  const what = kind === "group" ? "tier of environments below a group" : "environment";
  const target = (source: Source, name: string) => ({ target: `${name} of ${source.fullPath}` });
  return [
    list("", {
      ...showing,
      summary: `List the protected environments of a ${kind}`,
      handle: async (context) => {
        const { db, presenter, page, source } = context;
        const listed = await paginate(db, presenter, page, {
          from: `protected_environments pe where pe.${source.column} = ?`,
          values: [source.id],
          order: "pe.name",
        });
        await fill(context, listed.rows);
        return listed;
      },
    }),
    get("/:name", {
      ...showing,
      summary: `Get a protected environment of a ${kind}`,
      input: named,
      handle: async (context) => rowOf(context, (await find(context, context.input.name)).id),
    }),
    post("", {
      ...showing,
      summary: `Protect an ${what}: only some may deploy to it`.replace("an tier", "a tier"),
      input: { name: param.text(), deploy_access_levels, ...others },
      handle: async (context) => {
        const { db, source, input, now } = context;
        await requireName(context, input.name);
        const id = await insertRow(db, "protected_environments", {
          ...{ [source.column]: source.id, name: input.name, created_at: now, updated_at: now },
        });
        await write(context, id, "deploy", input.deploy_access_levels);
        await write(context, id, "approve", input.approval_rules ?? []);
        await audit.log(context, "environment protected", target(source, input.name));
        return rowOf(context, id);
      },
    }),
    put("/:name", {
      ...showing,
      summary: `Change who may deploy to an ${what}`.replace("an tier", "a tier"),
      input: { ...named, deploy_access_levels: param.optional(deploy_access_levels), ...others },
      handle: async (context) => {
        const { db, source, input, now } = context;
        const { id } = await find(context, input.name);
        await write(context, id, "deploy", input.deploy_access_levels ?? []);
        await write(context, id, "approve", input.approval_rules ?? []);
        await updateRow(db, "protected_environments", id, {}, now);
        await audit.log(context, "environment protection changed", target(source, input.name));
        return rowOf(context, id);
      },
    }),
    del("/:name", {
      ...common,
      summary: `No longer protect an ${what}`.replace("an tier", "a tier"),
      input: named,
      handle: async (context) => {
        const { db, source, input, requireUnmodified } = context;
        const { id, updated_at } = await find(context, input.name);
        requireUnmodified(updated_at);
        await db.run("delete from protected_environments where id = ?", [id]);
        await audit.log(context, "environment unprotected", target(source, input.name));
        return undefined;
      },
    }),
  ];
}

/** Environments to which only some may deploy. */
export const protectedEnvironmentResource: Resource = {
  name: "Protected environments",
  migrations,
  routes: [...routesOf("project"), ...routesOf("group")],
};
