import * as param from "../../core/input.ts";
import { type Resource, routes, type SourceKind } from "../../core/resource.ts";
import { iteration } from "./json.ts";
import * as iterations from "./queries.ts";
import { migrations } from "./table.ts";

const STATES = ["opened", "upcoming", "current", "started", "closed", "all"] as const;

function listOf(source: SourceKind) {
  const { list } = routes({ source, path: "/iterations" });
  return list("", {
    summary: `List the iterations of a ${source === "group" ? "group" : "project's group"} and those above it, by their days`,
    tier: "premium",
    access: "anyone",
    input: {
      state: param.optional(param.choice(STATES)),
      search: param.unlessBlank(param.anyText()),
      in: param.optional(
        param.among(param.commaSeparated({ max: 10 }), ["title", "cadence_title"]),
      ),
      include_ancestors: param.optional(param.boolean()),
      include_descendants: param.optional(param.boolean()),
      updated_after: param.optional(param.looseInstant()),
      updated_before: param.optional(param.looseInstant()),
    },
    presenter: iteration,
    handle: ({ db, presenter, page, source, input, viewer }) => {
      const { state = "all", search: text, in: fields } = input;
      // `started` is the older name of `current`.
      const wanted = state === "started" ? "current" : state;
      return iterations.list(db, presenter, page, viewer, source, {
        state: wanted === "all" ? undefined : wanted,
        search: text === undefined ? undefined : { text, in: iterations.searchedIn(fields) },
        ancestors: input.include_ancestors ?? true,
        descendants: input.include_descendants ?? false,
        updatedAfter: input.updated_after,
        updatedBefore: input.updated_before,
      });
    },
  });
}

/** Iterations of groups, in which issues are. */
export const iterationResource: Resource = {
  name: "Iterations",
  migrations,
  routes: [listOf("group"), listOf("project")],
};
