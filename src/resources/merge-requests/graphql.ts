import { visibleMergeRequests, visibleProjects } from "../../core/access/visibility.ts";
import { invalid } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import {
  type Args,
  arg,
  boolean,
  type ChildQuery,
  computed,
  connection,
  constant,
  digits,
  enumeration,
  type Face,
  first,
  type GraphContext,
  inputType,
  int,
  mutation,
  one,
  plainGid,
  property,
  required,
  routeOf,
  rowType,
  string,
  time,
  type Values,
  valueType,
  word,
} from "../../graphql/declare.ts";
import { all, type Condition, when } from "../../store/conditions.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader } from "../../store/port.ts";
import {
  both,
  combinedConditions,
  commonFilter,
  commonFilters,
  commonOrders,
  filtered,
  issuableFields,
  LABEL_ID,
  labelNames,
  OPERATION,
  sortEnum,
  userIdsNamed,
} from "../issuables/graphql.ts";
import { isDraft, MERGE_REQUEST, withoutDraft } from "../issuables/merge-request.ts";
import { mergeRequestResource } from "./index.ts";

const STATE = enumeration("MergeRequestState", "Whether a merge request is open.", [
  "opened",
  "closed",
  "locked",
  "merged",
  "all",
]);
const MERGE_STATUS = enumeration("MergeStatus", "Whether it can be merged.", [
  "CAN_BE_MERGED",
  "CANNOT_BE_MERGED",
  "CHECKING",
  "UNCHECKED",
]);
const DETAILED_STATUS = enumeration("DetailedMergeStatus", "Why it can or can't be merged.", [
  "MERGEABLE",
  "DRAFT_STATUS",
  "NOT_OPEN",
]);

const SORT = sortEnum("MergeRequestSort", "The order of a list of merge requests.", "mr.id", {
  ...commonOrders(MERGE_REQUEST),
  MERGED_AT: both("mr.merged_at", { last: "number" }),
});

const diffRefs = valueType("DiffRefs", "The commits that a diff compares.", {
  baseSha: property("String"),
  headSha: required(property("String")),
  startSha: required(property("String")),
});

const taken = (
  columns: readonly string[],
  type: string,
  read: (title: string, state: string) => unknown,
) => computed(type, columns, ([title, state]) => read(String(title), String(state)));

// Merge requests have no commits and no pipelines yet. Clients name these fields, and one unknown field would fail their
// whole documents.
const pipeline = valueType("Pipeline", "A pipeline.", {
  id: required(property("ID")),
  iid: required(property("String")),
  status: required(property("String")),
  active: required(property("Boolean")),
  path: property("String"),
});

const commit = valueType("Commit", "A commit.", {
  id: required(property("ID")),
  sha: required(property("String")),
  shortId: required(property("String")),
  title: property("String"),
  fullTitle: property("String"),
  message: property("String"),
  description: property("String"),
  author: property("UserCore"),
  authorName: property("String"),
  authorEmail: property("String"),
  authoredDate: property("Time"),
  committedDate: property("Time"),
  webUrl: required(property("String")),
  webPath: required(property("String")),
});

const commits = valueType("CommitConnection", "Pages of commits.", {
  nodes: { ...property("[Commit]"), declares: commit },
  pageInfo: required(property("PageInfo")),
  count: required(property("Int")),
});

const NO_COMMITS = {
  nodes: [],
  pageInfo: { hasNextPage: false, hasPreviousPage: false },
  count: 0,
};

