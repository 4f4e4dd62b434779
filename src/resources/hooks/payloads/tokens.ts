import * as field from "../../../core/field.ts";
import { presenter } from "../../../core/presenter.ts";
import { blockOf, projectOf } from "./blocks.ts";
import type { HookPayload, Making, ToldHookEvent } from "./making.ts";

const token = presenter({
  user_id: field.integer("t.user_id"),
  created_at: field.instant("t.created_at"),
  id: field.integer("t.id"),
  name: field.text("t.name"),
  expires_at: field.date("t.expires_at"),
  project_id: field.integer("rb.project_id"),
  group: field.nested({
    group_id: field.integer("n.id"),
    group_name: field.text("n.name"),
    group_path: field.text("n.path"),
  }),
});

const FROM = `tokens t join resource_bots rb on rb.user_id = t.user_id
  left join namespaces n on n.id = rb.namespace_id where t.id = ?`;

/** The payload about an access token of a group or project that is about to expire. */
export async function accessTokenEvent(
  making: Making,
  { data }: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const found = await blockOf(making, token, FROM, [data.id]);
  if (!found) return undefined;
  const { project_id: projectId, group, ...attributes } = found;
  return {
    event: "resource_access_token",
    title: "Resource Access Token Hook",
    body: {
      object_kind: "access_token",
      ...(projectId === null
        ? { group }
        : { project: await projectOf(making, projectId as number) }),
      object_attributes: attributes,
      event_name: "expiring_access_token",
    },
  };
}
