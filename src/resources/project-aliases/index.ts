import * as audit from "../../audit/log.ts";
import { findSource } from "../../core/access/source.ts";
import { BEING_DELETED } from "../../core/access/visibility.ts";
import { invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { paginate } from "../../core/pagination.ts";
import { problemOfProjectPath } from "../../core/paths.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import { insertRow } from "../../store/insert.ts";
import type { Reader, Value } from "../../store/port.ts";
import { migrations } from "./table.ts";

const alias = presenter({
  id: field.integer("pa.id"),
  project_id: field.integer("pa.project_id"),
  name: field.text("pa.name"),
});

/** Of projects that are being deleted there are none any more. */
const ALIASES = `project_aliases pa join projects p on p.id = pa.project_id and p.visibility > ${BEING_DELETED}`;

const named = { name: param.text() };

/** @throws ApiError 404 */
async function rowOf(db: Reader, name: string): Promise<Value[]> {
  const [found] = await db.rows(`select ${alias.columns} from ${ALIASES} where pa.name = ?`, [
    name,
  ]);
  if (!found) throw notFound();
  return found;
}

const { del, get, list, post } = routes({ path: "/project_aliases" });

/** Further names of projects, by which Git clients find them. */
export const projectAliasResource: Resource = {
  name: "Project aliases",
  migrations,
  routes: [
    list("", {
      summary: "List the aliases of projects",
      access: "admin",
      tier: "premium",
      presenter: alias,
      handle: ({ db, presenter: shown, page }) =>
        paginate(db, shown, page, { from: ALIASES, values: [], order: "pa.id" }),
    }),
    get("/:name", {
      summary: "Get an alias",
      access: "admin",
      tier: "premium",
      input: named,
      presenter: alias,
      handle: ({ db, input }) => rowOf(db, input.name),
    }),
    post("", {
      summary: "Give a project an alias: Git clients find it by that, too",
      access: "admin",
      tier: "premium",
      input: { ...named, project_id: param.text() },
      presenter: alias,
      handle: async (context) => {
        const { db, viewer, now } = context;
        const { name, project_id } = context.input;
        const project = await findSource(db, "project", project_id, viewer);
        const problem = problemOfProjectPath(name);
        if (problem) throw invalid({ name: [problem] });
        const taken = await db.rows("select 1 from project_aliases where name = ?", [name]);
        if (taken.length > 0) throw invalid({ name: ["has already been taken"] });
        await insertRow(db, "project_aliases", { project_id: project.id, name, created_at: now });
        await audit.log(context, "project alias added", { target: project.fullPath });
        return rowOf(db, name);
      },
    }),
    del("/:name", {
      summary: "Remove an alias",
      access: "admin",
      tier: "premium",
      input: named,
      handle: async (context) => {
        const { db, input, requireUnmodified } = context;
        const found = await db.one<{ id: number; created_at: number }>(
          "select id, created_at from project_aliases where name = ?",
          [input.name],
        );
        if (!found) throw notFound();
        requireUnmodified(found.created_at);
        await db.run("delete from project_aliases where id = ?", [found.id]);
        await audit.log(context, "project alias removed", { target: input.name });
        return undefined;
      },
    }),
  ],
};
