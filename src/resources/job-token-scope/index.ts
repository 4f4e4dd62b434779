import * as audit from "../../audit/log.ts";
import { findVisible } from "../../core/access/source.ts";
import { badRequest, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import type { RowPage } from "../../core/pagination.ts";
import { type Presenter, presenter } from "../../core/presenter.ts";
import { type Context, type Resource, type Route, routes } from "../../core/resource.ts";
import { insertRow } from "../../store/insert.ts";
import type { Value } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { groupIdentity } from "../groups/json.ts";
import * as groups from "../groups/queries.ts";
import { basicProject } from "../projects/json.ts";
import * as projects from "../projects/list.ts";
import { migrations } from "./table.ts";

/** Projects, and groups, that one project lists, at most: GitLab's limit. */
const MOST = 200;

const scope = presenter({
  inbound_enabled: field.flag("p.job_token_scope_enabled"),
  // Which projects a job reaches is decided by these alone.
  outbound_enabled: field.constant(false),
});

const { del, get, list, patch, post } = routes({
  source: "project",
  path: "/job_token_scope",
  features: ["jobs"],
});

/** What a list has: projects, or groups, whose projects and those of groups below them count. */
interface Listed {
  readonly kind: "project" | "group";
  readonly path: string;
  readonly table: string;
  /** The attribute, and column, with the id of what is listed. */
  readonly target: string;
  readonly presenter: Presenter;
  readonly list: (
    context: Pick<Context, "db" | "presenter" | "page" | "viewer" | "source">,
  ) => Promise<RowPage>;
}

const byId = { orderBy: "id", sort: "asc" } as const;

const PROJECTS: Listed = {
  kind: "project",
  path: "/allowlist",
  table: "job_token_projects",
  target: "target_project_id",
  presenter: basicProject,
  list: ({ db, presenter: shown, page, viewer, source }) =>
    projects.list(db, shown, page, viewer, { allowedIn: source.id }, byId),
};
const GROUPS: Listed = {
  kind: "group",
  path: "/groups_allowlist",
  table: "job_token_groups",
  target: "target_group_id",
  presenter: groupIdentity,
  list: ({ db, presenter: shown, page, viewer, source }) =>
    groups.list(db, shown, page, viewer, { allowedIn: source.id, ...byId }),
};

function routesOf({ kind, path, table, target, presenter: shown, list: listed }: Listed): Route[] {
  const input = { [target]: param.untypedId() };
  const link = presenter({
    source_project_id: field.integer("l.project_id"),
    [target]: field.integer(`l.${target}`),
  });
  return [
    list(path, {
      summary: `List the ${kind}s whose CI jobs may access a project`,
      role: "maintainer",
      presenter: shown,
      handle: listed,
    }),
    post(path, {
      summary: `Let the CI jobs of a ${kind} access a project`,
      role: "maintainer",
      input,
      presenter: link,
      handle: async (context) => {
        const { db, viewer, source, input: sent, presenter: made } = context;
        const id = sent[target] as number;
        const found = await findVisible(db, kind, String(id), viewer);
        if (!found) throw notFound(`target_${kind}`);
        if (kind === "project" && id === source.id) {
          throw badRequest(
            "Validation failed: Target project can't be the same as the source project",
          );
        }
        const rows = await db.rows(`select ${target} from ${table} where project_id = ?`, [
          source.id,
        ]);
        if (rows.some(([known]) => known === id)) {
          throw badRequest(`Target ${kind} is already in the job token scope`);
        }
        if (rows.length >= MOST) {
          throw badRequest(
            `Validation failed: Source project exceeds the allowable number of ${kind} links in this scope`,
          );
        }
        const added = await insertRow(db, table, { project_id: source.id, [target]: id });
        const about = `${found.fullPath} to ${source.fullPath}`;
        await audit.log(context, "job token scope widened", { target: about });
        const [row] = await db.rows(`select ${made.columns} from ${table} l where l.id = ?`, [
          added,
        ]);
        return row;
      },
    }),
    del(`${path}/:${target}`, {
      summary: `No longer let the CI jobs of a ${kind} access a project`,
      role: "maintainer",
      input,
      handle: async (context) => {
        const { db, source, input: sent } = context;
        const id = sent[target] as number;
        if (kind === "project" && id === source.id) {
          throw badRequest("Source project cannot be removed from the job token scope");
        }
        const removed = await db.rows(
          `delete from ${table} where project_id = ? and ${target} = ? returning id`,
          [source.id, id],
        );
        if (removed.length === 0) throw notFound(`target_${kind}`);
        const about = `${kind} ${id} to ${source.fullPath}`;
        await audit.log(context, "job token scope narrowed", { target: about });
        return undefined;
      },
    }),
  ];
}

/** Whose CI jobs may access a project with their tokens. */
export const jobTokenScopeResource: Resource = {
  name: "Job token scope",
  migrations,
  routes: [
    get("", {
      summary: "Get whether only jobs of listed projects may access a project with their tokens",
      role: "maintainer",
      presenter: scope,
      handle: async ({ db, source, presenter: shown }) => {
        const [row] = await db.rows(`select ${shown.columns} from projects p where p.id = ?`, [
          source.id,
        ]);
        return row as Value[];
      },
    }),
    patch("", {
      summary: "Let only jobs of listed projects access a project with their tokens, or all",
      role: "maintainer",
      input: { enabled: param.boolean() },
      status: 204,
      handle: async (context) => {
        const { db, source, input, now } = context;
        const changes = { job_token_scope_enabled: Number(input.enabled) };
        await updateRow(db, "projects", source.id, changes, now);
        const action = input.enabled ? "job token scope narrowed" : "job token scope widened";
        await audit.log(context, action, { target: `all to ${source.fullPath}` });
        return undefined;
      },
    }),
    ...routesOf(PROJECTS),
    ...routesOf(GROUPS),
  ],
};
