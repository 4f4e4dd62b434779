import { notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { paginate } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, routes } from "../../core/resource.ts";
import type { Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { job } from "../ci/json.ts";
import { giveResources } from "../ci/progress.ts";
import { HOLDS, PROCESS_MODES, type ResourceGroup, upcoming } from "../ci/resource-groups.ts";
import { jobRow, listJobs } from "../pipelines/jobs.ts";
import { openRepository } from "../repositories/open.ts";
import { migrations } from "./table.ts";

const resourceGroup = presenter({
  id: field.integer("rg.id"),
  key: field.text("rg.key"),
  process_mode: { ...field.text("rg.process_mode"), type: PROCESS_MODES.join(", ") },
  created_at: field.instant("rg.created_at"),
  updated_at: field.instant("rg.updated_at"),
});

const key = { key: param.anyText() };

type In = Pick<Context, "source"> & {
  readonly db: Reader;
  readonly input: { readonly key: string };
};

/** Finds a resource group of the project. @throws ApiError 404 */
async function find({ db, source, input }: In): Promise<ResourceGroup> {
  const found = await db.one<ResourceGroup>(
    "select id, process_mode from resource_groups where project_id = ? and key = ?",
    [source.id, input.key],
  );
  if (!found) throw notFound();
  return found;
}

async function rowOf(
  { db, presenter: { columns } }: { readonly db: Reader } & Pick<Context, "presenter">,
  of: number,
): Promise<Value[]> {
  const rows = await db.rows(`select ${columns} from resource_groups rg where rg.id = ?`, [of]);
  return rows[0] as Value[];
}

const { get, list, put } = routes({
  source: "project",
  path: "/resource_groups",
  features: ["jobs"],
});
const showing = { role: "developer", presenter: resourceGroup } as const;
/** What routes that answer jobs have in common. */
const showingJobs = {
  role: "developer",
  presenter: job,
  prepare: (_: unknown, preparing: Parameters<typeof openRepository>[0]) =>
    openRepository(preparing),
} as const;

/** What jobs share of which one at a time may use it. */
export const resourceGroupResource: Resource = {
  name: "Resource groups",
  migrations,
  routes: [
    list("", {
      ...showing,
      summary: "List the resource groups of a project, oldest first",
      handle: ({ db, presenter: shown, page, source }) =>
        paginate(db, shown, page, {
          from: "resource_groups rg where rg.project_id = ?",
          values: [source.id],
          order: "rg.id",
        }),
    }),
    get("/:key", {
      ...showing,
      summary: "Get a resource group",
      input: key,
      handle: async (context) => rowOf(context, (await find(context)).id),
    }),
    get("/:key/current_job", {
      ...showingJobs,
      summary: "Get the job that has the resource of a group; 404 if it is free",
      input: key,
      handle: async (context) => {
        const { id } = await find(context);
        const [holder] = await context.db.rows(
          `select cj.id from ci_jobs cj where cj.resource_group_id = ? and ${HOLDS} order by cj.id limit 1`,
          [id],
        );
        if (!holder) throw notFound();
        return jobRow(context, holder[0] as number);
      },
    }),
    list("/:key/upcoming_jobs", {
      ...showingJobs,
      summary: "List the jobs that wait for the resource of a group, the next one first",
      input: key,
      handle: async (context) => {
        const { order, ...where } = upcoming(await find(context));
        return listJobs(context, context.page, where, { order });
      },
    }),
    put("/:key", {
      ...showing,
      summary: "Change in which order the jobs of a resource group run",
      input: { ...key, process_mode: param.choice(PROCESS_MODES) },
      handle: async (context) => {
        const { db, input, now } = context;
        const { id } = await find(context);
        await updateRow(db, "resource_groups", id, { process_mode: input.process_mode }, now);
        await giveResources(db, [id], now);
        return rowOf(context, id);
      },
    }),
  ],
};
