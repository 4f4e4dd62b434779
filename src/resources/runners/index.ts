import * as audit from "../../audit/log.ts";
import { newSecret } from "../../auth/token-secrets.ts";
import { findSource } from "../../core/access/source.ts";
import { visibleGroups, visibleJobs, visibleProjects } from "../../core/access/visibility.ts";
import { badRequest, conflict, forbidden, missing, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { unsupported } from "../../core/kept.ts";
import { type Page, paginate, type RowPage } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, Json, type Resource, routes, type SourceKind } from "../../core/resource.ts";
import { RUNNER_SCOPES } from "../../core/scopes.ts";
import { all, type Condition, worded } from "../../store/conditions.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { JOBS, job, managerFields, runnerFields } from "../ci/json.ts";
import { STATUS_NAMES } from "../ci/statuses.ts";
import { userFields } from "../users/json.ts";
import { protocolRoutes } from "./protocol.ts";
import {
  columnsOf,
  filtered,
  filters,
  insertRunner,
  managedIn,
  managedRunners,
  NOT_DELETED,
  newest,
  RUNNER_KINDS,
  type RunnerPlace,
  renewToken,
  runnerInput,
  setTags,
  usableIn,
  visibleRunners,
} from "./queries.ts";

const fields = { ...runnerFields, created_by: field.omittedIfNull(field.nested(userFields("rc"))) };

/** The tables of runners' rows. */
const RUNNERS = "runners rn left join users rc on rc.id = rn.creator_id";

const runner = presenter(fields);

const named = (kind: "groups" | "projects") =>
  field.embedded(`${kind}_json`, "array of object", "[]");

/** A runner alone. */
const detail = presenter({
  ...fields,
  version: newest("version"),
  revision: newest("revision"),
  platform: newest("platform"),
  architecture: newest("architecture"),
  tag_list: field.embedded("tags_json", "array of string", "[]"),
  run_untagged: field.flag("rn.run_untagged"),
  locked: field.flag("rn.locked"),
  maximum_timeout: field.integer("rn.maximum_timeout"),
  access_level: field.text("rn.access_level"),
  contacted_at: field.instant("rn.contacted_at"),
  maintenance_note: field.text("rn.maintenance_note"),
  projects: named("projects"),
  groups: named("groups"),
});

const manager = presenter(managerFields);

type Listing = Pick<Context, "presenter"> & { db: Reader; page: Page };

function listRunners(
  { db, presenter, page }: Listing,
  conditions: readonly (Condition | undefined)[],
): Promise<RowPage> {
  const where = all([NOT_DELETED, ...conditions]);
  return paginate(db, presenter, page, {
    from: `${RUNNERS} where ${where.sql}`,
    values: where.values,
    order: "rn.id desc",
  });
}

/** A runner as a row, with its tags and, if it is shown alone, what it is for, as far as the viewer may see that. */
async function rowOf(
  { db, presenter, view, viewer }: Pick<Context, "presenter" | "view" | "viewer"> & { db: Reader },
  id: number,
) {
  const [row] = await db.rows(`select ${presenter.columns} from ${RUNNERS} where rn.id = ?`, [id]);
  if (!row || !("tag_list" in presenter.fields)) return row;
  const tags = await db.rows("select tag from runner_tags where runner_id = ? order by tag", [id]);
  row[presenter.at("tag_list")] = JSON.stringify(tags.map(([tag]) => tag));
  const [ofProject, ofGroup] = [visibleProjects(viewer), visibleGroups(viewer)];
  const projects = await db.rows(
    `select p.id, p.name, p.path, p.full_path from runner_projects rp join projects p on p.id = rp.project_id
     where rp.runner_id = ? and ${ofProject.sql} order by rp.id limit 100`,
    [id, ...ofProject.values],
  );
  row[presenter.at("projects")] = JSON.stringify(
    projects.map(([projectId, name, path, path_with_namespace]) => ({
      id: projectId,
      name,
      path,
      path_with_namespace,
    })),
  );
  const groups = await db.rows(
    `select n.id, n.name, n.full_path from runners rn join namespaces n on n.id = rn.namespace_id
     where rn.id = ? and ${ofGroup.sql}`,
    [id, ...ofGroup.values],
  );
  row[presenter.at("groups")] = JSON.stringify(
    groups.map(([groupId, name, full_path]) => ({
      id: groupId,
      web_url: `${view.base}/groups/${full_path}`,
      name,
      full_path,
    })),
  );
  return row;
}

