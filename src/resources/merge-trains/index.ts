import { badRequest, forbidden, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { paginate } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, Json, type Resource, routes } from "../../core/resource.ts";
import { all, when } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { HEAD, hasHeadSucceeded, isHeadActive } from "../ci/heads.ts";
import { pipelineFields, wholeSeconds } from "../ci/json.ts";
import { queueTask } from "../ci/progress.ts";
import { plainFields } from "../issuables/fields.ts";
import { mergeStateOf } from "../issuables/merge-checks.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { findIssuable } from "../issuables/rules.ts";
import { checkCode } from "../merge-requests/code.ts";
import { waitToMerge } from "../merge-requests/merge.ts";
import { branchesOf } from "../merge-requests/queries.ts";
import { mayMergeRequest } from "../protected-refs/abilities.ts";
import { carOf, trainSettingsOf } from "../train-state/cars.ts";
import { userFields } from "../users/json.ts";
import { migrations } from "./table.ts";

const car = presenter({
  id: field.integer("mt.id"),
  merge_request: field.nested(plainFields(MERGE_REQUEST)),
  user: field.nested(userFields("u")),
  pipeline: field.nested(pipelineFields),
  created_at: field.instant("mt.created_at"),
  updated_at: field.instant("mt.updated_at"),
  target_branch: field.text("mt.target_branch"),
  status: {
    ...field.text(
      "case when mt.status <> 'idle' then mt.status when pl.id is null then 'idle' else 'fresh' end",
    ),
    type: "idle, fresh, merging, merged, skip_merged",
  },
  merged_at: field.instant("mt.merged_at"),
  duration: wholeSeconds("mt.created_at", "mt.merged_at"),
});

/** Pipelines of forks are not shown: readers of the project may not be allowed to read the fork. */
const CARS = `merge_train_cars mt join projects p on p.id = mt.project_id
  join merge_requests mr on mr.id = mt.merge_request_id left join users u on u.id = mt.user_id
  left join pipelines pl on pl.project_id = mt.project_id
    and pl.id = case when mt.merged_at is null then ${HEAD} else mt.pipeline_id end`;

const filters = {
  scope: param.optional(param.choice(["active", "complete"])),
  sort: param.optional(param.choice(["asc", "desc"])),
};
const number = { merge_request_iid: param.recordId() };

const USER = {
  id: 4,
  username: "maintainer",
  name: "Maintainer",
  state: "active",
  avatar_url: null,
  web_url: "https://gitlab.example.com/maintainer",
};

const EXAMPLE = {
  id: 1,
  merge_request: {
    id: 7,
    iid: 3,
    project_id: 1,
    title: "A change",
    description: null,
    state: "opened",
    created_at: "2026-12-01T10:00:00.000Z",
    updated_at: "2026-12-01T10:00:00.000Z",
    web_url: "https://gitlab.example.com/acme/site/-/merge_requests/3",
  },
  user: USER,
  pipeline: null,
  created_at: "2026-12-01T10:00:00.000Z",
  updated_at: "2026-12-01T10:00:00.000Z",
  target_branch: "main",
  status: "idle",
  merged_at: null,
  duration: null,
};

/** Cars that an answer about one of them shows, at most. */
const MOST_SHOWN = 100;

const { get, list, post } = routes({
  source: "project",
  path: "/merge_trains",
  features: ["merge_requests"],
});
const reading = { role: "developer", tier: "premium", presenter: car } as const;

type Listing = Pick<Context, "presenter" | "page" | "source"> & {
  readonly db: Reader;
  readonly input: param.Input<typeof filters> & { readonly target_branch?: string };
};

function listCars({ db, presenter: shown, page, source, input }: Listing) {
  const { scope, sort = "desc", target_branch } = input;
  const { sql, values } = all([
    when("mt.project_id = ?", source.id),
    when("mt.target_branch = ?", target_branch),
    scope && { sql: `mt.merged_at is ${scope === "active" ? "" : "not "}null`, values: [] },
  ]);
  return paginate(db, shown, page, {
    from: `${CARS} where ${sql}`,
    values,
    order: `mt.id ${sort}`,
  });
}

/** Merge trains: merge requests that are merged one after another. */
export const mergeTrainResource: Resource = {
  name: "Merge trains",
  migrations,
  routes: [
    list("", {
      ...reading,
      summary: "List the merge requests in merge trains of a project, and those that were",
      input: filters,
      handle: listCars,
    }),
    list("/:target_branch", {
      ...reading,
      summary: "List the merge requests in the merge train of a branch, and those that were",
      input: { ...filters, target_branch: param.anyText() },
      handle: listCars,
    }),
    get("/merge_requests/:merge_request_iid", {
      ...reading,
      summary: "Get how a merge request is in a merge train, or was",
      input: number,
      handle: async (context) => {
        const { db, presenter: shown, input } = context;
        const found = await findIssuable(context, MERGE_REQUEST, input.merge_request_iid);
        const [row] = await db.rows(
          `select ${shown.columns} from ${CARS} where mt.merge_request_id = ?`,
          [found.id],
        );
        if (!row) throw notFound();
        return row;
      },
    }),
    post("/merge_requests/:merge_request_iid", {
      role: "developer",
      tier: "premium",
      summary:
        "Put a merge request into the merge train of its target branch, which is answered; 202 if it gets there once it is ready",
      input: {
        ...number,
        auto_merge: param.optional(param.boolean()),
        when_pipeline_succeeds: param.optional(param.boolean()),
        sha: param.optional(param.anyText()),
        squash: param.optional(param.boolean()),
      },
      examples: [[EXAMPLE]],
      alsoAnswers: { 202: "the same" },
      prepare: ({ merge_request_iid }, preparing) => checkCode(preparing, merge_request_iid),
      handle: async (context) => {
        const { db, source, input, view, now } = context;
        const found = await findIssuable(context, MERGE_REQUEST, input.merge_request_iid);
        if (!(await mayMergeRequest(db, source, found.id))) throw forbidden();
        if (!(await trainSettingsOf(db, source.id)).merge_trains_enabled) {
          throw badRequest("Merge trains are not enabled");
        }
        const request = { ...found, ...(await branchesOf(db, found.id)) };
        const { auto_merge, when_pipeline_succeeds: mayWait = auto_merge } = input;
        const { failed } = await mergeStateOf(db, found.id, context);
        const runs = await isHeadActive(db, found.id);
        const isReady = !failed && (runs || (await hasHeadSucceeded(db, found.id)));
        const waits = mayWait === true && (runs || failed?.mayPass === true);
        if ((!isReady && !waits) || (await carOf(db, found.id))) {
          throw badRequest("Merge request is not mergeable");
        }
        await waitToMerge(context, request, input, waits ? "later" : "now");
        await queueTask(db, { ready: found.id }, now);
        const rows = await db.rows(
          `select ${car.columns} from ${CARS} where mt.project_id = ? and mt.target_branch = ?
             and mt.merged_at is null order by mt.id limit ${MOST_SHOWN}`,
          [source.id, request.target_branch],
        );
        const shown = rows.map((row) => car.value(row, view));
        return new Json(shown, waits ? 202 : 201);
      },
    }),
  ],
};
