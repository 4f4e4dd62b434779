import {
  connection,
  costing,
  enumeration,
  type GraphqlModule,
  loaded,
  property,
  required,
  valueType,
} from "../../graphql/declare.ts";
import { among } from "../../store/conditions.ts";
import type { Value } from "../../store/port.ts";
import { type RuleState, statesOf } from "../approval-state/state.ts";
import { rulesOfAll } from "./answers.ts";

const TYPE = enumeration("ApprovalRuleType", "Who can approve for a rule.", [
  "ANY_APPROVER",
  "CODE_OWNER",
  "REGULAR",
  "REPORT_APPROVER",
]);

/** A rule with how far it is, as REST shows it. */
interface ShownRule extends Record<string, unknown> {
  readonly state: RuleState;
}

const idsOf = (name: string) => (rule: ShownRule) =>
  (rule[name] as { id: number }[]).map(({ id }) => id);

/** Users of a rule, as pages. */
const people = (name: string) =>
  costing(
    1,
    connection("UserCore", {
      needs: [],
      query: (_, __, [shown]) => ({
        where: among("u.id", idsOf(name)(shown as unknown as ShownRule)),
      }),
    }),
  );

const rule = valueType("ApprovalRule", "A rule about the approvals of a merge request.", {
  id: required(
    property("ID", ({ state }: ShownRule) => `gid://gitlab/ApprovalMergeRequestRule/${state.id}`),
  ),
  name: property("String"),
  type: {
    ...property(TYPE.name, ({ state }: ShownRule) => state.rule_type.toUpperCase()),
    declares: TYPE,
  },
  section: property("String"),
  approvalsRequired: property("Int", ({ state }: ShownRule) => state.required),
  approved: property("Boolean", ({ state }: ShownRule) => state.isApproved),
  overridden: property("Boolean"),
  invalid: property("Boolean", ({ state }: ShownRule) => state.isInvalid),
  allowMergeWhenInvalid: property("Boolean", ({ state }: ShownRule) => state.isInvalid),
  containsHiddenGroups: property("Boolean", (shown: ShownRule) => shown["contains_hidden_groups"]),
  approvedBy: people("approved_by"),
  users: people("users"),
  eligibleApprovers: property("[UserCore!]", idsOf("eligible_approvers")),
});

const state = valueType("MergeRequestApprovalState", "The rules that count for a merge request.", {
  approvalRulesOverwritten: property("Boolean"),
  rules: { ...property(`[${rule.name}!]`), declares: rule },
  invalidApproversRules: property(`[${rule.name}!]`, ({ rules }: { rules: readonly ShownRule[] }) =>
    rules.filter(({ state: { isInvalid } }) => isInvalid),
  ),
});

/** What merge requests say of the rules about their approvals. */
export const graphqlModule: GraphqlModule = {
  extend: {
    MergeRequest: {
      approvalState: required(
        costing(
          5,
          loaded(state, async (ids, context) => {
            const { db, tier, viewer, view } = context;
            const states = await statesOf(db, ids as number[], tier, viewer.today);
            const entries = [...states];
            const rules = await rulesOfAll(
              { db, view, viewer },
              entries.map(([, one]) => one),
            );
            return new Map(
              entries.map(([id, one], at): [Value, object] => [
                id,
                {
                  approvalRulesOverwritten: one.isOverwritten,
                  rules: one.rules.map((ruled, index) => ({ ...rules[at]?.[index], state: ruled })),
                },
              ]),
            );
          }),
        ),
      ),
    },
  },
};
