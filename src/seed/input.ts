// The types of a seed, without the validation library. `SeedSchema` checks the same.
import type { AwardEmojiSeed } from "../resources/award-emoji/seed.ts";
import type { BadgeSeed } from "../resources/badges/seed.ts";
import type { BoardSeed } from "../resources/boards/seed.ts";
import type { DependencySeed } from "../resources/dependencies/seed.ts";
import type { DeploymentSeed } from "../resources/deployments/seed.ts";
import type { DiffNoteSeed } from "../resources/discussions/seed.ts";
import type { EnvironmentSeed } from "../resources/environments/seed.ts";
import type { EpicSeed } from "../resources/epics/seed.ts";
import type { SharedWithGroupsSeed } from "../resources/group-links/seed.ts";
import type { HookSeed } from "../resources/hooks/seed.ts";
import type { IntegrationSeed } from "../resources/integrations/seed.ts";
import type { IssueLinkSeed } from "../resources/issue-links/seed.ts";
import type { IssueSeed } from "../resources/issues/seed.ts";
import type { IterationCadenceSeed } from "../resources/iterations/seed.ts";
import type { LabelSeed } from "../resources/labels/seed.ts";
import type { MembersSeed } from "../resources/members/seed.ts";
import type { MergeRequestSeed } from "../resources/merge-requests/seed.ts";
import type { MilestoneSeed } from "../resources/milestones/seed.ts";
import type { SourceSeed } from "../resources/namespaces/seed.ts";
import type { NoteSeed } from "../resources/notes/seed.ts";
import type { NotificationSettingsSeed } from "../resources/notification-settings/seed.ts";
import type { PipelineSeed } from "../resources/pipelines/seed.ts";
import type { ProjectSeed } from "../resources/projects/seed.ts";
import type { PullMirrorSeed } from "../resources/pull-mirrors/seed.ts";
import type { PushRuleSeed } from "../resources/push-rules/seed.ts";
import type { ReleaseSeed } from "../resources/releases/seed.ts";
import type { RemoteMirrorSeed } from "../resources/remote-mirrors/seed.ts";
import type { PushSeed, RepositorySeed } from "../resources/repositories/seed.ts";
import type { ScheduleSeed } from "../resources/schedules/seed.ts";
import type { ScimTokenSeed, ScimUserSeed } from "../resources/scim/seed.ts";
import type { SnippetSeed } from "../resources/snippets/seed.ts";
import type { TimelogSeed } from "../resources/time-tracking/seed.ts";
import type { TokenSeed } from "../resources/tokens/seed.ts";
import type { TriggerSeed } from "../resources/triggers/seed.ts";
import type { UserSeed } from "../resources/users/seed.ts";
import type { VariableSeed } from "../resources/variables/seed.ts";
import type { WikiAttachmentSeed, WikiPageSeed } from "../resources/wikis/seed.ts";

/** Data to fill a database with, as it can stand in a JSON file (docs/testing.md). */
export interface Seed {
  users?: FullUser[] | undefined;
  groups?: FullGroup[] | undefined;
  /** Users' own projects; `namespace` is the user name. */
  projects?: (FullProject & { namespace: string })[] | undefined;
  /** The path or address of the JSON Schema of seeds (docs/seed.schema.json), for editors. */
  $schema?: string | undefined;
}

/** A user with tokens and settings. */
interface FullUser extends UserSeed {
  tokens?: TokenSeed[] | undefined;
  /** The token with which feeds are read. It is encrypted, which needs the secret key. */
  feed_token?: string | undefined;
  notification_settings?: NotificationSettingsSeed | undefined;
}

/** What belongs to groups and to projects. */
interface InSource {
  /** Roles by user name, optionally with a joining time, for which a project records a `joined` event. */
  members?: MembersSeed | undefined;
  /** Roles by full path of an invited group, optionally with the day on which the invitation ends. */
  shared_with_groups?: SharedWithGroupsSeed | undefined;
  labels?: LabelSeed[] | undefined;
  milestones?: MilestoneSeed[] | undefined;
  badges?: BadgeSeed[] | undefined;
  boards?: BoardSeed[] | undefined;
  /** CI variables. Their values are encrypted, which needs the secret key. */
  variables?: VariableSeed[] | undefined;
  /** By user name. */
  notification_settings?: Record<string, NotificationSettingsSeed> | undefined;
  /** What pushes have to fit. */
  push_rule?: PushRuleSeed | undefined;
  /** What integrates it with other programs. Secrets are encrypted, which needs the secret key. */
  integrations?: IntegrationSeed[] | undefined;
  wiki?: WikiPageSeed[] | undefined;
  wiki_attachments?: WikiAttachmentSeed[] | undefined;
}

/** A group with its contents. */
interface FullGroup extends SourceSeed, InSource {
  /** Series of iterations, of which issues name one. */
  iteration_cadences?: IterationCadenceSeed[] | undefined;
  scim_tokens?: ScimTokenSeed[] | undefined;
  /** What the group's identity provider says about its people. */
  scim_users?: ScimUserSeed[] | undefined;
  projects?: FullProject[] | undefined;
  /** In the order of their `iid`s. */
  epics?: (EpicSeed & InEpic)[] | undefined;
  epic_boards?: BoardSeed[] | undefined;
  hooks?: HookSeed[] | undefined;
  subgroups?: FullGroup[] | undefined;
}

/** A project with its contents. */
interface FullProject extends ProjectSeed, InSource {
  dependencies?: DependencySeed[] | undefined;
  /** In the order of their `iid`s. Their history is recorded as events with the given times. */
  issues?: (IssueSeed & InIssuable)[] | undefined;
  issue_links?: IssueLinkSeed[] | undefined;
  merge_requests?: (MergeRequestSeed & InIssuable & InMergeRequest)[] | undefined;
  repository?: RepositorySeed | undefined;
  pushes?: PushSeed[] | undefined;
  /** Their deployments are in the order of their `iid`s. */
  environments?: (EnvironmentSeed & { deployments?: DeploymentSeed[] | undefined })[] | undefined;
  releases?: ReleaseSeed[] | undefined;
  snippets?: (SnippetSeed & InNoteable)[] | undefined;
  /** In the order of their `iid`s. */
  pipelines?: PipelineSeed[] | undefined;
  schedules?: ScheduleSeed[] | undefined;
  triggers?: TriggerSeed[] | undefined;
  hooks?: HookSeed[] | undefined;
  remote_mirrors?: RemoteMirrorSeed[] | undefined;
  pull_mirror?: PullMirrorSeed | undefined;
}

/** What belongs to issues, merge requests and snippets. */
interface InNoteable {
  notes?: FullNote[] | undefined;
  award_emoji?: AwardEmojiSeed | undefined;
}

/** What belongs to epics. */
interface InEpic extends InNoteable {
  /** User names of people with a todo for it, which is done if it is no longer open. */
  todos?: string[] | undefined;
}

/** What belongs to issues and to merge requests. */
interface InIssuable extends InNoteable {
  /** User names of people with a todo for it, which is done if it is no longer open. */
  todos?: string[] | undefined;
  timelogs?: TimelogSeed[] | undefined;
}

/** What belongs to merge requests only. */
interface InMergeRequest {
  /** User names of people who were asked for a review. */
  reviewers?: string[] | undefined;
  /** User names of people who have approved it. */
  approved_by?: string[] | undefined;
  diff_notes?: DiffNoteSeed[] | undefined;
}

/** A note with its awards. */
interface FullNote extends NoteSeed {
  award_emoji?: AwardEmojiSeed | undefined;
}
