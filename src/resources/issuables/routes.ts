import type { Source } from "../../core/access/source.ts";
import { notFound, notModified, unauthorized } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Presenter, presenter } from "../../core/presenter.ts";
import { type Context, type Route, routes } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import * as milestones from "../milestones/queries.ts";
import { userFields } from "../users/json.ts";
import { remove } from "./change.ts";
import { rowOf } from "./embed.ts";
import { detailedLabels } from "./fields.ts";
import { inputOf, valuesIn } from "./filter.ts";
import { FILTERS, type ListQuery, list } from "./list.ts";
import { routesBelow } from "./places.ts";
import { participants, subscribe } from "./queries.ts";
import { findIssuable } from "./rules.ts";
import type { IssuableType } from "./type.ts";

/** How the lists of one type differ from those of the others. */
interface Lists {
  /** The orders that it has, by their names in REST. */
  orders: readonly ListQuery["orderBy"][];
  /** Attributes that change what is shown. */
  showing?: param.Attributes;
  /** Default: the type's presenter for lists. */
  presenter?: (context: { input: Readonly<Record<string, unknown>> }) => Presenter;
}

type Listing = Pick<Context, "caller" | "page" | "presenter" | "viewer" | "view" | "tier"> & {
  readonly db: Reader;
  readonly source: Source | undefined;
  readonly input: Readonly<Record<string, unknown>>;
};

/** What of a list comes from elsewhere than its attributes. */
type Place = Pick<ListQuery, "projectId" | "groupId" | "isWithoutArchived"> & {
  readonly of_milestone?: unknown;
};

/** The lists of a type: all that callers can see, and those of a group or project, or of a milestone of these. */
export function listRoutes(
  type: IssuableType,
  { orders, showing = {}, presenter: of = () => type.listed }: Lists,
): Route[] {
  const detailed = presenter({ ...type.listed.fields, labels: detailedLabels });
  const shown = (context: { input: Readonly<Record<string, unknown>> }) => {
    const chosen = of(context);
    return chosen === type.listed && context.input["with_labels_details"] ? detailed : chosen;
  };
  const { path, many, jobTokens } = type;
  const filters = FILTERS[type.prefix];
  const input = {
    ...inputOf(filters),
    order_by: param.optional(param.choice(orders)),
    sort: param.optional(param.choice(["asc", "desc"])),
    with_labels_details: param.optional(param.boolean()),
    ...showing,
  };
  const ofMany = { ...input, non_archived: param.optional(param.boolean()) };
  const group = routes({ source: "group" });
  const project = routesBelow(type, "");
  /** @param scope whose rows it has, if the caller does not say so */
  const listed = (context: Listing, { of_milestone, ...place }: Place, scope = "all") => {
    const { input: sent, caller } = context;
    const { order_by, sort, not, non_archived } = sent as param.Input<typeof ofMany>;
    const values: ListQuery["values"] = { ...valuesIn(filters, { scope, ...sent }), of_milestone };
    if (values.scope !== "all" && !caller) throw unauthorized();
    return list(context, type, {
      ...place,
      isWithoutArchived: non_archived ?? place.isWithoutArchived ?? false,
      values,
      not,
      orderBy: order_by ?? "created_at",
      sort: sort ?? "desc",
    });
  };
  return [
    // Of all merge requests, GitLab lists those of archived projects, too.
    routes().list(`/${path}`, {
      summary: `List the caller's ${many} or, with \`scope=all\`, all ${many} the caller can see`,
      access: "anyone",
      input: ofMany,
      presenter: shown,
      handle: (context) =>
        listed(context, { isWithoutArchived: type.prefix === "issue" }, "created_by_me"),
    }),
    group.list(`/${path}`, {
      summary: `List the ${many} of all projects in a group and its subgroups`,
      access: "anyone",
      input: ofMany,
      presenter: shown,
      handle: (context) => listed(context, { groupId: context.source.id, isWithoutArchived: true }),
    }),
    project.list(`/${path}`, {
      ...(jobTokens && { jobTokens }),
      summary: `List the ${many} of a project`,
      access: "anyone",
      input,
      presenter: shown,
      handle: (context) => listed(context, { projectId: context.source.id }),
    }),
    ...(["group", "project"] as const).map((source) =>
      routes({ source, features: ["issues", "merge_requests"] }).list(
        `/milestones/:milestone_id/${path}`,
        {
          summary: `List the ${many} of a milestone of a ${source}`,
          input: { ...input, milestone_id: param.recordId() },
          presenter: shown,
          handle: async (context) => {
            const { db, source: owner } = context;
            const { milestone_id: id, ...sent } = context.input as typeof context.input & {
              milestone_id: number;
            };
            const found = await listed(
              { ...context, input: sent },
              { of_milestone: { id, owner } },
            );
            const isEmpty = found.rows.length === 0;
            if (isEmpty && !(await milestones.find(db, owner, id))) throw notFound();
            return found;
          },
        },
      ),
    ),
  ];
}

