import * as v from "valibot";
import { ApiError, notFound } from "../core/errors.ts";
import {
  functionOption,
  type OptionSchemas,
  optionsOf,
  readOptions,
  textOption,
} from "../core/options.ts";
import type { SourceType } from "../resources/bulk-imports/dialects.ts";
import * as imports from "../resources/bulk-imports/queries.ts";
import type { ImportProgress } from "../resources/bulk-imports/running.ts";
import { type AdminContext, findUser } from "./context.ts";

export type { ImportProgress };

/** Where groups and projects are imported from, and what. */
export interface GitlabImport {
  /** The address of the other server, without `/api/v4`. */
  url: string;
  /** A token of it that may read what is imported: an owner's, with the scope `api`. */
  token: string;
  /** The full path there of a group, which is imported with all below it. */
  group?: string;
  /** The full path there of a project. */
  project?: string;
  /** The full path here of the group that it is put into. Default: the top for groups, the importer's namespace for projects. */
  into?: string;
  /** Its path here. Default: as there. */
  path?: string;
  /** The user name of who imports, an administrator. Others' work whom nobody here is becomes theirs. Default: the oldest one. */
  as?: string;
  /** Told how far it is. */
  onProgress?: (progress: ImportProgress) => void;
}

/** Where a repository is imported from. */
export interface RepositoryImport {
  /** The address of the server, without the path of its API. Default for GitHub: `https://github.com`. */
  url?: string;
  /** A token of it that may read the repository. */
  token: string;
  /** The owner and the name of the repository there, such as `acme/site`. */
  repo: string;
  /** The full path here of the group that it is put into. Default: the importer's namespace. */
  into?: string;
  /** Its path here. Default: its name there. */
  path?: string;
  /** The user name of who imports, an administrator. Others' work whom nobody here is becomes theirs. Default: the oldest one. */
  as?: string;
  /** Told how far it is. */
  onProgress?: (progress: ImportProgress) => void;
}

/** A group or project that was imported. */
interface ImportedPlace {
  kind: "group" | "project";
  /** Its full path on the other server, and here. */
  source: string;
  path: string;
  status: imports.Status;
  /** How many records of each kind there are on the other server, and how many of them are here. */
  stats: Record<string, imports.Count>;
}

/** What could not be imported. */
interface NotImported {
  /** The full path on the other server of the group or project that it is in. */
  source: string;
  /** What kind of thing it is, such as `issues`. */
  relation: string;
  title: string | null;
  reason: string;
}

/** How an import has ended. */
export interface ImportReport {
  id: number;
  status: imports.Status;
  places: ImportedPlace[];
  failures: NotImported[];
}

/** Imports from other servers (docs/moving-in.md). */
export interface ImportAdmin {
  /**
   * Imports a group with all below it, or a project, from another GitLab server, and returns what was imported and what
   * was not. One that was interrupted goes on; a later one takes what is new. Unlike requests, it may read servers of the
   * local network, and does not need the setting `bulk_import_enabled`.
   *
   * @throws OptionError if an option is wrong; ApiError 404 for an unknown user, 422 if there is nothing to import
   * @throws SourceError if the other server can't be read; SecretKeyError if there is no key for the token
   */
  fromGitlab(options: GitlabImport): Promise<ImportReport>;
  /**
   * Imports a repository with its issues, pull requests and releases from GitHub, as {@link fromGitlab} does.
   *
   * @throws as {@link fromGitlab}
   */
  fromGithub(options: RepositoryImport): Promise<ImportReport>;
  /**
   * {@link fromGithub} from a server of Gitea or Forgejo, whose `url` is needed.
   *
   * @throws as {@link fromGitlab}
   */
  fromGitea(options: RepositoryImport & { url: string }): Promise<ImportReport>;
}

const some = v.optional(textOption);
const common = { into: some, path: some, as: some, onProgress: v.optional(functionOption) };
const OPTIONS = optionsOf({
  ...{ url: textOption, token: textOption, group: some, project: some, ...common },
} satisfies OptionSchemas<GitlabImport>);
const REPOSITORY = optionsOf({
  ...{ url: some, token: textOption, repo: textOption, ...common },
} satisfies OptionSchemas<RepositoryImport>);

