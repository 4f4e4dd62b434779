import * as v from "valibot";
import { ROLES } from "../core/access/roles.ts";
import { VISIBILITIES } from "../core/access/visibility.ts";
import { optionsOf } from "../core/options.ts";
import { SCOPES } from "../core/scopes.ts";
import { MAX_LENGTHS, PACKAGE_MANAGERS, SEVERITIES } from "../dependencies/types.ts";
import { DEFAULT_COLOR } from "../resources/labels/queries.ts";
import { FLAGS, LEVELS } from "../resources/notification-settings/queries.ts";
import { FORMATS } from "../resources/wikis/queries.ts";
import type { GroupSeed } from "./input.ts";

/** One of some words; its input type is `Word` of seed-input.ts. */
const oneOf = <const W extends string>(words: readonly W[]) =>
  v.picklist(words, `must be one of ${words.join(", ")}`) as unknown as v.GenericSchema<
    W | (string & Record<never, never>),
    W
  >;
const words = <const T extends Record<string, unknown>>(object: T) =>
  oneOf(Object.keys(object) as (keyof T & string)[]);
const Day = v.pipe(v.string(), v.isoDate());
/** An ISO 8601 instant or day, in UTC if it has no offset. Default: now. */
const Instant = v.optional(
  v.pipe(
    v.string(),
    v.transform((text) => Date.parse(/T[\d:.]+$/.test(text) ? `${text}Z` : text)),
    v.number("Invalid instant"),
  ),
);

