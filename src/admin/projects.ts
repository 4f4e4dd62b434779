import { Readable } from "node:stream";
import { createGzip } from "node:zlib";
import {
  VISIBILITIES,
  VISIBILITY_NAMES,
  VISIBILITY_WORDS,
  type Visibility,
} from "../core/access/visibility.ts";
import { notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { inputOf, readArgument, readOptions } from "../core/options.ts";
import * as namespaces from "../resources/namespaces/queries.ts";
import { createProject } from "../resources/projects/changes.ts";
import * as projects from "../resources/projects/queries.ts";
import { remove, removeProjects } from "../resources/projects/removal.ts";
import { convert } from "../resources/wikis/conversion.ts";
import { exportWiki, type WikiFile } from "../resources/wikis/export.ts";
import type { Reader } from "../store/port.ts";
import { type AdminContext, findAny, reference } from "./context.ts";

/** A project as operators see it. */
export interface ProjectRecord {
  id: number;
  name: string;
  /** The last part of `full_path`. */
  path: string;
  /** Includes the group or user it belongs to: `acme/site`. */
  full_path: string;
  visibility: Visibility;
  archived: boolean;
  /** The bytes of its repositories and files. */
  storage_size: number;
}

/** Projects, named by their full path or id. */
export interface ProjectAdmin {
  /** Returns a project. @throws ApiError 404 */
  get(project: string): Promise<ProjectRecord>;
  /** All projects, ordered by full path. */
  list(): Promise<ProjectRecord[]>;
  /**
   * Creates a project. A project of a user begins with an event by that user; one of a group has no event yet.
   *
   * @throws OptionError if something is missing or of the wrong type
   * @throws ApiError 400 or 409 if the path or visibility is invalid or taken; 404 for an unknown namespace
   */
  create(project: {
    name: string;
    path: string;
    /** The full path of its group, or the name of the user it belongs to. */
    namespace: string;
    description?: string;
    /** Default `"private"`. */
    visibility?: Visibility;
  }): Promise<ProjectRecord>;
  /** Deletes a project with everything in it. @throws ApiError 404 */
  delete(project: string): Promise<ProjectRecord>;
  /**
   * Exports a project's wiki as the files of a clone: its pages, its attachments below `uploads/`, and its history below
   * `.git`. The files are read one by one, so that the size of a wiki does not matter.
   *
   * @param project its id or full path
   * @throws ApiError 404
   */
  exportWiki(project: string): AsyncIterable<WikiFile>;
  /**
   * Exports a project in GitLab's own format, which a GitLab imports (docs/moving-in.md): the bytes of a `.tar.gz`.
   *
   * @param project its id or full path
   * @throws ApiError 404
   */
  exportGitlab(project: string): AsyncIterable<Uint8Array>;
}

const NEW_PROJECT = inputOf({
  name: param.text(),
  path: param.text(),
  namespace: param.text(),
  description: param.clearable(param.anyText({ max: 2000 })),
  visibility: param.optional(param.choice(VISIBILITY_NAMES)),
});

/** Creates {@link ProjectAdmin}. */
export function projectAdmin({ store, now, gitlabArchive }: AdminContext): ProjectAdmin {
  const find = async (where: string, db: Reader, project: string) => {
    const name = readArgument(where, "project", reference, project);
    const { id } = await findAny(db, "project", name, now());
    return recordOf(db, id);
  };
  return {
    get: async (project) => find("projects.get", store, project),
    list: async () => (await projects.listDetails(store)).map(projectRecord),
    async create(given) {
      const input = readOptions("projects.create", NEW_PROJECT, given);
      const { name, path, description, visibility = "private" } = input;
      return store.transaction(async (db) => {
        const namespace = await namespaces.findByPath(db, input.namespace);
        if (!namespace) throw notFound("Namespace");
        const level = VISIBILITIES[visibility];
        const creator_id = namespace.owner_id;
        const created = { namespace, creator_id, name, path, description, visibility: level };
        return recordOf(db, await createProject(db, created, now()));
      });
    },
    async delete(project) {
      const { found, isDone } = await store.transaction(async (db) => {
        const record = await find("projects.delete", db, project);
        return { found: record, isDone: await remove(db, record.id, now()) };
      });
      if (!isDone) await removeProjects(store, [found.id]);
      return found;
    },
    exportWiki(given) {
      const project = readArgument("projects.exportWiki", "project", reference, given);
      return (async function* () {
        const { id } = await findAny(store, "project", project, now());
        yield* exportWiki(store, id, now());
      })();
    },
    exportGitlab(given) {
      const project = readArgument("projects.exportGitlab", "project", reference, given);
      return (async function* () {
        const { id } = await findAny(store, "project", project, now());
        await convert(store, id, now());
        yield* packed(await gitlabArchive(id));
      })();
    },
  };
}

/** Bytes, packed. */
async function* packed(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const zip = createGzip();
  const source = Readable.from(bytes, { objectMode: false });
  source.once("error", (error) => zip.destroy(error));
  try {
    yield* source.pipe(zip);
  } finally {
    source.destroy();
  }
}

async function recordOf(db: Reader, projectId: number): Promise<ProjectRecord> {
  const [found] = await projects.listDetails(db, projectId);
  return projectRecord(found as projects.ProjectDetails);
}

function projectRecord(found: projects.ProjectDetails): ProjectRecord {
  const visibility = VISIBILITY_WORDS[found.visibility] as Visibility;
  return { ...found, visibility, archived: found.archived === 1 };
}
