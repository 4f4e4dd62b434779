import { ReportError } from "../../ci/index.ts";
import { codeRole, findSource, findVisible, type Source } from "../../core/access/source.ts";
import { forbidden, notFound, unreadable } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { unsupportedFlag } from "../../core/kept.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, RawReply, type Route, routes } from "../../core/resource.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader, Store, Value } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { mayDownload } from "../ci/abilities.ts";
import { reportsOf, textOf } from "../ci/reports.ts";
import { GROUP_ROLE, mayReadDependencies, mayReadVulnerabilities } from "./abilities.ts";
import { bomHead, EXPORT_TYPES, type ExportType, FORMATS, writtenList } from "./written.ts";

/** How long an export can be downloaded, as in GitLab. */
const KEPT = 7 * 86_400_000;

const PATH = "/dependency_list_exports";
const at = (end: string) => (id: string) => `/api/v4${PATH}/${id}${end}`;

// What is downloaded is read then, so that each is ready at once, and nothing is stored but what was asked for.
const shownExport = presenter({
  id: field.integer("de.id"),
  status: field.constant("finished"),
  has_finished: field.constant(true),
  export_type: field.text("de.export_type"),
  send_email: field.constant(false),
  expires_at: field.instant(`de.created_at + ${KEPT}`),
  self: field.url("de.id", at("")),
  download: field.url("de.id", at("/download")),
});

interface Export {
  readonly id: number;
  readonly project_id: number | null;
  readonly namespace_id: number | null;
  readonly pipeline_id: number | null;
  readonly export_type: ExportType | "sbom";
}

async function rowOf(db: Reader, id: number): Promise<Value[]> {
  const sql = `select ${shownExport.columns} from dependency_list_exports de where de.id = ?`;
  const [row] = await db.rows(sql, [id]);
  return row as Value[];
}

/** Forgets the exports that can't be downloaded any more. */
export async function removeOldLists(
  store: Pick<Store, "transaction">,
  now: number,
): Promise<void> {
  const sql = "delete from dependency_list_exports where created_at < ?";
  await store.transaction((db) => db.run(sql, [now - KEPT]), { shared: true });
}

/** Keeps what is to be exported. @returns its row */
async function add(
  { db, caller, now }: { db: Database; caller: { readonly id: number }; now: number },
  wanted: Pick<Export, "export_type"> & Partial<Export>,
): Promise<Value[]> {
  const columns = { ...wanted, user_id: caller.id, created_at: now };
  return rowOf(db, await insertRow(db, "dependency_list_exports", columns));
}

type Finding = Pick<Context, "viewer" | "now"> & {
  readonly db: Reader;
  readonly caller: { readonly id: number };
  readonly input: { readonly export_id: number };
};

/**
 * An export of the caller, which nobody else sees, and whose dependencies it has, if the caller may still read them.
 *
 * @throws ApiError 403 or 404
 */
async function find({ db, viewer, caller, now, input }: Finding): Promise<[Export, Source]> {
  const found = await db.one<Export>(
    `select id, project_id, namespace_id, pipeline_id, export_type from dependency_list_exports
     where id = ? and user_id = ? and created_at >= ?`,
    [input.export_id, caller.id, now - KEPT],
  );
  const kind = found?.namespace_id ? "group" : "project";
  const id = found?.namespace_id ?? found?.project_id;
  const source = id ? await findVisible(db, kind, String(id), viewer) : undefined;
  if (!found || !source) throw notFound("DependencyListExport");
  if (!mayReadDependencies(source)) throw forbidden();
  return [found, source];
}

const unread = (reason: string) =>
  new ReportError(`the bill of materials can't be read: ${reason}`);

