import {
  NOT_DELETED_MILESTONE,
  visibleMergeRequestRows,
  visibleProjects,
} from "../../core/access/visibility.ts";
import type { Tier } from "../../core/resource.ts";
import {
  type Args,
  about,
  absent,
  arg,
  boolean,
  type ChildQuery,
  computed,
  connection,
  constant,
  costing,
  enumeration,
  first,
  type GraphContext,
  type GraphqlModule,
  int,
  loaded,
  mutation,
  one,
  property,
  required,
  routeOf,
  rowType,
  sortEnum,
  string,
  time,
  type Values,
  valueType,
  word,
} from "../../graphql/declare.ts";
import { all, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Value } from "../../store/port.ts";
import { type ApprovalState, hasRules, statesOf } from "../approval-state/state.ts";
import { HEAD } from "../ci/heads.ts";
import {
  filterArguments,
  filterCondition,
  indexedOrders,
  issuableFields,
  labelNames,
} from "../issuables/graphql.ts";
import { detailedStatus, type MergeState, mergeStatesOf } from "../issuables/merge-checks.ts";
import { isDraft, MERGE_REQUEST, withoutDraft } from "../issuables/merge-request.ts";
import { STATE } from "../issuables/merge-request-filters.ts";
import { issuableMutations, numberOf, OPERATION, place } from "../issuables/mutations.ts";
import { orderValues, REQUEST_ORDERS } from "../issuables/orders.ts";
import { LABEL_ID } from "../labels/graphql.ts";
import { latestOf } from "../merge-request-versions/versions.ts";
import { inGroup } from "../namespaces/graphql.ts";
import { codeFields, codeTypes } from "./graphql-code.ts";
import { mergeRequestResource } from "./index.ts";
import { rereview } from "./rereview.ts";

const MERGE_STATUS = enumeration("MergeStatus", "Whether it can be merged.", [
  "CAN_BE_MERGED",
  "CANNOT_BE_MERGED",
  "CHECKING",
  "UNCHECKED",
]);
const DETAILED_STATUS = enumeration("DetailedMergeStatus", "Why it can or can't be merged.", [
  "BLOCKED_STATUS",
  "CHECKING",
  "CI_MUST_PASS",
  "CI_STILL_RUNNING",
  "COMMITS_STATUS",
  "CONFLICT",
  "DISCUSSIONS_NOT_RESOLVED",
  "DRAFT_STATUS",
  "EXTERNAL_STATUS_CHECKS",
  "MERGEABLE",
  "NEED_REBASE",
  "NOT_APPROVED",
  "NOT_OPEN",
  "PREPARING",
  "REQUESTED_CHANGES",
  "UNCHECKED",
]);

/** What REST calls otherwise, as GitLab does. */
const RENAMED: Readonly<Record<string, string>> = {
  merge_request_blocked: "BLOCKED_STATUS",
  status_checks_must_pass: "EXTERNAL_STATUS_CHECKS",
};

const SORT = sortEnum(
  "MergeRequestSort",
  "The order of a list of merge requests.",
  "mr.id",
  indexedOrders(MERGE_REQUEST),
  orderValues(MERGE_REQUEST, [...REQUEST_ORDERS, "closed_at"]),
);

const diffRefs = valueType("DiffRefs", "The commits that a diff compares.", {
  baseSha: property("String"),
  headSha: required(property("String")),
  startSha: required(property("String")),
});

/** A value that depends on whether merge requests can be merged, as far as it is known. */
const ofState = (type: string, read: (state: MergeState) => unknown) =>
  loaded(type, async (ids, context) => {
    const states = await mergeStatesOf(context.db, ids, context);
    return new Map([...states].map(([id, state]) => [id, read(state)]));
  });

const interaction = valueType(
  "UserMergeRequestInteraction",
  "What a user did with a merge request, and may do.",
  {
    approved: required(property("Boolean")),
    reviewed: required(property("Boolean")),
    canMerge: required(property("Boolean")),
    canUpdate: required(property("Boolean")),
  },
);

const reviewer = rowType("MergeRequestReviewer", {
  about: "An account that was asked for a review.",
  from: "users u",
  key: "u.id",
  implements: ["User"],
  fields: { mergeRequestInteraction: absent(interaction) },
});

