import { roleOf } from "../../../core/access/roles.ts";
import { VISIBILITY_WORDS } from "../../../core/access/visibility.ts";
import { isoInstant } from "../../../core/time.ts";
import type { Block } from "./blocks.ts";
import type { HookPayload, Making, ToldHookEvent } from "./making.ts";

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/** When a record was created and changed, as payloads say it. */
const times = ({ created_at, updated_at }: Block): Block => ({
  created_at: isoInstant(created_at as number),
  updated_at: isoInstant(updated_at as number),
});

/** The events of a kind of hook: system hooks are told everything as one, groups what they listen for. */
function eventFor(
  { hookOf }: ToldHookEvent,
  own: "subgroup" | "member" | "project",
): Pick<HookPayload, "event" | "title"> | undefined {
  if (hookOf === "system") return { event: "system", title: "System Hook" };
  return hookOf === "group" ? { event: own, title: `${capital(own)} Hook` } : undefined;
}

/** What happens to a member, as events name it. */
const TEAM = {
  add: (to: string) => `user_add_to_${to}`,
  update: (to: string) => `user_update_for_${to}`,
  remove: (to: string) => `user_remove_from_${to}`,
  request: (to: string) => `user_access_request_to_${to}`,
  deny: (to: string) => `user_access_request_revoked_for_${to}`,
} as const;

interface MemberData {
  readonly id: number;
  readonly action: keyof typeof TEAM;
  readonly access_level: number;
  readonly expires_at: string | null;
  readonly group?: number;
  readonly project?: number;
  readonly username: string;
  readonly name: string;
  readonly email: string;
  readonly public_email: string | null;
  readonly of_name: string;
  readonly of_path: string;
  readonly of_full_path: string;
  readonly of_visibility: number;
}

/** The payload about a member of a group or, for system hooks, of a project. */
export async function memberEvent(
  _: Making,
  moment: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const event = eventFor(moment, "member");
  const data = moment.data as unknown as MemberData;
  const isGroup = data.group !== undefined;
  if (!event || (!isGroup && moment.hookOf !== "system")) return undefined;
  const at = isoInstant(moment.at);
  const address = moment.hookOf === "system" ? data.email : data.public_email || "[REDACTED]";
  const level = capital(roleOf(data.access_level) ?? "") || null;
  const where = isGroup
    ? {
        group_name: data.of_name,
        group_path: data.of_path,
        group_id: data.group,
        group_access: level,
        expires_at: data.expires_at,
      }
    : {
        project_name: data.of_name,
        project_path: data.of_path,
        project_path_with_namespace: data.of_full_path,
        project_id: data.project,
        access_level: level,
        project_visibility: VISIBILITY_WORDS[data.of_visibility],
      };
  return {
    ...event,
    body: {
      event_name: TEAM[data.action](isGroup ? "group" : "team"),
      created_at: at,
      updated_at: at,
      ...where,
      user_username: data.username,
      user_name: data.name,
      user_email: address,
      user_id: data.id,
    },
  };
}

/** The payload about a group; groups are only told of those below them. */
export async function groupEvent(
  _: Making,
  moment: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const event = eventFor(moment, "subgroup");
  const { data, hookOf } = moment;
  const isSystem = hookOf === "system";
  if (!event || (!isSystem && data.action === "rename")) return undefined;
  const parent = {
    parent_group_id: data["parent_group_id"],
    parent_name: data["parent_name"],
    parent_path: data["parent_path"],
    parent_full_path: data["parent_full_path"],
  };
  return {
    ...event,
    body: {
      ...times(data),
      event_name: `${isSystem ? "group" : "subgroup"}_${data.action}`,
      name: data["name"],
      path: data["path"],
      full_path: data["full_path"],
      group_id: data.id,
      ...(isSystem ? {} : parent),
      ...(data.action === "rename" && {
        old_path: data["old_path"],
        old_full_path: data["old_full_path"],
      }),
    },
  };
}

/** The payload about a project; groups are told when one below them is created or deleted. */
export async function projectEvent(
  { store }: Making,
  moment: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const event = eventFor(moment, "project");
  const { data, hookOf } = moment;
  const { action } = data;
  if (!event || (hookOf === "group" && action !== "create" && action !== "destroy")) {
    return undefined;
  }
  const owners = await store.all<Block>(
    `select u.name, coalesce(nullif(u.public_email, ''), '[REDACTED]') as email from members m
     join users u on u.id = m.user_id where m.namespace_id = ? and m.access_level = 50 order by u.id limit 100`,
    [data["project_namespace_id"] as number],
  );
  const old = data["old_path_with_namespace"];
  return {
    ...event,
    body: {
      ...times(data),
      event_name: `project_${action}`,
      name: data["name"],
      path: data["path"],
      path_with_namespace: data["path_with_namespace"],
      project_id: data.id,
      project_namespace_id: data["project_namespace_id"],
      owners: owners.map(({ name, email }) => ({ name, email })),
      project_visibility: VISIBILITY_WORDS[data["visibility"] as number],
      ...(old !== undefined && { old_path_with_namespace: old }),
    },
  };
}

/** The payload about an SSH key of a user, for system hooks. */
export async function keyEvent(
  _: Making,
  { data }: ToldHookEvent,
): Promise<HookPayload | undefined> {
  return {
    event: "system",
    title: "System Hook",
    body: {
      ...times(data),
      event_name: `key_${data.action}`,
      username: data["username"],
      key: data["key"],
      id: data.id,
    },
  };
}

/** The payload about a user, for system hooks. */
export async function userEvent(
  _: Making,
  { data, hookOf }: ToldHookEvent,
): Promise<HookPayload | undefined> {
  if (hookOf !== "system") return undefined;
  const old = data["old_username"];
  return {
    event: "system",
    title: "System Hook",
    body: {
      ...times(data),
      event_name: `user_${data.action}`,
      name: data["name"],
      email: data["email"],
      user_id: data.id,
      username: data["username"],
      ...(old !== undefined && { old_username: old }),
      ...(data.action === "failed_login" && { state: data["state"] }),
    },
  };
}
