import { VISIBILITIES, VISIBILITY_NAMES, type Viewer } from "../../core/access/visibility.ts";
import * as param from "../../core/input.ts";
import { flagWithoutEffect, unsupported } from "../../core/kept.ts";
import { attributeFilter, customAttributeInput } from "../custom-attributes/queries.ts";
import type { GroupFilter } from "./queries.ts";

/** Parameters of every list of groups. */
export const listInput = {
  search: param.optional(param.anyText()),
  skip_groups: param.optional(param.arrayOf(param.integer(), { max: 500 })),
  owned: param.optional(param.boolean()),
  all_available: param.optional(param.boolean()),
  active: param.optional(param.boolean()),
  archived: param.optional(param.boolean()),
  marked_for_deletion_on: param.optional(param.date()),
  min_access_level: param.optional(param.accessLevel()),
  visibility: param.optional(param.choice(VISIBILITY_NAMES)),
  top_level_only: param.optional(param.boolean()),
  ...customAttributeInput,
  repository_storage: unsupported(param.anyText()),
  // Groups have no statistics.
  statistics: flagWithoutEffect(),
  order_by: param.optional(param.choice(["name", "path", "id"])),
  sort: param.optional(param.choice(["asc", "desc"])),
};

/** Converts a list's parameters of this caller to a filter. */
export function listFilter(input: param.Input<typeof listInput>, viewer: Viewer): GroupFilter {
  return {
    search: input.search,
    skip: input.skip_groups,
    active: input.active,
    archived: input.archived,
    markedOn: input.marked_for_deletion_on,
    role: input.owned ? "owner" : input.min_access_level,
    visibility: input.visibility && VISIBILITIES[input.visibility],
    top: input.top_level_only,
    member: viewer.caller !== undefined && !viewer.caller.admin && !input.all_available,
    orderBy: input.order_by ?? "name",
    sort: input.sort ?? "asc",
    ...attributeFilter(input, viewer),
  };
}
