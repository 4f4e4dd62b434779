import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { paginate } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { findIssuable } from "../issuables/rules.ts";
import { userFields } from "../users/json.ts";
import { migrations } from "./table.ts";

const reviewer = presenter({
  user: field.nested(userFields("u")),
  state: field.text("rv.state"),
  created_at: field.instant("rv.created_at"),
});

const { list } = routes({
  source: "project",
  path: "/merge_requests/:merge_request_iid",
  features: ["merge_requests"],
});

/** Reviewers of merge requests. */
export const reviewerResource: Resource = {
  name: "Reviewers",
  migrations,
  routes: [
    list("/reviewers", {
      summary: "List the reviewers of a merge request, and what they have said",
      access: "anyone",
      input: { merge_request_iid: param.recordId() },
      presenter: reviewer,
      handle: async (context) => {
        const { db, presenter: shown, page, input } = context;
        const { id } = await findIssuable(context, MERGE_REQUEST, input.merge_request_iid);
        return paginate(db, shown, page, {
          from: "merge_request_reviewers rv join users u on u.id = rv.user_id where rv.merge_request_id = ?",
          values: [id],
          order: "rv.user_id",
        });
      },
    }),
  ],
};
