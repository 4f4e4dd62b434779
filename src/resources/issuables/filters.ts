import type { Caller } from "../../core/access/caller.ts";
import type { Source } from "../../core/access/source.ts";
import { invalid, unauthorized } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import type { Condition } from "../../store/conditions.ts";
import { type Negated, negatedOf } from "./negated.ts";
import type { ComputedOrder } from "./orders.ts";

/** The attributes of every list of issuables. The states to filter by differ. */
export const listInput = {
  iids: param.optional(param.arrayOf(param.integer(), { max: 500 })),
  labels: param.optional(param.commaSeparated()),
  milestone: param.optional(param.anyText()),
  search: param.optional(param.anyText()),
  in: param.optional(param.commaSeparated({ max: 10 })),
  author_id: param.optional(param.integer()),
  author_username: param.optional(param.anyText()),
  assignee_id: param.optional(param.anyText()),
  assignee_username: param.optional(param.arrayOf(param.anyText(), { max: 20 })),
  my_reaction_emoji: param.optional(param.anyText()),
  created_after: param.optional(param.writtenInstant()),
  created_before: param.optional(param.writtenInstant()),
  updated_after: param.optional(param.writtenInstant()),
  updated_before: param.optional(param.writtenInstant()),
  scope: param.optional(
    param.choice(["created_by_me", "assigned_to_me", "all", "created-by-me", "assigned-to-me"]),
  ),
  sort: param.optional(param.choice(["asc", "desc"])),
};

/** A filter that only one of the types has. */
interface OwnFilter {
  condition: Condition;
  /** A query for the ids of all rows that match it, if there is an index for that. */
  ids?: Condition;
  /** Whether most rows may match it. */
  isBroad?: true;
}

/** Where and when merge requests were deployed. */
export interface Deployed {
  environment?: string | undefined;
  after?: number | undefined;
  before?: number | undefined;
}

/** An order that has an index: the name of a column. Only issues have a `relative_position`. */
type IndexedOrder = "created_at" | "updated_at" | "relative_position";

/** Whether an index has an order. */
export const isIndexed = (order: Filter["orderBy"]): order is IndexedOrder =>
  order === "created_at" || order === "updated_at" || order === "relative_position";

/** Filters and order of lists of issuables. */
export interface Filter {
  projectId?: number | undefined;
  /** Only those in projects of this group and its subgroups. */
  groupId?: number | undefined;
  iids?: readonly number[] | undefined;
  state?: string | undefined;
  /** Only those that have all of these labels, no label, or any label. */
  labels?: readonly string[] | "none" | "any" | undefined;
  /** Only those with a milestone of this title, no milestone, or any milestone. */
  milestone?: { title: string } | "none" | "any" | undefined;
  search?: string | undefined;
  /** Where to search. Default: in titles and descriptions. */
  searchIn?: readonly ("title" | "description")[] | undefined;
  authorId?: number | undefined;
  authorUsername?: string | undefined;
  assigneeId?: number | "none" | "any" | undefined;
  assigneeUsernames?: readonly string[] | undefined;
  /** Only those the caller gave this emoji, none, or any; ignored for anonymous callers. */
  reaction?: { name: string } | "none" | "any" | undefined;
  createdAfter?: number | undefined;
  createdBefore?: number | undefined;
  updatedAfter?: number | undefined;
  updatedBefore?: number | undefined;
  /** Only those of this milestone, if it belongs to this group or project. */
  ofMilestone?: { id: number; owner: Pick<Source, "column" | "id"> } | undefined;
  negated?: Negated | undefined;
  /** Only merge requests that came to an environment, of a project whose deployments the caller may read. */
  deployed?: Deployed | undefined;
  /** Filters that only one of the types has. */
  own?: readonly OwnFilter[];
  orderBy: IndexedOrder | ComputedOrder;
  sort: "asc" | "desc";
}

