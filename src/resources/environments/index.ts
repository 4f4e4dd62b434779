import { ApiError, forbidden, invalid, notFound, unreadable } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, Json, type Resource, routes } from "../../core/resource.ts";
import type { Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { nameErrors, TIERS } from "../ci/environment-names.ts";
import { mayDeployTo } from "../ci/environment-rights.ts";
import {
  type Environment,
  findEnvironment,
  insertEnvironment,
  STATES,
  STOP_SETTINGS,
} from "../ci/environments.ts";
import { stopEnvironment, stopJobOf } from "../ci/stopping.ts";
import { fillJobs } from "../pipelines/jobs.ts";
import { mayRunJobsOf } from "../pipelines/rules.ts";
import { openRepository } from "../repositories/open.ts";
import { basicEnvironmentFields, environment, listedEnvironment } from "./json.ts";
import * as environments from "./queries.ts";
import { migrations } from "./table.ts";

const { del, get, list, post, put } = routes({
  source: "project",
  path: "/environments",
  features: ["environments"],
});

/** Environments that are found by a part of their name must have as many characters of it. */
const MIN_SEARCH = 3;
const DAY = 86_400_000;
/** Environments count as stale after a week at the earliest. */
const MIN_STALE = 7 * DAY;
const MAX_STALE = 10 * 365 * DAY;
/** Review apps that are deleted at once. */
const MAX_REVIEW_APPS = 1000;

const basicEnvironment = presenter(basicEnvironmentFields);

const id = { environment_id: param.recordId() };
const attributes = {
  external_url: param.clearable(param.text({ max: 255 })),
  description: param.clearable(param.anyText({ max: 10_000 })),
  tier: param.optional(param.choice(TIERS)),
  auto_stop_setting: param.optional(param.choice(STOP_SETTINGS)),
  slug: param.unlessBlank(param.anyText()),
};

/** @throws ApiError 400 */
function refuseSlug(slug: string | undefined): void {
  if (slug !== undefined) {
    throw unreadable("slug is automatically generated and cannot be changed");
  }
}

/** Schemes of addresses that a browser runs instead of opening; it leaves out blanks and control characters before it looks. */
const UNSAFE_SCHEME = /^(javascript|data|vbscript):/i;

/** What is wrong with the address of an environment: as in GitLab, other schemes than HTTP's may be in it. */
function urlErrors(url: string | null | undefined): string[] {
  const [, scheme] = UNSAFE_SCHEME.exec(url?.replace(/[\0- ]/g, "") ?? "") ?? [];
  return scheme === undefined ? [] : [`${scheme.toLowerCase()} scheme is not allowed`];
}

/** @throws ApiError 404 */
async function findOne({
  db,
  source,
  input,
}: Pick<Context, "source"> & {
  db: Reader;
  input: { environment_id: number };
}): Promise<Environment> {
  const found = await findEnvironment(db, source.id, { id: input.environment_id });
  if (!found) throw notFound();
  return found;
}

/** Environments of projects. */
export const environmentResource: Resource = {
  name: "Environments",
  migrations,
  routes: [
    list("", {
      jobTokens: true,
      summary: "List the environments of a project",
      role: "reporter",
      input: {
        name: param.unlessBlank(param.anyText()),
        search: param.unlessBlank(param.anyText()),
        states: param.optional(param.choice(STATES)),
      },
      presenter: listedEnvironment,
      handle: ({ db, presenter, page, source, input: { name, search, states: state } }) => {
        if (name !== undefined && search !== undefined) {
          throw unreadable("name, search cannot be used together");
        }
        if (search !== undefined && search.length < MIN_SEARCH) {
          throw invalid({ search: [`is too short (minimum is ${MIN_SEARCH} characters)`] });
        }
        return environments.list(db, presenter, page, source.id, { name, search, state });
      },
    }),
    get("/:environment_id", {
      jobTokens: true,
      summary: "Get an environment, with the deployment that is there",
      role: "reporter",
      input: id,
      presenter: environment,
      prepare: (_, preparing) => openRepository(preparing),
      handle: async (context) => {
        const found = await findOne(context);
        const row = await environments.row(context.db, context.presenter, found.id);
        await fillJobs(context, [row]);
        return row;
      },
    }),
    post("", {
      jobTokens: true,
      summary: "Add an environment",
      role: "developer",
      concurrency: "per project",
      input: { name: param.anyText(), ...attributes },
      presenter: environment,
      handle: async ({ db, source, input, presenter, now }) => {
        refuseSlug(input.slug);
        const errors = [
          ...nameErrors(input.name).map((error) => `Name ${error}`),
          ...urlErrors(input.external_url).map((error) => `External url ${error}`),
        ];
        if (await findEnvironment(db, source.id, { name: input.name })) {
          errors.push("Name has already been taken");
        }
        if (errors.length > 0) throw new ApiError(400, { message: errors });
        const made = await insertEnvironment(db, source.id, input, now);
        return environments.row(db, presenter, made);
      },
    }),
    put("/:environment_id", {
      jobTokens: true,
      summary: "Change an environment",
      role: "developer",
      concurrency: "per project",
      input: { ...id, ...attributes },
      presenter: environment,
      handle: async (context) => {
        const { db, input, presenter, now } = context;
        const { environment_id: _, slug, ...changes } = input;
        refuseSlug(slug);
        const found = await findOne(context);
        const errors = urlErrors(changes.external_url);
        if (errors.length > 0) throw invalid({ external_url: errors });
        await updateRow(db, "environments", found.id, changes, now);
        return environments.row(db, presenter, found.id);
      },
    }),
    post("/stop_stale", {
      jobTokens: true,
      summary: "Stop the environments that nothing has changed in, and been deployed to, for long",
      role: "maintainer",
      concurrency: "per project",
      status: 200,
      input: { before: param.instant() },
      examples: [{ message: "Successfully requested stop for all stale environments" }],
      handle: async ({ db, source, input: { before }, now }) => {
        if (before > now - MIN_STALE || before < now - MAX_STALE) {
          throw new ApiError(400, { message: "400 Bad request - Invalid Date" });
        }
        await environments.stopStale(db, source.id, before, now);
        return new Json({ message: "Successfully requested stop for all stale environments" });
      },
    }),
    post("/:environment_id/stop", {
      jobTokens: true,
      summary: "Stop an environment",
      role: "developer",
      concurrency: "per project",
      status: 200,
      input: { ...id, force: param.optional(param.boolean()) },
      presenter: environment,
      handle: async (context) => {
        const { db, source, caller, input, presenter, now } = context;
        const found = await findOne(context);
        const job = input.force ? undefined : await stopJobOf(db, found);
        if (job && !(await mayRunJobsOf(db, source, job))) throw forbidden();
        if (!(await mayDeployTo(db, source, found))) throw forbidden();
        if (found.state === "available" || (found.state === "stopping" && input.force)) {
          await stopEnvironment(db, found, job, caller.id, now);
        }
        return environments.row(db, presenter, found.id);
      },
    }),
    del("/review_apps", {
      jobTokens: true,
      summary: "Remove stopped environments whose name begins with `review/`",
      role: "maintainer",
      concurrency: "per project",
      status: 200,
      input: {
        before: param.optional(param.instant()),
        limit: param.optional(param.integer({ min: 1, max: MAX_REVIEW_APPS })),
        dry_run: param.optional(param.boolean()),
      },
      examples: [
        {
          scheduled_entries: [
            {
              id: 387,
              name: "review/023f1bce01229c686a73",
              slug: "review-023f1bce01-3uxznk",
              external_url: null,
              created_at: "2026-11-21T10:00:00.000Z",
              updated_at: "2026-11-21T10:00:00.000Z",
            },
          ],
          unprocessable_entries: [],
        },
      ],
      handle: async ({ db, source, input, view, now }) => {
        const { before = now - 30 * DAY, limit = 100, dry_run = true } = input;
        const rows = await environments.stoppedReviewApps(
          db,
          basicEnvironment,
          source.id,
          before,
          limit,
        );
        const ids = rows.map((row) => row[basicEnvironment.at("id")] as number);
        if (!dry_run) await environments.remove(db, ids);
        const scheduled_entries = rows.map((row) => basicEnvironment.value(row, view));
        return new Json({ scheduled_entries, unprocessable_entries: [] });
      },
    }),
    del("/:environment_id", {
      jobTokens: true,
      summary: "Remove a stopped environment, with its deployments",
      role: "developer",
      concurrency: "per project",
      input: id,
      handle: async (context) => {
        const found = await findOne(context);
        if (found.state !== "stopped") throw forbidden();
        context.requireUnmodified(found.updated_at);
        await environments.remove(context.db, [found.id]);
        return undefined;
      },
    }),
  ],
};
