import * as param from "../../core/input.ts";
import { SORTS, type TokenFilter } from "./queries.ts";

/** Parameters of lists of personal access tokens. */
export const tokenListInput = {
  state: param.optional(param.choice(["active", "inactive"])),
  revoked: param.optional(param.boolean()),
  search: param.optional(param.anyText()),
  created_before: param.optional(param.instant()),
  created_after: param.optional(param.instant()),
  last_used_before: param.optional(param.instant()),
  last_used_after: param.optional(param.instant()),
  expires_before: param.optional(param.date()),
  expires_after: param.optional(param.date()),
  sort: param.optional(param.choice(SORTS)),
};

/** Converts a list's parameters to a filter. @param today `YYYY-MM-DD` */
export const tokenFilter = (
  input: param.Input<typeof tokenListInput>,
  today: string,
): TokenFilter => ({
  state: input.state,
  revoked: input.revoked,
  search: input.search,
  createdBefore: input.created_before,
  createdAfter: input.created_after,
  lastUsedBefore: input.last_used_before,
  lastUsedAfter: input.last_used_after,
  expiresBefore: input.expires_before,
  expiresAfter: input.expires_after,
  sort: input.sort,
  today,
});