/** Getting one issuable. */
export function singleRoute(type: IssuableType): Route {
  const { path, parameter, one, jobTokens } = type;
  const { get } = routesBelow(type, "");
  return get(`/${path}/:${parameter}`, {
    ...(jobTokens && { jobTokens }),
    summary: `Get ${one} by its number within the project`,
    access: "anyone",
    input: numberOf(type),
    presenter: type.single,
    handle: async (context) => {
      const { id } = await findIssuable(context, type, context.input[parameter]);
      return rowOf(context, type, id);
    },
  });
}

const participant = presenter(userFields("v"));

/** Deleting an issuable, the list of its participants, subscribing to it, and unsubscribing. */
export function sharedRoutes(type: IssuableType): Route[] {
  const { path, parameter, one } = type;
  const { del, list } = routesBelow(type, "");
  const deletion = del(`/${path}/:${parameter}`, {
    summary: `Delete ${one} with its notes`,
    input: numberOf(type),
    handle: async (context) => {
      const name = type.path === "issues" ? "Issue" : undefined;
      await remove(
        context,
        type,
        await findIssuable(context, type, context.input[parameter], name),
      );
      return undefined;
    },
  });
  const participation = list(`/${path}/:${parameter}/participants`, {
    summary: `List the author, assignees and commenters of ${one}, and the users it mentions`,
    access: "anyone",
    input: numberOf(type),
    presenter: participant,
    handle: async (context) => {
      const { id } = await findIssuable(context, type, context.input[parameter]);
      return participants(context, type, id);
    },
  });
  return [deletion, participation, ...subscriptionRoutes(type)];
}

/** Subscribing to an issuable, and unsubscribing. */
export function subscriptionRoutes(type: IssuableType): Route[] {
  const { path, parameter, one } = type;
  const { post } = routesBelow(type, "");
  return (["subscribe", "unsubscribe"] as const).map((verb) =>
    post(`/${path}/:${parameter}/${verb}`, {
      whenArchived: "allow",
      alsoAnswers: { 304: [] },
      summary:
        verb === "subscribe"
          ? `Subscribe to ${one}; 304 if the caller is already subscribed`
          : `Unsubscribe from ${one}; 304 if the caller is not subscribed`,
      input: numberOf(type),
      presenter: type.single,
      handle: async (context) => {
        const { db, caller, input } = context;
        const { id } = await findIssuable(context, type, input[parameter]);
        if (!(await subscribe(db, type, id, caller.id, verb === "subscribe"))) throw notModified();
        return rowOf(context, type, id);
      },
    }),
  );
}

/** The schema of the path parameter with an issuable's number. */
export function numberOf({ parameter }: IssuableType) {
  const number = { [parameter]: param.recordId() };
  return number as Record<typeof parameter, param.Attribute<number>>;
}