/** What is computed from how far the approvals are. */
const approvals = (type: string, read: (state: ApprovalState, tier: Tier) => unknown) =>
  loaded(type, async (ids, { db, tier, viewer }) => {
    const states = await statesOf(db, ids as number[], tier, viewer.today);
    return new Map([...states].map(([id, state]): [Value, unknown] => [id, read(state, tier)]));
  });

/** How many threads of merge requests can be resolved, and how many are. */
const threads = (read: (counts: readonly [number, number]) => number) =>
  loaded(
    "Int",
    async (ids, { db }) => {
      const these = placeholders(ids);
      const found = await db.rows(
        `select id, count(*), sum(resolved) from (
         select n.merge_request_id as id, n.thread_id, min(case when n.resolved_at is null then 0 else 1 end) as resolved
         from notes n where n.merge_request_id in (${these.sql}) and n.thread_id is not null and n.system = 0
         group by n.merge_request_id, n.thread_id) as threads group by id`,
        these.values,
      );
      return new Map(
        found.map(([id, all, resolved]) => [id as Value, read([Number(all), Number(resolved)])]),
      );
    },
    { empty: 0 },
  );

const mergeRequest = rowType("MergeRequest", {
  about: "A merge request.",
  from: `merge_requests mr join projects p on p.id = mr.project_id
    left join milestones m on m.id = mr.milestone_id and ${NOT_DELETED_MILESTONE}`,
  key: "mr.id",
  implements: ["Awardable", "Todoable"],
  visible: (viewer) => all([visibleProjects(viewer), visibleMergeRequestRows(viewer)]),
  fields: {
    state: required(word(STATE, "mr.state")),
    draft: required(computed("Boolean", ["mr.title"], ([title]) => isDraft(String(title)))),
    sourceBranch: required(string("mr.source_branch")),
    targetBranch: required(string("mr.target_branch")),
    sourceProject: one("Project", "mr.source_project_id"),
    targetProject: required(one("Project", "mr.project_id")),
    sourceProjectId: int("mr.source_project_id"),
    targetProjectId: required(int("mr.project_id")),
    mergedAt: time("mr.merged_at"),
    mergeUser: one("UserCore", "mr.merged_by_id"),
    mergeCommitSha: string("mr.merge_commit_sha"),
    diffHeadSha: string("mr.sha"),
    diffRefs: loaded(diffRefs, async (ids, { db }) => {
      const found = await latestOf(db, ids);
      return new Map(
        found.map(({ merge_request_id, base_sha, head_sha, start_sha }) => [
          merge_request_id,
          { baseSha: base_sha, headSha: head_sha, startSha: start_sha },
        ]),
      );
    }),
    squashOnMerge: required(
      boolean("case p.squash_option when 'always' then 1 when 'never' then 0 else mr.squash end"),
    ),
    squashReadOnly: required(
      boolean("case when p.squash_option in ('always', 'never') then 1 else 0 end"),
    ),
    shouldBeRebased: required(ofState("Boolean", ({ failed }) => failed?.status === "need_rebase")),
    rebaseInProgress: constant("Boolean!", false),
    shouldRemoveSourceBranch: boolean("mr.should_remove_source_branch"),
    allowCollaboration: boolean("mr.allow_collaboration"),
    conflicts: required(ofState("Boolean", ({ status }) => status === "cannot_be_merged")),
    mergeable: required(ofState("Boolean", ({ failed, unknown }) => !failed && !unknown)),
    mergeStatusEnum: {
      ...ofState(MERGE_STATUS.name, ({ status }) => status.toUpperCase()),
      declares: MERGE_STATUS,
    },
    detailedMergeStatus: {
      ...ofState(DETAILED_STATUS.name, (state) => {
        const status = detailedStatus(state);
        return RENAMED[status] ?? status.toUpperCase();
      }),
      declares: DETAILED_STATUS,
    },
    reviewers: costing(
      5,
      connection("MergeRequestReviewer", {
        query: () => ({
          join: "join merge_request_reviewers x on x.user_id = u.id",
          parent: "x.merge_request_id",
          order: [{ sql: "u.id" }],
        }),
      }),
    ),
    approvedBy: costing(
      1,
      connection("UserCore", {
        query: () => ({
          join: "join approvals x on x.user_id = u.id",
          parent: "x.merge_request_id",
          order: [{ sql: "u.id" }],
        }),
      }),
    ),
    approved: required(
      approvals("Boolean", (state, tier) =>
        hasRules(tier) ? state.isApproved : state.approvals.length > 0,
      ),
    ),
    approvalsRequired: approvals("Int", ({ required: wanted }) => wanted),
    approvalsLeft: approvals("Int", ({ left }) => left),
    headPipeline: one("Pipeline", HEAD),
    resolvableDiscussionsCount: threads(([all]) => all),
    resolvedDiscussionsCount: threads(([, resolved]) => resolved),
    ...codeFields,
    ...issuableFields(MERGE_REQUEST),
  },
});

