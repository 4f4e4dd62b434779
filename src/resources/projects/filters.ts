import { VISIBILITIES, VISIBILITY_NAMES, type Viewer } from "../../core/access/visibility.ts";
import * as param from "../../core/input.ts";
import { flagWithoutEffect, unsupported, unsupportedFlag } from "../../core/kept.ts";
import { attributeFilter, customAttributeInput } from "../custom-attributes/queries.ts";
import { COLUMN_ORDERS, type ProjectFilter, type ProjectOrder } from "./list.ts";
import { SIZE_ORDERS, type SizeOrder } from "./sizes.ts";

/** The most topics that a list can be narrowed to: each is another condition. */
const MAX_TOPICS = 20;

/** Parameters of every list of projects. */
export const projectListInput = {
  archived: param.optional(param.boolean()),
  active: param.optional(param.boolean()),
  marked_for_deletion_on: param.optional(param.date()),
  visibility: param.optional(param.choice(VISIBILITY_NAMES)),
  search: param.optional(param.anyText()),
  simple: param.optional(param.boolean()),
  owned: param.optional(param.boolean()),
  starred: param.optional(param.boolean()),
  min_access_level: param.optional(param.accessLevel()),
  with_issues_enabled: param.optional(param.boolean()),
  with_merge_requests_enabled: param.optional(param.boolean()),
  last_activity_after: param.optional(param.looseInstant()),
  last_activity_before: param.optional(param.looseInstant()),
  updated_after: param.optional(param.looseInstant()),
  updated_before: param.optional(param.looseInstant()),
  id_after: param.optional(param.integer()),
  id_before: param.optional(param.integer()),
  search_namespaces: param.optional(param.boolean()),
  imported: unsupportedFlag(),
  repository_checksum_failed: unsupportedFlag(),
  wiki_checksum_failed: unsupportedFlag(),
  ...customAttributeInput,
  with_security_reports: unsupportedFlag(),
  repository_storage: unsupported(param.anyText()),
  with_programming_language: unsupported(param.anyText()),
  // Nothing is hidden, and projects that are marked for deletion are listed.
  include_hidden: flagWithoutEffect(),
  include_pending_delete: flagWithoutEffect(),
  topic: param.optional(param.commaSeparated({ max: MAX_TOPICS })),
  topic_id: param.optional(param.integer()),
  order_by: param.optional(
    param.choice([...COLUMN_ORDERS, "similarity", ...(Object.keys(SIZE_ORDERS) as SizeOrder[])]),
  ),
  sort: param.optional(param.choice(["asc", "desc"])),
};

/**
 * The order a list's parameters ask for. Default: newest first, as in GitLab also where there is no search to be similar
 * to, and where others than administrators ask for an order by sizes.
 */
export function projectOrder(
  { order_by: asked = "created_at", sort = "desc", search }: param.Input<typeof projectListInput>,
  { caller }: Viewer,
): ProjectOrder {
  const isOpen = asked in SIZE_ORDERS ? caller?.admin : asked !== "similarity" || search;
  return { orderBy: isOpen ? asked : "created_at", sort };
}

/** Converts a list's parameters of this caller to a filter. */
export function projectFilter(
  input: param.Input<typeof projectListInput>,
  { caller }: Viewer,
): ProjectFilter {
  return {
    archived: input.archived,
    active: input.active,
    markedOn: input.marked_for_deletion_on,
    visibility: input.visibility && VISIBILITIES[input.visibility],
    search: input.search,
    owned: input.owned,
    starredBy: input.starred ? (caller?.id ?? 0) : undefined,
    role: input.min_access_level,
    withIssuesEnabled: input.with_issues_enabled,
    withMergeRequestsEnabled: input.with_merge_requests_enabled,
    activeSince: input.last_activity_after,
    activeUntil: input.last_activity_before,
    updatedSince: input.updated_after,
    updatedUntil: input.updated_before,
    idAfter: input.id_after,
    idBefore: input.id_before,
    searchesNamespaces: input.search_namespaces,
    topics: input.topic,
    topicId: input.topic_id,
    ...attributeFilter(input, { caller }),
  };
}