interface FoundRunner {
  readonly id: number;
  readonly kind: RunnerPlace["kind"];
  readonly locked: number;
  readonly description: string | null;
  readonly updated_at: number;
  readonly managed: number;
  readonly visible: number;
}

async function find(
  { db, viewer }: Pick<Context, "viewer"> & { db: Reader },
  id: number,
): Promise<FoundRunner> {
  const [managed, visible] = [managedRunners(viewer), visibleRunners(viewer)];
  const found = await db.one<FoundRunner>(
    `select rn.id, rn.kind, rn.locked, rn.description, rn.updated_at,
       case when ${managed.sql} then 1 else 0 end as managed,
       case when ${visible.sql} then 1 else 0 end as visible
     from runners rn where rn.id = ?`,
    [...managed.values, ...visible.values, id],
  );
  if (!found) throw notFound();
  return found;
}

/** Finds a runner that the caller manages. @throws ApiError 403 or 404 */
async function findManaged(
  context: Pick<Context, "viewer"> & { db: Reader },
  id: number,
): Promise<FoundRunner> {
  const found = await find(context, id);
  if (found.managed === 0) throw forbidden("No access granted");
  return found;
}

const targetOf = ({ id, description }: Pick<FoundRunner, "id" | "description">) => ({
  target: `runner ${id}${description ? ` (${description})` : ""}`,
});

const renewed = { token: "glrt-0123456789abcdef", token_expires_at: null };

/** Replaces the token by which runners are registered. @returns its secret */
async function renewRegistration(
  db: Database,
  column: "namespace_id" | "project_id" | undefined,
  id: number | null,
  now: number,
): Promise<string> {
  const { secret, digest } = newSecret("GR1348941");
  await db.run(
    column
      ? `delete from registration_tokens where ${column} = ?`
      : "delete from registration_tokens where namespace_id is null and project_id is null",
    column ? [id] : [],
  );
  await insertRow(db, "registration_tokens", {
    digest,
    created_at: now,
    ...(column && { [column]: id }),
  });
  return secret;
}

const id = { runner_id: param.recordId() };
const { del, get, list, post, put } = routes({ path: "/runners" });
const user = routes({ path: "/user/runners" });

/** What a new runner is for, as the caller asks; they must manage that. @throws ApiError 400, 403 or 404 */
async function placeOf(
  context: Pick<Context, "viewer" | "mayCall"> & { db: Reader; caller: { admin: boolean } },
  input: {
    runner_type: RunnerPlace["kind"];
    group_id?: number | undefined;
    project_id?: number | undefined;
  },
): Promise<RunnerPlace> {
  const { db, viewer, caller, mayCall } = context;
  const { runner_type: kind } = input;
  const place = { kind, namespace_id: null, project_id: null };
  if (kind === "instance_type") {
    if (!caller.admin) throw forbidden();
    return place;
  }
  const owner = kind === "group_type" ? "group" : "project";
  const id = input[`${owner}_id`];
  if (id === undefined) throw missing(`${owner}_id`);
  const source = await findSource(db, owner, String(id), viewer);
  if (!mayCall(`POST /${owner}s/:id/runners/reset_registration_token`, source)) throw forbidden();
  return { ...place, [source.column]: source.id };
}

