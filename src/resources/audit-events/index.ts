import * as audit from "../../audit/queries.ts";
import { migrations } from "../../audit/table.ts";
import { notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, type Route, routes } from "../../core/resource.ts";
import { seesAllAuditEvents } from "./abilities.ts";

const { get, list } = routes({ path: "/audit_events" });

/** The kinds of what events are about, by GitLab's words. Of the instance itself there are none. */
const KINDS = { User: "user", Group: "group", Project: "project" } as const;

/** Audit events in GitLab's form. */
const auditEvent = presenter({
  id: field.integer("a.id"),
  author_id: field.integer("a.author_id"),
  entity_id: field.integer("coalesce(a.place_id, a.user_id, a.author_id)"),
  entity_type: field.derived(["a.place_kind"], "User, Group, Project", ([kind]) =>
    kind === null ? "User" : kind === "group" ? "Group" : "Project",
  ),
  details: field.nested({
    custom_message: field.text("a.action"),
    author_name: field.text("a.author_name"),
    target_id: field.integer("coalesce(a.user_id, a.place_id, a.author_id)"),
    target_type: field.derived(
      ["a.user_id", "a.place_kind"],
      "User, Group, Project",
      ([user, kind]) =>
        user !== null || kind === null ? "User" : kind === "group" ? "Group" : "Project",
    ),
    target_details: field.text("a.target"),
    ip_address: field.text("nullif(a.ip, '')"),
    entity_path: field.text(
      `case when a.place_id is null then coalesce(${audit.USER_NAME}, a.author_name) else a.place_path end`,
    ),
  }),
  created_at: field.instant("a.created_at"),
});

const between = {
  created_after: param.optional(param.instant()),
  created_before: param.optional(param.instant()),
};
const auditEventId = { audit_event_id: param.recordId() };

/** What the caller sees of a group or project: all for its owners or maintainers, their own deeds for developers. */
function seenIn({ source, caller }: Pick<Context, "source" | "caller">): audit.AuditFilter {
  const entity = { kind: source.kind, id: source.id };
  return { entity, authorId: seesAllAuditEvents(source) ? undefined : caller?.id };
}

/** The events of groups, or of projects. */
function routesOf(source: "group" | "project"): Route[] {
  const within = routes({ source, path: "/audit_events" });
  const all = source === "group" ? "owners" : "maintainers";
  const common = { role: "developer", tier: "premium", presenter: auditEvent } as const;
  return [
    within.list("", {
      ...common,
      summary: `List security events of a ${source}, newest first; whoever is below its ${all} sees their own`,
      input: between,
      handle: ({ db, presenter, page, input, ...context }) =>
        audit.list(db, presenter, page, {
          ...seenIn(context),
          after: input.created_after,
          before: input.created_before,
        }),
    }),
    within.get("/:audit_event_id", {
      ...common,
      summary: `Get a security event of a ${source}`,
      input: auditEventId,
      handle: async ({ db, presenter, input, ...context }) => {
        const found = await audit.row(db, presenter, input.audit_event_id, seenIn(context));
        if (!found) throw notFound();
        return found;
      },
    }),
  ];
}

/** The audit log: all of it for administrators, and that of groups and projects. */
export const auditEventResource: Resource = {
  name: "Audit events",
  migrations,
  routes: [
    list("", {
      summary: "List security events, newest first",
      access: "admin",
      tier: "premium",
      input: {
        ...between,
        entity_type: param.optional(
          param.choice(["User", "Group", "Project", "Gitlab::Audit::InstanceScope"]),
        ),
        entity_id: param.optional(param.integer()),
      },
      presenter: auditEvent,
      handle: ({ db, presenter, page, input: { entity_type, entity_id, ...input } }) => {
        const kind =
          entity_type === "Gitlab::Audit::InstanceScope" ? undefined : KINDS[entity_type ?? "User"];
        const isAll = entity_type === undefined && entity_id === undefined;
        // Nothing has the id -1.
        const entity = kind ? { kind, id: entity_id } : { kind: "group" as const, id: -1 };
        return audit.list(db, presenter, page, {
          after: input.created_after,
          before: input.created_before,
          entity: isAll ? undefined : entity,
        });
      },
    }),
    get("/:audit_event_id", {
      summary: "Get a security event",
      access: "admin",
      tier: "premium",
      input: auditEventId,
      presenter: auditEvent,
      handle: async ({ db, presenter, input }) => {
        const found = await audit.row(db, presenter, input.audit_event_id);
        if (!found) throw notFound();
        return found;
      },
    }),
    ...routesOf("group"),
    ...routesOf("project"),
  ],
};
