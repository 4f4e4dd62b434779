import { forbidden, notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { Json, routes } from "../core/resource.ts";
import { mayPlan } from "./issuables/abilities.ts";
import { change } from "./issuables/change.ts";
import { ISSUE } from "./issuables/issue.ts";
import { findIssuable } from "./issuables/rules.ts";
import * as iterations from "./iterations/queries.ts";

/** Puts an issue into an iteration, or takes it out. GitLab does so in GraphQL and in quick actions, but not in REST. */
export const setIteration = routes({ source: "project", features: ["issues"] }).put(
  "/issues/:issue_iid/iteration",
  {
    summary: "Put an issue into an iteration, or take it out",
    tier: "premium",
    input: { issue_iid: param.recordId(), iteration_id: param.orNull(param.integer()) },
    handle: async (context) => {
      const { db, source, input } = context;
      const found = await findIssuable(context, ISSUE, input.issue_iid);
      if (!mayPlan(source)) throw forbidden();
      const { iteration_id: id } = input;
      if (id !== null && !(await iterations.findFor(db, source, { id }))) throw notFound();
      await change(context, ISSUE, found, { columns: { iteration_id: id } });
      return new Json({ id: found.id });
    },
  },
);