function routesOf(source: SourceKind) {
  const { list, post } = routes({ source, path: "/runners" });
  const role = source === "group" ? "owner" : "maintainer";
  return [
    list("", {
      summary: `List the runners that do jobs of a ${source}, the newest first`,
      role,
      input: filters,
      presenter: runner,
      handle: (context) => {
        const { source: owner, input, now } = context;
        const usable = usableIn(context.db.dialect, owner.kind, owner.id, owner.namespaceId);
        return listRunners(context, [usable, ...filtered(input, now)]);
      },
    }),
    post("/reset_registration_token", {
      summary: `Replace the token by which runners of a ${source} are registered`,
      role,
      examples: [renewed],
      handle: async (context) => {
        const { db, source: owner, now } = context;
        const token = await renewRegistration(db, owner.column, owner.id, now);
        await audit.log(context, "registration token reset", { target: owner.fullPath });
        return new Json({ token, token_expires_at: null });
      },
    }),
  ];
}

const ofProject = routes({ source: "project", path: "/runners" });

/** Runners: what does the jobs of pipelines. */
export const runnerResource: Resource = {
  name: "Runners",
  migrations: [],
  routes: [
    ...protocolRoutes,
    user.post("", {
      summary: "Create a runner of the instance, a group or a project",
      scopes: RUNNER_SCOPES.create,
      input: {
        runner_type: param.choice(RUNNER_KINDS),
        group_id: param.optional(param.integer()),
        project_id: param.optional(param.integer()),
        ...runnerInput,
      },
      examples: [{ id: 1, ...renewed }],
      handle: async (context) => {
        const { db, caller, input, now } = context;
        const place = await placeOf(context, input);
        const { secret, digest } = newSecret("glrt");
        const runnerId = await insertRunner(
          db,
          { ...place, digest, creator_id: caller.id },
          input,
          now,
        );
        await audit.log(
          context,
          "runner created",
          targetOf({ id: runnerId, description: input.description ?? null }),
        );
        return new Json({ id: runnerId, token: secret, token_expires_at: null });
      },
    }),
    list("", {
      summary: "List the runners that the caller manages, the newest first",
      scopes: RUNNER_SCOPES.read,
      input: filters,
      presenter: runner,
      handle: (context) => {
        const { db, input, viewer, now } = context;
        return listRunners(context, [managedIn(db.dialect, viewer), ...filtered(input, now)]);
      },
    }),
    list("/all", {
      summary: "List all runners, the newest first",
      scopes: RUNNER_SCOPES.read,
      access: "admin",
      input: filters,
      presenter: runner,
      handle: (context) => listRunners(context, filtered(context.input, context.now)),
    }),
    post("/reset_registration_token", {
      summary: "Replace the token by which runners of the instance are registered",
      access: "admin",
      examples: [renewed],
      handle: async (context) => {
        const token = await renewRegistration(context.db, undefined, null, context.now);
        await audit.log(context, "registration token reset", { target: "the instance" });
        return new Json({ token, token_expires_at: null });
      },
    }),
    get("/:runner_id", {
      summary: "Get a runner",
      scopes: RUNNER_SCOPES.read,
      input: id,
      presenter: detail,
      handle: async (context) => {
        const found = await find(context, context.input.runner_id);
        if (found.visible === 0) throw forbidden("No access granted");
        return rowOf(context, found.id);
      },
    }),
    put("/:runner_id", {
      summary: "Change a runner",
      scopes: RUNNER_SCOPES.change,
      input: { ...id, ...runnerInput },
      presenter: detail,
      handle: async (context) => {
        const { db, input, now } = context;
        const found = await findManaged(context, input.runner_id);
        await updateRow(db, "runners", found.id, columnsOf(input), now);
        if (input.tag_list) await setTags(db, found.id, input.tag_list);
        return rowOf(context, found.id);
      },
    }),
    del("/:runner_id", {
      summary: "Remove a runner",
      scopes: RUNNER_SCOPES.change,
      input: id,
      handle: async (context) => {
        const { db, input, requireUnmodified } = context;
        const found = await findManaged(context, input.runner_id);
        requireUnmodified(found.updated_at);
        await db.run("delete from runners where id = ?", [found.id]);
        await audit.log(context, "runner removed", targetOf(found));
        return undefined;
      },
    }),
    post("/:runner_id/reset_authentication_token", {
      summary: "Replace the token of a runner",
      scopes: RUNNER_SCOPES.change,
      input: id,
      examples: [renewed],
      handle: async (context) => {
        const { db, input, now } = context;
        const found = await findManaged(context, input.runner_id);
        const token = await renewToken(db, found.id, now);
        await audit.log(context, "runner token reset", targetOf(found));
        return new Json({ token, token_expires_at: null });
      },
    }),
    list("/:runner_id/managers", {
      summary: "List the processes of a runner",
      scopes: RUNNER_SCOPES.read,
      input: id,
      presenter: manager,
      handle: async (context) => {
        const { db, input, presenter, page } = context;
        const found = await findManaged(context, input.runner_id);
        return paginate(db, presenter, page, {
          from: "runner_managers rm where rm.runner_id = ?",
          values: [found.id],
          order: "rm.id desc",
        });
      },
    }),
    list("/:runner_id/jobs", {
      summary: "List the jobs of a runner, the newest first",
      scopes: RUNNER_SCOPES.read,
      input: {
        ...id,
        status: param.optional(param.choice(STATUS_NAMES)),
        system_id: unsupported(param.anyText()),
        order_by: param.optional(param.choice(["id"])),
        sort: param.optional(param.choice(["asc", "desc"])),
      },
      presenter: job,
      handle: async (context) => {
        const { db, input, presenter, page, viewer } = context;
        const found = await findManaged(context, input.runner_id);
        const where = all([
          visibleJobs(viewer),
          { sql: "cj.runner_id = ?", values: [found.id] as Value[] },
          worded("cj.status", input.status && [input.status]),
        ]);
        return paginate(db, presenter, page, {
          from: `${JOBS} where ${where.sql}`,
          values: where.values,
          order: `cj.id ${input.sort ?? "desc"}`,
          countFrom: `ci_jobs cj join projects p on p.id = cj.project_id where ${where.sql}`,
        });
      },
    }),
    ...routesOf("group"),
    ...routesOf("project"),
    ofProject.post("", {
      summary: "Let a runner of another project do jobs of this one",
      role: "maintainer",
      input: { runner_id: param.integer() },
      presenter: runner,
      handle: async (context) => {
        const { db, source, input } = context;
        const found = await findManaged(context, input.runner_id);
        if (found.kind !== "project_type" || found.locked === 1)
          throw forbidden("Runner is locked");
        const known = await db.rows(
          "select 1 from runner_projects where runner_id = ? and project_id = ?",
          [found.id, source.id],
        );
        if (known.length > 0) throw conflict();
        await insertRow(db, "runner_projects", { runner_id: found.id, project_id: source.id });
        return rowOf(context, found.id);
      },
    }),
    ofProject.del("/:runner_id", {
      summary: "Let a runner do no more jobs of a project",
      role: "maintainer",
      input: id,
      handle: async ({ db, source, input }) => {
        const projects = await db.rows(
          `select project_id from runner_projects where runner_id = ? order by id limit 2`,
          [input.runner_id],
        );
        const isOwn = await db.rows(
          "select 1 from runner_projects where runner_id = ? and project_id = ?",
          [input.runner_id, source.id],
        );
        if (isOwn.length === 0) throw notFound("Runner");
        if (projects.length === 1) {
          throw badRequest(
            "Only one project associated with the runner. Please remove the runner instead",
          );
        }
        await db.run("delete from runner_projects where runner_id = ? and project_id = ?", [
          input.runner_id,
          source.id,
        ]);
        return undefined;
      },
    }),
  ],
};
