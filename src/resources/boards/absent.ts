import {
  absent,
  arg,
  constant,
  emptyConnection,
  enumeration,
  property,
  required,
  valueType,
} from "../../graphql/declare.ts";

// Boards and issues of GitLab's paid tiers have more, which its pages ask for: here there is none.

const iterationCadence = valueType("IterationCadence", "A series of iterations.", {
  id: required(property("ID")),
  title: required(property("String")),
  durationInWeeks: property("Int"),
});
const iterationState = enumeration("IterationState", "When an iteration is.", [
  "upcoming",
  "current",
  "opened",
  "closed",
  "all",
]);
const iteration = valueType("Iteration", "A time in which issues are done.", {
  id: required(property("ID")),
  iid: required(property("ID")),
  title: property("String"),
  description: property("String"),
  startDate: property("Time"),
  dueDate: property("Time"),
  state: required({ ...property("IterationState"), declares: iterationState }),
  createdAt: required(property("Time")),
  updatedAt: required(property("Time")),
  webPath: required(property("String")),
  webUrl: required(property("String")),
  iterationCadence: required(property(iterationCadence)),
});
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
const epic = valueType("Epic", "An issue of a group.", {
  id: required(property("ID")),
  iid: required(property("String")),
  title: property("String"),
  webUrl: required(property("String")),
});
/** Whether an issue will be done in time. */
export const health = enumeration("HealthStatus", "Whether an issue will be done in time.", [
  "onTrack",
  "needsAttention",
  "atRisk",
]);
const iterations = emptyConnection(iteration, {
  state: arg.choice(iterationState),
  title: arg.string,
  search: arg.string,
  includeAncestors: arg.boolean,
  includeDescendants: arg.boolean,
});

/** Fields of what there is none of here, by what has them. */
export const ABSENT = {
  ofIssues: {
    iteration: absent(iteration),
    status: absent(status),
    epic: absent(epic),
    healthStatus: { ...constant(health.name, null), declares: health },
  },
  ofBoards: { iteration: absent(iteration), iterationCadence: absent(iterationCadence) },
  ofLists: { iteration: absent(iteration), status: absent(status) },
  ofSources: { iterations },
};

/** The id of a status, as an argument. */
export const STATUS_ID = arg.gid("WorkItemsStatusesStatus", [
  "WorkItems::Statuses::Status",
  "WorkItems::Statuses::Custom::Status",
  "WorkItems::Statuses::SystemDefined::Status",
]);
