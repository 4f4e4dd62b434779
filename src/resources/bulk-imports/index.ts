import { ApiError, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { storedIn } from "../../core/kept.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Reader, Value } from "../../store/port.ts";
import { keptSettings } from "../application-settings/kept.ts";
import { requireNew, tryOut } from "./check.ts";
import * as imports from "./queries.ts";
import { IMPORT_TOKENS, migrations } from "./table.ts";

const HAS_FAILURES = (condition: string) =>
  `case when exists (select 1 from bulk_import_failures f ${condition}) then 1 else 0 end`;

const bulkImport = presenter({
  id: field.integer("bi.id"),
  status: field.text("bi.status"),
  source_type: field.constant("gitlab"),
  source_url: field.text("bi.source_url"),
  created_at: field.instant("bi.created_at"),
  updated_at: field.instant("bi.updated_at"),
  has_failures: field.flag(
    HAS_FAILURES(
      "join bulk_import_entities x on x.id = f.entity_id where x.bulk_import_id = bi.id",
    ),
  ),
});

const failureFields = {
  relation: field.text("bf.relation"),
  exception_message: field.text("bf.message"),
  exception_class: field.constant("ImportError"),
  correlation_id_value: field.constant(null),
  source_url: field.text("bf.source_url"),
  source_title: field.text("bf.source_title"),
};
const failure = presenter(failureFields);

const entity = presenter({
  id: field.integer("bie.id"),
  bulk_import_id: field.integer("bie.bulk_import_id"),
  status: field.text("bie.status"),
  entity_type: field.text(
    "case bie.entity_type when 'group_entity' then 'group' else 'project' end",
  ),
  source_full_path: field.text("bie.source_full_path"),
  destination_full_path: field.text(
    "case bie.destination_namespace when '' then '' else bie.destination_namespace || '/' end || bie.destination_slug",
  ),
  destination_name: field.text("bie.destination_slug"),
  destination_slug: field.text("bie.destination_slug"),
  destination_namespace: field.text("bie.destination_namespace"),
  parent_id: field.integer("bie.parent_id"),
  namespace_id: field.integer("bie.namespace_id"),
  project_id: field.integer("bie.project_id"),
  created_at: field.instant("bie.created_at"),
  updated_at: field.instant("bie.updated_at"),
  failures: field.embedded("failures", "array of object", "[]", { items: failureFields }),
  migrate_projects: field.flag("bie.migrate_projects"),
  migrate_memberships: field.flag("bie.migrate_memberships"),
  has_failures: field.flag(HAS_FAILURES("where f.entity_id = bie.id")),
  stats: field.derived(
    ["bie.progress"],
    "object",
    ([progress]) => imports.progressOf(String(progress ?? "{}")).stats ?? {},
  ),
});

/** Failures that are shown with the groups and projects of a page, together. */
const MOST_SHOWN = 1000;

/** Fills in what could not be brought, with one statement. */
async function embedFailures(db: Reader, rows: Value[][]): Promise<void> {
  if (rows.length === 0) return;
  const ids = rows.map((row) => row[entity.at("id")] as number);
  const among = placeholders(ids);
  const found = await db.rows(
    `select bf.entity_id, bf.relation, bf.message, bf.source_url, bf.source_title from bulk_import_failures bf
     where bf.entity_id in (${among.sql}) order by bf.entity_id, bf.id limit ${MOST_SHOWN}`,
    among.values,
  );
  const byEntity = new Map<number, object[]>();
  for (const [id, relation, exception_message, source_url, source_title] of found) {
    const shown = byEntity.get(id as number) ?? [];
    byEntity.set(id as number, shown);
    shown.push({
      ...{ relation, exception_message, exception_class: "ImportError" },
      ...{ correlation_id_value: null, source_url, source_title },
    });
  }
  for (const row of rows) {
    const failures = byEntity.get(row[entity.at("id")] as number) ?? [];
    row[entity.at("failures")] = JSON.stringify(failures);
  }
}

/** @throws ApiError 404 unless the setting `bulk_import_enabled` is on, as in GitLab */
async function requireEnabled(db: Reader): Promise<void> {
  const settings = keptSettings.read(await storedIn(db, "application_settings", 1));
  if (!settings.bulk_import_enabled) throw notFound();
}

const STATUSES = ["created", "started", "finished", "timeout", "failed", "canceled"] as const;
/** Imports do not time out here, so none has that status. */
const statusOf = (status: (typeof STATUSES)[number] | undefined) => status as imports.Status;
const filter = {
  sort: param.optional(param.choice(["asc", "desc"])),
  status: param.optional(param.choice(STATUSES)),
};
const id = { import_id: param.recordId() };
const one = { ...id, entity_id: param.recordId() };

const path = param.text({ max: 255 });
const entityInput = param.object({
  source_type: param.choice(["group_entity", "project_entity"]),
  source_full_path: param.text({ max: 1024 }),
  destination_slug: param.optional(path),
  destination_name: param.optional(path),
  destination_namespace: param.optional(param.anyText({ max: 1024 })),
  migrate_projects: param.optional(param.boolean()),
  migrate_memberships: param.optional(param.boolean()),
});

const { get, list, post } = routes({ path: "/bulk_imports" });

const missing = () => notFound("BulkImport");

/** Imports of groups and projects from other GitLab servers (docs/moving-in.md). */
export const bulkImportResource: Resource = {
  name: "Imports from other servers",
  migrations,
  sealed: [IMPORT_TOKENS],
  routes: [
    post("", {
      summary: "Import groups and projects from another GitLab server",
      input: {
        configuration: param.object({
          url: param.anyText({ max: 2048 }),
          access_token: param.text({ max: 1024 }),
        }),
        entities: param.arrayOf(entityInput, { max: 100 }),
      },
      presenter: bulkImport,
      prepare: async ({ configuration }, context) => {
        await requireEnabled(context.db);
        return tryOut(configuration.url, configuration.access_token, context);
      },
      handle: async (context) => {
        const { db, caller, input, now, secrets, prepared, presenter: shown } = context;
        const entities = await requireNew(context, input.entities);
        const given = { ...prepared, sourceType: "gitlab", userId: caller.id, entities } as const;
        const importId = await imports.insert(db, secrets, given, now);
        await imports.queue(db, importId, now);
        return imports.row(db, shown, caller.id, importId);
      },
    }),
    list("", {
      summary: "List the caller's imports from other GitLab servers",
      input: filter,
      presenter: bulkImport,
      handle: async ({ db, presenter: shown, page, caller, input }) => {
        await requireEnabled(db);
        const { sort = "desc", status } = input;
        const of = { userId: caller.id, status: statusOf(status) };
        return imports.list(db, shown, page, of, sort);
      },
    }),
    list("/entities", {
      summary: "List the groups and projects of the caller's imports from other GitLab servers",
      input: filter,
      presenter: entity,
      handle: async ({ db, presenter: shown, page, caller, input }) => {
        await requireEnabled(db);
        const { sort = "desc", status } = input;
        const of = { userId: caller.id, status: statusOf(status) };
        const listed = await imports.listEntities(db, shown, page, of, sort);
        await embedFailures(db, listed.rows);
        return listed;
      },
    }),
    get("/:import_id", {
      summary: "Get one of the caller's imports from other GitLab servers",
      input: id,
      presenter: bulkImport,
      handle: async ({ db, presenter: shown, caller, input }) => {
        await requireEnabled(db);
        const found = await imports.row(db, shown, caller.id, input.import_id);
        if (!found) throw missing();
        return found;
      },
    }),
    list("/:import_id/entities", {
      summary: "List the groups and projects of an import from another GitLab server",
      input: { ...id, status: filter.status },
      presenter: entity,
      handle: async ({ db, presenter: shown, page, caller, input }) => {
        await requireEnabled(db);
        const { import_id: importId, status } = input;
        if (!(await imports.row(db, bulkImport, caller.id, importId))) throw missing();
        const of = { userId: caller.id, importId, status: statusOf(status) };
        const listed = await imports.listEntities(db, shown, page, of, "asc");
        await embedFailures(db, listed.rows);
        return listed;
      },
    }),
    get("/:import_id/entities/:entity_id", {
      summary: "Get a group or project of an import from another GitLab server",
      input: one,
      presenter: entity,
      handle: async ({ db, presenter: shown, caller, input }) => {
        await requireEnabled(db);
        const of = { userId: caller.id, importId: input.import_id };
        const found = await imports.entityRow(db, shown, of, input.entity_id);
        if (!found) throw missing();
        await embedFailures(db, [found]);
        return found;
      },
    }),
    list("/:import_id/entities/:entity_id/failures", {
      summary: "List what of a group or project could not be imported from another GitLab server",
      input: one,
      presenter: failure,
      handle: async ({ db, presenter: shown, page, caller, input }) => {
        await requireEnabled(db);
        const of = { userId: caller.id, importId: input.import_id };
        if (!(await imports.entityRow(db, entity, of, input.entity_id))) throw missing();
        return imports.listFailures(db, shown, page, input.entity_id);
      },
    }),
    post("/:import_id/cancel", {
      summary: "Cancel an import from another GitLab server; what it has brought stays",
      input: id,
      status: 200,
      presenter: bulkImport,
      handle: async ({ db, presenter: shown, caller, input, now }) => {
        await requireEnabled(db);
        const found = await imports.find(db, input.import_id);
        // As in GitLab, administrators may cancel those of others.
        const isOwn = found?.user_id === caller.id;
        if (!found || (!isOwn && !caller.admin)) throw missing();
        if (!imports.OPEN.includes(found.status)) {
          throw new ApiError(422, { message: "The import has ended." });
        }
        await imports.cancel(db, found.id, now);
        return imports.row(db, shown, found.user_id ?? caller.id, found.id);
      },
    }),
  ],
};
