import {
  inProject,
  REMOVED_ROWS,
  type Viewer,
  visibleDeployments,
  visibleProjects,
} from "../../core/access/visibility.ts";
import { paginateNarrowed } from "../../core/narrowed.ts";
import { offsetOf, type Page, type RowPage } from "../../core/pagination.ts";
import { all, belowGroup, type Condition, rowByRow } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { embed } from "./embed.ts";
import { type Filter, isIndexed } from "./filters.ts";
import { deployedWith, narrowedBy } from "./narrow.ts";
import { negatedConditions } from "./negated.ts";
import { orderOf } from "./orders.ts";
import { readPicked } from "./picks.ts";
import { labelledTotal } from "./totals.ts";
import type { IssuableType, Presenting } from "./type.ts";

/** A page of the issuables the caller may read. */
export async function list(
  given: Presenting & { page: Page; viewer: Viewer },
  type: IssuableType,
  filter: Filter,
): Promise<RowPage> {
  const { source } = given;
  const isOfProject = filter.projectId !== undefined && source !== undefined;
  const context = isOfProject ? { ...given, viewer: inProject(given.viewer, source) } : given;
  const { db, presenter, page, viewer } = context;
  const { alias, table } = type;
  const projects = all(projectConditions(alias, viewer, filter));
  const conditions = all(conditionsOf(type, viewer, filter));
  const wanted = all([projects, conditions]);
  const narrow = await narrowedBy(db, type, viewer, filter);
  const { order, sorted } = orderSql(type, filter);
  const tables = `${table} ${alias} join projects p on p.id = ${alias}.project_id`;
  const most = offsetOf(page) + page.size + 1;
  const of = { type, filter, narrow, projects, conditions, wanted, tables, order, sorted, most };
  const listed = await readPicked(db, of, (picked, total) =>
    paginateNarrowed(db, presenter, page, narrow, {
      alias,
      tables,
      presented: { sql: type.from, values: [] },
      where: wanted,
      picked,
      total,
      order,
      sorted,
      stored: labelledTotal(db, type, viewer, filter, all(projectConditions("c", viewer, filter))),
    }),
  );
  await embed(context, type, listed.rows);
  return listed;
}

/** The order of a list, and the same, written so that no index has it. */
function orderSql(type: IssuableType, { orderBy, sort }: Filter) {
  const { alias } = type;
  if (!isIndexed(orderBy)) {
    const terms = orderOf(type, orderBy, sort);
    const order = terms.map(({ sql, descending }) => `${sql} ${descending ? "desc" : "asc"}`);
    return { order: order.join(", "), sorted: order.join(", ") };
  }
  return {
    order: `${alias}.${orderBy} ${sort}, ${alias}.id ${sort}`,
    // With a bare column, an index in the order of the list could be scanned.
    sorted: `${alias}.${orderBy} + 0 ${sort}, ${alias}.id ${sort}`,
  };
}

/** Which projects' rows a list contains. @param alias of what has a `project_id`, beside its project `p` */
function projectConditions(
  alias: string,
  viewer: Viewer,
  { projectId, groupId }: Filter,
): (Condition | undefined)[] {
  return [
    projectId === undefined
      ? visibleProjects(viewer)
      : { sql: `${alias}.project_id = ?`, values: [projectId] },
    groupId === undefined ? undefined : belowGroup("p.namespace_id", groupId),
  ];
}

