import {
  absent,
  arg,
  constant,
  enumeration,
  one,
  property,
  valueType,
} from "../../graphql/declare.ts";

// Boards and issues of GitLab's paid tiers have more, which its pages ask for: here there is none.

const category = enumeration("WorkItemStatusCategoryEnum", "The kind of a status.", [
  "TRIAGE",
  "TO_DO",
  "IN_PROGRESS",
  "DONE",
  "CANCELED",
]);
const status = valueType("WorkItemStatus", "How far an issue is.", {
  id: property("ID"),
  name: property("String"),
  description: property("String"),
  iconName: property("String"),
  color: property("String"),
  position: property("Int"),
  category: { ...property(category.name), declares: category },
});
/** Whether an issue will be done in time. */
export const health = enumeration("HealthStatus", "Whether an issue will be done in time.", [
  "onTrack",
  "needsAttention",
  "atRisk",
]);
const iteration = one("Iteration", "null");

/** Fields of what there is none of here, by what has them. */
export const ABSENT = {
  ofIssues: {
    status: absent(status),
    healthStatus: { ...constant(health.name, null), declares: health },
  },
  ofBoards: { iteration, iterationCadence: one("IterationCadence", "null") },
  ofLists: { status: absent(status) },
};

/** The id of a status, as an argument. */
export const STATUS_ID = arg.gid("WorkItemsStatusesStatus", [
  "WorkItems::Statuses::Status",
  "WorkItems::Statuses::Custom::Status",
  "WorkItems::Statuses::SystemDefined::Status",
]);
