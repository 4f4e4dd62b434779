import { VISIBILITIES, VISIBILITY_WORDS, visibleGroups } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import {
  arg,
  type ChildQuery,
  enumeration,
  first,
  type GraphqlModule,
  id,
  leaf,
  one,
  required,
  rowType,
  string,
} from "../../graphql/declare.ts";
import { when } from "../../store/conditions.ts";

/** Who may see something, as numbers. */
export const VISIBILITY = enumeration<number>("VisibilityLevelsEnum", "Who may see something.", {
  ...VISIBILITIES,
});

/** How rows of projects belong to a group. */
export const inGroup = (includesSubgroups = true): Pick<ChildQuery, "join" | "parent"> =>
  includesSubgroups
    ? {
        join: "join namespace_ancestors a on a.namespace_id = p.namespace_id",
        parent: "a.ancestor_id",
      }
    : { parent: "p.namespace_id" };

const namespace = rowType("Namespace", {
  about: "A group, or the place of a user's own projects.",
  from: "namespaces n",
  key: "n.id",
  visible: (viewer) => {
    const groups = visibleGroups(viewer);
    return { sql: `(n.kind = 'user' or ${groups.sql})`, values: groups.values };
  },
  fields: {
    id: required(
      leaf(
        "ID",
        field.derived(
          ["n.id", "n.kind"],
          "string",
          ([key, kind]) =>
            `gid://gitlab/${kind === "group" ? "Group" : "Namespaces::UserNamespace"}/${key}`,
        ),
      ),
    ),
    fullPath: required(id("n.full_path")),
    path: required(string("n.path")),
    name: required(string("n.name")),
    fullName: required(string("n.full_name")),
    description: string("n.description"),
    visibility: string(field.word("n.visibility", VISIBILITY_WORDS)),
    parent: one("Group", "n.parent_id"),
  },
});

/** Groups and users' own namespaces. */
export const graphqlModule: GraphqlModule = {
  types: [namespace],
  extend: {
    Query: {
      namespace: first("Namespace", {
        args: { fullPath: arg.required(arg.id) },
        query: ({ fullPath }) => ({ where: when("lower(n.full_path) = lower(?)", fullPath) }),
      }),
    },
    User: {
      namespace: first("Namespace", { query: () => ({ parent: "n.owner_id" }) }),
    },
  },
};
