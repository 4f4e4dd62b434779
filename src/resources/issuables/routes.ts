import type { Caller } from "../../core/access/caller.ts";
import { notFound, notModified } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Presenter, presenter } from "../../core/presenter.ts";
import { type Route, routes } from "../../core/resource.ts";
import * as milestones from "../milestones/queries.ts";
import { userFields } from "../users/json.ts";
import { rowOf } from "./embed.ts";
import type { DefaultScope, Filter } from "./filters.ts";
import { list } from "./list.ts";
import { participants, subscribe } from "./queries.ts";
import { findIssuable } from "./rules.ts";
import type { IssuableType } from "./type.ts";

/** How the lists of one type differ from those of the others. */
interface Lists<A extends param.Attributes> {
  input: A;
  /** The filter that the input describes. */
  filter: (input: param.Input<A>, caller: Caller | undefined, scope: DefaultScope) => Filter;
  /** Default: the type's presenter for lists. */
  presenter?: (context: { input: param.Input<A> }) => Presenter;
}

/** The lists of a type: all that callers can see, and those of a group or project, or of a milestone of these. */
export function listRoutes<A extends param.Attributes>(
  type: IssuableType,
  { input, filter, presenter: shown = () => type.listed }: Lists<A>,
): Route[] {
  const { path, many, whenDisabled, jobTokens } = type;
  const group = routes({ source: "group" });
  const project = routes({ source: "project", features: [path], whenDisabled });
  return [
    routes().list(`/${path}`, {
      summary: `List the caller's ${many} or, with \`scope=all\`, all ${many} the caller can see`,
      access: "anyone",
      input,
      presenter: shown,
      handle: (context) =>
        list(context, type, filter(context.input, context.caller, "created_by_me")),
    }),
    group.list(`/${path}`, {
      summary: `List the ${many} of all projects in a group and its subgroups`,
      access: "anyone",
      input,
      presenter: shown,
      handle: (context) =>
        list(context, type, {
          ...filter(context.input, context.caller, "all"),
          groupId: context.source.id,
        }),
    }),
    project.list(`/${path}`, {
      ...(jobTokens && { jobTokens }),
      summary: `List the ${many} of a project`,
      access: "anyone",
      input,
      presenter: shown,
      handle: (context) =>
        list(context, type, {
          ...filter(context.input, context.caller, "all"),
          projectId: context.source.id,
        }),
    }),
    ...(["group", "project"] as const).map((source) =>
      routes({ source, features: ["issues", "merge_requests"] }).list(
        `/milestones/:milestone_id/${path}`,
        {
          summary: `List the ${many} of a milestone of a ${source}`,
          input: { ...input, milestone_id: param.recordId() },
          presenter: shown,
          handle: async (context) => {
            const { db, source: owner, caller } = context;
            // The compiler sees an input that depends on a type parameter as a record of anything.
            const id = context.input["milestone_id"] as number;
            const listed = await list(context, type, {
              ...filter(context.input, caller, "all"),
              ofMilestone: { id, owner },
            });
            const isEmpty = listed.rows.length === 0;
            if (isEmpty && !(await milestones.find(db, owner, id))) throw notFound();
            return listed;
          },
        },
      ),
    ),
  ];
}

/** Getting one issuable. */
export function singleRoute(type: IssuableType): Route {
  const { path, parameter, one, whenDisabled, jobTokens } = type;
  const { get } = routes({ source: "project", features: [path], whenDisabled });
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

/** The list of an issuable's participants. */
export function participantsRoute(type: IssuableType): Route {
  const { path, parameter, one, whenDisabled } = type;
  return routes({ source: "project", features: [path], whenDisabled }).list(
    `/${path}/:${parameter}/participants`,
    {
      summary: `List the author, assignees and commenters of ${one}, and the users it mentions`,
      access: "anyone",
      input: numberOf(type),
      presenter: participant,
      handle: async (context) => {
        const { id } = await findIssuable(context, type, context.input[parameter]);
        return participants(context, type, id);
      },
    },
  );
}

/** Subscribing to an issuable, and unsubscribing. */
export function subscriptionRoutes(type: IssuableType): Route[] {
  const { path, parameter, one, whenDisabled } = type;
  const { post } = routes({ source: "project", features: [path], whenDisabled });
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
