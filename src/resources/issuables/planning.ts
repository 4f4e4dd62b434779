import { labelOwnerOf } from "../../core/access/owner.ts";
import * as param from "../../core/input.ts";
import { type Context, hasTier } from "../../core/resource.ts";
import type { Reader, Value } from "../../store/port.ts";
import { labelsNamed } from "../labels/rules.ts";
import * as milestones from "../milestones/queries.ts";
import { mayPlan } from "./abilities.ts";
import { columnsOf } from "./attributes.ts";
import type { Wanted } from "./change.ts";
import type { IssuableType, Writing } from "./type.ts";

/** The planning attributes of issuables. They are ignored if the caller is below reporter. */
export const planningInput = {
  labels: param.clearable(param.commaSeparated()),
  add_labels: param.optional(param.commaSeparated()),
  remove_labels: param.optional(param.commaSeparated()),
  milestone_id: param.clearable(param.integer()),
  assignee_id: param.clearable(param.integer()),
  assignee_ids: param.clearable(param.arrayOf(param.integer(), { max: 200 })),
};

/** The values of {@link planningInput}. */
export type Planning = param.Input<typeof planningInput>;

/** The columns of attributes and of the milestone to set, as far as the tier has them and the caller may set them. */
export async function columnsIn(
  { db, source, tier }: Pick<Context, "source" | "tier"> & { readonly db: Reader },
  { prefix }: IssuableType,
  input: Planning,
): Promise<Record<string, Value> & { milestone_id?: number | null }> {
  const plans = mayPlan(source);
  const columns = columnsOf(
    prefix,
    input,
    ({ tier: lowest, isPlanned }, value) =>
      hasTier(tier, lowest) &&
      (plans || !(typeof isPlanned === "function" ? isPlanned(value) : isPlanned)),
  );
  const { milestone_id: id } = input;
  if (!plans || id === undefined) return columns;
  const milestone = id ? await milestones.findFor(db, source, { id }) : undefined;
  return { ...columns, milestone_id: milestone?.id ?? null };
}

/** Whether an input asks for labels or assignees. */
export function isPlanned(input: Planning): boolean {
  const { labels, add_labels, assignee_id, assignee_ids } = input;
  return [labels, add_labels, assignee_id, assignee_ids].some((given) => given !== undefined);
}

/** What an input asks for of labels, assignees and reviewers: nothing if the caller is below reporter. */
export function plannedLinks(
  { db, source, now }: Pick<Writing, "db" | "source" | "now">,
  input: Partial<Planning> & { readonly reviewer_ids?: readonly number[] | null | undefined },
): Pick<Wanted, "labels" | "assignees" | "reviewers"> {
  if (!mayPlan(source)) return {};
  const { labels: named, add_labels: added = [], remove_labels: removed = [] } = input;
  const isLabelled = named !== undefined || added.length + removed.length > 0;
  const { assignee_id, assignee_ids = assignee_id, reviewer_ids } = input;
  const idsIn = (given: number | readonly number[] | null | undefined) =>
    given === undefined ? undefined : [given ?? []].flat();
  return {
    labels: !isLabelled
      ? undefined
      : async (before) => {
          const kept =
            named === undefined ? before.filter(({ name }) => !removed.includes(name)) : [];
          const names = [...new Set([...(named ?? []), ...added])];
          return [
            ...kept.map(({ id }) => id),
            ...(await labelsNamed(db, labelOwnerOf(source), names, now)),
          ];
        },
    assignees: idsIn(assignee_ids),
    reviewers: idsIn(reviewer_ids),
  };
}
