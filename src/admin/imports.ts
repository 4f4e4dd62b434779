import * as v from "valibot";
import { OPERATOR } from "../audit/log.ts";
import { ApiError, conflict, notFound } from "../core/errors.ts";
import {
  functionOption,
  type OptionSchemas,
  optionsOf,
  readArgument,
  readOptions,
  textOption,
} from "../core/options.ts";
import type { SourceType } from "../resources/bulk-imports/dialects.ts";
import * as imports from "../resources/bulk-imports/queries.ts";
import type { ImportProgress } from "../resources/bulk-imports/running.ts";
import type { SourceUserStatus } from "../resources/placeholders/queries.ts";
import type { Reader } from "../store/port.ts";
import { type AdminContext, findAny, findUser, reference } from "./context.ts";

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

/** A contributor to what was imported who has no account here, or had none at first. */
export interface PlaceholderRecord {
  /** The address of the server that they are from, and their id, user name and name there. */
  source: string;
  source_id: string;
  username: string;
  name: string;
  /** Whether, and how, it was said who they are. */
  status: SourceUserStatus;
  /** The user name of the placeholder; `null` once it is gone. */
  placeholder: string | null;
  /** The user name of who they are said to be here. */
  reassigned_to: string | null;
}

/** A reassignment of a placeholder. */
export interface Reassignment {
  /** The full path or id of the group at the top that they were imported into. */
  group: string;
  /** Their user name on the other server, or that of the placeholder. */
  from: string;
  /** The user name of who they are here. */
  to: string;
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
  /** The placeholders of a group at the top. @throws ApiError 404 */
  placeholders(group: string): Promise<PlaceholderRecord[]>;
  /**
   * Gives what a placeholder did, and its memberships, to a user, without asking them. This can't be undone.
   *
   * @throws OptionError if an option is wrong; ApiError 400 if they can't be, 404 if there is no such group, placeholder or user,
   *   409 if several have that name
   */
  reassign(reassignment: Reassignment): Promise<PlaceholderRecord>;
}

const some = v.optional(textOption);
const common = { into: some, path: some, as: some, onProgress: v.optional(functionOption) };
const OPTIONS = optionsOf({
  ...{ url: textOption, token: textOption, group: some, project: some, ...common },
} satisfies OptionSchemas<GitlabImport>);
const REPOSITORY = optionsOf({
  ...{ url: some, token: textOption, repo: textOption, ...common },
} satisfies OptionSchemas<RepositoryImport>);

const REASSIGNMENT = optionsOf({
  ...{ group: textOption, from: textOption, to: textOption },
} satisfies OptionSchemas<Reassignment>);

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
    placeholders: async (group) => {
      const name = readArgument("imports.placeholders", "group", reference, group);
      const { id } = await findAny(context.store.reader(), "group", name, context.now());
      return placeholdersOf(context.store.reader(), id);
    },
    reassign: async (options) =>
      reassignTo(context, readOptions("imports.reassign", REASSIGNMENT, options) as Reassignment),
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

const placeholdersOf = (db: Reader, groupId: number, id?: number) =>
  db.all<PlaceholderRecord>(
    `select s.source_hostname as source, s.source_user_identifier as source_id, s.source_username as username,
       s.source_name as name, s.status, p.username as placeholder, r.username as reassigned_to
     from import_source_users s left join users p on p.id = s.placeholder_user_id
     left join users r on r.id = s.reassign_to_user_id
     where s.namespace_id = ?${id === undefined ? "" : " and s.id = ?"} order by s.id`,
    id === undefined ? [groupId] : [groupId, id],
  );

async function reassignTo(
  { store, now }: AdminContext,
  { group: name, from, to }: Reassignment,
): Promise<PlaceholderRecord> {
  const { propose } = await import("../resources/placeholders/changes.ts");
  const { named } = await import("../resources/placeholders/queries.ts");
  const { reassign } = await import("../resources/placeholders/reassigning.ts");
  const [group, id] = await store.transaction(async (db) => {
    const group = await findAny(db, "group", name, now());
    const [found, another] = await named(db, group.id, from);
    if (!found) throw notFound("Placeholder");
    if (another) throw conflict(`several people are called ${from}: name the placeholder`);
    const change = { db, by: OPERATOR, group, isFinal: true, now: now() };
    await propose(change, found, await findUser(db, to));
    return [group.id, found.id];
  });
  await reassign(store, id, now());
  const [told] = await placeholdersOf(store.reader(), group, id);
  if (!told) throw notFound("Placeholder");
  return told;
}