const Token = optionsOf({
  name: v.optional(v.string(), "seed"),
  /** The secret. Default: a random one. */
  token: v.optional(v.string()),
  scopes: v.optional(v.array(oneOf(SCOPES)), ["api"]),
  expires_at: v.optional(Day),
  impersonation: v.optional(v.boolean(), false),
});
/** A user's notification settings: the level, and the event flags that are set. */
const NotificationSettings = optionsOf({
  level: oneOf(LEVELS),
  ...v.entriesFromList(FLAGS, v.optional(v.boolean())),
});
const User = optionsOf({
  username: v.string(),
  name: v.optional(v.string()),
  email: v.optional(v.string()),
  password: v.optional(v.string()),
  admin: v.optional(v.boolean(), false),
  external: v.optional(v.boolean(), false),
  state: v.optional(oneOf(["active", "blocked"]), "active"),
  tokens: v.optional(v.array(Token), []),
  notification_settings: v.optional(NotificationSettings),
  created_at: Instant,
});
const Label = optionsOf({
  name: v.string(),
  color: v.optional(v.pipe(v.string(), v.regex(/^#[0-9a-f]{6}$/i)), DEFAULT_COLOR),
  description: v.optional(v.string()),
});
const Milestone = optionsOf({
  title: v.string(),
  description: v.optional(v.string()),
  state: v.optional(oneOf(["active", "closed"]), "active"),
  start_date: v.optional(Day),
  due_date: v.optional(Day),
  created_at: Instant,
});
const Badge = optionsOf({
  name: v.optional(v.string()),
  link_url: v.string(),
  image_url: v.string(),
});
const Role = words(ROLES);
/** Roles by user name, optionally with a joining time, for which a project records a `joined` event. */
const Members = v.record(
  v.string(),
  v.union([
    v.pipe(
      Role,
      v.transform((role) => ({ role, joined_at: undefined })),
    ),
    optionsOf({ role: Role, joined_at: Instant }),
  ]),
);
const Board = optionsOf({
  name: v.string(),
  /** Names of the group's labels, one per list, in this order. */
  lists: v.optional(v.array(v.string()), []),
});
const WikiPage = optionsOf({
  /** With its directory, if it has one. */
  title: v.string(),
  content: v.string(),
  format: v.optional(oneOf(FORMATS), FORMATS[0]),
  /** A user name. Default: none, as for pages that an operator wrote. */
  author: v.optional(v.string()),
  created_at: Instant,
  /** Its later versions, in order. */
  edits: v.optional(
    v.array(
      optionsOf({
        content: v.string(),
        author: v.optional(v.string()),
        created_at: Instant,
      }),
    ),
    [],
  ),
});
/** A file that pages link to as `uploads/FOLDER/FILE_NAME`. */
const WikiAttachment = optionsOf({
  folder: v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/, "Invalid folder: 32 hexadecimal digits")),
  file_name: v.string(),
  content: v.string(),
  encoding: v.optional(oneOf(["text", "base64"]), "text"),
  author: v.optional(v.string()),
  created_at: Instant,
});
/** For each emoji's name, the user names of those who gave it. */
const AwardEmoji = v.optional(v.record(v.string(), v.array(v.string())), {});
const Note = optionsOf({
  author: v.string(),
  body: v.string(),
  award_emoji: AwardEmoji,
  created_at: Instant,
});
const issuable = {
  title: v.string(),
  description: v.optional(v.string()),
  /** A user name, as are the assignees. */
  author: v.string(),
  assignees: v.optional(v.array(v.string()), []),
  /** Names; missing labels are created in the project. */
  labels: v.optional(v.array(v.string()), []),
  /** The title of a milestone of the project or of a group above it. */
  milestone: v.optional(v.string()),
  notes: v.optional(v.array(Note), []),
  award_emoji: AwardEmoji,
  /** User names of people with a todo for it, which is done if it is no longer open. */
  todos: v.optional(v.array(v.string()), []),
  created_at: Instant,
  /** Who closed or merged it, and when. Default: its author, when it was created. */
  ended_by: v.optional(v.string()),
  ended_at: Instant,
};
const Issue = optionsOf({
  ...issuable,
  state: v.optional(oneOf(["opened", "closed"]), "opened"),
  confidential: v.optional(v.boolean(), false),
  due_date: v.optional(Day),
  weight: v.optional(v.number()),
});
const MergeRequest = optionsOf({
  ...issuable,
  state: v.optional(oneOf(["opened", "closed", "merged"]), "opened"),
  source_branch: v.string(),
  target_branch: v.optional(v.string(), "main"),
});
/** A push, as a Git hook reports it. */
const Push = optionsOf({
  author: v.string(),
  ref: v.string(),
  ref_type: v.optional(oneOf(["branch", "tag"]), "branch"),
  action: v.optional(oneOf(["created", "removed", "pushed"]), "pushed"),
  commit_count: v.optional(v.number(), 1),
  commit_from: v.optional(v.string()),
  commit_to: v.optional(v.string()),
  commit_title: v.optional(v.string()),
  created_at: Instant,
});
const upTo = (max: number) => v.pipe(v.string(), v.maxLength(max));
const Dependency = optionsOf({
  name: v.pipe(upTo(MAX_LENGTHS.name), v.nonEmpty()),
  version: upTo(MAX_LENGTHS.version),
  package_manager: oneOf(PACKAGE_MANAGERS),
  dependency_file_path: v.pipe(upTo(MAX_LENGTHS.path), v.nonEmpty()),
  vulnerabilities: v.optional(
    v.array(optionsOf({ name: v.string(), severity: oneOf(SEVERITIES) })),
    [],
  ),
});
/** What groups and projects have in common. */
const sourceEntries = {
  path: v.string(),
  name: v.optional(v.string()),
  description: v.optional(v.string()),
  visibility: v.optional(words(VISIBILITIES), "private"),
  members: v.optional(Members, {}),
  labels: v.optional(v.array(Label), []),
  milestones: v.optional(v.array(Milestone), []),
  badges: v.optional(v.array(Badge), []),
  /** By user name. */
  notification_settings: v.optional(v.record(v.string(), NotificationSettings), {}),
  created_at: Instant,
};
const Project = optionsOf({
  ...sourceEntries,
  /** User name of the creator; records a `created` event. Default: the owner of a user's own project. */
  creator: v.optional(v.string()),
  default_branch: v.optional(v.string()),
  topics: v.optional(v.array(v.string())),
  dependencies: v.optional(v.array(Dependency), []),
  /** User names of people who starred it. */
  starred_by: v.optional(v.array(v.string()), []),
  wiki: v.optional(v.array(WikiPage), []),
  wiki_attachments: v.optional(v.array(WikiAttachment), []),
  /** In the order of their `iid`s. Their history is recorded as events with the given times. */
  issues: v.optional(v.array(Issue), []),
  merge_requests: v.optional(v.array(MergeRequest), []),
  pushes: v.optional(v.array(Push), []),
});
const GroupAlone = optionsOf({
  ...sourceEntries,
  boards: v.optional(v.array(Board), []),
  projects: v.optional(v.array(Project), []),
});
/** A checked group with its subgroups. */
export type SeedGroup = v.InferOutput<typeof GroupAlone> & { subgroups: SeedGroup[] };
const Group: v.GenericSchema<GroupSeed, SeedGroup> = optionsOf({
  ...GroupAlone.entries,
  subgroups: v.optional(v.array(v.lazy(() => Group)), []),
});

/** Checks a {@link Seed} and fills in defaults. */
export const SeedSchema = optionsOf({
  users: v.optional(v.array(User), []),
  groups: v.optional(v.array(Group), []),
  /** Users' own projects; `namespace` is the user name. */
  projects: v.optional(v.array(optionsOf({ ...Project.entries, namespace: v.string() })), []),
});

/** A checked {@link Seed}, and its parts. */
export type SeedData = v.InferOutput<typeof SeedSchema>;
export type SeedUser = v.InferOutput<typeof User>;
export type SeedToken = v.InferOutput<typeof Token>;
export type SeedBoard = v.InferOutput<typeof Board>;
export type SeedProject = v.InferOutput<typeof Project>;
export type SeedIssue = v.InferOutput<typeof Issue>;
export type SeedMergeRequest = v.InferOutput<typeof MergeRequest>;
export type SeedPush = v.InferOutput<typeof Push>;
export type SeedDependency = v.InferOutput<typeof Dependency>;
export type SeedAwardEmoji = v.InferOutput<typeof AwardEmoji>;
export type SeedNotificationSettings = v.InferOutput<typeof NotificationSettings>;
