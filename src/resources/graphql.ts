import type { Face } from "../graphql/declare.ts";
import { face as accounts } from "./accounts/graphql.ts";
import { face as approvals } from "./approvals/graphql.ts";
import { face as awardEmoji } from "./award-emoji/graphql.ts";
import { face as badges } from "./badges/graphql.ts";
import { face as boards } from "./boards/graphql.ts";
import { face as dependencies } from "./dependencies/graphql.ts";
import { face as discussions } from "./discussions/graphql.ts";
import { face as events } from "./events/graphql.ts";
import { face as groups } from "./groups/graphql.ts";
import { face as issueLinks } from "./issue-links/graphql.ts";
import { face as issues } from "./issues/graphql.ts";
import { face as workItems } from "./issues/work-items.ts";
import { face as labels } from "./labels/graphql.ts";
import { face as markdown } from "./markdown/graphql.ts";
import { face as members } from "./members/graphql.ts";
import { face as mergeRequests } from "./merge-requests/graphql.ts";
import { face as meta } from "./meta/graphql.ts";
import { face as milestones } from "./milestones/graphql.ts";
import { face as namespaces } from "./namespaces/graphql.ts";
import { face as notes } from "./notes/graphql.ts";
import { face as notificationSettings } from "./notification-settings/graphql.ts";
import { face as pipelines } from "./pipelines/graphql.ts";
import { face as projects } from "./projects/graphql.ts";
import { face as protectedRefs } from "./protected-refs/graphql.ts";
import { face as releases } from "./releases/graphql.ts";
import { face as repositories } from "./repositories/graphql.ts";
import { face as snippets } from "./snippets/graphql.ts";
import { face as timelogs } from "./time-tracking/graphql.ts";
import { face as todos } from "./todos/graphql.ts";
import { face as tokens } from "./tokens/graphql.ts";
import { face as users } from "./users/graphql.ts";
import { face as wikis } from "./wikis/graphql.ts";

/** The GraphQL sides of all resources. */
export const faces: readonly Face[] = [
  meta,
  users,
  accounts,
  namespaces,
  groups,
  projects,
  repositories,
  protectedRefs,
  releases,
  pipelines,
  members,
  labels,
  milestones,
  issues,
  issueLinks,
  workItems,
  mergeRequests,
  approvals,
  boards,
  notes,
  discussions,
  markdown,
  awardEmoji,
  todos,
  timelogs,
  snippets,
  dependencies,
  tokens,
  badges,
  wikis,
  events,
  notificationSettings,
];