const GITHUB = "https://github.com";

/** Creates {@link ImportAdmin}. */
export function importAdmin(context: AdminContext): ImportAdmin {
  const fromForge = (type: "github" | "gitea", name: string) => (options: RepositoryImport) => {
    const read = readOptions(name, REPOSITORY, options) as RepositoryImport;
    const { url = type === "github" ? GITHUB : undefined, repo, ...others } = read;
    if (url === undefined) throw new ApiError(422, { message: "the url of the server is needed" });
    if (!/^[^/]+\/[^/]+$/.test(repo)) {
      throw new ApiError(422, {
        message: "the repository is to be named by its owner and its name",
      });
    }
    return importFrom(context, type, { ...others, url, project: repo });
  };
  return {
    fromGitlab: async (options) =>
      importFrom(
        context,
        "gitlab",
        readOptions("imports.fromGitlab", OPTIONS, options) as GitlabImport,
      ),
    fromGithub: async (options) => fromForge("github", "imports.fromGithub")(options),
    fromGitea: async (options) => fromForge("gitea", "imports.fromGitea")(options),
  };
}

async function importFrom(
  { store, now, secrets }: AdminContext,
  sourceType: SourceType,
  { url: address, token, as, onProgress, ...what }: GitlabImport,
): Promise<ImportReport> {
  const user = as === undefined ? await oldestAdmin(store) : await findUser(store, as);
  if (!user) throw notFound("User");
  const asked = askedFor(what, user.username);
  // Few programs import.
  const { entityOf, ownerOf, readUrl } = await import("../resources/bulk-imports/check.ts");
  const { DIALECTS } = await import("../resources/bulk-imports/dialects.ts");
  const { runImport } = await import("../resources/bulk-imports/run.ts");
  const { Source } = await import("../resources/bulk-imports/source.ts");
  const url = readUrl(address);
  const { signal } = new AbortController();
  const dialect = DIALECTS[sourceType];
  const source = new Source({ dialect, url, token, allowLocal: true, now }, signal);
  const sourceUserId = await ownerOf(source);
  const sourceUrl = url.href.replace(/\/+$/, "");
  const from = { userId: user.id, sourceType, sourceUrl, sourceUserId, token };
  const given = { ...from, entities: [entityOf(asked)] };
  const id = await store.transaction(
    async (db) =>
      (await imports.takeUp(db, secrets, given)) ?? imports.insert(db, secrets, given, now()),
  );
  const settings = { store, now, secrets, outgoing: { allowLocal: true }, onProgress };
  const errors: unknown[] = [];
  await runImport({ ...settings, onError: (error) => errors.push(error) }, id, signal);
  if (errors.length > 0) throw errors[0];
  return reportOf(store, id);
}

/** What is to be imported. @throws ApiError 422 */
function askedFor({ group, project, into, path }: Partial<GitlabImport>, username: string) {
  const source = group ?? project;
  if (source === undefined || (group !== undefined && project !== undefined)) {
    throw new ApiError(422, { message: "either a group or a project is to be named" });
  }
  return {
    source_type: group === undefined ? ("project_entity" as const) : ("group_entity" as const),
    source_full_path: source,
    destination_namespace: into ?? (group === undefined ? username : ""),
    destination_slug: path,
  };
}

const oldestAdmin = (store: AdminContext["store"]) =>
  store.one<{ id: number; username: string }>(
    "select id, username from users where admin = 1 and state = 'active' order by id limit 1",
  );

async function reportOf(store: AdminContext["store"], id: number): Promise<ImportReport> {
  const found = await imports.find(store, id);
  const { entities, failures } = await imports.report(store, id);
  return {
    id,
    status: found?.status ?? "failed",
    places: entities.map((one) => ({
      kind: one.entity_type === "group_entity" ? "group" : "project",
      source: one.source_full_path,
      path: imports.pathOf(one),
      status: one.status,
      stats: imports.progressOf(one.progress).stats ?? {},
    })),
    failures,
  };
}
