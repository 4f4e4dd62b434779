import * as v from "valibot";
import { optionsOf, problemOf } from "../core/options.ts";
import type { Progress } from "../core/progress.ts";
import type { Secrets } from "../core/secrets.ts";
import {
  type GivenParts,
  insertParts,
  SeedError,
  Seeding,
  type SeedParts,
  schemasOf,
  sizeOfParts,
} from "../core/seeding.ts";
import { approvedByPart } from "../resources/approvals/seed.ts";
import { awardEmojiPart } from "../resources/award-emoji/seed.ts";
import { badgesPart } from "../resources/badges/seed.ts";
import { boardsPart, epicBoardsPart } from "../resources/boards/seed.ts";
import { dependenciesPart } from "../resources/dependencies/seed.ts";
import { deploymentsPart } from "../resources/deployments/seed.ts";
import { diffNotesPart } from "../resources/discussions/seed.ts";
import { environmentsPart } from "../resources/environments/seed.ts";
import { epicsPart } from "../resources/epics/seed.ts";
import { sharedWithGroupsPart } from "../resources/group-links/seed.ts";
import { groupsPart } from "../resources/groups/seed.ts";
import { hooksPart } from "../resources/hooks/seed.ts";
import { integrationsPart } from "../resources/integrations/seed.ts";
import { issueLinksPart } from "../resources/issue-links/seed.ts";
import { issuesPart } from "../resources/issues/seed.ts";
import { iterationCadencesPart } from "../resources/iterations/seed.ts";
import { labelsPart } from "../resources/labels/seed.ts";
import { membersPart } from "../resources/members/seed.ts";
import { mergeRequestsPart } from "../resources/merge-requests/seed.ts";
import { milestonesPart } from "../resources/milestones/seed.ts";
import { notesPart } from "../resources/notes/seed.ts";
import {
  globalNotificationSettingsPart,
  notificationSettingsPart,
} from "../resources/notification-settings/seed.ts";
import { pipelinesPart } from "../resources/pipelines/seed.ts";
import { personalProjectsPart, projectsPart } from "../resources/projects/seed.ts";
import { pullMirrorPart } from "../resources/pull-mirrors/seed.ts";
import { pushRulePart } from "../resources/push-rules/seed.ts";
import { releasesPart } from "../resources/releases/seed.ts";
import { remoteMirrorsPart } from "../resources/remote-mirrors/seed.ts";
import { pushesPart, repositoryPart } from "../resources/repositories/seed.ts";
import { reviewersPart } from "../resources/reviewers/seed.ts";
import { schedulesPart } from "../resources/schedules/seed.ts";
import { scimTokensPart, scimUsersPart } from "../resources/scim/seed.ts";
import { snippetsPart } from "../resources/snippets/seed.ts";
import { timelogsPart } from "../resources/time-tracking/seed.ts";
import { todosPart } from "../resources/todos/seed.ts";
import { feedTokenPart, tokensPart } from "../resources/tokens/seed.ts";
import { triggersPart } from "../resources/triggers/seed.ts";
import { usersPart } from "../resources/users/seed.ts";
import { variablesPart } from "../resources/variables/seed.ts";
import { wikiAttachmentsPart, wikiPart } from "../resources/wikis/seed.ts";
import type { Store } from "../store/port.ts";