const mergeRequest = rowType("MergeRequest", {
  about: "A merge request.",
  from: `merge_requests mr join projects p on p.id = mr.project_id
    left join milestones m on m.id = mr.milestone_id`,
  key: "mr.id",
  implements: ["Todoable"],
  visible: (viewer) => all([visibleProjects(viewer), visibleMergeRequests(viewer)]),
  fields: {
    id: plainGid("MergeRequest", "mr.id"),
    iid: required(digits("mr.iid")),
    title: required(string("mr.title")),
    description: string("mr.description"),
    state: required(word(STATE, "mr.state")),
    draft: required(taken(["mr.title"], "Boolean", isDraft)),
    sourceBranch: required(string("mr.source_branch")),
    targetBranch: required(string("mr.target_branch")),
    sourceProject: one("Project", "mr.source_project_id"),
    targetProject: required(one("Project", "mr.project_id")),
    project: required(one("Project", "mr.project_id")),
    projectId: required(int("mr.project_id")),
    sourceProjectId: int("mr.source_project_id"),
    targetProjectId: required(int("mr.project_id")),
    createdAt: required(time("mr.created_at")),
    updatedAt: required(time("mr.updated_at")),
    mergedAt: time("mr.merged_at"),
    closedAt: time("mr.closed_at"),
    mergeUser: one("UserCore", "mr.merged_by_id"),
    mergeCommitSha: string("mr.merge_commit_sha"),
    diffHeadSha: string("mr.sha"),
    diffRefs: computed(diffRefs, [], () => null),
    discussionLocked: required(boolean("mr.discussion_locked")),
    squash: required(boolean("mr.squash")),
    shouldRemoveSourceBranch: constant("Boolean", null),
    forceRemoveSourceBranch: boolean("mr.remove_source_branch"),
    conflicts: constant("Boolean!", false),
    mergeable: required(
      taken(
        ["mr.title", "mr.state"],
        "Boolean",
        (title, state) => state === "opened" && !isDraft(title),
      ),
    ),
    mergeStatusEnum: word(MERGE_STATUS, field.constant("CAN_BE_MERGED")),
    detailedMergeStatus: {
      ...taken(["mr.title", "mr.state"], DETAILED_STATUS.name, (title, state) =>
        state !== "opened" ? "NOT_OPEN" : isDraft(title) ? "DRAFT_STATUS" : "MERGEABLE",
      ),
      declares: DETAILED_STATUS,
    },
    webUrl: string(
      field.url(["p.full_path", "mr.iid"], (path, iid) => `/${path}/-/merge_requests/${iid}`),
    ),
    webPath: string("'/' || p.full_path || '/-/merge_requests/' || mr.iid"),
    reference: required(
      computed(
        "String",
        ["p.full_path", "mr.iid"],
        ([path, iid], _, { full }) => `${full ? path : ""}!${iid}`,
        { full: arg.withDefault(arg.boolean, false) },
      ),
    ),
    // Nobody can be asked for a review yet.
    reviewers: connection("UserCore", { query: () => ({ where: when("1 = 0") }) }),
    approvedBy: connection("UserCore", { query: () => ({ where: when("1 = 0") }) }),
    approved: constant("Boolean!", false),
    headPipeline: computed(pipeline, [], () => null),
    commitCount: constant("Int", null),
    commits: computed(commits, [], () => NO_COMMITS, {
      first: arg.int,
      last: arg.int,
      after: arg.string,
      before: arg.string,
    }),
    ...issuableFields(MERGE_REQUEST),
  },
});

const negated = inputType("MergeRequestsResolverNegatedParams", "What a list leaves out.", {
  labelName: arg.list(arg.string),
  milestoneTitle: arg.string,
  authorUsername: arg.string,
});

const filters = {
  ...commonFilters,
  state: arg.choice(STATE),
  sort: arg.withDefault(arg.choice(SORT), SORT.values["CREATED_DESC"]),
  labels: arg.about("Only those with all of these labels.", arg.list(arg.string)),
  milestoneTitle: arg.string,
  assigneeUsername: arg.string,
  reviewerUsername: arg.string,
  sourceBranches: arg.list(arg.string),
  targetBranches: arg.list(arg.string),
  draft: arg.boolean,
  mergedAfter: arg.time,
  mergedBefore: arg.time,
  not: arg.input(negated),
} satisfies Args;

type Filters = Partial<Values<typeof filters>>;

const among = (column: string, values: readonly string[] | undefined): Condition | undefined => {
  if (values === undefined) return undefined;
  if (values.length === 0) return when("1 = 0");
  const { sql, values: given } = placeholders(values);
  return { sql: `${column} in (${sql})`, values: given };
};

/** Drafts are recognised by their titles: these are the prefixes that {@link isDraft} knows, in lower case. */
const DRAFT_PREFIXES = ["[wip]", "[draft]", "(draft)", "wip:", "draft:", "wip "];

const draftCondition = (draft: boolean | undefined): Condition | undefined => {
  if (draft === undefined) return undefined;
  const title = "lower(ltrim(mr.title))";
  const prefixed = DRAFT_PREFIXES.map(
    (prefix) => `substr(${title}, 1, ${prefix.length}) = '${prefix}'`,
  );
  return when(`${draft ? "" : "not "}(${prefixed.join(" or ")})`);
};

