import type { Viewer } from "../../core/access/visibility.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { type Narrowing, NOT_NARROWED, startingFrom } from "../../store/narrowing.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { narrowing } from "../../store/search.ts";
import type { Deployed, Filter } from "./filters.ts";
import { named, withAll } from "./labelled.ts";
import type { IssuableType } from "./type.ts";

/**
 * Finds the filter of a list to start from: one that few rows match, if there is one. Otherwise rows are come across
 * soon in the order of the list, and only counting starts from a filter.
 */
export async function narrowedBy(
  db: Reader,
  type: IssuableType,
  viewer: Viewer,
  filter: Filter,
): Promise<Narrowing> {
  const { search, projectId } = filter;
  const owners =
    projectId === undefined ? undefined : [{ column: "project_id", id: projectId } as const];
  let counting = await narrowing(db, type.search, type.alias, search, { owners });
  if (counting.rare) return counting;
  for (const { ids, selective } of await startsOf(db, type, viewer, filter)) {
    const found = await startingFrom(db, type.alias, ids);
    if (found.rare) return found;
    if (selective && counting === NOT_NARROWED) counting = found;
  }
  return counting;
}

/** The condition on a row of `deployed_merge_requests`. */
export function deployedWith(alias: string, { environment, after, before }: Deployed): Condition {
  return all([
    when(`${alias}.environment_id in (select id from environments where name = ?)`, environment),
    when(`${alias}.deployed_at >= ?`, after),
    when(`${alias}.deployed_at <= ?`, before),
  ]);
}

interface Start {
  /** The ids of the rows that match a filter. */
  ids: Condition;
  /** Whether most rows may not match it. */
  selective: boolean;
}

/** The filters that have an index, as queries for ids. */
async function startsOf(
  db: Reader,
  type: IssuableType,
  viewer: Viewer,
  filter: Filter,
): Promise<Start[]> {
  const { table, column, prefix } = type;
  const starts: Start[] = [];
  const add = (selective: boolean, sql: string, ...values: Value[]) =>
    starts.push({ selective, ids: { sql, values } });

  if (filter.authorId !== undefined) {
    add(true, `select id from ${table} where author_id = ?`, filter.authorId);
  }
  if (filter.authorUsername !== undefined) {
    add(
      true,
      `select id from ${table} where author_id = (select id from users where lower(username) = lower(?))`,
      filter.authorUsername,
    );
  }
  const assigned = `select distinct ${column} as id from ${prefix}_assignees`;
  const { assigneeId, milestone, labels, ofMilestone, reaction } = filter;
  if (assigneeId === "any") add(false, assigned);
  else if (typeof assigneeId === "number") add(true, `${assigned} where user_id = ?`, assigneeId);
  if (filter.assigneeUsernames && filter.assigneeUsernames.length > 0) {
    const names = placeholders(filter.assigneeUsernames.map((name) => name.toLowerCase()));
    add(
      true,
      `${assigned} where user_id in (select id from users where lower(username) in (${names.sql}))`,
      ...names.values,
    );
  }
  const ofMilestones = `select id from ${table} where milestone_id`;
  if (ofMilestone) add(true, `${ofMilestones} = ?`, ofMilestone.id);
  if (typeof milestone === "object") {
    add(true, `${ofMilestones} in (select id from milestones where title = ?)`, milestone.title);
  } else if (milestone === "any") add(false, `${ofMilestones} is not null`);
  const labelled = `select distinct ${column} as id from ${prefix}_labels x`;
  if (labels === "any") add(false, labelled);
  else if (Array.isArray(labels)) {
    const names = [...new Set(labels as readonly string[])];
    for (const name of names) add(true, `${labelled} where ${named("x")}`, name);
    if (names.length > 1) starts.push({ selective: true, ids: await withAll(db, type, names) });
  }
  if (reaction !== undefined && reaction !== "none" && viewer.caller) {
    add(
      true,
      `select distinct ${column} as id from award_emoji where user_id = ? and ${column} is not null`,
      viewer.caller.id,
    );
  }
  for (const order of ["created", "updated"] as const) {
    const [after, before] = [filter[`${order}After`], filter[`${order}Before`]];
    if (after === undefined && before === undefined) continue;
    const all = { after: Number.MIN_SAFE_INTEGER, before: Number.MAX_SAFE_INTEGER };
    add(
      false,
      `select id from ${table} where ${order}_at >= ? and ${order}_at <= ?`,
      after ?? all.after,
      before ?? all.before,
    );
  }
  if (filter.deployed) {
    const { sql, values } = deployedWith("x", filter.deployed);
    const found = `select distinct x.merge_request_id as id from deployed_merge_requests x where ${sql}`;
    add(filter.deployed.environment !== undefined, found, ...values);
  }
  for (const { ids, isBroad } of filter.own ?? []) {
    if (ids) starts.push({ selective: !isBroad, ids });
  }
  return starts;
}