// The parts of a seed by attribute, nested as in seed files, in the order of insertion. `Seed` has their types.
const inNoteable = {
  notes: notesPart({ award_emoji: awardEmojiPart }),
  award_emoji: awardEmojiPart,
};
const inIssuable = { ...inNoteable, todos: todosPart, timelogs: timelogsPart };
const inSource = {
  members: membersPart,
  shared_with_groups: sharedWithGroupsPart,
  notification_settings: notificationSettingsPart,
  labels: labelsPart,
  milestones: milestonesPart,
  badges: badgesPart,
  boards: boardsPart,
  variables: variablesPart,
  push_rule: pushRulePart,
  integrations: integrationsPart,
};
const ofWiki = { wiki: wikiPart, wiki_attachments: wikiAttachmentsPart };
const inProject = {
  ...inSource,
  dependencies: dependenciesPart,
  ...ofWiki,
  repository: repositoryPart,
  pushes: pushesPart,
  environments: environmentsPart({ deployments: deploymentsPart }),
  releases: releasesPart,
  issues: issuesPart(inIssuable),
  issue_links: issueLinksPart,
  merge_requests: mergeRequestsPart({
    ...inIssuable,
    reviewers: reviewersPart,
    approved_by: approvedByPart,
    diff_notes: diffNotesPart,
  }),
  snippets: snippetsPart(inNoteable),
  pipelines: pipelinesPart,
  schedules: schedulesPart,
  triggers: triggersPart,
  hooks: hooksPart,
  remote_mirrors: remoteMirrorsPart,
  pull_mirror: pullMirrorPart,
};
const inGroup = {
  // First: boards name iterations.
  iteration_cadences: iterationCadencesPart,
  ...inSource,
  scim_tokens: scimTokensPart,
  scim_users: scimUsersPart,
  projects: projectsPart(inProject),
  epics: epicsPart({ ...inNoteable, todos: todosPart }),
  epic_boards: epicBoardsPart,
  ...ofWiki,
  hooks: hooksPart,
};
const inSeed = {
  users: usersPart({
    tokens: tokensPart,
    feed_token: feedTokenPart,
    notification_settings: globalNotificationSettingsPart,
  }),
  groups: groupsPart(inGroup),
  projects: personalProjectsPart(inProject),
} satisfies SeedParts<undefined>;

/** Schemas of attributes that occur in several places, by a name for each. */
export const definitions = schemasOf({
  ...inProject,
  ...inIssuable,
  epics: inGroup.epics,
  groups: inSeed.groups,
});

/** What is counted, in the order of reports. */
const COUNTED = [
  "users",
  "groups",
  "projects",
  "labels",
  "milestones",
  "iteration_cadences",
  "boards",
  "badges",
  "wiki_pages",
  "dependencies",
  "issues",
  "epics",
  "merge_requests",
  "releases",
  "snippets",
  "notes",
  "todos",
  "award_emoji",
  "timelogs",
  "variables",
  "environments",
  "deployments",
  "pipelines",
  "jobs",
  "schedules",
  "triggers",
  "hooks",
  "integrations",
  "remote_mirrors",
  "pull_mirrors",
  "notification_settings",
  "events",
] as const;

/** How many records a seed created. */
export interface Seeded extends Record<(typeof COUNTED)[number], number> {
  /** The tokens' secrets in the order of the seed; only their digests are stored. */
  tokens: { username: string; token: string }[];
}

/** Checks a seed and fills in defaults. */
export const SeedSchema = optionsOf({
  ...schemasOf(inSeed),
  $schema: v.optional(v.string()),
}) as unknown as v.GenericSchema<
  GivenParts<typeof inSeed> & { $schema?: string | undefined },
  Record<string, unknown>
>;

/**
 * Fills a database in one transaction.
 *
 * @param data a `Seed`, checked here
 * @param onProgress called with the number of inserted entries of lists, and their total
 * @throws SeedError if the data is malformed or refers to something that doesn't exist
 * @throws SecretKeyError if it has secrets, and there is no key to encrypt them with
 */
export async function seed(
  store: Store,
  secrets: Secrets,
  data: unknown,
  now: number,
  onProgress: Progress = () => undefined,
): Promise<Seeded> {
  const parsed = v.safeParse(SeedSchema, data);
  if (!parsed.success) {
    const { path, problem } = problemOf(parsed.issues);
    throw new SeedError(`${path || "seed"}: ${problem}`);
  }
  const checked = parsed.output;
  for (const [name, part] of Object.entries<SeedParts<undefined>[string]>(inSeed)) {
    if (part.prepare) checked[name] = await part.prepare(checked[name]);
  }
  const total = sizeOfParts(inSeed, checked);
  return store.transaction(async (db) => {
    let done = 0;
    const seeding = new Seeding(db, secrets, now, () => {
      done += 1;
      onProgress(done, total);
    });
    await seeding.findUsers();
    await insertParts(seeding, inSeed, checked, undefined);
    await seeding.end();
    const counts = COUNTED.map((counted) => [counted, seeding.countOf(counted)]);
    return { ...Object.fromEntries(counts), tokens: seeding.tokens };
  });
}