const filters = {
  ...filterArguments(
    MERGE_REQUEST,
    "MergeRequestsResolverNegatedParams",
    "UnionedMergeRequestFilterInput",
  ),
  sort: arg.withDefault(arg.choice(SORT), SORT.values["CREATED_DESC"]),
} satisfies Args;

const queryOf = ({ sort, ...args }: Values<typeof filters>, context: GraphContext) => ({
  where: filterCondition(MERGE_REQUEST, args, context),
  order: sort,
});

const ofUser = (relation: "author" | "assignees" | "reviewers") =>
  connection("MergeRequest", {
    args: { ...filters, projectPath: arg.string, projectId: arg.gid("Project") },
    query: ({ projectPath, projectId, ...args }, context): ChildQuery => {
      const { where, order } = queryOf(args, context);
      const scope = all([
        where,
        projectPath === undefined ? undefined : when("lower(p.full_path) = lower(?)", projectPath),
        when("mr.project_id = ?", projectId),
      ]);
      return relation === "author"
        ? { parent: "mr.author_id", where: scope, order }
        : {
            join: `join merge_request_${relation} xa on xa.merge_request_id = mr.id`,
            parent: "xa.user_id",
            where: scope,
            order,
          };
    },
  });

const CREATE = routeOf(mergeRequestResource, "POST /projects/:id/merge_requests");
const MERGE = routeOf(
  mergeRequestResource,
  "PUT /projects/:id/merge_requests/:merge_request_iid/merge",
);
const { payload, parametersOf, payloadFor, storedAt, peopleOf, setter, shared } = issuableMutations(
  MERGE_REQUEST,
  mergeRequestResource,
);

/** The attribute that changes labels in a way. */
const LABELS = { REPLACE: "labels", APPEND: "add_labels", REMOVE: "remove_labels" } as const;

const STATE_EVENT = enumeration("MergeRequestNewState", "A change of state.", {
  OPEN: "reopen",
  CLOSED: "close",
});

