import { findVisible } from "../../core/access/source.ts";
import { visibleIssues, visiblePlaces } from "../../core/access/visibility.ts";
import { type ApiError, conflict, forbidden, invalid, unreadable } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import type { Route } from "../../core/resource.ts";
import { all } from "../../store/conditions.ts";
import { mayAdminEpicRelation, mayAdminParentLink } from "../issuables/abilities.ts";
import { type IssueType, typeName } from "../issuables/attributes.ts";
import { happened } from "../issuables/change.ts";
import { rowOf } from "../issuables/embed.ts";
import { EPIC } from "../issuables/epic.ts";
import { ISSUE } from "../issuables/issue.ts";
import { routesBelow } from "../issuables/places.ts";
import * as issuables from "../issuables/queries.ts";
import { findIssuable } from "../issuables/rules.ts";
import type { IssuableType, Writing } from "../issuables/type.ts";
import * as links from "../issue-links/queries.ts";
import * as hierarchy from "./queries.ts";
import { childTypesOf } from "./types.ts";

/** The most issues below one, as in GitLab. */
const MAX_CHILDREN = 5000;

const words = ({ issue_type }: issuables.Issuable) =>
  typeName(issue_type as IssueType).toLowerCase();

const typeOf = ({ issue_type }: issuables.Issuable) => (issue_type === "epic" ? EPIC : ISSUE);

/** An issue as notes refer to it: `#3`, or `&3` for an epic. */
const named = (one: issuables.Issuable) => `${typeOf(one).sigil}${one.iid}`;

/** The error for an issue that can't be below another one. */
const refuse = (child: issuables.Issuable, reason: string): ApiError =>
  unreadable(`${named(child)} cannot be added: ${reason}`);

/** An epic, or an issue of the project that is changed, by its id. @throws ApiError 400 if it is not there, 403 for an epic of a group that the caller does not belong to */
async function neighbourOf(
  { db, source, viewer }: Writing,
  child: issuables.Issuable,
  id: number,
): Promise<issuables.Issuable> {
  const readable = all([visiblePlaces(viewer), visibleIssues(viewer)]);
  const [row] = await db.rows(
    `select i.project_id, i.issue_type, p.namespace_id from issues i join projects p on p.id = i.project_id
     where i.id = ? and ${readable.sql}`,
    [id, ...readable.values],
  );
  if (!row) throw unreadable(`No Work Item found with ID: ${id}.`);
  if (row[0] !== source.id && row[1] !== "epic") {
    throw refuse(child, "parent must be in the same project or group as child.");
  }
  if (row[0] !== source.id) {
    const group = await findVisible(db, "group", String(row[2]), viewer);
    if (!group || !mayAdminEpicRelation(group)) throw forbidden();
  }
  return issuables.findById(db, ISSUE, id);
}

/** @throws ApiError 409 if epics would be too deep below each other, or 400 if one would be below itself */
async function requireDepth(
  { db }: Writing,
  child: issuables.Issuable,
  parent: issuables.Issuable,
): Promise<void> {
  if (child.issue_type !== "epic") return;
  const above = await hierarchy.idsAbove(db, parent.id);
  if (above.includes(child.id)) {
    throw refuse(child, "it's already an ancestor of the parent");
  }
  if (above.length + 1 + (await hierarchy.levelsOf(db, child.id)) > hierarchy.MAX_DEPTH) {
    throw conflict(
      `This epic cannot be added. One or more epics would exceed the maximum depth (${hierarchy.MAX_DEPTH}) from its most distant ancestor.`,
    );
  }
}

/** @throws ApiError 400 if an issue can't be below another one */
async function requireFitting(
  writing: Writing,
  child: issuables.Issuable,
  parent: issuables.Issuable,
): Promise<void> {
  const { db } = writing;
  if (child.id === parent.id) throw refuse(child, "is not allowed to point to itself");
  if (!childTypesOf(parent.issue_type).some((type) => type === child.issue_type)) {
    throw refuse(child, "it's not allowed to add this type of parent item");
  }
  if (parent.confidential === 1 && child.confidential !== 1) {
    const type = words(child);
    throw refuse(
      child,
      `cannot assign a non-confidential ${type} to a confidential parent. Make the ${type} confidential and try again.`,
    );
  }
  if (await links.areLinked(db, child.id, parent.id)) {
    throw refuse(child, "cannot assign a linked work item as a parent");
  }
  if ((await hierarchy.countChildren(db, parent.id)) >= MAX_CHILDREN) {
    throw refuse(child, "parent already has maximum number of children.");
  }
  await requireDepth(writing, child, parent);
}

