import { visibleHomes } from "../../core/access/visibility.ts";
import { ApiError } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import { aboveNamespace, all, any, belowGroup } from "../../store/conditions.ts";
import { place, requireStillFitting } from "../hierarchy/changes.ts";
import { maySetTimes } from "../issuables/abilities.ts";
import { change, remove, stateColumns } from "../issuables/change.ts";
import { rowOf } from "../issuables/embed.ts";
import { EPIC } from "../issuables/epic.ts";
import { detailedLabels } from "../issuables/fields.ts";
import { type Filters, inputOf, valuesIn } from "../issuables/filter.ts";
import { ISSUE_FILTERS } from "../issuables/issue-filters.ts";
import { list } from "../issuables/list.ts";
import { plannedLinks } from "../issuables/planning.ts";
import { findById } from "../issuables/queries.ts";
import { subscriptionRoutes } from "../issuables/routes.ts";
import { findIssuable } from "../issuables/rules.ts";
import { attributes, beginnings, create, daysOf, detailsAfter } from "./changes.ts";
import { childRoutes } from "./children.ts";
import * as epics from "./queries.ts";
import { relatedRoutes } from "./related.ts";
import { migrations } from "./table.ts";

/** The filters of epics are those of issues. */
const FILTERS: Filters = Object.fromEntries(
  (
    [
      "author_id",
      "author_username",
      "labels",
      "search",
      "state",
      "created_after",
      "created_before",
      "updated_after",
      "updated_before",
      "my_reaction_emoji",
      "confidential",
    ] as const
  ).map((name) => [name, (ISSUE_FILTERS as Filters)[name] as Filters[string]]),
);

const detailed = presenter({ ...EPIC.listed.fields, labels: detailedLabels });

const flag = () => param.optional(param.boolean());

const changes = {
  title: param.optional(param.title()),
  ...attributes,
  add_labels: param.optional(param.commaSeparated()),
  remove_labels: param.optional(param.commaSeparated()),
  state_event: param.optional(param.choice(["close", "reopen"])),
  updated_at: param.optional(param.looseInstant()),
  parent_id: param.clearable(param.integer()),
};

const number = { epic_iid: param.recordId() };

const group = routes({ source: "group", isHome: true });

/** Epics of groups. */
export const epicResource: Resource = {
  name: "Epics",
  migrations,
  routes: [
    ...(["/epics", "/-/epics"] as const).flatMap((path) => [
      group.list(path, {
        summary: "List the epics of a group and of its subgroups",
        access: "anyone",
        input: {
          ...inputOf(FILTERS),
          order_by: param.optional(param.choice(["created_at", "updated_at", "title"])),
          sort: param.optional(param.choice(["asc", "desc"])),
          with_labels_details: flag(),
          include_ancestor_groups: flag(),
          include_descendant_groups: flag(),
        },
        presenter: ({ input }) => (input["with_labels_details"] ? detailed : EPIC.listed),
        handle: (context) => {
          const { source, viewer, input } = context;
          const { order_by: orderBy = "created_at", sort = "desc", not } = input;
          const values = valuesIn(FILTERS, input);
          if (values["author_id"] !== undefined && values["author_username"] !== undefined) {
            const error = "author_id, author_username are mutually exclusive";
            throw new ApiError(400, { error });
          }
          const { include_ancestor_groups: above, include_descendant_groups: below = true } = input;
          const { namespaceId } = source;
          if (!above && !below) {
            return list(context, EPIC, { projectId: source.id, values, not, orderBy, sort });
          }
          const places = [
            ...(below ? [belowGroup("p.namespace_id", namespaceId)] : []),
            ...(above ? [aboveNamespace("p.namespace_id", namespaceId)] : []),
          ];
          return list(context, EPIC, {
            groupId: above ? undefined : namespaceId,
            within: all([visibleHomes(viewer), any(places)]),
            values: { ...values, issue_type: ["epic"] },
            not,
            orderBy,
            sort,
          });
        },
      }),
      group.post(path, {
        summary: "Create an epic",
        role: "reporter",
        input: { ...beginnings, parent_id: param.clearable(param.integer()) },
        presenter: EPIC.single,
        handle: async (context) => {
          const id = await create(context, context.input.parent_id);
          return rowOf(context, EPIC, id);
        },
      }),
      group.get(`${path}/:epic_iid`, {
        summary: "Get an epic by its number within the group",
        access: "anyone",
        input: number,
        presenter: EPIC.single,
        handle: async (context) => {
          const { id } = await findIssuable(context, EPIC, context.input.epic_iid);
          return rowOf(context, EPIC, id);
        },
      }),
      group.put(`${path}/:epic_iid`, {
        summary: "Change, close or reopen an epic",
        role: "reporter",
        input: { ...number, ...changes },
        atLeastOne: Object.keys(changes).sort() as (keyof typeof changes)[],
        presenter: EPIC.single,
        handle: async (context) => {
          const { db, input } = context;
          const found = await findIssuable(context, EPIC, input.epic_iid);
          const before = await epics.detailsOf(db, found.id);
          const details = detailsAfter(before, input);
          const { title, description, confidential } = input;
          const columns = {
            title,
            description,
            confidential: confidential === undefined ? undefined : Number(confidential),
            ...daysOf(details),
            ...stateColumns(context, found, input.state_event),
          };
          await requireStillFitting(context, found, columns);
          await epics.replaceDetails(db, found.id, details);
          const links = plannedLinks(context, input);
          const updated_at = maySetTimes(context.source) ? input.updated_at : undefined;
          const wanted = { columns: { ...columns, updated_at }, ...links };
          await change(context, EPIC, found, wanted);
          if (input.parent_id !== undefined) {
            await place(context, await findById(db, EPIC, found.id), { parentId: input.parent_id });
          }
          return rowOf(context, EPIC, found.id);
        },
      }),
      group.del(`${path}/:epic_iid`, {
        summary: "Delete an epic with its notes; what is below it stays",
        input: number,
        handle: async (context) => {
          await remove(context, EPIC, await findIssuable(context, EPIC, context.input.epic_iid));
          return undefined;
        },
      }),
    ]),
    ...subscriptionRoutes(EPIC),
    ...childRoutes,
    ...relatedRoutes,
  ],
};
