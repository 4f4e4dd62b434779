import { forbidden, invalid, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { paginate } from "../../core/pagination.ts";
import { type Resource, routes } from "../../core/resource.ts";
import { commitId, commitNumber } from "../../git/commits.ts";
import { BRANCHES, listRefsBelow } from "../../git/refs.ts";
import { all, when } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { commitStatus, STATUSES } from "../ci/json.ts";
import { rightsOf } from "../protected-refs/abilities.ts";
import {
  type OpenRepository,
  openRepository,
  requireCommit,
  withRefs,
} from "../repositories/open.ts";
import { REPORTED, report, statusRow } from "./report.ts";

const reporting = routes({ source: "project", path: "/statuses/:sha", repository: true });
const listing = routes({
  source: "project",
  path: "/repository/commits/:sha/statuses",
  repository: true,
});

const sha = { sha: param.anyText({ max: 1024 }) };

/** The name of the first branch that has a commit. */
async function branchWith(
  db: Reader,
  opened: OpenRepository,
  id: string,
): Promise<string | undefined> {
  const refs = opened.row ? await listRefsBelow(db, opened.row.id, BRANCHES) : [];
  const { repository } = await withRefs(opened, refs);
  const reached = repository.graph.descendants(commitNumber(repository, id) as number);
  const found = refs.find(({ oid }) => reached[commitNumber(repository, oid) ?? -1]);
  return found?.name.slice(BRANCHES.length);
}

/** @throws ApiError 400 */
function requireUrl(url: string | null | undefined): void {
  if (url === null || url === undefined) return;
  if (!/^https?:\/\//i.test(url)) {
    throw invalid({ target_url: ["is blocked: Only allowed schemes are http, https"] });
  }
  if (!URL.canParse(url)) throw invalid({ target_url: ["is blocked: URI is invalid"] });
}

/** Statuses of commits: the jobs of their pipelines, and what other services report. */
export const commitStatusResource: Resource = {
  name: "Commit statuses",
  migrations: [],
  routes: [
    reporting.post("", {
      summary: "Report the status of a commit, which makes it part of a pipeline",
      role: "developer",
      concurrency: "per project",
      input: {
        ...sha,
        state: param.choice(REPORTED),
        ref: param.unlessBlank(param.text({ max: 1024 })),
        name: param.unlessBlank(param.text()),
        context: param.unlessBlank(param.text()),
        target_url: param.clearable(param.anyText()),
        description: param.clearable(param.anyText()),
        coverage: param.optional(param.decimal()),
        pipeline_id: param.optional(param.integer()),
      },
      presenter: commitStatus,
      prepare: async ({ sha, ref }, preparing) => {
        const opened = await openRepository(preparing, [sha]);
        const id = commitId(opened.repository, await requireCommit(opened, sha));
        return { id, branch: ref ?? (await branchWith(preparing.db, opened, id)) };
      },
      handle: async ({ db, input, source, caller, presenter, prepared, now }) => {
        requireUrl(input.target_url);
        const { id: sha, branch } = prepared;
        const { ref, pipeline_id, name = input.context ?? "default" } = input;
        const pipeline = await db.one<{ id: number; ref: string }>(
          `select pl.id, pl.ref from pipelines pl where pl.project_id = ? and pl.sha = ?
           and (cast(? as text) is null or pl.ref = ?) and (cast(? as bigint) is null or pl.id = ?)
           order by pl.id desc limit 1`,
          [source.id, sha, ref ?? null, ref ?? null, pipeline_id ?? null, pipeline_id ?? null],
        );
        if (!pipeline && pipeline_id !== undefined) {
          throw notFound("Pipeline for pipeline_id, sha and ref");
        }
        const on = ref ?? pipeline?.ref ?? branch;
        if (on === undefined) throw notFound("References for commit");
        const rights = await rightsOf(db, source, [BRANCHES + on]);
        if (rights.isProtected(on) && !rights.mayMerge(on)) throw forbidden();
        const place = { project_id: source.id, user_id: caller.id, ref: on, sha };
        const of = { pipeline: pipeline?.id, isChosen: pipeline_id !== undefined };
        const job = await report(db, { ...place, ...of }, { ...input, name }, now);
        return statusRow(db, presenter, job);
      },
    }),
    listing.list("", {
      summary: "List the statuses of a commit",
      access: "anyone",
      input: {
        ...sha,
        ref: param.optional(param.anyText({ max: 1024 })),
        stage: param.optional(param.anyText()),
        name: param.optional(param.anyText()),
        pipeline_id: param.optional(param.integer()),
        all: param.optional(param.boolean()),
        order_by: param.optional(param.choice(["id", "pipeline_id"])),
        sort: param.optional(param.choice(["asc", "desc"])),
      },
      presenter: commitStatus,
      prepare: (input, preparing) => openRepository(preparing, [input.sha]),
      handle: async ({ db, input, source, presenter, page, prepared: opened }) => {
        const id = commitId(opened.repository, await requireCommit(opened, input.sha));
        const where = all([
          {
            sql: "cj.pipeline_id in (select id from pipelines where project_id = ? and sha = ?)",
            values: [source.id, id],
          },
          input.all ? undefined : { sql: "cj.retried = 0", values: [] },
          when("cj.ref = ?", input.ref),
          when("cj.stage = ?", input.stage),
          when("cj.name = ?", input.name),
          when("cj.pipeline_id = ?", input.pipeline_id),
        ]);
        const { order_by = "id", sort = "asc" } = input;
        const order = order_by === "id" ? `cj.id ${sort}` : `cj.pipeline_id ${sort}, cj.id ${sort}`;
        return paginate(db, presenter, page, {
          from: `${STATUSES} where ${where.sql}`,
          values: where.values,
          order,
        });
      },
    }),
  ],
};
