import type { HookEventKind } from "../../hooks/events.ts";

/** What an application's listeners are told of, as webhooks name it, and the kinds of moments it is recorded as. */
export const APP_EVENTS = {
  issue: "issue",
  merge_request: "merge_request",
  note: "note",
  push: "push",
  tag_push: "tag_push",
  repository_update: "repository_update",
  pipeline: "pipeline",
  job: "build",
  release: "release",
  deployment: "deployment",
  feature_flag: "feature_flag",
  milestone: "milestone",
  emoji: "emoji",
  wiki_page: "wiki_page",
  access_token: "access_token",
  member: "member",
  group: "subgroup",
  project: "project",
  user: "user",
  key: "key",
} as const satisfies Record<string, HookEventKind>;

/** The name of what listeners are told of. */
export type AppEventName = keyof typeof APP_EVENTS;

/** The members that have no type here: GitLab's documentation of webhooks describes them. */
interface Others {
  readonly [member: string]: unknown;
}

/** A user, as payloads show them. */
export interface EventUser {
  readonly id: number;
  readonly name: string;
  readonly username: string;
  readonly avatar_url: string | null;
  /** `[REDACTED]` unless they have made it public. */
  readonly email: string;
}

/** A project, as payloads show it. */
export interface EventProject extends Others {
  readonly id: number;
  readonly name: string;
  readonly path_with_namespace: string;
  readonly web_url: string;
  readonly git_http_url: string;
  readonly default_branch: string | null;
}

/** A payload about one record of a project. */
interface About<Kind extends string, Record> extends Others {
  readonly object_kind: Kind;
  readonly project: EventProject;
  readonly object_attributes: Record & Others;
}

/** What issues and merge requests share. */
interface Issuable {
  readonly id: number;
  readonly iid: number;
  readonly title: string;
  readonly description: string | null;
  readonly url: string;
  readonly action: string;
}

interface PushPayload<Kind extends string> extends Others {
  readonly object_kind: Kind;
  readonly project_id: number;
  readonly project: EventProject;
  /** The full name, such as `refs/heads/main`. */
  readonly ref: string;
  /** The commits before and after; forty zeros for none. */
  readonly before: string;
  readonly after: string;
  readonly commits: readonly (Others & { readonly id: string; readonly message: string })[];
  readonly total_commits_count: number;
}

/** A payload that GitLab's system hooks get. */
interface SystemPayload extends Others {
  /** Such as `user_add_to_team`, `project_create` or `group_rename`. */
  readonly event_name: string;
}

/** The payloads, by the name of the event: those of webhooks (for the last five: of system hooks). */
export interface AppEventPayloads {
  /** `work_item` unless its type is a plain issue. */
  readonly issue: About<
    "issue" | "work_item",
    Issuable & { readonly state: "opened" | "closed"; readonly type: string }
  >;
  readonly merge_request: About<
    "merge_request",
    Issuable & {
      readonly state: "opened" | "closed" | "merged" | "locked";
      readonly source_branch: string;
      readonly target_branch: string;
    }
  >;
  readonly note: About<
    "note",
    {
      readonly id: number;
      readonly note: string;
      readonly noteable_type: string;
      readonly url: string;
    }
  >;
  readonly push: PushPayload<"push">;
  readonly tag_push: PushPayload<"tag_push">;
  readonly repository_update: SystemPayload & {
    readonly project_id: number;
    readonly refs: readonly string[];
  };
  readonly pipeline: About<
    "pipeline",
    {
      readonly id: number;
      readonly iid: number;
      readonly ref: string;
      readonly sha: string;
      readonly status: string;
    }
  >;
  readonly job: Others & {
    readonly object_kind: "build";
    readonly build_id: number;
    readonly build_name: string;
    readonly build_stage: string;
    readonly build_status: string;
    readonly pipeline_id: number;
    readonly project_id: number;
  };
  readonly release: Others & {
    readonly object_kind: "release";
    readonly id: number;
    readonly name: string;
    readonly tag: string;
    readonly project: EventProject;
  };
  readonly deployment: Others & {
    readonly object_kind: "deployment";
    readonly deployment_id: number;
    readonly status: string;
    readonly environment: string;
    readonly project: EventProject;
  };
  readonly feature_flag: About<
    "feature_flag",
    {
      readonly id: number;
      readonly name: string;
      readonly description: string | null;
      readonly active: boolean;
    }
  >;
  readonly milestone: About<
    "milestone",
    { readonly id: number; readonly iid: number; readonly title: string; readonly state: string }
  >;
  readonly emoji: About<"emoji", { readonly id: number; readonly name: string }>;
  readonly wiki_page: Others & {
    readonly object_kind: "wiki_page";
    readonly project: EventProject;
    readonly object_attributes: Others & { readonly slug: string; readonly title: string };
  };
  readonly access_token: Others & {
    readonly object_kind: "access_token";
    readonly object_attributes: Others & { readonly id: number; readonly name: string };
  };
  readonly member: SystemPayload & { readonly user_id: number; readonly user_username: string };
  readonly group: SystemPayload & { readonly group_id: number; readonly full_path: string };
  readonly project: SystemPayload & {
    readonly project_id: number;
    readonly path_with_namespace: string;
  };
  readonly user: SystemPayload & { readonly user_id: number; readonly username: string };
  readonly key: SystemPayload & { readonly id: number; readonly username: string };
}

/** Something that has happened, as an application's listeners are told of it. */
export interface AppEvent<Name extends AppEventName = AppEventName> {
  readonly name: Name;
  /**
   * What happened: `open`, `update`, `close`, `merge`, `approved` …; `create`, `update` or `delete` of a branch or tag; the
   * status of a pipeline, job or deployment.
   */
  readonly action: string;
  /** Who did it; `null` for nobody, or if they are gone. */
  readonly user: EventUser | null;
  /** When it was. */
  readonly at: Date;
  /** The attributes that have changed, as they were; `null` if none of them is known. */
  readonly before: Readonly<Record<string, unknown>> | null;
  /** The same attributes, as they were afterwards. */
  readonly after: Readonly<Record<string, unknown>> | null;
  /** What a webhook would be sent. */
  readonly payload: AppEventPayloads[Name];
}

/** The events of some names: by `name`, TypeScript knows the payload. */
export type AppEventOf<Name extends AppEventName> = { [N in Name]: AppEvent<N> }[Name];

/** Called with what has happened; the next event of the project waits for what it returns. */
export type AppListener<Name extends AppEventName> = (event: AppEventOf<Name>) => unknown;