/** The components of the bills of materials that a pipeline's jobs have reported, each once. @throws ApiError 400 */
async function componentsOf(
  db: Reader,
  pipelineId: number,
  source: Source,
  budget: Budget,
): Promise<unknown[]> {
  const known = new Map<string, unknown>();
  for (const report of await reportsOf(db, [pipelineId], ["cyclonedx"])) {
    if (!mayDownload(source, report.access)) continue;
    try {
      let text = "";
      for await (const part of textOf(db, report, budget, unread)) text += part;
      const { components = [] } = JSON.parse(text) as { components?: unknown[] };
      for (const one of components) {
        const { purl, name, version } = one as Record<string, unknown>;
        known.set(String(purl ?? `${name}@${version}`), one);
      }
    } catch (error) {
      if (error instanceof ReportError) throw unreadable(error.message);
      if (error instanceof SyntaxError || error instanceof TypeError) {
        throw unreadable("the bill of materials is no JSON");
      }
      throw error;
    }
  }
  return [...known.values()];
}

const typed = { send_email: unsupportedFlag() };
const one = { export_id: param.recordId() };
const tier = "ultimate";
const project = routes({ source: "project" });
const group = routes({ source: "group" });
const { get, post } = routes({});

/** Lists of dependencies as files. */
export const exportRoutes: readonly Route[] = [
  project.post(PATH, {
    summary: "Export the dependencies of a project",
    tier,
    role: codeRole,
    input: { ...typed, export_type: param.optional(param.choice(EXPORT_TYPES)) },
    presenter: shownExport,
    handle: (context) => {
      const { source, input } = context;
      const { export_type = "dependency_list" } = input;
      return add(context, { project_id: source.id, export_type });
    },
  }),
  group.post(PATH, {
    summary: "Export the dependencies of all projects of a group",
    tier,
    role: GROUP_ROLE,
    input: { ...typed, export_type: param.optional(param.choice(["json_array", "csv"])) },
    presenter: shownExport,
    handle: (context) => {
      const { source, input } = context;
      const { export_type = "json_array" } = input;
      return add(context, { namespace_id: source.id, export_type });
    },
  }),
  post("/pipelines/:pipeline_id/dependency_list_exports", {
    summary: "Export the components that the jobs of a pipeline have reported, as CycloneDX",
    tier,
    input: { ...typed, pipeline_id: param.recordId(), export_type: param.choice(["sbom"]) },
    presenter: shownExport,
    handle: async (context) => {
      const { db, input, viewer } = context;
      const [row] = await db.rows("select project_id from pipelines where id = ?", [
        input.pipeline_id,
      ]);
      if (!row) throw notFound("Pipeline");
      const source = await findSource(db, "project", String(row[0]), viewer);
      if (!mayReadDependencies(source)) throw forbidden();
      return add(context, {
        project_id: source.id,
        pipeline_id: input.pipeline_id,
        export_type: "sbom",
      });
    },
  }),
  get(`${PATH}/:export_id`, {
    summary: "Get an export of dependencies, which is the caller's",
    tier,
    input: one,
    presenter: shownExport,
    handle: async (context) => rowOf(context.db, (await find(context))[0].id),
  }),
  get(`${PATH}/:export_id/download`, {
    summary: "Download the dependencies of an export, as they are now",
    tier,
    answersWith: "application/json",
    input: one,
    handle: async (context) => {
      const { db, viewer, now, budget } = context;
      const [wanted, source] = await find(context);
      const headers = (type: string, ending: string) => ({
        "content-type": type,
        "content-disposition": `attachment; filename="dependencies-${wanted.id}.${ending}"`,
      });
      if (wanted.export_type === "sbom") {
        const components = await componentsOf(db, wanted.pipeline_id as number, source, budget);
        const body = `${bomHead("1.4", now)}${components.map((part) => JSON.stringify(part)).join(",")}]}`;
        return new RawReply(200, headers("application/json", "cdx.json"), body);
      }
      const { contentType, ending } = FORMATS[wanted.export_type];
      const showsVulnerabilities = mayReadVulnerabilities(source);
      const listed = { db, source, viewer, showsVulnerabilities, now };
      return new RawReply(200, headers(contentType, ending), {
        chunks: () => writtenList(wanted.export_type as ExportType, listed),
      });
    },
  }),
];
