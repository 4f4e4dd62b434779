import { VISIBILITY_WORDS, visibleGroups } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import {
  arg,
  boolean,
  connection,
  type Face,
  first,
  id,
  one,
  plainGid,
  required,
  rowType,
  string,
  time,
} from "../../graphql/declare.ts";
import { all, when } from "../../store/conditions.ts";
import { contains } from "../../store/patterns.ts";

const group = rowType("Group", {
  about: "A group.",
  from: "namespaces n",
  key: "n.id",
  visible: (viewer) => all([when("n.kind = 'group'"), visibleGroups(viewer)]),
  fields: {
    id: plainGid("Group", "n.id"),
    fullPath: required(id("n.full_path")),
    path: required(string("n.path")),
    name: required(string("n.name")),
    fullName: required(string("n.full_name")),
    description: string("n.description"),
    visibility: string(field.word("n.visibility", VISIBILITY_WORDS)),
    webUrl: required(string(field.url("n.full_path", (path) => `/groups/${path}`))),
    webPath: required(string("'/groups/' || n.full_path")),
    avatarUrl: string("n.avatar_url"),
    createdAt: time("n.created_at"),
    updatedAt: time("n.updated_at"),
    requestAccessEnabled: boolean("n.request_access_enabled"),
    parent: one("Group", "n.parent_id"),
    descendantGroups: connection("Group", {
      args: { search: arg.string },
      query: ({ search }) => ({
        join: "join namespace_ancestors a on a.namespace_id = n.id and a.ancestor_id <> n.id",
        parent: "a.ancestor_id",
        where: search ? contains(["n.name", "n.path"], search) : undefined,
      }),
    }),
  },
});

/** Groups. */
export const face: Face = {
  types: [group],
  extend: {
    Query: {
      group: first("Group", {
        args: { fullPath: arg.required(arg.id) },
        query: ({ fullPath }) => ({ where: when("lower(n.full_path) = lower(?)", fullPath) }),
      }),
    },
  },
};
