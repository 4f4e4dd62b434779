import * as audit from "../../audit/log.ts";
import { BEING_DELETED } from "../../core/access/visibility.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { withoutEffect } from "../../core/kept.ts";
import { presenter } from "../../core/presenter.ts";
import { Json, type Resource, routes } from "../../core/resource.ts";
import { all, among, belowGroup, when } from "../../store/conditions.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { migrations } from "./table.ts";

const settings = presenter({
  project_id: field.integer("p.id"),
  created_at: field.instant("coalesce(ss.created_at, p.created_at)"),
  updated_at: field.instant("coalesce(ss.updated_at, p.created_at)"),
  // Nothing is scanned here.
  auto_fix_container_scanning: field.constant(false),
  auto_fix_dast: field.constant(false),
  auto_fix_dependency_scanning: field.constant(false),
  auto_fix_sast: field.constant(false),
  continuous_vulnerability_scans_enabled: field.constant(false),
  container_scanning_for_registry_enabled: field.constant(false),
  secret_push_protection_enabled: field.flag("coalesce(ss.secret_push_protection_enabled, 0)"),
});

const wanted = { secret_push_protection_enabled: withoutEffect(param.boolean()) };

async function rowOf(db: Reader, projectId: number): Promise<Value[]> {
  const [found] = await db.rows(
    `select ${settings.columns} from projects p left join project_security_settings ss on ss.project_id = p.id
     where p.id = ?`,
    [projectId],
  );
  return found as Value[];
}

/** Sets it for projects. @param where which projects `p` */
async function set(
  db: Database,
  where: { readonly sql: string; readonly values: readonly Value[] },
  isOn: boolean,
  now: number,
): Promise<void> {
  await db.run(
    `insert into project_security_settings (project_id, secret_push_protection_enabled, created_at, updated_at)
     select p.id, cast(? as bigint), cast(? as bigint), cast(? as bigint) from projects p where ${where.sql}
     on conflict (project_id) do update set
       secret_push_protection_enabled = excluded.secret_push_protection_enabled, updated_at = excluded.updated_at`,
    [Number(isOn), now, now, ...where.values],
  );
}

const project = routes({ source: "project", path: "/security_settings" });
const group = routes({ source: "group", path: "/security_settings" });
const tier = "ultimate";

/** What projects want to be scanned for. */
export const securitySettingsResource: Resource = {
  name: "Security settings",
  migrations,
  routes: [
    project.get("", {
      summary: "Get what a project wants to be scanned for",
      role: "developer",
      tier,
      presenter: settings,
      handle: ({ db, source }) => rowOf(db, source.id),
    }),
    project.put("", {
      summary: "Say what a project wants to be scanned for",
      role: "maintainer",
      tier,
      input: wanted,
      presenter: settings,
      handle: async (context) => {
        const { db, source, input, now } = context;
        await set(
          db,
          all([when("p.id = ?", source.id)]),
          input.secret_push_protection_enabled,
          now,
        );
        await audit.log(context, "security settings changed", { target: source.fullPath });
        return rowOf(db, source.id);
      },
    }),
    group.put("", {
      summary: "Say what the projects of a group want to be scanned for",
      role: "maintainer",
      tier,
      input: {
        ...wanted,
        projects_to_exclude: param.optional(param.arrayOf(param.integer(), { max: 500 })),
      },
      examples: [{ secret_push_protection_enabled: true, errors: [] }],
      handle: async (context) => {
        const { db, source, input, now } = context;
        const { secret_push_protection_enabled: isOn, projects_to_exclude: excluded = [] } = input;
        const not = excluded.length > 0 ? among("p.id", excluded) : undefined;
        const where = all([
          belowGroup("p.namespace_id", source.id),
          when(`p.visibility > ${BEING_DELETED}`),
          not && { sql: `not (${not.sql})`, values: not.values },
        ]);
        await set(db, where, isOn, now);
        await audit.log(context, "security settings changed", { target: source.fullPath });
        return new Json({ secret_push_protection_enabled: isOn, errors: [] });
      },
    }),
  ],
};
