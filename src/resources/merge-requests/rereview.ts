import { forbidden, invalid } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { Json, routes } from "../../core/resource.ts";
import { mayUpdate } from "../issuables/abilities.ts";
import { happened } from "../issuables/change.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { peopleOf } from "../issuables/queries.ts";
import { findIssuable } from "../issuables/rules.ts";
import { setReviewState } from "../reviewers/queries.ts";

const { post } = routes({ source: "project", features: ["merge_requests"] });

/** Asks a reviewer of a merge request again: for GraphQL. */
export const rereview = post("/merge_requests/:merge_request_iid/rereview", {
  summary: "Ask a reviewer of a merge request again",
  input: { merge_request_iid: param.recordId(), user_id: param.recordId() },
  handle: async (context) => {
    const { db, input } = context;
    const found = await findIssuable(context, MERGE_REQUEST, input.merge_request_iid);
    if (!mayUpdate(MERGE_REQUEST)(found, context)) throw forbidden();
    const reviewers = await peopleOf(db, MERGE_REQUEST, "reviewers", found.id);
    if (!reviewers.includes(input.user_id)) throw invalid({ base: ["Reviewer not found"] });
    await setReviewState(db, found.id, input.user_id, "unreviewed");
    await happened(context, MERGE_REQUEST, found, { asked: input.user_id });
    return new Json({ id: found.id });
  },
});
