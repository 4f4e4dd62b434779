import { BEING_DELETED } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { paginate } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { type Route, routes } from "../../core/resource.ts";
import { requireUser } from "../users/rules.ts";

/** The columns with what a membership is of, by the words of GitLab. */
const SOURCES = { Project: "m.project_id", Namespace: "m.namespace_id" } as const;

const membership = presenter({
  source_id: field.integer("coalesce(m.project_id, m.namespace_id)"),
  source_name: field.text("coalesce(p.name, n.name)"),
  source_type: field.derived(["m.project_id"], "Project, Namespace", ([project]) =>
    project === null ? "Namespace" : "Project",
  ),
  access_level: field.integer("m.access_level"),
});

/** The memberships of users. */
export const ofUsers: readonly Route[] = [
  routes().list("/users/:user_id/memberships", {
    summary: "List the groups and projects that a user is a direct member of",
    access: "admin",
    input: {
      user_id: param.recordId(),
      type: param.optional(param.choice(["Project", "Namespace"])),
    },
    presenter: membership,
    handle: async ({ db, presenter, page, input: { user_id, type } }) => {
      const { id } = await requireUser(db, user_id);
      const ofType = type === undefined ? "" : ` and ${SOURCES[type]} is not null`;
      return paginate(db, presenter, page, {
        from: `members m left join projects p on p.id = m.project_id
          left join namespaces n on n.id = m.namespace_id
          where m.user_id = ? and coalesce(p.visibility, n.visibility) > ${BEING_DELETED}${ofType}`,
        values: [id],
        order: "m.id",
      });
    },
  }),
];
