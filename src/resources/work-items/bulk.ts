import { findVisible } from "../../core/access/source.ts";
import { ON_EPIC } from "../../core/access/visibility.ts";
import { ApiError } from "../../core/errors.ts";
import {
  arg,
  enumeration,
  type GlobalId,
  GraphError,
  type Mutation,
  type MutationContext,
  mutation,
  notAvailable,
  property,
} from "../../graphql/declare.ts";
import { among } from "../../store/conditions.ts";
import { ISSUE_STATE_EVENT, issueRoutes } from "../issues/graphql.ts";
import { LABEL_ID } from "../labels/graphql.ts";
import {
  attributesOf,
  changing,
  namesOf,
  putIntoIteration,
  STATE_EVENT,
  type Widgets,
  widgets,
  workItemId,
} from "./mutations.ts";
import { placeAt, type WorkItemPlace } from "./places.ts";

/** Most work items that one mutation changes, as in GitLab. */
const MOST_CHANGED = 100;

/**
 * Does something to each of some work items of a project or group; those that the caller may not change, or that are
 * elsewhere, are left out.
 *
 * @param path the full path of the project or group
 * @returns how many there were
 * @throws GraphError for too many
 */
async function eachIn(
  { db }: MutationContext,
  path: string,
  ids: readonly number[],
  make: (place: WorkItemPlace) => Promise<unknown>,
): Promise<number> {
  if (ids.length > MOST_CHANGED) {
    throw new GraphError(
      `No more than ${MOST_CHANGED} work items can be updated at the same time.`,
    );
  }
  const these = among("i.id", ids);
  const found = await db.rows(
    `select i.iid, case when ${ON_EPIC} then p.namespace_id else p.id end, p.full_path,
       case when ${ON_EPIC} then 1 else 0 end from issues i join projects p on p.id = i.project_id
     where ${these.sql} order by i.id`,
    these.values,
  );
  const within = path.toLowerCase();
  let count = 0;
  for (const [iid, owner, full_path, isEpic] of found) {
    if (!`${full_path}/`.toLowerCase().startsWith(`${within}/`)) continue;
    try {
      await make(placeAt(isEpic === 1, owner as number, iid as number));
      count += 1;
    } catch (error) {
      const isRefused = error instanceof ApiError && [403, 404].includes(error.status);
      if (!isRefused) throw error;
    }
  }
  return count;
}

/** The full path of a project or group that the caller sees. @throws GraphError if there is none */
async function pathOfParent({ db, viewer }: MutationContext, id: GlobalId) {
  const kind = id.type === "Project" ? "project" : "group";
  const source = await findVisible(db, kind, String(id.id), viewer);
  if (!source) throw notAvailable();
  return source.fullPath;
}

const SUBSCRIPTION_EVENT = enumeration<"subscribe" | "unsubscribe">(
  "IssuableSubscriptionEvent",
  "A change of a subscription.",
  { SUBSCRIBE: "subscribe", UNSUBSCRIBE: "unsubscribe" },
);

/** Changes work items of a project or group, and subscribes to them or unsubscribes. */
const changeEach = (
  context: MutationContext,
  path: string,
  ids: readonly number[],
  changes: object,
  subscription: "subscribe" | "unsubscribe" | undefined,
  iteration: Pick<Widgets, "iterationWidget"> = {},
) =>
  eachIn(context, path, ids, async (place) => {
    const { routes, at } = place;
    if (Object.values(changes).some((value) => value !== undefined)) {
      await context.call(routes.change, { ...at, ...changes });
    }
    await putIntoIteration(context, place, iteration);
    if (subscription) await context.call(routes[subscription], at);
  });

/** Mutations of many work items, or many issues. */
export const bulkMutations: Readonly<Record<string, Mutation>> = {
  workItemBulkUpdate: mutation({
    about: "Change several work items of a project or group: those that the caller may change.",
    input: {
      ids: arg.required(arg.list(workItemId)),
      fullPath: arg.required(arg.id),
      confidential: arg.boolean,
      stateEvent: arg.choice(STATE_EVENT),
      subscriptionEvent: arg.choice(SUBSCRIPTION_EVENT),
      labelsWidget: changing.labelsWidget,
      assigneesWidget: widgets.assigneesWidget,
      milestoneWidget: widgets.milestoneWidget,
      iterationWidget: widgets.iterationWidget,
    },
    payload: { updatedWorkItemCount: property("Int") },
    run: async ({ ids, fullPath, subscriptionEvent, ...sent }, context) => {
      const changes = {
        confidential: sent.confidential,
        state_event: sent.stateEvent,
        ...attributesOf(sent),
        add_labels: await namesOf(context, sent.labelsWidget?.addLabelIds),
        remove_labels: await namesOf(context, sent.labelsWidget?.removeLabelIds),
      };
      const count = await changeEach(context, fullPath, ids, changes, subscriptionEvent, sent);
      return { updatedWorkItemCount: count };
    },
  }),
  workItemBulkMove: mutation({
    about:
      "Move work items of a project or group to another project: those that the caller may move.",
    input: {
      ids: arg.required(arg.list(workItemId)),
      sourceFullPath: arg.required(arg.id),
      targetFullPath: arg.required(arg.id),
    },
    payload: { movedWorkItemCount: property("Int") },
    run: async ({ ids, sourceFullPath, targetFullPath }, context) => {
      const target = await findVisible(context.db, "project", targetFullPath, context.viewer);
      if (!target) throw notAvailable();
      const count = await eachIn(context, sourceFullPath, ids, ({ at }) =>
        context.call(issueRoutes.move, { ...at, to_project_id: target.id }),
      );
      return { movedWorkItemCount: count };
    },
  }),
  issuesBulkUpdate: mutation({
    about: "Change several issues of a project or group: those that the caller may change.",
    input: {
      ids: arg.required(arg.list(arg.gid("Issue"))),
      parentId: arg.required(arg.gidOf("IssueParentID", ["Project", "Group"])),
      addLabelIds: arg.list(LABEL_ID),
      removeLabelIds: arg.list(LABEL_ID),
      assigneeIds: arg.list(arg.gid("User")),
      confidential: arg.boolean,
      milestoneId: arg.clearable(arg.gid("Milestone")),
      iterationId: arg.clearable(arg.gid("Iteration")),
      stateEvent: arg.choice(ISSUE_STATE_EVENT),
      subscriptionEvent: arg.choice(SUBSCRIPTION_EVENT),
    },
    payload: { updatedIssueCount: property("Int") },
    run: async ({ ids, parentId, subscriptionEvent, ...sent }, context) => {
      const { assigneeIds, milestoneId, iterationId } = sent;
      const iterationWidget = iterationId === undefined ? undefined : { iterationId };
      const changes = {
        confidential: sent.confidential,
        state_event: sent.stateEvent,
        assignee_ids: assigneeIds && (assigneeIds.length > 0 ? assigneeIds : [0]),
        milestone_id: milestoneId === null ? 0 : milestoneId,
        add_labels: await namesOf(context, sent.addLabelIds),
        remove_labels: await namesOf(context, sent.removeLabelIds),
      };
      const path = await pathOfParent(context, parentId);
      const count = await changeEach(context, path, ids, changes, subscriptionEvent, {
        iterationWidget,
      });
      return { updatedIssueCount: count };
    },
  }),
};