/** The conditions of a filter on a row and, in it, on what the caller may read. */
export function conditionsOf(type: IssuableType, viewer: Viewer, filter: Filter): Condition[] {
  const { alias, column, prefix } = type;
  const conditions: Condition[] = [];
  const isWithin = filter.projectId !== undefined || filter.groupId !== undefined;
  const add = (sql: string, ...values: Value[]) => conditions.push({ sql, values });

  conditions.push(type.visible(viewer));
  if (filter.iids) {
    const among = placeholders(filter.iids.length > 0 ? filter.iids : [0]);
    conditions.push({ sql: `${alias}.iid in (${among.sql})`, values: among.values });
  }
  if (filter.state) add(`${alias}.state = ?`, filter.state);
  conditions.push(...labelled(type, filter.labels));
  const { milestone } = filter;
  // Sums and `rowByRow` keep the engines from starting with a filter: see `narrowedBy`.
  if (milestone === "none") add(hasMilestone(`${alias}.milestone_id + 0`, false));
  else if (milestone === "any") add(hasMilestone(`${alias}.milestone_id + 0`, true));
  else if (milestone) {
    add(
      rowByRow(`select 1 from milestones t where t.id = ${alias}.milestone_id and t.title = ?`),
      milestone.title,
    );
  }
  if (filter.search) {
    const { searchIn = ["title", "description"] } = filter;
    const columns = searchIn.map((column) => `${alias}.${column}`);
    conditions.push(contains(columns, filter.search));
  }
  // The index of authors has the order of a list across projects.
  const author = isWithin ? `${alias}.author_id + 0` : `${alias}.author_id`;
  if (filter.authorId !== undefined) add(`${author} = ?`, filter.authorId);
  if (filter.authorUsername !== undefined) {
    add(
      `${author} = (select id from users where lower(username) = lower(?))`,
      filter.authorUsername,
    );
  }
  const assigned = `select 1 from ${prefix}_assignees a where a.${column} = ${alias}.id`;
  const toSomebody = rowByRow(`${assigned} and a.user_id not in (${REMOVED_ROWS.users})`);
  const { assigneeId } = filter;
  if (assigneeId === "none") add(`not ${toSomebody}`);
  else if (assigneeId === "any") add(toSomebody);
  else if (assigneeId !== undefined) {
    add(rowByRow(`${assigned} and a.user_id = ?`), assigneeId);
  }
  const usernames = [...new Set(filter.assigneeUsernames?.map((name) => name.toLowerCase()))];
  if (usernames.length > 0) {
    const among = placeholders(usernames);
    add(
      `(select count(*) from ${prefix}_assignees a where a.${column} = ${alias}.id
        and a.user_id in (select id from users where lower(username) in (${among.sql}))) = ?`,
      ...among.values,
      usernames.length,
    );
  }
  if (filter.reaction !== undefined && viewer.caller) {
    const named = typeof filter.reaction === "object" ? [filter.reaction.name] : [];
    const given = rowByRow(
      `select 1 from award_emoji e
         where e.${column} = ${alias}.id and e.user_id = ?${named.length > 0 ? " and e.name = ?" : ""}`,
    );
    add(filter.reaction === "none" ? `not ${given}` : given, viewer.caller.id, ...named);
  }
  for (const order of ["created", "updated"] as const) {
    const column = `${alias}.${order}_at${filter.orderBy === `${order}_at` ? "" : " + 0"}`;
    const [after, before] = [filter[`${order}After`], filter[`${order}Before`]];
    if (after !== undefined) add(`${column} >= ?`, after);
    if (before !== undefined) add(`${column} <= ?`, before);
  }
  const { ofMilestone } = filter;
  if (ofMilestone) {
    const { id, owner } = ofMilestone;
    add(
      `${alias}.milestone_id = ? and exists (select 1 from milestones where id = ? and ${owner.column} = ? and removed = 0)`,
      id,
      id,
      owner.id,
    );
  }
  if (filter.negated) conditions.push(...negatedConditions(type, viewer, filter.negated));
  if (filter.deployed) {
    const { sql, values } = deployedWith("x", filter.deployed);
    const query = `select 1 from deployed_merge_requests x where x.merge_request_id = ${alias}.id and ${sql}`;
    conditions.push(visibleDeployments(viewer), { sql: rowByRow(query), values });
  }
  conditions.push(...(filter.own ?? []).map(({ condition }) => condition));
  return conditions;
}

/** The condition under which a row has a milestone, or has none. @param column with the milestone's id */
export function hasMilestone(column: string, has: boolean): string {
  const removed = `in (${REMOVED_ROWS.milestones})`;
  return has
    ? `(${column} is not null and ${column} not ${removed})`
    : `(${column} is null or ${column} ${removed})`;
}

/** A row must have all of the labels. */
function labelled({ alias, column, prefix }: IssuableType, wanted: Filter["labels"]): Condition[] {
  if (wanted === undefined) return [];
  const having = `select 1 from ${prefix}_labels x where x.${column} = ${alias}.id`;
  const some = rowByRow(`${having} and x.label_id not in (${REMOVED_ROWS.labels})`);
  if (wanted === "none") return [{ sql: `not ${some}`, values: [] }];
  if (wanted === "any") return [{ sql: some, values: [] }];
  return [...new Set(wanted)].map((name) => ({
    sql: rowByRow(`${having} and x.label_id in (select id from labels where name = ?)`),
    values: [name],
  }));
}
