import { findSource } from "../../core/access/source.ts";
import { avatarOf } from "../../core/avatars.ts";
import { notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { unsupported, unsupportedFlag } from "../../core/kept.ts";
import { presenter } from "../../core/presenter.ts";
import { Json, type Resource, routes } from "../../core/resource.ts";
import * as namespaces from "./list.ts";

const namespace = presenter({
  id: field.integer("n.id"),
  name: field.text("n.name"),
  path: field.text("n.path"),
  kind: field.text("n.kind"),
  full_path: field.text("n.full_path"),
  parent_id: field.integer("n.parent_id"),
  avatar_url: field.derived(
    ["n.kind", "n.avatar_url", "u.avatar_url", "u.username"],
    "URL",
    ([kind, own, avatar, username], view) =>
      kind === "group" ? own && view.base + own : avatarOf(avatar, username, view),
  ),
  web_url: field.derived(
    ["n.kind", "n.full_path"],
    "URL",
    ([kind, path], view) => `${view.base}/${kind === "group" ? "groups/" : ""}${path}`,
  ),
});

const { get, list } = routes({ path: "/namespaces" });

/** Groups and users' own namespaces, as places for projects. */
export const namespaceResource: Resource = {
  name: "Namespaces",
  migrations: [],
  routes: [
    list("", {
      summary:
        "List the caller's own namespace and the groups they belong to; all for administrators",
      input: {
        search: param.optional(param.anyText()),
        owned_only: param.optional(param.boolean()),
        top_level_only: param.optional(param.boolean()),
        full_path_search: unsupportedFlag(),
        requested_hosted_plan: unsupported(param.anyText()),
      },
      presenter: namespace,
      handle: ({ db, presenter, page, viewer, input }) =>
        namespaces.list(db, presenter, page, viewer, {
          search: input.search,
          owned: input.owned_only,
          top: input.top_level_only,
        }),
    }),
    get("/:namespace_id", {
      summary: "Get one of these namespaces by its id or full path",
      input: { namespace_id: param.anyText() },
      presenter: namespace,
      handle: async ({ db, presenter, viewer, input }) => {
        const found = await namespaces.row(db, presenter, viewer, input.namespace_id);
        if (!found) throw notFound("Namespace");
        return found;
      },
    }),
    get("/:path/exists", {
      summary: "Tell whether a path is taken, and suggest a free one",
      input: { path: param.anyText(), parent_id: param.optional(param.recordId()) },
      examples: [{ exists: true, suggests: ["acme1"] }],
      handle: async ({ db, viewer, input: { path, parent_id } }) => {
        const parent =
          parent_id === undefined
            ? undefined
            : await findSource(db, "group", String(parent_id), viewer);
        const free = await namespaces.suggestion(db, path, parent?.fullPath);
        return new Json({ exists: free !== undefined, suggests: free === undefined ? [] : [free] });
      },
    }),
  ],
};
