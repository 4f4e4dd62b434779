import { visibleIssues, visiblePlaces } from "../../core/access/visibility.ts";
import {
  about,
  arg,
  computed,
  connection,
  costing,
  enumeration,
  type GraphContext,
  type GraphqlModule,
  loaded,
  one,
  required,
  routeOf,
  rowType,
  string,
  time,
  word,
} from "../../graphql/declare.ts";
import { all, when } from "../../store/conditions.ts";
import type { Value } from "../../store/port.ts";
import { issueLinkResource } from "./index.ts";
import { countOpenBlocks, LINKED, type LinkType } from "./queries.ts";

/** Whether an issue `i` is open, as GitLab says it of work items. */
export const workItemState = word(
  enumeration("WorkItemState", "Whether a work item is open.", ["OPEN", "CLOSED"]),
  "case i.state when 'closed' then 'CLOSED' else 'OPEN' end",
);

const LINKS = "/projects/:id/issues/:issue_iid/links";
/** The routes that link and unlink. */
export const linkRoutes = {
  add: routeOf(issueLinkResource, `POST ${LINKS}`),
  remove: routeOf(issueLinkResource, `DELETE ${LINKS}/:issue_link_id`),
};

const linked = rowType("LinkedWorkItemType", {
  about: "An issue that is linked with another one.",
  from: `${LINKED} x join issues i on i.id = x.other_id join projects p on p.id = i.project_id`,
  key: "x.id",
  visible: (viewer) => all([visiblePlaces(viewer), visibleIssues(viewer)]),
  fields: {
    linkId: computed(
      "ID!",
      ["x.id"],
      ([id]) => `gid://gitlab/WorkItems::RelatedWorkItemLink/${id}`,
    ),
    linkType: required(string("x.link_type")),
    linkCreatedAt: required(time("x.created_at")),
    linkUpdatedAt: required(time("x.updated_at")),
    workItem: one("WorkItem", "x.other_id"),
    workItemState: required(workItemState),
  },
});

/** How two issues are linked. */
export const LINK_TYPE = enumeration<LinkType>(
  "WorkItemRelatedLinkType",
  "How two issues are linked.",
  {
    RELATED: "relates_to",
    BLOCKS: "blocks",
    BLOCKED_BY: "is_blocked_by",
  },
);

const blocksOf =
  (type: "blocks" | "is_blocked_by") =>
  (ids: readonly Value[], { db, viewer }: GraphContext) =>
    countOpenBlocks(db, ids, type, viewer);

/** Links of issues, and which open issues block one. */
export const linkedFields = {
  blocked: required(
    loaded(
      "Boolean",
      async (ids, context) => {
        const counts = await blocksOf("is_blocked_by")(ids, context);
        return new Map([...counts.keys()].map((id) => [id, true]));
      },
      { empty: false },
    ),
  ),
  blockedByCount: loaded("Int", blocksOf("is_blocked_by"), { empty: 0 }),
  blockingCount: required(loaded("Int", blocksOf("blocks"), { empty: 0 })),
  linkedWorkItems: costing(
    5,
    connection("LinkedWorkItemType", {
      args: { filter: arg.choice(LINK_TYPE) },
      query: ({ filter }) => ({ parent: "x.issue_id", where: when("x.link_type = ?", filter) }),
    }),
  ),
};

/** Links between issues. Open issues that the caller may not see are not counted. */
export const graphqlModule: GraphqlModule = {
  types: [linked],
  extend: {
    Issue: {
      ...linkedFields,
      blockedByIssues: about(
        "The open issues that `blockedByCount` counts.",
        costing(
          5,
          connection("Issue", {
            query: () => ({
              join: "join issue_links x on x.source_id = i.id and x.link_type = 'blocks'",
              parent: "x.target_id",
              where: when("i.state = 'opened'"),
            }),
          }),
        ),
      ),
    },
  },
};