/** Which issuables a list shows if the caller sends no `scope`. */
export type DefaultScope = "created_by_me" | "all";

/** `None` and `Any` are keywords, ignoring case. */
function reactionOf(sent: string | undefined): Filter["reaction"] {
  const word = sent?.toLowerCase();
  if (word === "none" || word === "any") return word;
  return sent ? { name: sent } : undefined;
}

const SEARCHED = ["title", "description"] as const;

/** Where a list searches: in what `in` names, else everywhere. */
function searchedIn(sent: readonly string[] = []): Filter["searchIn"] {
  const named = SEARCHED.filter((column) => sent.includes(column));
  return named.length > 0 ? named : undefined;
}

const NONE = ["none", "no label", "no milestone", "no+label", "no+milestone"];

function noneOrAny(word: string | undefined): "none" | "any" | undefined {
  const lower = word?.toLowerCase() ?? "";
  return NONE.includes(lower) ? "none" : lower === "any" ? "any" : undefined;
}

/**
 * The user that a filter asks for by their id.
 *
 * @param name of the filter
 * @throws ApiError 400
 */
export function userOf(
  name: string,
  value: string | undefined,
): number | "none" | "any" | undefined {
  const special = value === "0" ? "none" : noneOrAny(value);
  if (special || !value) return special;
  if (!/^\d{1,15}$/.test(value)) throw invalid({ [name]: ["is invalid"] });
  return Number(value);
}

/**
 * Parses a date, or an ISO 8601 date and time, which is in UTC if it has no offset.
 *
 * @throws ApiError 400
 */
export function instantOf(name: string, value: string | undefined): number | undefined {
  if (!value) return undefined;
  const text = value.trim().replace(/^(\d{4}-\d{2}-\d{2}) (\d)/, "$1T$2");
  const zoned = /^\d{4}-\d{2}-\d{2}T[\d:.]+$/.test(text) ? `${text}Z` : text;
  const at = /^\d{4}-\d{2}-\d{2}(T|$)/.test(text) ? Date.parse(zoned) : Number.NaN;
  if (Number.isNaN(at)) throw invalid({ [name]: ["is invalid"] });
  return at;
}

/**
 * The filter that a list's input describes.
 *
 * @throws ApiError 400, or 401 if an anonymous caller asks for their own
 */
export function filterOf(
  input: param.Input<typeof listInput> & {
    order_by?: Filter["orderBy"] | undefined;
    state?: string | undefined;
    not?: Parameters<typeof negatedOf>[0];
  },
  caller: Caller | undefined,
  defaultScope: DefaultScope,
): Filter {
  const scope = (input.scope ?? defaultScope).replaceAll("-", "_");
  if (scope !== "all" && !caller) throw unauthorized();
  const special = noneOrAny(input.labels?.length === 1 ? input.labels[0] : undefined);
  const { milestone } = input;
  return {
    iids: input.iids?.length ? input.iids : undefined,
    state: input.state === "all" ? undefined : input.state,
    labels: special ?? input.labels,
    milestone: noneOrAny(milestone) ?? (milestone ? { title: milestone } : undefined),
    search: input.search,
    searchIn: searchedIn(input.in),
    authorId: scope === "created_by_me" ? caller?.id : input.author_id,
    authorUsername: input.author_username,
    assigneeId: scope === "assigned_to_me" ? caller?.id : userOf("assignee_id", input.assignee_id),
    assigneeUsernames: input.assignee_username,
    reaction: reactionOf(input.my_reaction_emoji),
    createdAfter: instantOf("created_after", input.created_after),
    createdBefore: instantOf("created_before", input.created_before),
    updatedAfter: instantOf("updated_after", input.updated_after),
    updatedBefore: instantOf("updated_before", input.updated_before),
    negated: negatedOf(input.not),
    orderBy: input.order_by ?? "created_at",
    sort: input.sort ?? "desc",
  };
}
