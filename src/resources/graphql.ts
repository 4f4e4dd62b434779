import type { GraphqlModule } from "../graphql/declare.ts";
import { graphqlModule as absent } from "./absent/graphql.ts";
import { graphqlModule as accounts } from "./accounts/graphql.ts";
import { graphqlModule as approvals } from "./approvals/graphql.ts";
import { graphqlModule as awardEmoji } from "./award-emoji/graphql.ts";
import { graphqlModule as badges } from "./badges/graphql.ts";
import { graphqlModule as boards } from "./boards/graphql.ts";
import { graphqlModule as dependencies } from "./dependencies/graphql.ts";
import { graphqlModule as discussions } from "./discussions/graphql.ts";
import { graphqlModule as epicBoards } from "./epic-boards/graphql.ts";
import { graphqlModule as events } from "./events/graphql.ts";
import { graphqlModule as gpgKeys } from "./gpg-keys/graphql.ts";
import { graphqlModule as groups } from "./groups/graphql.ts";
import { graphqlModule as issueLinks } from "./issue-links/graphql.ts";
import { graphqlModule as issues } from "./issues/graphql.ts";
import { graphqlModule as iterations } from "./iterations/graphql.ts";
import { graphqlModule as labels } from "./labels/graphql.ts";
import { graphqlModule as lint } from "./lint/graphql.ts";
import { graphqlModule as markdown } from "./markdown/graphql.ts";
import { graphqlModule as members } from "./members/graphql.ts";
import { graphqlModule as mergeRequests } from "./merge-requests/graphql.ts";
import { graphqlModule as meta } from "./meta/graphql.ts";
import { graphqlModule as milestones } from "./milestones/graphql.ts";
import { graphqlModule as namespaces } from "./namespaces/graphql.ts";
import { graphqlModule as notes } from "./notes/graphql.ts";
import { graphqlModule as notificationSettings } from "./notification-settings/graphql.ts";
import { graphqlModule as packages } from "./packages/graphql.ts";
import { graphqlModule as pipelines } from "./pipelines/graphql.ts";
import { graphqlModule as pipelineFindings } from "./pipelines/graphql-findings.ts";
import { graphqlModule as pipelineReports } from "./pipelines/graphql-reports.ts";
import { graphqlModule as placeholders } from "./placeholders/graphql.ts";
import { graphqlModule as projects } from "./projects/graphql.ts";
import { graphqlModule as protectedRefs } from "./protected-refs/graphql.ts";
import { graphqlModule as releases } from "./releases/graphql.ts";
import { graphqlModule as repositories } from "./repositories/graphql.ts";
import { graphqlModule as runners } from "./runners/graphql.ts";
import { graphqlModule as snippets } from "./snippets/graphql.ts";
import { graphqlModule as targetBranchRules } from "./target-branch-rules/graphql.ts";
import { graphqlModule as terraformStates } from "./terraform-states/graphql.ts";
import { graphqlModule as timelogs } from "./time-tracking/graphql.ts";
import { graphqlModule as todos } from "./todos/graphql.ts";
import { graphqlModule as tokens } from "./tokens/graphql.ts";
import { graphqlModule as users } from "./users/graphql.ts";
import { graphqlModule as wikis } from "./wikis/graphql.ts";
import { graphqlModule as workItems } from "./work-items/graphql.ts";

/** The GraphQL sides of all resources. */
export const modules: readonly GraphqlModule[] = [
  meta,
  users,
  accounts,
  namespaces,
  groups,
  projects,
  repositories,
  gpgKeys,
  protectedRefs,
  releases,
  pipelines,
  pipelineFindings,
  pipelineReports,
  placeholders,
  runners,
  lint,
  members,
  labels,
  iterations,
  milestones,
  issues,
  issueLinks,
  workItems,
  absent,
  mergeRequests,
  approvals,
  boards,
  epicBoards,
  notes,
  discussions,
  markdown,
  awardEmoji,
  todos,
  timelogs,
  snippets,
  dependencies,
  packages,
  tokens,
  badges,
  targetBranchRules,
  terraformStates,
  wikis,
  events,
  notificationSettings,
];
