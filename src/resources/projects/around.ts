import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Route, routes } from "../../core/resource.ts";
import { userFields } from "../users/json.ts";
import { starrers, withAccess } from "./people.ts";

const project = routes({ source: "project" });

const search = param.optional(param.anyText());

const starrer = presenter({
  starred_since: field.instant("s.created_at"),
  user: field.nested(userFields("u")),
});

/** Who is around a project: who has access to it, and who has starred it. */
export const aroundRoutes: readonly Route[] = [
  project.list("/users", {
    summary:
      "List the users who have access to a project, as its members or of a group that it is in",
    access: "anyone",
    input: {
      search,
      skip_users: param.optional(param.arrayOf(param.integer(), { max: 500 })),
    },
    presenter: presenter(userFields("u")),
    handle: ({ db, presenter, page, viewer, source, input }) =>
      withAccess(db, presenter, page, viewer, source, {
        search: input.search,
        skip: input.skip_users,
      }),
  }),
  project.list("/starrers", {
    summary: "List the users who have starred a project",
    access: "anyone",
    input: { search },
    presenter: starrer,
    handle: ({ db, presenter, page, viewer, source, input }) =>
      starrers(db, presenter, page, viewer, source.id, input.search),
  }),
];
