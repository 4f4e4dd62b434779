// What a seed may hold, as types that need no library to be read: seed-schema.ts checks the same.
import type { Role, Visibility } from "./core/access.ts";
import type { Scope } from "./core/auth.ts";
import type { PackageManager, Severity } from "./resources/dependencies/rules.ts";
import type { Flags, Level } from "./resources/notification-settings/queries.ts";
import type { Format } from "./resources/wikis/queries.ts";

/** What a database is filled with: plain data, as a JSON file has it (docs/testing.md). */
export interface Seed {
  users?: UserSeed[] | undefined;
  groups?: GroupSeed[] | undefined;
  /** Users' own projects; `namespace` is the user name. */
  projects?: (ProjectSeed & { namespace: string })[] | undefined;
}

/** One of some words. It takes any text, which is how TypeScript types the words of an imported JSON file. */
type Word<W extends string> = W | (string & Record<never, never>);

/** An ISO 8601 instant or day, in UTC where it names no offset. Default: now. */
type InstantSeed = string | undefined;

/** By the emoji's name, the user names of those who gave it. */
type AwardEmojiSeed = Record<string, string[]>;

interface UserSeed {
  username: string;
  /** Default: the user name. */
  name?: string | undefined;
  /** Default: the user name `@example.com`. */
  email?: string | undefined;
  /** Without one the user has tokens only. */
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
  /** The secret; without one it is made up. */
  token?: string | undefined;
  /** Default `["api"]`. */
  scopes?: Word<Scope>[] | undefined;
  /** A day. */
  expires_at?: string | undefined;
  impersonation?: boolean | undefined;
}

/** What a user wants to hear of: the level, and the event flags that are set. */
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
  /** By user name, the role, or with since when: in a project an event tells of that. */
  members?: Record<string, Word<Role> | { role: Word<Role>; joined_at?: InstantSeed }> | undefined;
  labels?: LabelSeed[] | undefined;
  milestones?: MilestoneSeed[] | undefined;
  badges?: BadgeSeed[] | undefined;
  /** By user name. */
  notification_settings?: Record<string, NotificationSettingsSeed> | undefined;
  created_at?: InstantSeed;
}

/** A group, with what is in it. */
export interface GroupSeed extends SourceSeed {
  boards?: BoardSeed[] | undefined;
  projects?: ProjectSeed[] | undefined;
  subgroups?: GroupSeed[] | undefined;
}

interface ProjectSeed extends SourceSeed {
  /** User name of who made it, of which an event tells then. Default: the owner, where it is a user's own. */
  creator?: string | undefined;
  default_branch?: string | undefined;
  topics?: string[] | undefined;
  dependencies?: DependencySeed[] | undefined;
  /** User names of those who starred it. */
  starred_by?: string[] | undefined;
  wiki?: WikiPageSeed[] | undefined;
  wiki_attachments?: WikiAttachmentSeed[] | undefined;
  /** In the order of their numbers. What happened to them is told by events of their times. */
  issues?: IssueSeed[] | undefined;
  merge_requests?: MergeRequestSeed[] | undefined;
  pushes?: PushSeed[] | undefined;
}

interface LabelSeed {
  name: string;
  /** As `#d9534f`. */
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
  /** Names of labels of the group: a list each, in this order. */
  lists?: string[] | undefined;
}

interface WikiPageSeed {
  /** With its directory, where it is in one. */
  title: string;
  content: string;
  format?: Word<Format> | undefined;
  /** User name; without one, an operator wrote it. */
  author?: string | undefined;
  created_at?: InstantSeed;
  /** What it was changed to later, in order. */
  edits?: { content: string; author?: string | undefined; created_at?: InstantSeed }[] | undefined;
}

/** A file that pages link to as `uploads/FOLDER/FILE_NAME`. */
interface WikiAttachmentSeed {
  /** 32 hexadecimal digits. */
  folder: string;
  file_name: string;
  content: string;
  /** How the content is written here. Default `"text"`. */
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
  /** Names; labels that aren't there are made in the project. */
  labels?: string[] | undefined;
  /** The title of one of the project or of a group above it. */
  milestone?: string | undefined;
  notes?: NoteSeed[] | undefined;
  award_emoji?: AwardEmojiSeed | undefined;
  /** User names of those who have it on their list of todos; done, where it is open no longer. */
  todos?: string[] | undefined;
  created_at?: InstantSeed;
  /** Who closed or merged it. Default: its author. */
  ended_by?: string | undefined;
  /** When that was. Default: as soon as it was made. */
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

/** A push, as a hook would tell of it. */
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
