import { codeRole } from "../../core/access/source.ts";
import { conflict, unauthorized } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { Json, type Route, routes } from "../../core/resource.ts";
import { queueTask } from "../ci/progress.ts";
import { change } from "../issuables/change.ts";
import { rowOf } from "../issuables/embed.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { findIssuable } from "../issuables/rules.ts";
import { mayMergeRequest } from "../protected-refs/abilities.ts";
import { orDiscard } from "../repositories/write.ts";
import { carOf } from "../train-state/cars.ts";
import {
  applyMerge,
  noteAutoMerge,
  noteRefusal,
  requireReady,
  stageMerge,
  waitToMerge,
} from "./merge.ts";
import { storeMergeRef } from "./merge-ref.ts";
import * as requests from "./queries.ts";
import { applyRebase, stageRebase } from "./rebase.ts";

const number = { merge_request_iid: param.recordId() };

const message = param.unlessBlank(param.text({ max: param.LONG_TEXT }));

const { get, post, put } = routes({
  source: "project",
  path: "/merge_requests/:merge_request_iid",
  features: ["merge_requests"],
});

/**
 * Lets a merge request wait to be merged, for the options of pushes: whether it is ready is found out once the pipelines of
 * the push are made.
 */
export const mergeLater: Route = put("/merge_later", {
  summary: "Merge a merge request as soon as it is ready",
  input: { ...number, sha: param.optional(param.anyText()) },
  presenter: MERGE_REQUEST.single,
  handle: async (context) => {
    const { db, source, input, now } = context;
    const found = await findIssuable(context, MERGE_REQUEST, input.merge_request_iid);
    if (found.state !== "opened") throw conflict();
    const request = { ...found, ...(await requests.branchesOf(db, found.id)) };
    if (!(await mayMergeRequest(db, source, request.id))) throw unauthorized();
    await waitToMerge(context, request, input);
    await queueTask(db, { ready: found.id }, now, request.source_project_id ?? undefined);
    return rowOf(context, MERGE_REQUEST, found.id);
  },
});

/** Merging merge requests, and what prepares it. */
export const mergeRoutes: readonly Route[] = [
  put("/merge", {
    summary:
      "Merge a merge request; 405 if it is not ready, 406 for conflicts, 409 if `sha` is not its head, 422 if a push rule refuses it",
    input: {
      ...number,
      sha: param.optional(param.anyText()),
      squash: param.optional(param.boolean()),
      should_remove_source_branch: param.optional(param.boolean()),
      merge_commit_message: message,
      squash_commit_message: message,
      merge_when_pipeline_succeeds: param.optional(param.boolean()),
      auto_merge: param.optional(param.boolean()),
    },
    presenter: MERGE_REQUEST.single,
    prepare: (input, preparing) => stageMerge(preparing, input),
    handle: async (context) => {
      const { db, source, input, prepared: staged } = context;
      const found = await findIssuable(context, MERGE_REQUEST, input.merge_request_iid);
      const request = { ...found, ...(await requests.branchesOf(db, found.id)) };
      const isRefused = await orDiscard(
        staged === "later" ? undefined : staged.received,
        async () => {
          if (!(await mayMergeRequest(db, source, request.id))) throw unauthorized();
          if (staged === "later") return noteAutoMerge(context, request, input);
          await requireReady(context, request, input.sha);
          if (await noteRefusal(context, request.id, staged)) return true;
          return applyMerge(context, request, staged, input);
        },
      );
      // GitLab's answer says no more than that; the reason is the merge request's `merge_error`.
      if (isRefused) return new Json({ message: "Branch cannot be merged" }, 422);
      return rowOf(context, MERGE_REQUEST, found.id);
    },
  }),
  post("/cancel_merge_when_pipeline_succeeds", {
    summary: "No longer merge a merge request as soon as it is ready",
    input: number,
    examples: [{ status: "success" }],
    handle: async (context) => {
      const { db, source, caller, input } = context;
      const found = await findIssuable(context, MERGE_REQUEST, input.merge_request_iid);
      const isOwn = found.author_id === caller.id;
      if (!isOwn && !(await mayMergeRequest(db, source, found.id))) throw unauthorized();
      if (await requests.isWaiting(db, found.id)) {
        // Of one in a merge train, what follows from that is noted.
        const note = (await carOf(db, found.id)) ? undefined : "canceled the automatic merge";
        await change(
          context,
          MERGE_REQUEST,
          found,
          { columns: { auto_merge: 0 } },
          note ? { note } : {},
        );
      }
      return new Json({ status: "success" });
    },
  }),
  put("/rebase", {
    summary: "Rebase the source branch of a merge request onto its target branch",
    input: { ...number, skip_ci: param.optional(param.boolean()) },
    status: 202,
    examples: [{ rebase_in_progress: true }],
    prepare: ({ merge_request_iid }, preparing) => stageRebase(preparing, merge_request_iid),
    role: codeRole,
    handle: async ({ db, prepared: staged, now }) => {
      await orDiscard(staged.received, () => applyRebase(db, staged, now));
      return new Json({ rebase_in_progress: true });
    },
  }),
  get("/merge_ref", {
    summary: "Get the commit that merging would make, kept as `refs/merge-requests/…/merge`",
    input: number,
    examples: [{ commit_id: "6104942438c14ec7bd21c6cd5bd995272b3faff6" }],
    prepare: ({ merge_request_iid }, preparing) => storeMergeRef(preparing, merge_request_iid),
    handle: ({ prepared: commit_id }) => new Json({ commit_id }),
  }),
];
