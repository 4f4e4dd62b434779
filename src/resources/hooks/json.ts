import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { HOOK_TRIGGERS, type HookTrigger, MOST_FAILURES } from "../../hooks/events.ts";

/** The events that hooks of each kind of owner can listen for, as their attributes name them. */
export const EVENTS_OF = {
  system: ["push", "tag_push", "merge_requests", "repository_update"],
  project: HOOK_TRIGGERS.slice(0, HOOK_TRIGGERS.indexOf("subgroup")),
  group: HOOK_TRIGGERS.slice(0, HOOK_TRIGGERS.indexOf("system")),
} as const satisfies Record<string, readonly HookTrigger[]>;

/** Whether a hook works: GitLab's words. */
function alertStatus(failures: number, disabledUntil: number | null, now: number): string {
  if (failures >= MOST_FAILURES) return "disabled";
  return disabledUntil !== null && disabledUntil > now ? "temporarily_disabled" : "executable";
}

const names = (name: string) =>
  field.embedded(name, "array of object", "[]", { items: { key: field.text("key") } });

/** A hook with the attributes of its kind of owner. Its secrets are never shown. */
const hookOf = (kind: keyof typeof EVENTS_OF) =>
  presenter({
    id: field.integer("h.id"),
    url: field.text("h.url"),
    name: field.text("h.name"),
    description: field.text("h.description"),
    created_at: field.instant("h.created_at"),
    ...Object.fromEntries(
      EVENTS_OF[kind].map((event) => [
        `${event}_events`,
        field.flag(`(h.events >> ${HOOK_TRIGGERS.indexOf(event)}) & 1`),
      ]),
    ),
    enable_ssl_verification: field.flag("h.enable_ssl_verification"),
    alert_status: field.derived(
      ["h.failures", "h.disabled_until"],
      "executable, temporarily_disabled, disabled",
      ([failures, until], { now }) => alertStatus(Number(failures), until as number | null, now),
    ),
    disabled_until: field.instant("h.disabled_until"),
    url_variables: names("url_variables"),
    push_events_branch_filter: field.text("h.push_events_branch_filter"),
    branch_filter_strategy: field.text("h.branch_filter_strategy"),
    custom_webhook_template: field.text("h.custom_webhook_template"),
    custom_headers: names("custom_headers"),
    ...(kind === "project" && { project_id: field.integer("h.project_id") }),
    ...(kind === "group" && { group_id: field.integer("h.namespace_id") }),
  });

/** What a hook was sent, and what it answered, by the last attempt. */
export const hookDelivery = presenter({
  id: field.integer("hd.id"),
  url: field.text("hd.url"),
  trigger: field.text("hd.trigger_name"),
  request_headers: field.json("hd.request_headers", "object"),
  request_data: field.json("coalesce(hd.request_data, '{}')", "object"),
  response_headers: field.json("hd.response_headers", "object"),
  response_body: field.text("hd.response_body"),
  execution_duration: field.derived(
    ["hd.execution_duration"],
    "number",
    ([milliseconds]) => Number(milliseconds) / 1000,
  ),
  response_status: field.derived(["hd.response_status"], "string", ([status]) =>
    status === 0 ? "internal error" : String(status),
  ),
  created_at: field.instant("hd.created_at"),
});

/** Hooks by their kind of owner. */
export const hookPresenters = {
  system: hookOf("system"),
  project: hookOf("project"),
  group: hookOf("group"),
};