/** What becomes of an issue's place. */
export interface Placed {
  /** The id of the issue that it is to be below; `null` for none. Default: where it is. */
  readonly parentId?: number | null | undefined;
  /** One that is below the same issue. Default: it comes last. */
  readonly neighbour?: hierarchy.Neighbour | undefined;
}

/**
 * Puts an issue below another one of its project, or next to others there, or takes it away; notes tell so on both.
 *
 * @param child which the caller may change
 * @throws ApiError 400 if it can't be there
 */
export async function place(
  writing: Writing,
  child: issuables.Issuable,
  { parentId, neighbour }: Placed,
): Promise<void> {
  const { db } = writing;
  const current = await hierarchy.parentIdOf(db, child.id);
  const wanted = parentId === undefined ? current : parentId;
  if (neighbour && (wanted === null || (await hierarchy.parentIdOf(db, neighbour.id)) !== wanted)) {
    throw unreadable("The adjacent work item is not below the same parent");
  }
  if (wanted !== null && wanted === current) {
    if (neighbour && neighbour.id !== child.id)
      await hierarchy.put(db, child.id, wanted, neighbour);
    return;
  }
  // What an epic is above of may be of another project.
  const tell = (one: issuables.Issuable, note: string) =>
    happened({ ...writing, source: { ...writing.source, id: one.project_id } }, typeOf(one), one, {
      note,
    });
  const parent = wanted === null ? undefined : await neighbourOf(writing, child, wanted);
  if (parent) await requireFitting(writing, child, parent);
  if (current !== null) {
    const former = await issuables.findById(db, ISSUE, current);
    await tell(former, `removed child ${words(child)} ${named(child)}`);
    if (!parent) {
      await hierarchy.takeAway(db, child.id);
      await tell(child, `removed parent ${words(former)} ${named(former)}`);
    }
  }
  if (!parent) return;
  await hierarchy.put(db, child.id, parent.id, neighbour);
  await tell(parent, `added ${named(child)} as child ${words(child)}`);
  await tell(child, `added ${named(parent)} as parent ${words(parent)}`);
}

/** @throws ApiError 400 if an issue can't get another type, or be confidential or not, for what it is below or has below it */
export async function requireStillFitting(
  { db }: Pick<Writing, "db">,
  found: issuables.Issuable,
  columns: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { issue_type: type, confidential } = columns;
  if (type !== undefined && type !== found.issue_type) {
    const { parent, children } = await hierarchy.typesAround(db, found.id);
    const changed = `cannot be changed to ${typeName(type as IssueType)} with`;
    const wrong = (reason: string) => invalid({ work_item_type_id: [`${changed} ${reason}`] });
    if (parent && !childTypesOf(parent as IssueType).some((one) => one === type)) {
      throw wrong(`${typeName(parent as IssueType)} as parent type.`);
    }
    const fitting: readonly string[] = childTypesOf(type as IssueType);
    if (children.some((child) => !fitting.includes(child))) {
      throw wrong("these child item types.");
    }
  }
  if (confidential !== undefined && confidential !== found.confidential) {
    const around = await hierarchy.confidentialityAround(db, found.id);
    if (confidential === 1 && around.hasPublicChild) {
      const problem = "All child items must be confidential in order to turn on confidentiality.";
      throw invalid({ base: [problem] });
    }
    if (confidential === 0 && around.isParentConfidential) {
      throw invalid({
        base: [`A non-confidential ${words(found)} cannot have a confidential parent.`],
      });
    }
  }
}

/** Puts one of a type below another one, next to others or away, for GraphQL and quick actions. */
const placeRouteOf = (type: IssuableType): Route =>
  routesBelow(type, "").put(`/${type.path}/:iid`, {
    summary: `Put ${type.one} below another one`,
    input: {
      iid: param.recordId(),
      parent_id: param.clearable(param.integer()),
      adjacent_id: param.optional(param.integer()),
      relative_position: param.optional(param.choice(["before", "after"])),
    },
    presenter: type.single,
    handle: async (context) => {
      const { input } = context;
      const child = await findIssuable(context, type, input.iid, type.className);
      if (!mayAdminParentLink(child, context)) throw forbidden();
      const { adjacent_id: id, relative_position: side = "before" } = input;
      const neighbour = id === undefined ? undefined : { id, side };
      await place(context, child, { parentId: input.parent_id, neighbour });
      return rowOf(context, type, child.id);
    },
  });

/** {@link placeRouteOf} issues, and epics. */
export const placeRoute = placeRouteOf(ISSUE);

/** {@link placeRoute} for epics. */
export const placeEpicRoute = placeRouteOf(EPIC);
