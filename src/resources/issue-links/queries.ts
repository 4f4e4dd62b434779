import { type Viewer, visibleIssues, visibleProjects } from "../../core/access/visibility.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import type { Presenter } from "../../core/presenter.ts";
import { all, among, belowGroup, type Condition, when } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { EPIC } from "../issuables/epic.ts";
import { ISSUE, issueJoins } from "../issuables/issue.ts";
import type { IssuableType } from "../issuables/type.ts";

/** How issues can be linked. A link that says `is_blocked_by` is stored as one that `blocks`, the other way round. */
export const LINK_TYPES = ["relates_to", "blocks", "is_blocked_by"] as const;
export type LinkType = (typeof LINK_TYPES)[number];

/** A link as stored. */
export interface IssueLink {
  id: number;
  source_id: number;
  target_id: number;
  link_type: "relates_to" | "blocks";
  created_at: number;
  updated_at: number;
}

/** All links, seen from each of their two issues (`issue_id`). */
export const LINKED = `(select id, source_id as issue_id, target_id as other_id, link_type, created_at, updated_at
    from issue_links
    union all
    select id, target_id, source_id, case link_type when 'blocks' then 'is_blocked_by' else link_type end,
      created_at, updated_at
    from issue_links)`;

/** How many open issues that the caller may read each issue blocks, or is blocked by. */
export async function countOpenBlocks(
  db: Reader,
  issueIds: readonly Value[],
  type: "blocks" | "is_blocked_by",
  viewer: Viewer,
): Promise<Map<Value, number>> {
  const [own, other] =
    type === "blocks" ? ["x.source_id", "x.target_id"] : ["x.target_id", "x.source_id"];
  const wanted = all([
    among(own, issueIds),
    when("x.link_type = 'blocks' and i.state = 'opened'"),
    visibleProjects(viewer),
    visibleIssues(viewer),
  ]);
  const counted = await db.rows(
    `select ${own}, count(*) from issue_links x join issues i on i.id = ${other}
     join projects p on p.id = i.project_id where ${wanted.sql} group by ${own}`,
    wanted.values,
  );
  return new Map(counted.map(([id, count]) => [id as Value, Number(count)]));
}

/** The condition under which the caller may read a row `i` of a type, in its project `p`. */
const readable = (viewer: Viewer, { projects, visible }: IssuableType): Condition =>
  all([projects(viewer), visible(viewer)]);

/**
 * The issues linked with an issue, or the epics with an epic, without those the caller may not read; the oldest link comes
 * first.
 *
 * @param of their type, and the joins of what they show
 */
export function list(
  db: Reader,
  presenter: Presenter,
  page: Page,
  issueId: number,
  viewer: Viewer,
  { type, joins }: { type: IssuableType; joins: string } = OF_ISSUES,
): Promise<RowPage> {
  const wanted = readable(viewer, type);
  const linked = `${LINKED} x join issues i on i.id = x.other_id join projects p on p.id = i.project_id`;
  return paginate(db, presenter, page, {
    from: `${linked} ${joins} where x.issue_id = ? and ${wanted.sql}`,
    countFrom: `${linked} where x.issue_id = ? and ${wanted.sql}`,
    values: [issueId, ...wanted.values],
    order: "x.id",
  });
}
const OF_ISSUES = { type: ISSUE, joins: issueJoins };

/**
 * A link of an issue or epic, in either direction, or `undefined`: also if the caller may not read the other one. It has the
 * project of that, and the group of this.
 */
export async function find(
  db: Reader,
  issueId: number,
  linkId: number,
  viewer: Viewer,
  type: IssuableType = ISSUE,
): Promise<(IssueLink & { other_project_id: number; other_group_id: number }) | undefined> {
  const wanted = readable(viewer, type);
  return db.one<IssueLink & { other_project_id: number; other_group_id: number }>(
    `select x.id, x.source_id, x.target_id, x.link_type, x.created_at, x.updated_at, p.id as other_project_id,
       p.namespace_id as other_group_id from issue_links x
     join issues i on i.id = case x.source_id when ? then x.target_id else x.source_id end
     join projects p on p.id = i.project_id
     where x.id = ? and (x.source_id = ? or x.target_id = ?) and ${wanted.sql}`,
    [issueId, linkId, issueId, issueId, ...wanted.values],
  );
}

/** The links of the epics of a group and those below it, with both epics readable to the caller, oldest first. */
export function listBelow(
  db: Reader,
  presenter: Presenter,
  page: Page,
  groupId: number,
  viewer: Viewer,
  times: Condition,
): Promise<RowPage> {
  const wanted = readable(viewer, EPIC);
  const below = belowGroup("p.namespace_id", groupId);
  return paginate(db, presenter, page, {
    from: `projects p join issues i on i.project_id = p.id join issue_links x on x.source_id = i.id
      where ${below.sql} and ${wanted.sql} and ${times.sql} and exists (
        select 1 from issues i join projects p on p.id = i.project_id where i.id = x.target_id and ${wanted.sql})`,
    values: [...below.values, ...wanted.values, ...times.values, ...wanted.values],
    order: "x.id",
  });
}

/** Whether two issues are linked, in either direction. */
export async function areLinked(db: Reader, oneId: number, otherId: number): Promise<boolean> {
  const found = await db.rows(
    `select 1 from issue_links where (source_id = ? and target_id = ?) or (source_id = ? and target_id = ?)`,
    [oneId, otherId, otherId, oneId],
  );
  return found.length > 0;
}

/** Adds a link, seen from the first issue. */
export async function insert(
  db: Database,
  issueId: number,
  otherId: number,
  type: LinkType,
  now: number,
): Promise<IssueLink> {
  const [source_id, target_id] = type === "is_blocked_by" ? [otherId, issueId] : [issueId, otherId];
  const link_type = type === "relates_to" ? "relates_to" : "blocks";
  const link = { source_id, target_id, link_type, created_at: now, updated_at: now } as const;
  return { id: await insertRow(db, "issue_links", link), ...link };
}

/** Makes all links of one issue those of another one, which has none. */
export async function hand(db: Database, fromId: number, toId: number): Promise<void> {
  for (const column of ["source_id", "target_id"]) {
    await db.run(`update issue_links set ${column} = ? where ${column} = ?`, [toId, fromId]);
  }
}

/** Removes a link. */
export async function remove(db: Database, linkId: number): Promise<void> {
  await db.run("delete from issue_links where id = ?", [linkId]);
}
