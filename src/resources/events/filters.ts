import * as param from "../../core/input.ts";
import type { EventFilter } from "./list.ts";
import { ACTIONS, TARGET_TYPES, type TargetType } from "./record.ts";

/** The attributes that filter and sort events. */
export const filters = {
  action: param.optional(param.choice(ACTIONS)),
  target_type: param.optional(param.choice(Object.keys(TARGET_TYPES) as TargetType[])),
  before: param.optional(param.date()),
  after: param.optional(param.date()),
  sort: param.optional(param.choice(["asc", "desc"])),
};

/** What {@link filters} ask for. Default: all, the newest first. */
export function filterOf(input: param.Input<typeof filters>): EventFilter {
  const { action, target_type: targetType, before, after, sort = "desc" } = input;
  return { action, targetType, before, after, sort };
}
