import type { Ability } from "../../core/access/abilities.ts";
import { withSources } from "../../core/access/source.ts";
import { NOT_DELETED_USER, visibleOwner } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import { hasTier } from "../../core/resource.ts";
import {
  type Args,
  always,
  arg,
  computed,
  connection,
  costing,
  digits,
  type GraphContext,
  GraphError,
  htmlLine,
  inputType,
  int,
  leaf,
  loaded,
  type OutputFields,
  one,
  plainGid,
  required,
  string,
  time,
  userPermissions,
} from "../../graphql/declare.ts";
import { type Condition, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { type ApprovalState, statesOf } from "../approval-state/state.ts";
import { mergeableBy } from "../protected-refs/abilities.ts";
import {
  type IssuableSubject,
  mayAdmin,
  mayApproveNow,
  mayCreateNote,
  mayUpdate,
} from "./abilities.ts";
import { attributesOf, camelCase, KINDS } from "./attributes.ts";
import { timeStats } from "./fields.ts";
import { argumentsOf, type Sense, valuesOf } from "./filter.ts";
import { conditionsOf, FILTERS } from "./list.ts";
import { participating, subscriptionsOf } from "./queries.ts";
import type { IssuableType } from "./type.ts";

/** What permissions depend on, by id. */
async function subjectsOf(
  { table, prefix, column }: IssuableType,
  ids: readonly Value[],
  { db, viewer, caller, tier }: GraphContext,
) {
  const among = placeholders(ids);
  const found = await db.all<
    IssuableSubject & { id: number; project_id: number; discussion_locked: number; state: string }
  >(
    `select t.id, t.project_id, t.author_id, t.discussion_locked, t.state,
       (select count(*) from ${prefix}_assignees where ${column} = t.id and user_id = ?) as assigned
     from ${table} t where t.id in (${among.sql})`,
    [caller?.id ?? 0, ...among.values],
  );
  const rows = await withSources(db, found, viewer);
  const requests = prefix === "merge_request" ? rows : [];
  const mergeable = await mergeableBy(db, new Map(requests.map(({ id, source }) => [id, source])));
  const approvals = await statesOf(
    db,
    requests.map(({ id }) => id),
    tier,
    viewer.today,
  );
  return rows.map((row) => ({
    ...row,
    isMergeable: mergeable.has(row.id),
    approval: approvals.get(row.id) as ApprovalState,
  }));
}

type PermissionSubject = Awaited<ReturnType<typeof subjectsOf>>[number];

/** What the caller may do, under the names that a class has. Default: the type's. */
export const permissions = (
  type: IssuableType,
  className: string = type.className,
  more: Readonly<Record<string, Ability<PermissionSubject>>> = {},
) =>
  userPermissions<PermissionSubject>(`${className}Permissions`, type.one, {
    [`read${className}`]: always,
    [`update${className}`]: mayUpdate(type),
    [`admin${className}`]: mayAdmin(type),
    // GitLab has it of issues alone, and not of issues as work items.
    ...(className === "Issue" && { reopenIssue: mayUpdate(type) }),
    createNote: mayCreateNote,
    ...more,
    ...(type.prefix === "merge_request" && {
      canMerge: ({ isMergeable }) => isMergeable,
      canApprove: mayApproveNow,
    }),
  })((ids, context) => subjectsOf(type, ids, context));

/** How many of an emoji each was given, by id. */
async function votesOf(
  { column }: IssuableType,
  db: Reader,
  ids: readonly Value[],
  name: "thumbsup" | "thumbsdown",
): Promise<Map<Value, unknown>> {
  const among = placeholders(ids);
  const counted = await db.rows(
    `select ${column}, count(*) from award_emoji where ${column} in (${among.sql}) and name = ? group by ${column}`,
    [...among.values, name],
  );
  return new Map(counted.map(([id, count]) => [id as Value, count]));
}

/** The estimated and the spent time, in seconds and in words. */
function timeFields({ alias }: IssuableType): OutputFields {
  const stats = timeStats(alias);
  return {
    timeEstimate: required(int(stats.time_estimate)),
    totalTimeSpent: required(int(stats.total_time_spent)),
    humanTimeEstimate: string(stats.human_time_estimate),
    humanTotalTimeSpent: string(stats.human_total_time_spent),
  };
}

/** The fields of attributes. */
function attributeFields({ prefix, alias }: IssuableType): OutputFields {
  const own = attributesOf(prefix).filter(([, { isApart }]) => !isApart);
  const fields = own.map(([name, { kind, shownAs = name, tier: lowest }]) => {
    const { type, field: fieldOf } = KINDS[kind];
    const column = `${alias}.${name}`;
    const shown = lowest
      ? computed(type, [column], ([value], { tier }) => (hasTier(tier, lowest) ? value : null))
      : leaf(type, fieldOf(column));
    return [camelCase(shownAs), shown] as const;
  });
  return Object.fromEntries(fields);
}

/** The fields that all types of issuables have. */
export function issuableFields(type: IssuableType): OutputFields {
  const { alias, column, prefix, className, path, sigil } = type;
  const isIssue = prefix === "issue";
  const webPath = `'/' || p.full_path || '/-/${path}/' || ${alias}.iid`;
  const labels = connection("Label", {
    isSmall: true,
    query: () => ({
      join: `join ${prefix}_labels x on x.label_id = l.id`,
      parent: `x.${column}`,
      order: [{ sql: "l.name", isText: true }, { sql: "l.id" }],
    }),
  });
  return {
    id: plainGid(className, `${alias}.id`),
    iid: required(digits(`${alias}.iid`)),
    title: required(string(`${alias}.title`)),
    description: string(`${alias}.description`),
    createdAt: required(time(`${alias}.created_at`)),
    updatedAt: required(time(`${alias}.updated_at`)),
    closedAt: time(`${alias}.closed_at`),
    project: required(one("Project", `${alias}.project_id`)),
    projectId: required(int(`${alias}.project_id`)),
    webUrl: required(string(field.url(webPath, (path) => path))),
    webPath: required(string(webPath)),
    reference: required(
      computed(
        "String",
        ["p.full_path", `${alias}.iid`],
        ([project, iid], _, { full }) => `${full ? project : ""}${sigil}${iid}`,
        { full: arg.withDefault(arg.boolean, false) },
      ),
    ),
    name: string(`${alias}.title`),
    titleHtml: htmlLine(`${alias}.title`),
    author: one("UserCore", `${alias}.author_id`),
    milestone: one("Milestone", `${alias}.milestone_id`),
    labels: isIssue ? labels : costing(5, labels),
    assignees: costing(
      isIssue ? 1 : 5,
      connection("UserCore", {
        isSmall: true,
        query: () => ({
          join: `join ${prefix}_assignees x on x.user_id = u.id`,
          where: when(NOT_DELETED_USER),
          parent: `x.${column}`,
        }),
      }),
    ),
    participants: costing(
      isIssue ? 5 : 15,
      connection("UserCore", {
        needs: [`${alias}.id`],
        query: (_, { viewer }, [id]) => {
          const { join, ...where } = participating(type, id as number, viewer);
          return { join: `join users v on v.id = u.id ${join}`, where };
        },
      }),
    ),
    ...attributeFields(type),
    ...timeFields(type),
    upvotes: required(
      loaded("Int", (ids, { db }) => votesOf(type, db, ids, "thumbsup"), { empty: 0 }),
    ),
    downvotes: required(
      loaded("Int", (ids, { db }) => votesOf(type, db, ids, "thumbsdown"), { empty: 0 }),
    ),
    subscribed: costing(
      5,
      required(
        loaded(
          "Boolean",
          (ids, { db, caller }) =>
            caller ? subscriptionsOf(db, type, ids, caller.id) : new Map<Value, boolean>(),
          { empty: false },
        ),
      ),
    ),
    userPermissions: permissions(type),
  };
}

/** Refuses arguments of which only one may be sent. */
export function requireOnlyOne(args: object, ...names: readonly string[]): void {
  const sent = names.filter((name) => (args as Record<string, unknown>)[name] !== undefined);
  if (sent.length > 1) {
    throw new GraphError(
      `Only one of [${names.join(", ")}] arguments is allowed at the same time.`,
    );
  }
}

/**
 * The arguments of lists: their filters, what they leave out, and what they take if one holds.
 *
 * @param negated the name of the input with what they leave out
 * @param unioned the name of the other
 */
export function filterArguments({ prefix }: IssuableType, negated: string, unioned: string): Args {
  const filters = FILTERS[prefix];
  const inputOf = (name: string, about: string, sense: Sense) =>
    arg.input(inputType(name, about, argumentsOf(filters, sense)));
  return {
    ...argumentsOf(filters),
    not: inputOf(negated, "What a list leaves out.", "negatedArguments"),
    or: inputOf(unioned, "What a list takes if one holds.", "unionedArguments"),
  };
}

/**
 * The condition of {@link filterArguments} on a row of the type.
 *
 * @throws GraphError for a value that is not valid, and two arguments that exclude each other
 */
export function filterCondition(
  type: IssuableType,
  args: Readonly<Record<string, unknown>>,
  { viewer }: GraphContext,
): Condition {
  const filters = FILTERS[type.prefix];
  const valuesIn = (name: "not" | "or", sense: Sense) =>
    valuesOf(filters, args[name] as Readonly<Record<string, unknown>> | undefined, sense);
  return conditionsOf(
    { type, viewer, values: valuesOf(filters, args), isWithin: false, column: "created_at" },
    { not: valuesIn("not", "negatedArguments"), or: valuesIn("or", "unionedArguments") },
  );
}

/** The orders of any type that have an index, by name. */
export const indexedOrders = ({ alias }: IssuableType) => ({
  CREATED: { sql: `${alias}.created_at` },
  UPDATED: { sql: `${alias}.updated_at` },
});

/** The names of labels by their ids, since the routes take names: without those that the caller may not see. */
export async function labelNames(
  { db, viewer }: Pick<GraphContext, "db" | "viewer">,
  ids: readonly number[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const among = placeholders(ids);
  const visible = visibleOwner(viewer, "l");
  const found = await db.rows(
    `select l.name from labels l where l.id in (${among.sql}) and ${visible.sql}`,
    [...among.values, ...visible.values],
  );
  return found.map(([name]) => name as string);
}
