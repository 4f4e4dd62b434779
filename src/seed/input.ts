// The types of a seed, without the validation library; seed-schema.ts checks the same.
import type { Role } from "../core/access/roles.ts";
import type { Visibility } from "../core/access/visibility.ts";
import type { Scope } from "../core/scopes.ts";
import type { PackageManager, Severity } from "../dependencies/types.ts";
import type { Flags, Level } from "../resources/notification-settings/queries.ts";
import type { Format } from "../resources/wikis/queries.ts";

/** Data to fill a database with, as it can stand in a JSON file (docs/testing.md). */
export interface Seed {
  users?: UserSeed[] | undefined;
  groups?: GroupSeed[] | undefined;
  /** Users' own projects; `namespace` is the user name. */
  projects?: (ProjectSeed & { namespace: string })[] | undefined;
}

/** One of some words. It accepts any string, since that is TypeScript's type for words of an imported JSON file. */
type Word<W extends string> = W | (string & Record<never, never>);

/** An ISO 8601 instant or day, in UTC if it has no offset. Default: now. */
type InstantSeed = string | undefined;

/** For each emoji's name, the user names of those who gave it. */
type AwardEmojiSeed = Record<string, string[]>;

interface UserSeed {
  username: string;
  /** Default: the user name. */
  name?: string | undefined;
  /** Default: the user name followed by `@example.com`. */
  email?: string | undefined;
  /** Without a password, the user can only use tokens. */
  password?: string | undefined;
  admin?: boolean | undefined;
  external?: boolean | undefined;
  state?: Word<"active" | "blocked"> | undefined;
  tokens?: TokenSeed[] | undefined;
  notification_settings?: NotificationSettingsSeed | undefined;
  created_at?: InstantSeed;
}

interface TokenSeed {
  name?: string | undefined;
  /** The secret. Default: a random one. */
  token?: string | undefined;
  /** Default `["api"]`. */
  scopes?: Word<Scope>[] | undefined;
  /** A day. */
  expires_at?: string | undefined;
  impersonation?: boolean | undefined;
}

/** A user's notification settings: the level, and the event flags that are set. */
type NotificationSettingsSeed = { level: Word<Level> } & {
  [Flag in keyof Flags]: boolean | undefined;
};

/** What groups and projects have in common. */
interface SourceSeed {
  path: string;
  /** Default: the path. */
  name?: string | undefined;
  description?: string | undefined;
  /** Default `"private"`. */
  visibility?: Word<Visibility> | undefined;
  /** Roles by user name, optionally with a joining time, for which a project records a `joined` event. */
  members?: Record<string, Word<Role> | { role: Word<Role>; joined_at?: InstantSeed }> | undefined;
  labels?: LabelSeed[] | undefined;
  milestones?: MilestoneSeed[] | undefined;
  badges?: BadgeSeed[] | undefined;
  /** By user name. */
  notification_settings?: Record<string, NotificationSettingsSeed> | undefined;
  created_at?: InstantSeed;
}

/** A group with its contents. */
export interface GroupSeed extends SourceSeed {
  boards?: BoardSeed[] | undefined;
  projects?: ProjectSeed[] | undefined;
  subgroups?: GroupSeed[] | undefined;
}

interface ProjectSeed extends SourceSeed {
  /** User name of the creator; records a `created` event. Default: the owner of a user's own project. */
  creator?: string | undefined;
  default_branch?: string | undefined;
  topics?: string[] | undefined;
  dependencies?: DependencySeed[] | undefined;
  /** User names of people who starred it. */
  starred_by?: string[] | undefined;
  wiki?: WikiPageSeed[] | undefined;
  wiki_attachments?: WikiAttachmentSeed[] | undefined;
  /** In the order of their `iid`s. Their history is recorded as events with the given times. */
  issues?: IssueSeed[] | undefined;
  merge_requests?: MergeRequestSeed[] | undefined;
  pushes?: PushSeed[] | undefined;
}

interface LabelSeed {
  name: string;
  /** Such as `#d9534f`. */
  color?: string | undefined;
  description?: string | undefined;
}

interface MilestoneSeed {
  title: string;
  description?: string | undefined;
  state?: Word<"active" | "closed"> | undefined;
  /** A day. */
  start_date?: string | undefined;
  /** A day. */
  due_date?: string | undefined;
  created_at?: InstantSeed;
}

interface BadgeSeed {
  name?: string | undefined;
  link_url: string;
  image_url: string;
}

interface BoardSeed {
  name: string;
  /** Names of the group's labels, one per list, in this order. */
  lists?: string[] | undefined;
}

interface WikiPageSeed {
  /** With its directory, if it has one. */
  title: string;
  content: string;
  format?: Word<Format> | undefined;
  /** A user name. Default: none, as for pages that an operator wrote. */
  author?: string | undefined;
  created_at?: InstantSeed;
  /** Its later versions, in order. */
  edits?: { content: string; author?: string | undefined; created_at?: InstantSeed }[] | undefined;
}

/** A file that pages link to as `uploads/FOLDER/FILE_NAME`. */
interface WikiAttachmentSeed {
  /** 32 hexadecimal digits. */
  folder: string;
  file_name: string;
  content: string;
  /** The encoding of `content`. Default `"text"`. */
  encoding?: Word<"text" | "base64"> | undefined;
  author?: string | undefined;
  created_at?: InstantSeed;
}

interface NoteSeed {
  author: string;
  body: string;
  award_emoji?: AwardEmojiSeed | undefined;
  created_at?: InstantSeed;
}

/** What issues and merge requests have in common. */
interface IssuableSeed {
  title: string;
  description?: string | undefined;
  /** A user name. */
  author: string;
  /** User names. */
  assignees?: string[] | undefined;
  /** Names; missing labels are created in the project. */
  labels?: string[] | undefined;
  /** The title of a milestone of the project or of a group above it. */
  milestone?: string | undefined;
  notes?: NoteSeed[] | undefined;
  award_emoji?: AwardEmojiSeed | undefined;
  /** User names of people with a todo for it, which is done if it is no longer open. */
  todos?: string[] | undefined;
  created_at?: InstantSeed;
  /** The user who closed or merged it. Default: its author. */
  ended_by?: string | undefined;
  /** When it was closed or merged. Default: when it was created. */
  ended_at?: InstantSeed;
}

interface IssueSeed extends IssuableSeed {
  state?: Word<"opened" | "closed"> | undefined;
  confidential?: boolean | undefined;
  /** A day. */
  due_date?: string | undefined;
  weight?: number | undefined;
}

interface MergeRequestSeed extends IssuableSeed {
  state?: Word<"opened" | "closed" | "merged"> | undefined;
  source_branch: string;
  /** Default `"main"`. */
  target_branch?: string | undefined;
}

/** A push, as a Git hook reports it. */
interface PushSeed {
  author: string;
  ref: string;
  ref_type?: Word<"branch" | "tag"> | undefined;
  action?: Word<"created" | "removed" | "pushed"> | undefined;
  commit_count?: number | undefined;
  commit_from?: string | undefined;
  commit_to?: string | undefined;
  commit_title?: string | undefined;
  created_at?: InstantSeed;
}

interface DependencySeed {
  name: string;
  version: string;
  package_manager: Word<PackageManager>;
  dependency_file_path: string;
  vulnerabilities?: { name: string; severity: Word<Severity> }[] | undefined;
}
