import { memberProjects, VISIBILITY_WORDS, visibleProjects } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import {
  arg,
  boolean,
  connection,
  type Face,
  first,
  id,
  int,
  one,
  plainGid,
  required,
  rowType,
  string,
  time,
} from "../../graphql/declare.ts";
import { all, when } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";

const project = rowType("Project", {
  about: "A project.",
  from: "projects p join namespaces n on n.id = p.namespace_id",
  key: "p.id",
  visible: visibleProjects,
  fields: {
    id: plainGid("Project", "p.id"),
    fullPath: required(id("p.full_path")),
    path: required(string("p.path")),
    name: required(string("p.name")),
    nameWithNamespace: required(string("n.full_name || ' / ' || p.name")),
    description: string("p.description"),
    visibility: string(field.word("p.visibility", VISIBILITY_WORDS)),
    archived: boolean("p.archived"),
    webUrl: string(field.url("p.full_path", (path) => `/${path}`)),
    avatarUrl: string("p.avatar_url"),
    createdAt: time("p.created_at"),
    updatedAt: time("p.updated_at"),
    lastActivityAt: time("p.last_activity_at"),
    starCount: required(int("p.star_count")),
    group: one("Group", "p.namespace_id"),
  },
});

/** Projects. */
export const face: Face = {
  types: [project],
  extend: {
    Query: {
      project: first("Project", {
        args: { fullPath: arg.required(arg.id) },
        query: ({ fullPath }) => ({ where: when("lower(p.full_path) = lower(?)", fullPath) }),
      }),
      projects: connection("Project", {
        args: { search: arg.string, membership: arg.boolean },
        query: ({ search, membership }, { viewer }) => ({
          where: all([
            membership ? memberProjects(viewer) : undefined,
            search ? contains(["p.name", "p.path", "p.description"], search) : undefined,
          ]),
          order: [{ sql: "p.id", descending: true }],
        }),
      }),
    },
    Group: {
      projects: required(
        connection("Project", {
          args: { includeSubgroups: arg.withDefault(arg.boolean, false), search: arg.string },
          query: ({ includeSubgroups, search }) => ({
            ...(includeSubgroups
              ? {
                  join: "join namespace_ancestors a on a.namespace_id = p.namespace_id",
                  parent: "a.ancestor_id",
                }
              : { parent: "p.namespace_id" }),
            where: search ? contains(["p.name", "p.path"], search) : undefined,
            order: [{ sql: "p.id", descending: true }],
          }),
        }),
      ),
    },
  },
};
