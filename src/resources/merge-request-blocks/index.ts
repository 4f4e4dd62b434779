import type { Viewer } from "../../core/access/visibility.ts";
import { ApiError, forbidden, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { paginate } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import { all, type Condition } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Reader, Value } from "../../store/port.ts";
import { queueReady } from "../ci/progress.ts";
import { mayUpdate } from "../issuables/abilities.ts";
import { rowsOf } from "../issuables/embed.ts";
import { MERGE_REQUEST } from "../issuables/merge-request.ts";
import { findIssuable } from "../issuables/rules.ts";
import type { Presenting } from "../issuables/type.ts";
import { migrations } from "./table.ts";

/** Merge requests that block another one, at most. */
const MOST = 100;

const request = (column: string) =>
  field.json(column, "MergeRequest", { fields: MERGE_REQUEST.listed.fields });

/** A block; {@link withRequests} replaces the ids of the merge requests. */
const block = presenter({
  id: field.integer("mq.id"),
  blocking_merge_request: request("mq.blocking_id"),
  blocked_merge_request: request("mq.blocked_id"),
  project_id: field.integer("own.project_id"),
});

/** Blocks `mq` of merge requests `own`, which are blocked, with the other merge request `mr` in its project `p`. */
const blocksFrom = (own: "blocked_id" | "blocking_id", other: "blocked_id" | "blocking_id") =>
  `merge_request_blocks mq join merge_requests own on own.id = mq.blocked_id
   join merge_requests mr on mr.id = mq.${other} join projects p on p.id = mr.project_id
   where mq.${own} = ?`;

/** The condition under which the caller may read a merge request `mr` in its project `p`. */
const readable = (viewer: Viewer): Condition =>
  all([MERGE_REQUEST.projects(viewer), MERGE_REQUEST.visible(viewer)]);

/** Fills the merge requests of blocks in, in a bounded number of statements. */
async function withRequests(context: Presenting, rows: readonly Value[][]): Promise<void> {
  const { listed } = MERGE_REQUEST;
  const places = [block.at("blocking_merge_request"), block.at("blocked_merge_request")];
  const ids = new Set(rows.flatMap((row) => places.map((at) => row[at] as number)));
  const found = await rowsOf({ ...context, presenter: listed }, MERGE_REQUEST, [...ids]);
  const texts = new Map(
    found.map((row) => [row[listed.at("id")], listed.write(row, context.view)] as const),
  );
  for (const row of rows) for (const at of places) row[at] = texts.get(row[at]) ?? "null";
}

async function readableRow(
  db: Reader,
  viewer: Viewer,
  where: Condition,
): Promise<{ id: number } | undefined> {
  const { sql, values } = all([where, readable(viewer)]);
  return db.one<{ id: number }>(
    `select mr.id from merge_requests mr join projects p on p.id = mr.project_id where ${sql}`,
    values,
  );
}

const number = { merge_request_iid: param.recordId() };
const { del, get, list, post } = routes({
  source: "project",
  path: "/merge_requests/:merge_request_iid",
  features: ["merge_requests"],
});
const reading = { tier: "premium", presenter: block, input: number } as const;

const blocks = (
  path: "/blocks" | "/blockees",
  summary: string,
  [own, other]: ["blocked_id", "blocking_id"] | ["blocking_id", "blocked_id"],
) =>
  list(path, {
    ...reading,
    summary,
    handle: async (context) => {
      const { db, presenter: shown, page, input, viewer } = context;
      const { id } = await findIssuable(context, MERGE_REQUEST, input.merge_request_iid);
      const { sql, values } = readable(viewer);
      const listed = await paginate(db, shown, page, {
        from: `${blocksFrom(own, other)} and ${sql}`,
        values: [id, ...values],
        order: "mq.id",
      });
      await withRequests(context, listed.rows);
      return listed;
    },
  });

/** Merge requests that are to be merged before others. */
export const mergeRequestBlockResource: Resource = {
  name: "Merge request dependencies",
  migrations,
  routes: [
    blocks("/blocks", "List what blocks a merge request and the caller can see, oldest first", [
      "blocked_id",
      "blocking_id",
    ]),
    blocks("/blockees", "List what a merge request blocks and the caller can see, oldest first", [
      "blocking_id",
      "blocked_id",
    ]),
    post("/blocks", {
      tier: "premium",
      summary: "Let a merge request wait until another one is merged",
      concurrency: "alone",
      input: { ...number, blocking_merge_request_id: param.integer() },
      presenter: block,
      handle: async (context) => {
        const { db, presenter: shown, input, viewer, now } = context;
        const found = await findIssuable(context, MERGE_REQUEST, input.merge_request_iid);
        if (!mayUpdate(MERGE_REQUEST)(found, context)) throw forbidden();
        const wanted = { sql: "mr.id = ?", values: [input.blocking_merge_request_id] };
        const blocking = await readableRow(db, viewer, wanted);
        if (!blocking) throw notFound("Merge Request");
        if (blocking.id === found.id) {
          throw new ApiError(422, { message: "This block is self-referential" });
        }
        const known = await db.rows(
          "select blocking_id from merge_request_blocks where blocked_id = ?",
          [found.id],
        );
        if (known.some(([id]) => id === blocking.id)) {
          throw new ApiError(409, { message: "Block already exists" });
        }
        if (known.length >= MOST) {
          throw new ApiError(422, { message: `Maximum number of blocks (${MOST}) exceeded` });
        }
        const made = await insertRow(db, "merge_request_blocks", {
          ...{ blocking_id: blocking.id, blocked_id: found.id, created_at: now },
        });
        const rows = await db.rows(
          `select ${shown.columns} from ${blocksFrom("blocked_id", "blocking_id")} and mq.id = ?`,
          [found.id, made],
        );
        await withRequests(context, rows);
        return rows[0];
      },
    }),
    get("/blocks/:block_id", {
      ...reading,
      summary: "Get what blocks a merge request",
      input: { ...number, block_id: param.recordId() },
      handle: async (context) => {
        const { db, presenter: shown, input, viewer } = context;
        const { id } = await findIssuable(context, MERGE_REQUEST, input.merge_request_iid);
        const { sql, values } = readable(viewer);
        const rows = await db.rows(
          `select ${shown.columns} from ${blocksFrom("blocked_id", "blocking_id")} and mq.id = ? and ${sql}`,
          [id, input.block_id, ...values],
        );
        if (rows.length === 0) throw notFound();
        await withRequests(context, rows);
        return rows[0];
      },
    }),
    del("/blocks/:block_id", {
      tier: "premium",
      summary: "Let a merge request no longer wait for another one",
      concurrency: "alone",
      input: { ...number, block_id: param.recordId() },
      handle: async (context) => {
        const { db, input, viewer, now } = context;
        const found = await findIssuable(context, MERGE_REQUEST, input.merge_request_iid);
        if (!mayUpdate(MERGE_REQUEST)(found, context)) throw forbidden();
        const wanted = {
          sql: "mr.id = (select mq.blocking_id from merge_request_blocks mq where mq.id = ? and mq.blocked_id = ?)",
          values: [input.block_id, found.id],
        };
        if (!(await readableRow(db, viewer, wanted))) throw notFound();
        await db.run("delete from merge_request_blocks where id = ?", [input.block_id]);
        await queueReady(db, found.id, now);
        return undefined;
      },
    }),
  ],
};
