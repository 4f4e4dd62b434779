import { toldOptions } from "../../../git/push-options.ts";
import { BRANCHES, TAGS } from "../../../git/refs.ts";
import { rulesOf } from "../../protected-refs/queries.ts";
import { projectOf, repositoryOf, userOf } from "./blocks.ts";
import { openCode, pushedBlocks, taggedOf } from "./commits.ts";
import type { HookPayload, Making, ToldHookEvent } from "./making.ts";

/** The name of no object. */
const NOTHING = "0".repeat(40);

interface PushData {
  /** The project's. */
  readonly id: number;
  readonly ref: string;
  readonly before: string | null;
  readonly after: string | null;
  /** The commit with which the others were there before. */
  readonly known?: string;
  readonly count: number;
  readonly options?: readonly string[];
}

/** The payload about a push to a branch or tag. */
export async function pushEvent(
  making: Making,
  { kind, userId, data }: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const { id, ref, before, after, known, count, options = [] } = data as unknown as PushData;
  const project = await projectOf(making, id);
  if (!project) return undefined;
  const isTag = ref.startsWith(TAGS);
  const name = ref.slice((isTag ? TAGS : BRANCHES).length);
  const code = await openCode(making, id);
  const tagged = isTag && after ? await taggedOf(code, after) : undefined;
  const commits =
    tagged?.commits ?? (after ? await pushedBlocks(code, known ? [known] : [], after) : []);
  const rules = await rulesOf(making.store, id, [ref]);
  const user = await userOf(making, userId);
  const { git_ssh_url, git_http_url, visibility_level } = project;
  return {
    event: isTag ? "tag_push" : "push",
    title: isTag ? "Tag Push Hook" : "Push Hook",
    ...(!isTag && { branch: name }),
    body: {
      object_kind: kind,
      event_name: kind,
      before: before ?? NOTHING,
      after: after ?? NOTHING,
      ref,
      ref_protected: (isTag ? rules.tags(name) : rules.branches(name)).length > 0,
      checkout_sha: tagged?.target ?? after,
      message: tagged?.message ?? null,
      user_id: user?.["id"] ?? null,
      user_name: user?.["name"] ?? null,
      user_username: user?.["username"] ?? null,
      user_email: user?.["email"] === "[REDACTED]" ? "" : (user?.["email"] ?? null),
      user_avatar: user?.["avatar_url"] ?? null,
      project_id: id,
      project,
      commits,
      total_commits_count: count,
      push_options: toldOptions(options),
      repository: { ...repositoryOf(project), git_http_url, git_ssh_url, visibility_level },
    },
  };
}

/** The payload about a push as a whole, for system hooks. */
export async function repositoryUpdate(
  making: Making,
  { userId, data }: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const project = await projectOf(making, data.id);
  if (!project) return undefined;
  const changes = data["changes"] as { ref: string }[];
  const user = await userOf(making, userId);
  return {
    event: "repository_update",
    title: "System Hook",
    body: {
      event_name: "repository_update",
      user_id: user?.["id"] ?? null,
      user_name: user?.["name"] ?? null,
      user_email: user?.["email"] === "[REDACTED]" ? "" : (user?.["email"] ?? null),
      user_avatar: user?.["avatar_url"] ?? null,
      project_id: data.id,
      project,
      changes,
      refs: changes.map(({ ref }) => ref),
    },
  };
}
