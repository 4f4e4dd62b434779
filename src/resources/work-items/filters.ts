import { ON_EPIC, usesFeature, type Viewer } from "../../core/access/visibility.ts";
import {
  type Args,
  arg,
  enumeration,
  GraphError,
  inputType,
  type Values,
} from "../../graphql/declare.ts";
import { all, among, type Condition, when } from "../../store/conditions.ts";
import { inGroup } from "../namespaces/graphql.ts";
import { KIND_ID, KINDS } from "./types.ts";

const HEALTH = enumeration("HealthStatusFilter", "Whether work items will be done in time.", [
  ...["onTrack", "needsAttention", "atRisk", "NONE", "ANY"],
]);
const RELEASE = enumeration("ReleaseTagWildcardId", "Whether a milestone has a release.", [
  "NONE",
  "ANY",
]);
const PARENT = enumeration("WorkItemParentWildcardId", "Whether work items are below others.", [
  "NONE",
  "ANY",
]);

const workItemId = arg.gid("WorkItem");

/** The filters that work items have besides those of issues. */
export const moreFilters = {
  ids: arg.list(workItemId),
  workItemTypeIds: arg.list(KIND_ID),
  releaseTag: arg.list(arg.string),
  releaseTagWildcardId: arg.choice(RELEASE),
  parentIds: arg.about("Work items below these.", arg.list(workItemId)),
  parentWildcardId: arg.choice(PARENT),
  hierarchyFilters: arg.input(
    inputType("HierarchyFilterInput", "What work items are below.", {
      parentIds: arg.list(workItemId),
      parentWildcardId: arg.choice(PARENT),
      includeDescendantWorkItems: arg.boolean,
    }),
  ),
  healthStatusFilter: arg.choice(HEALTH),
  crmContactId: arg.about("Work items of a contact: there are none.", arg.string),
  crmOrganizationId: arg.about("Work items of an organization: there are none.", arg.string),
  includeAncestors: arg.about("Also those of the groups above.", arg.boolean),
  includeDescendants: arg.about("Also those of what is below a group.", arg.boolean),
  includeDescendantWorkItems: arg.about(
    "With `parentIds`: also what is below those that are below them.",
    arg.boolean,
  ),
  excludeProjects: arg.about("Only those of groups: epics.", arg.boolean),
  excludeGroupWorkItems: arg.about("Only those of projects.", arg.boolean),
} satisfies Args;

/** The condition that an issue's milestone has a release that the viewer may read. */
function isReleased(viewer: Viewer, release?: Condition): Condition {
  const { sql, values } = all([usesFeature(viewer, "releases"), release]);
  const query = `exists (select 1 from release_milestones rm join releases r on r.id = rm.release_id
    join projects p on p.id = r.project_id
    where rm.milestone_id = i.milestone_id and r.project_id = i.project_id and ${sql})`;
  return { sql: query, values };
}

/** A condition on what no work item has: `NONE` holds for all of them, anything else for none. */
const absent = (value: unknown) =>
  value === undefined || value === "NONE" ? undefined : when("1 = 0");

/** The stored types of kinds. */
const typesOf = (numbers: readonly number[]) =>
  KINDS.flatMap(({ number, type }) => (type && numbers.includes(number) ? [type] : []));

/** The condition that a row is below certain ones. */
function placeCondition({
  parentIds,
  parentWildcardId,
  includeDescendantWorkItems: isDeep,
}: {
  parentIds?: readonly number[] | undefined;
  parentWildcardId?: "NONE" | "ANY" | undefined;
  includeDescendantWorkItems?: boolean | undefined;
} = {}): Condition | undefined {
  if (parentIds && parentWildcardId) {
    throw new GraphError(
      "Only one of [parentIds, parentWildcardId] arguments is allowed at the same time.",
    );
  }
  const of = parentIds && among("h.parent_id", parentIds);
  const below = "select h.issue_id from work_item_parents h";
  if (of && isDeep) {
    const sql = `i.id in (with recursive below (id) as (${below} where ${of.sql}
      union select h.issue_id from below join work_item_parents h on h.parent_id = below.id) select id from below)`;
    return { sql, values: of.values };
  }
  if (of) return { sql: `i.id in (${below} where ${of.sql})`, values: of.values };
  const own = `exists (${below} where h.issue_id = i.id)`;
  return parentWildcardId && when(parentWildcardId === "ANY" ? own : `not ${own}`);
}

/** The condition of {@link moreFilters} on a row `i` of issues. */
export function moreCondition(
  viewer: Viewer,
  args: Partial<Values<typeof moreFilters>>,
): Condition {
  const { ids, workItemTypeIds, releaseTag, releaseTagWildcardId } = args;
  const ofAny = releaseTagWildcardId && isReleased(viewer);
  return all([
    ids && among("i.id", ids),
    workItemTypeIds && among("i.issue_type", typesOf(workItemTypeIds)),
    releaseTag && isReleased(viewer, among("r.tag", releaseTag)),
    ofAny && { ...ofAny, sql: `${releaseTagWildcardId === "NONE" ? "not " : ""}${ofAny.sql}` },
    ...[args, args.hierarchyFilters].map(placeCondition),
    ...[args.healthStatusFilter, args.crmContactId, args.crmOrganizationId].map(absent),
  ]);
}

/** The places of a group's work items: its own, which are epics, and those of what is below it and above it, if that is asked for. */
export function placesOf(args: Partial<Values<typeof moreFilters>>) {
  const { includeDescendants, includeAncestors, excludeProjects, excludeGroupWorkItems } = args;
  const kinds = [
    excludeProjects ? when(ON_EPIC) : undefined,
    excludeGroupWorkItems ? when(`not (${ON_EPIC})`) : undefined,
  ];
  const above = "select ancestor_id as place, namespace_id as of_group, 1 as is_above";
  const below = "select namespace_id as place, ancestor_id as of_group, 0 as is_above";
  if (includeAncestors && includeDescendants) {
    return {
      join: `join (${above} from namespace_ancestors where ancestor_id <> namespace_id
        union all ${below} from namespace_ancestors) a on a.place = p.namespace_id`,
      parent: "a.of_group",
      where: all([when(`(a.is_above = 0 or ${ON_EPIC})`), ...kinds]),
    };
  }
  if (includeAncestors) {
    return {
      join: "join namespace_ancestors a on a.ancestor_id = p.namespace_id",
      parent: "a.namespace_id",
      where: all([when(ON_EPIC), ...kinds]),
    };
  }
  return includeDescendants
    ? { ...inGroup(), where: all(kinds) }
    : { ...inGroup(false), where: all([when(ON_EPIC), ...kinds]) };
}
