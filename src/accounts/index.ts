import { notFound } from "../core/errors.ts";
import * as is from "../core/input.ts";
import * as show from "../core/present.ts";
import { get, type Resource } from "../core/resource.ts";
import * as audit from "./audit-queries.ts";
import { migrations } from "./table.ts";

/** Audit events in GitLab's form; ours all concern accounts. */
const auditEvent = show.shape({
  id: show.integer("a.id"),
  author_id: show.integer("a.author_id"),
  entity_id: show.integer("coalesce(a.user_id, a.author_id)"),
  entity_type: show.constant("User"),
  details: show.nested({
    custom_message: show.text("a.action"),
    author_name: show.text("a.author_name"),
    target_type: show.constant("User"),
    target_details: show.text("a.target"),
    ip_address: show.text("nullif(a.ip, '')"),
    entity_path: show.text("coalesce(u.username, a.author_name)"),
  }),
  created_at: show.instant("a.created_at"),
});

/** Tables shared by all mounts (sessions, attempts, audit log), and the audit log's routes. */
export const accountsResource: Resource = {
  name: "Audit events",
  migrations,
  routes: [
    get("/audit_events", {
      summary: "List security events, newest first",
      access: "admin",
      tier: "premium",
      input: {
        created_after: is.optional(is.instant()),
        created_before: is.optional(is.instant()),
        entity_type: is.optional(
          is.choice(["User", "Group", "Project", "Gitlab::Audit::InstanceScope"]),
        ),
        entity_id: is.optional(is.integer()),
      },
      present: auditEvent,
      handle: ({ db, shape, page, input }) =>
        audit.list(db, shape, page, {
          after: input.created_after,
          before: input.created_before,
          // Other entities have no events: no id is -1.
          entityId:
            input.entity_type === undefined || input.entity_type === "User" ? input.entity_id : -1,
        }),
    }),
    get("/audit_events/:audit_event_id", {
      summary: "Get a security event",
      access: "admin",
      tier: "premium",
      input: { audit_event_id: is.recordId() },
      present: auditEvent,
      handle: async ({ db, shape, input }) => {
        const found = await audit.row(db, shape, input.audit_event_id);
        if (!found) throw notFound();
        return found;
      },
    }),
  ],
};
