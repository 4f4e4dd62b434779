import { type Viewer, visibleProjects } from "../../core/access/visibility.ts";
import { offsetOf, type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { all, belowGroup, type Condition } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { narrowing } from "../../store/search.ts";
import { embed } from "./embed.ts";
import type { Filter } from "./filters.ts";
import type { IssuableType, Presenting } from "./type.ts";

/** A page of the issuables the caller may read. */
export async function list(
  context: Presenting & { page: Page; viewer: Viewer },
  type: IssuableType,
  filter: Filter,
): Promise<RowPage> {
  const { db, presenter, page, viewer } = context;
  const { alias, table } = type;
  const { orderBy, sort, search, projectId } = filter;
  const projects = all(projectConditions(type, viewer, filter));
  const conditions = all(conditionsOf(type, viewer, filter));
  const wanted = all([projects, conditions]);
  const order = `${alias}.${orderBy} ${sort}, ${alias}.id ${sort}`;
  const most = offsetOf(page) + page.size + 1;
  const { prefix, condition, rare } = await narrowing(db, type.search, alias, search, projectId);
  const among = all([condition, wanted]);
  const counted = `${table} ${alias} join projects p on p.id = ${alias}.project_id
      left join milestones m on m.id = ${alias}.milestone_id`;
  const picked =
    filter.groupId !== undefined && most <= LOOK_AHEAD && !isSelective(filter)
      ? picking(type, projects, conditions, order, most)
      : wanted;
  const listed = await paginate(db, presenter, page, {
    ...(rare
      ? {
          from: `${prefix.sql} ${type.from} where ${among.sql}`,
          values: [...prefix.values, ...among.values],
          // An index in the order of the list would be scanned for the few rows there are.
          order: `${alias}.${orderBy} + 0 ${sort}, ${alias}.id ${sort}`,
        }
      : { from: `${type.from} where ${picked.sql}`, values: picked.values, order }),
    countFrom: `${prefix.sql} ${counted} where ${among.sql}`,
    countValues: [...prefix.values, ...among.values],
  });
  await embed(context, type, listed.rows);
  return listed;
}

/** The first rows of a group's list, up to this one, are collected from the first rows of each project. */
const LOOK_AHEAD = 250;

/** Whether a filter leaves so few rows that sorting them is faster than scanning in the order of the list. */
function isSelective(filter: Filter): boolean {
  return (
    filter.iids !== undefined ||
    filter.labels !== undefined ||
    filter.milestone !== undefined ||
    filter.authorId !== undefined ||
    filter.authorUsername !== undefined ||
    filter.assigneeId !== undefined ||
    filter.assigneeUsernames !== undefined ||
    filter.reaction !== undefined ||
    (filter.own ?? []).length > 0
  );
}

/**
 * Picks the first `most` rows of many projects without sorting all their rows: these can only be in the `most` projects
 * whose own first rows come first, and only among the first `most` rows of each.
 */
function picking(
  { alias, table }: IssuableType,
  projects: Condition,
  conditions: Condition,
  order: string,
  most: number,
): Condition {
  const ofProject = `select ${alias}.id from ${table} ${alias}
    where ${alias}.project_id = p.id and ${conditions.sql} order by ${order} limit ?`;
  return {
    sql: `${alias}.id in (
      select ${alias}.id from (
        select active.id from (
          select p.id, (${ofProject}) as first_id from projects p where ${projects.sql}) as active
        join ${table} ${alias} on ${alias}.id = active.first_id
        order by ${order} limit ?) as chosen
      join projects p on p.id = chosen.id
      join ${table} ${alias} on ${alias}.id in (${ofProject})
      order by ${order} limit ?)`,
    values: [...conditions.values, 1, ...projects.values, most, ...conditions.values, most, most],
  };
}

/** Which projects' rows a list contains. */
function projectConditions(
  { alias }: IssuableType,
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

function conditionsOf(type: IssuableType, viewer: Viewer, filter: Filter): Condition[] {
  const { alias, column, prefix } = type;
  const conditions: Condition[] = [];
  const add = (sql: string, ...values: Value[]) => conditions.push({ sql, values });

  conditions.push(type.visible(viewer));
  if (filter.iids) {
    const among = placeholders(filter.iids.length > 0 ? filter.iids : [0]);
    conditions.push({ sql: `${alias}.iid in (${among.sql})`, values: among.values });
  }
  if (filter.state) add(`${alias}.state = ?`, filter.state);
  conditions.push(...labelled(type, filter.labels));
  const { milestone } = filter;
  if (milestone === "none") add(`${alias}.milestone_id is null`);
  else if (milestone === "any") add(`${alias}.milestone_id is not null`);
  else if (milestone) add("m.title = ?", milestone.title);
  if (filter.search) {
    conditions.push(contains([`${alias}.title`, `${alias}.description`], filter.search));
  }
  if (filter.authorId !== undefined) add(`${alias}.author_id = ?`, filter.authorId);
  if (filter.authorUsername !== undefined) {
    add(
      `${alias}.author_id in (select id from users where lower(username) = lower(?))`,
      filter.authorUsername,
    );
  }
  const assigned = `select ${column} from ${prefix}_assignees`;
  const { assigneeId } = filter;
  if (assigneeId === "none") add(`${alias}.id not in (${assigned})`);
  else if (assigneeId === "any") add(`${alias}.id in (${assigned})`);
  else if (assigneeId !== undefined)
    add(`${alias}.id in (${assigned} where user_id = ?)`, assigneeId);
  const usernames = [...new Set(filter.assigneeUsernames?.map((name) => name.toLowerCase()))];
  if (usernames.length > 0) {
    const among = placeholders(usernames);
    add(
      `${alias}.id in (${assigned} where user_id in (select id from users where lower(username) in (${among.sql}))
        group by ${column} having count(*) = ?)`,
      ...among.values,
      usernames.length,
    );
  }
  if (filter.reaction !== undefined && viewer.caller) {
    const named = typeof filter.reaction === "object" ? [filter.reaction.name] : [];
    add(
      `${alias}.id ${filter.reaction === "none" ? "not in" : "in"} (select ${column} from award_emoji
         where user_id = ? and ${column} is not null${named.length > 0 ? " and name = ?" : ""})`,
      viewer.caller.id,
      ...named,
    );
  }
  if (filter.createdAfter !== undefined) add(`${alias}.created_at >= ?`, filter.createdAfter);
  if (filter.createdBefore !== undefined) add(`${alias}.created_at <= ?`, filter.createdBefore);
  if (filter.updatedAfter !== undefined) add(`${alias}.updated_at >= ?`, filter.updatedAfter);
  if (filter.updatedBefore !== undefined) add(`${alias}.updated_at <= ?`, filter.updatedBefore);
  const { ofMilestone } = filter;
  if (ofMilestone) {
    const { id, owner } = ofMilestone;
    add(
      `${alias}.milestone_id in (select id from milestones where id = ? and ${owner.column} = ?)`,
      id,
      owner.id,
    );
  }
  conditions.push(...(filter.own ?? []));
  return conditions;
}

/** A row must have all of the labels. */
function labelled({ alias, column, prefix }: IssuableType, wanted: Filter["labels"]): Condition[] {
  if (wanted === undefined) return [];
  const having = `select ${column} from ${prefix}_labels`;
  if (wanted === "none") return [{ sql: `${alias}.id not in (${having})`, values: [] }];
  if (wanted === "any") return [{ sql: `${alias}.id in (${having})`, values: [] }];
  if (wanted.length === 0) return [];
  const among = placeholders(wanted);
  return [
    {
      sql: `${alias}.id in (select x.${column} from ${prefix}_labels x
        join labels l on l.id = x.label_id
        where x.label_id in (select id from labels where name in (${among.sql}))
        group by x.${column} having count(distinct l.name) = ?)`,
      values: [...among.values, wanted.length],
    },
  ];
}
