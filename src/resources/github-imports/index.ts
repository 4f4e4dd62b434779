import type { Caller } from "../../core/access/caller.ts";
import { findVisible } from "../../core/access/source.ts";
import { ApiError, forbidden, invalid, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { Json, type PrepareContext, type Resource, routes } from "../../core/resource.ts";
import { dayOf } from "../../core/time.ts";
import { ForbiddenAddress } from "../../outgoing/addresses.ts";
import type { Reader } from "../../store/port.ts";
import { mayFill } from "../bulk-imports/abilities.ts";
import { ownerOf, readUrl, requireFewImports, requirePublicUrl } from "../bulk-imports/check.ts";
import { DIALECTS } from "../bulk-imports/dialects.ts";
import { makeProject } from "../bulk-imports/projects.ts";
import * as imports from "../bulk-imports/queries.ts";
import { textIn } from "../bulk-imports/rows.ts";
import { Source, SourceError, type Told } from "../bulk-imports/source.ts";
import * as namespaces from "../namespaces/queries.ts";
import { canCreateIn } from "../projects/rules.ts";
import { alone, requireSource } from "../url-imports/check.ts";

const GITHUB = "https://github.com";
const DENIED = "Access denied to your GitHub account.";

/** A refusal in the form of GitLab's importer. */
const refused = (status: number, errors: string) => new ApiError(status, { errors });

/** A repository that can be read with a token. */
interface Tried {
  readonly sourceUrl: string;
  readonly sourceUserId: number;
  readonly token: string;
  /** As GitHub shows it. */
  readonly told: Told;
}

/** The server of a custom host, which clients name with or without the path of its API. */
const hostOf = (given: string | undefined): string =>
  (given ?? GITHUB).replace(/\/+$/, "").replace(/\/api\/v3$/, "");

/**
 * Reads the repository that is to be imported.
 *
 * @throws ApiError 400 for an address that must not be called, 401 if GitHub refuses the token, 403 if the setting
 *   `import_sources` has no `github`, 422 if there is no such repository, 429 if the user begins too many imports
 */
async function tryOut(
  { host, token, id, into }: { host: string; token: string; id: number; into: string },
  { store, outgoing, now, caller }: PrepareContext<Caller>,
): Promise<Tried> {
  await requireSource(store.reader(), "github");
  const url = readAddress(host);
  await namespaceFor({ db: store.reader(), caller, viewer: { caller, today: dayOf(now) } }, into);
  await requireFewImports(store.reader(), caller.id, now);
  const unreachable = refused(422, "Import failed due to a GitHub error: it can't be reached");
  if (outgoing.isKept?.()) throw unreachable;
  const { allowLocal } = outgoing;
  return alone(store, caller.id, async (signal) => {
    await requirePublicUrl(url, allowLocal, signal).catch((error) => {
      throw error instanceof ForbiddenAddress
        ? refused(400, `Invalid URL: ${host}`)
        : signal.aborted
          ? unreachable
          : error;
    });
    const settings = { dialect: DIALECTS.github, url, token, allowLocal, now: () => Date.now() };
    const source = new Source(settings, signal);
    try {
      const sourceUserId = await ownerOf(source);
      const told = await source.get(`repositories/${id}`);
      return { sourceUrl: url.href.replace(/\/+$/, ""), sourceUserId, token, told };
    } catch (error) {
      if (!(error instanceof SourceError)) throw unreachable;
      if (error.status === 401) throw new ApiError(401, { error: DENIED });
      if (error.status === 429) throw new ApiError(429, { error: "Too Many Requests" });
      throw error.status === undefined
        ? unreachable
        : refused(422, `Import failed due to a GitHub error: HTTP ${error.status}`);
    }
  });
}

/** The namespace that a repository is imported into. @throws ApiError 422 if the caller may not create projects there */
async function namespaceFor(
  context: Parameters<typeof canCreateIn>[0],
  fullPath: string,
): Promise<namespaces.Namespace> {
  const namespace = await namespaces.findByPath(context.db, fullPath);
  if (!namespace) {
    throw refused(422, "Namespace or group to import repository into does not exist.");
  }
  if (!(await canCreateIn(context, namespace))) {
    throw refused(422, "You are not allowed to import projects in this namespace.");
  }
  return namespace;
}

/** @throws ApiError 400 */
function readAddress(host: string): URL {
  try {
    return readUrl(host);
  } catch (error) {
    if (error instanceof ApiError) throw refused(400, `Invalid URL: ${host}`);
    throw error;
  }
}

/** A project that is being imported, as GitLab's importer shows it. */
async function shown(db: Reader, projectId: number): Promise<object> {
  const [row] = await db.rows(
    `select p.id, p.name, p.full_path, n.full_name, i.status, e.source_full_path
     from projects p join namespaces n on n.id = p.namespace_id
     left join project_imports i on i.project_id = p.id
     left join bulk_import_entities e on e.project_id = p.id
     where p.id = ? order by e.id desc limit 1`,
    [projectId],
  );
  const [id, name, path, above, status, source] = row ?? [];
  return {
    ...{ id, name, full_path: `/${path}`, full_name: `${above} / ${name}` },
    ...{ refs_url: `/${path}/refs`, import_source: source ?? null },
    ...{ import_status: status, human_import_status_name: status },
    ...{ provider_link: `/${source}`, relation_type: null, import_warning: null },
  };
}

const EXAMPLE = {
  ...{ id: 27, name: "site", full_path: "/acme/site", full_name: "Acme / site" },
  ...{ refs_url: "/acme/site/refs", import_source: "octo/site" },
  ...{ import_status: "scheduled", human_import_status_name: "scheduled" },
  ...{ provider_link: "/octo/site", relation_type: null, import_warning: null },
};

const { post } = routes({ path: "/import/github" });

/** Imports of repositories from GitHub (docs/moving-in.md). */
export const githubImportResource: Resource = {
  name: "Imports from GitHub",
  migrations: [],
  routes: [
    post("", {
      summary: "Import a repository from GitHub",
      input: {
        personal_access_token: param.text({ max: 1024 }),
        repo_id: param.recordId(),
        new_name: param.unlessBlank(param.text({ max: 255 })),
        target_namespace: param.text({ max: 1024 }),
        github_hostname: param.unlessBlank(param.text({ max: 2048 })),
        optional_stages: param.optional(
          param.object({
            single_endpoint_issue_events_import: param.optional(param.boolean()),
            single_endpoint_notes_import: param.optional(param.boolean()),
            attachments_import: param.optional(param.boolean()),
            collaborators_import: param.optional(param.boolean()),
          }),
        ),
      },
      examples: [EXAMPLE],
      prepare: async (
        {
          personal_access_token: token,
          repo_id: id,
          target_namespace: into,
          github_hostname,
          optional_stages: stages,
        },
        context,
      ) => {
        if (stages?.attachments_import) {
          throw invalid({ "optional_stages[attachments_import]": ["is not supported"] });
        }
        return tryOut({ host: hostOf(github_hostname), token, id, into }, context);
      },
      handle: async (context) => {
        const { db, caller, input, now, secrets, prepared } = context;
        const { told, ...from } = prepared;
        // It may have changed while GitHub was asked.
        const namespace = await namespaceFor(context, input.target_namespace);
        const name = input.new_name ?? textIn(told["name"]) ?? "";
        const entity: imports.NewEntity = {
          entity_type: "project_entity",
          source_full_path: textIn(told["full_name"]) ?? "",
          ...{ destination_slug: slugOf(name), destination_namespace: namespace.full_path },
          migrate_projects: 1,
          migrate_memberships: Number(input.optional_stages?.collaborators_import ?? true),
        };
        const given = {
          ...from,
          sourceType: "github",
          userId: caller.id,
          entities: [entity],
        } as const;
        const importer = { importer: caller, now: () => now };
        const projectId = await makeProject(db, importer, entity, namespace, {
          ...told,
          name,
        }).catch((error) => {
          throw error instanceof ApiError ? refused(422, reasonIn(error)) : error;
        });
        const importId = await imports.insert(db, secrets, given, now);
        await imports.beginIn(db, importId, { kind: "project", id: projectId }, told);
        const url = `${from.sourceUrl}/${entity.source_full_path}.git`;
        const noted = { source_type: "github", user_id: caller.id } as const;
        await imports.noteProject(db, noted, projectId, url, now);
        await imports.queue(db, importId, now);
        return new Json(await shown(db, projectId));
      },
    }),
    post("/cancel", {
      summary: "Cancel the import of a repository from GitHub; what it has brought stays",
      status: 200,
      input: { project_id: param.recordId() },
      examples: [{ ...EXAMPLE, import_status: "canceled", human_import_status_name: "canceled" }],
      handle: async ({ db, viewer, caller, input, now }) => {
        const source = await findVisible(db, "project", String(input.project_id), viewer);
        const found = source && (await imports.importOf(db, source.id));
        if (!source || !found) throw notFound();
        if (!(await mayFill(db, { caller, now: () => now }, { kind: "project", id: source.id }))) {
          throw forbidden();
        }
        if (!imports.OPEN.includes(found.status)) {
          const message = `The import cannot be canceled because it is ${found.status}`;
          throw new ApiError(400, { message });
        }
        await imports.cancel(db, found.id, now);
        await imports.setProjectStatus(db, { kind: "project", id: source.id }, "canceled", null);
        return new Json(await shown(db, source.id));
      },
    }),
  ],
};

/** The path of a project with a name: what there can't be in a path becomes a dash. */
const slugOf = (name: string): string =>
  name
    .replace(/[^\w.-]+/g, "-")
    .replace(/^[-.]+/, "")
    .slice(0, 255) || "project";

/** What an error of a project says, in one line. */
function reasonIn({ body }: ApiError): string {
  const { message } = body as { message?: unknown };
  if (typeof message !== "object" || message === null) return String(message);
  return Object.entries(message)
    .map(([name, problems]) => `${name} ${[problems].flat().join(", ")}`)
    .join("; ");
}