/** The condition under which a merge request belongs in a list. */
function mergeRequestCondition(args: Filters, context: GraphContext): Condition {
  const common = commonFilter(MERGE_REQUEST, args, context);
  const { not } = args;
  const own: (Condition | undefined)[] = [
    ...common.own,
    among("mr.source_branch", args.sourceBranches),
    among("mr.target_branch", args.targetBranches),
    draftCondition(args.draft),
    when("mr.merged_at >= ?", args.mergedAfter),
    when("mr.merged_at <= ?", args.mergedBefore),
    args.reviewerUsername === undefined ? undefined : when("1 = 0"),
    ...combinedConditions(
      MERGE_REQUEST,
      not && {
        labelName: not.labelName,
        ...(not.milestoneTitle !== undefined && { milestoneTitle: [not.milestoneTitle] }),
        ...(not.authorUsername !== undefined && { authorUsername: [not.authorUsername] }),
      },
      undefined,
      context,
    ),
  ];
  return filtered(
    MERGE_REQUEST,
    {
      ...common,
      labels: args.labels ?? common.labels,
      state: args.state === "all" ? undefined : args.state,
      milestone: args.milestoneTitle === undefined ? undefined : { title: args.milestoneTitle },
      assigneeUsernames: args.assigneeUsername === undefined ? undefined : [args.assigneeUsername],
      own: own.filter((condition) => condition !== undefined),
    },
    context,
  );
}

const queryOf = (args: Values<typeof filters>, context: GraphContext) => ({
  where: mergeRequestCondition(args, context),
  order: args.sort,
});

const ofUser = (relation: "author" | "assignee") =>
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
            join: "join merge_request_assignees xa on xa.merge_request_id = mr.id",
            parent: "xa.user_id",
            where: scope,
            order,
          };
    },
  });

const CREATE = routeOf(mergeRequestResource, "POST /projects/:id/merge_requests");
const ONE = "/projects/:id/merge_requests/:merge_request_iid";
const CHANGE = routeOf(mergeRequestResource, `PUT ${ONE}`);
const MERGE = routeOf(mergeRequestResource, `PUT ${ONE}/merge`);
const SUBSCRIBE = routeOf(mergeRequestResource, `POST ${ONE}/subscribe`);
const UNSUBSCRIBE = routeOf(mergeRequestResource, `POST ${ONE}/unsubscribe`);

const place = {
  projectPath: arg.about("The full path of its project.", arg.required(arg.id)),
  iid: arg.about("Its number in the project.", arg.required(arg.string)),
} satisfies Args;

const at = ({ projectPath, iid }: Values<typeof place>) => ({
  id: projectPath,
  merge_request_iid: iid,
});

const payload = { mergeRequest: property("MergeRequest") };

const idOf = (shown: Record<string, unknown>) => ({ mergeRequest: shown["id"] });

/** The attribute that changes labels in a way. */
const LABELS = { REPLACE: "labels", APPEND: "add_labels", REMOVE: "remove_labels" } as const;

const STATE_EVENT = enumeration("MergeRequestNewState", "A change of state.", {
  OPEN: "reopen",
  CLOSED: "close",
});

interface Stored {
  id: number;
  title: string;
}

/** The merge request at a place, to compute a change from: the route that makes it checks what the caller may see. */
async function storedAt(
  db: Reader,
  { projectPath, iid }: Values<typeof place>,
): Promise<Stored | undefined> {
  return db.one<Stored>(
    `select mr.id, mr.title from merge_requests mr join projects p on p.id = mr.project_id
     where lower(p.full_path) = lower(?) and mr.iid = ?`,
    [projectPath, /^\d{1,15}$/.test(iid) ? Number(iid) : 0],
  );
}

