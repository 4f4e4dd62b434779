import * as audit from "../../audit/queries.ts";
import { migrations } from "../../audit/table.ts";
import { notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";

const { get, list } = routes({ path: "/audit_events" });

/** Audit events in GitLab's form; ours all concern accounts. */
const auditEvent = presenter({
  id: field.integer("a.id"),
  author_id: field.integer("a.author_id"),
  entity_id: field.integer("coalesce(a.user_id, a.author_id)"),
  entity_type: field.constant("User"),
  details: field.nested({
    custom_message: field.text("a.action"),
    author_name: field.text("a.author_name"),
    target_type: field.constant("User"),
    target_details: field.text("a.target"),
    ip_address: field.text("nullif(a.ip, '')"),
    entity_path: field.text(`coalesce(${audit.USER_NAME}, a.author_name)`),
  }),
  created_at: field.instant("a.created_at"),
});

/** The audit log, for administrators. */
export const auditEventResource: Resource = {
  name: "Audit events",
  migrations,
  routes: [
    list("", {
      summary: "List security events, newest first",
      access: "admin",
      tier: "premium",
      input: {
        created_after: param.optional(param.instant()),
        created_before: param.optional(param.instant()),
        entity_type: param.optional(
          param.choice(["User", "Group", "Project", "Gitlab::Audit::InstanceScope"]),
        ),
        entity_id: param.optional(param.integer()),
      },
      presenter: auditEvent,
      handle: ({ db, presenter, page, input }) =>
        audit.list(db, presenter, page, {
          after: input.created_after,
          before: input.created_before,
          // Other entities have no events: no id is -1.
          entityId:
            input.entity_type === undefined || input.entity_type === "User" ? input.entity_id : -1,
        }),
    }),
    get("/:audit_event_id", {
      summary: "Get a security event",
      access: "admin",
      tier: "premium",
      input: { audit_event_id: param.recordId() },
      presenter: auditEvent,
      handle: async ({ db, presenter, input }) => {
        const found = await audit.row(db, presenter, input.audit_event_id);
        if (!found) throw notFound();
        return found;
      },
    }),
  ],
};