/** Merge requests. */
export const graphqlModule: GraphqlModule = {
  types: [mergeRequest, reviewer, ...codeTypes],
  extend: {
    Project: {
      mergeRequest: first("MergeRequest", {
        args: { iid: arg.required(arg.string) },
        query: ({ iid }) => ({
          parent: "mr.project_id",
          where: when("mr.iid = ?", numberOf(iid)),
        }),
      }),
      mergeRequests: connection("MergeRequest", {
        args: filters,
        query: (args, context) => ({ parent: "mr.project_id", ...queryOf(args, context) }),
      }),
    },
    Issue: {
      relatedMergeRequests: about(
        "Those that refer to it.",
        costing(
          5,
          connection("MergeRequest", {
            query: () => ({
              join: "join merge_request_issues x on x.merge_request_id = mr.id",
              parent: "x.issue_id",
            }),
          }),
        ),
      ),
    },
    Group: {
      mergeRequests: connection("MergeRequest", {
        args: { ...filters, includeSubgroups: arg.withDefault(arg.boolean, false) },
        query: ({ includeSubgroups, ...args }, context) => ({
          ...inGroup(includeSubgroups),
          ...queryOf(args, context),
        }),
      }),
    },
    User: {
      authoredMergeRequests: ofUser("author"),
      assignedMergeRequests: ofUser("assignees"),
      reviewRequestedMergeRequests: ofUser("reviewers"),
    },
    Query: {
      mergeRequest: first("MergeRequest", {
        args: { id: arg.required(arg.gid("MergeRequest")) },
        query: ({ id }) => ({ where: when("mr.id = ?", id) }),
      }),
    },
  },
  mutations: {
    mergeRequestCreate: mutation({
      about: "Create a merge request between two branches of a project.",
      input: {
        projectPath: arg.required(arg.id),
        title: arg.required(arg.string),
        sourceBranch: arg.required(arg.string),
        targetBranch: arg.required(arg.string),
        description: arg.string,
        labels: arg.list(arg.string),
        removeSourceBranch: arg.boolean,
      },
      payload,
      run: async (input, { call }) =>
        payloadFor(
          await call(CREATE, {
            id: input.projectPath,
            title: input.title,
            source_branch: input.sourceBranch,
            target_branch: input.targetBranch,
            description: input.description,
            labels: input.labels,
            remove_source_branch: input.removeSourceBranch,
          }),
        ),
    }),
    mergeRequestUpdate: setter(
      "Change, close or reopen a merge request.",
      {
        title: arg.string,
        description: arg.clearable(arg.string),
        state: arg.choice(STATE_EVENT),
        targetBranch: arg.string,
      },
      ({ title, description, state, targetBranch }) => ({
        title,
        description,
        state_event: state,
        target_branch: targetBranch,
      }),
    ),
    mergeRequestAccept: mutation({
      about: "Merge a merge request.",
      input: {
        ...place,
        sha: arg.required(arg.string),
        squash: arg.withDefault(arg.boolean, false),
        shouldRemoveSourceBranch: arg.withDefault(arg.boolean, false),
        commitMessage: arg.string,
        squashCommitMessage: arg.string,
      },
      payload,
      run: async (input, { call }) =>
        payloadFor(
          await call(MERGE, {
            ...parametersOf(input),
            sha: input.sha,
            squash: input.squash,
            should_remove_source_branch: input.shouldRemoveSourceBranch,
            merge_commit_message: input.commitMessage ?? undefined,
            squash_commit_message: input.squashCommitMessage ?? undefined,
          }),
        ),
    }),
    ...shared,
    mergeRequestSetLabels: setter(
      "Set, add or remove labels.",
      {
        labelIds: arg.required(arg.list(LABEL_ID)),
        operationMode: arg.withDefault(arg.choice(OPERATION), "REPLACE"),
      },
      async ({ labelIds, operationMode }, context) => ({
        [LABELS[operationMode]]: await labelNames(context, labelIds),
      }),
    ),
    mergeRequestSetReviewers: setter(
      "Ask users for a review, or take that back.",
      {
        reviewerUsernames: arg.required(arg.list(arg.string)),
        operationMode: arg.withDefault(arg.choice(OPERATION), "REPLACE"),
      },
      async ({ reviewerUsernames, operationMode, ...where }, { db }) => ({
        reviewer_ids: await peopleOf(
          db,
          "merge_request_reviewers",
          where,
          reviewerUsernames,
          operationMode,
        ),
      }),
    ),
    mergeRequestReviewerRereview: mutation({
      about: "Ask a reviewer again.",
      input: { ...place, userId: arg.required(arg.gid("User")) },
      payload,
      run: async ({ userId, ...where }, { call, db }) => {
        await call(rereview, { ...parametersOf(where), user_id: userId });
        return payloadFor(await storedAt(db, where));
      },
    }),
    mergeRequestSetDraft: setter(
      "Mark a merge request as a draft, or as ready.",
      { draft: arg.required(arg.boolean) },
      async ({ draft, ...where }, { db }) => {
        const { title = "" } = (await storedAt(db, where)) ?? {};
        if (isDraft(title) === draft) return { title };
        return { title: draft ? `Draft: ${title}` : withoutDraft(title) };
      },
    ),
    mergeRequestSetMilestone: setter(
      "Set or clear the milestone.",
      { milestoneId: arg.clearable(arg.gid("Milestone")) },
      ({ milestoneId }) => ({ milestone_id: milestoneId ?? null }),
    ),
  },
};