/** Merge requests. */
export const face: Face = {
  types: [mergeRequest],
  extend: {
    Project: {
      mergeRequest: first("MergeRequest", {
        args: { iid: arg.required(arg.string) },
        query: ({ iid }) => ({
          parent: "mr.project_id",
          where: when("mr.iid = ?", /^\d{1,15}$/.test(iid) ? Number(iid) : 0),
        }),
      }),
      mergeRequests: connection("MergeRequest", {
        args: filters,
        query: (args, context) => ({ parent: "mr.project_id", ...queryOf(args, context) }),
      }),
    },
    Group: {
      mergeRequests: connection("MergeRequest", {
        args: { ...filters, includeSubgroups: arg.withDefault(arg.boolean, false) },
        query: ({ includeSubgroups, ...args }, context) => ({
          ...(includeSubgroups
            ? {
                join: "join namespace_ancestors a on a.namespace_id = p.namespace_id",
                parent: "a.ancestor_id",
              }
            : { parent: "p.namespace_id" }),
          ...queryOf(args, context),
        }),
      }),
    },
    User: {
      authoredMergeRequests: ofUser("author"),
      assignedMergeRequests: ofUser("assignee"),
      reviewRequestedMergeRequests: connection("MergeRequest", {
        args: filters,
        query: () => ({ where: when("1 = 0") }),
      }),
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
        idOf(
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
    mergeRequestUpdate: mutation({
      about: "Change, close or reopen a merge request.",
      input: {
        ...place,
        title: arg.string,
        description: arg.clearable(arg.string),
        state: arg.choice(STATE_EVENT),
        targetBranch: arg.string,
      },
      payload,
      run: async (input, { call }) =>
        idOf(
          await call(CHANGE, {
            ...at(input),
            title: input.title,
            description: input.description,
            state_event: input.state,
            target_branch: input.targetBranch,
          }),
        ),
    }),
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
        idOf(
          await call(MERGE, {
            ...at(input),
            sha: input.sha,
            squash: input.squash,
            should_remove_source_branch: input.shouldRemoveSourceBranch,
          }),
        ),
    }),
    mergeRequestSetAssignees: mutation({
      about: "Set, add or remove assignees.",
      input: {
        ...place,
        assigneeUsernames: arg.required(arg.list(arg.string)),
        operationMode: arg.withDefault(arg.choice(OPERATION), "REPLACE"),
      },
      payload,
      run: async (input, { call, db }) => {
        const { projectPath, iid, assigneeUsernames, operationMode } = input;
        const where = { projectPath, iid };
        const ids = await userIdsNamed(db, MERGE_REQUEST, where, assigneeUsernames, operationMode);
        return idOf(await call(CHANGE, { ...at(input), assignee_ids: ids.length > 0 ? ids : [0] }));
      },
    }),
    mergeRequestSetLabels: mutation({
      about: "Set, add or remove labels.",
      input: {
        ...place,
        labelIds: arg.required(arg.list(LABEL_ID)),
        operationMode: arg.withDefault(arg.choice(OPERATION), "REPLACE"),
      },
      payload,
      run: async ({ labelIds, operationMode, ...where }, { call, db, viewer }) => {
        const names = await labelNames({ db, viewer }, labelIds);
        return idOf(await call(CHANGE, { ...at(where), [LABELS[operationMode]]: names }));
      },
    }),
    mergeRequestSetReviewers: mutation({
      about: "Take reviewers away. Merge requests have none, so that nobody can be added.",
      input: {
        ...place,
        reviewerUsernames: arg.required(arg.list(arg.string)),
        operationMode: arg.withDefault(arg.choice(OPERATION), "REPLACE"),
      },
      payload,
      run: async (input, { call, db }) => {
        const stored = await storedAt(db, input);
        const changed = await call(CHANGE, { ...at(input), title: stored?.title ?? "" });
        if (input.operationMode !== "REMOVE" && input.reviewerUsernames.length > 0) {
          throw invalid({ reviewers: ["can't be added"] });
        }
        return idOf(changed);
      },
    }),
    mergeRequestSetDraft: mutation({
      about: "Mark a merge request as a draft, or as ready.",
      input: { ...place, draft: arg.required(arg.boolean) },
      payload,
      run: async (input, { call, db }) => {
        const stored = await storedAt(db, input);
        const title = stored?.title ?? "";
        if (isDraft(title) === input.draft) {
          return idOf(await call(CHANGE, { ...at(input), title }));
        }
        const changed = input.draft ? `Draft: ${title}` : withoutDraft(title);
        return idOf(await call(CHANGE, { ...at(input), title: changed }));
      },
    }),
    mergeRequestSetLocked: mutation({
      about: "Lock or unlock the discussion.",
      input: { ...place, locked: arg.required(arg.boolean) },
      payload,
      run: async (input, { call }) =>
        idOf(await call(CHANGE, { ...at(input), discussion_locked: input.locked })),
    }),
    mergeRequestSetMilestone: mutation({
      about: "Set or clear the milestone.",
      input: { ...place, milestoneId: arg.clearable(arg.gid("Milestone")) },
      payload,
      run: async (input, { call }) =>
        idOf(await call(CHANGE, { ...at(input), milestone_id: input.milestoneId ?? null })),
    }),
    mergeRequestSetSubscription: mutation({
      about: "Subscribe to a merge request, or unsubscribe.",
      input: { ...place, subscribedState: arg.required(arg.boolean) },
      payload,
      run: async (input, { call, db }) => {
        await call(input.subscribedState ? SUBSCRIBE : UNSUBSCRIBE, at(input));
        return { mergeRequest: (await storedAt(db, input))?.id ?? null };
      },
    }),
  },
};
