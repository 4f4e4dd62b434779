import { ApiError, badRequest, basicAuthRequired, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { RawReply, type RequestInfo, type Resource, routes } from "../../core/resource.ts";
import { type StoredFile, storeFile } from "../../files/write.ts";
import { all, type Condition } from "../../store/conditions.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import { downloadOf } from "../packages/download.ts";
import { Hashing } from "../packages/hashing.ts";
import {
  inGroup,
  ofProject,
  open,
  readable,
  reading,
  readingProject,
  writing,
} from "../packages/places.ts";
import * as packages from "../packages/queries.ts";
import { requireNewFile } from "../packages/settings.ts";
import { limitOf, OWN } from "../plan-limits/limits.ts";
import { requireUnprotected } from "../protection-rules/abilities.ts";
import { type FilePath, readPath } from "./paths.ts";

/** Bytes of a digest that is sent. */
const MOST_DIGEST = 1024;

const project = routes({
  source: "project",
  path: "/packages/maven",
  features: ["package_registry"],
});
const group = routes({ source: "group", path: "/-/packages/maven" });
const instance = routes({ path: "/packages/maven" });

/** Maven sends what it was given only once it is asked for it. */
const asked = { basicAuth: "asked" } as const;

const input = {
  path: param.readAs(
    param.anyText(),
    (sent) => readPath(sent) ?? param.REFUSED,
    "is not the path of a file of a Maven repository",
  ),
};

const versionOf = ({ name, version }: FilePath) => ({
  package_type: "maven" as const,
  name,
  version,
});

/** A file of a package, with its digests. */
interface Found extends StoredFile {
  readonly md5: string;
  readonly sha1: string;
  readonly sha512: string;
}

/** The newest file of a path. @param where which packages `pk` of which projects `p` are looked at */
function findFile(db: Reader, path: FilePath, where: Condition): Awaitable<Found | undefined> {
  return db.one<Found>(
    `select pf.file_id as id, pf.size, pf.sha256, pf.md5, pf.sha1, pf.sha512
     from packages pk join projects p on p.id = pk.project_id join package_files pf on pf.package_id = pk.id
     where pk.package_type = 'maven' and pk.name = ? and pk.version = ? and pf.file_name = ? and ${where.sql}
     order by pf.id desc limit 1`,
    [path.name, path.version, path.file, ...where.values],
  );
}

/**
 * The projects whose packages are found without naming a project or group: those whose paths the names of the packages
 * begin with, so that nobody takes the names of others.
 */
const BELOW_PROJECT: Condition = {
  sql: "(pk.name = p.full_path or substr(pk.name, 1, length(p.full_path) + 1) = p.full_path || '/')",
  values: [],
};

/** Answers with a file, or with its digest. */
function answer(db: Reader, request: RequestInfo, path: FilePath, found: Found) {
  if (path.algorithm) {
    return new RawReply(200, { "content-type": "text/plain" }, found[path.algorithm]);
  }
  return downloadOf(db, request, found, path.file);
}

/** Adds a file to its version, which is made if there is none. @throws ApiError 400 if it has it already, or as many as may be */
async function add(
  db: Database,
  projectId: number,
  path: FilePath,
  file: StoredFile & packages.Digests,
  creator: number | null,
  now: number,
): Promise<void> {
  const made = { status: "default", creator_id: creator } as const;
  const version = versionOf(path);
  const id = await packages.findOrInsertVersion(db, projectId, version, made, now);
  await requireNewFile(db, id, version, path.file);
  if (path.isMetadata) {
    await db.run("delete from package_files where package_id = ? and file_name = ?", [
      id,
      path.file,
    ]);
  }
  await packages.requireRoom(db, id);
  await packages.insertFile(db, id, { ...file, name: path.file }, "default", now);
}

/** The digest that a body is, in hex; some programs write the name of the file behind it. @throws ApiError 400 */
async function digestIn(body: AsyncIterable<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of body) {
    text += Buffer.from(chunk).toString("latin1");
    if (text.length > MOST_DIGEST) throw badRequest("The body must be a digest");
  }
  const [digest = ""] = text.trim().toLowerCase().split(/\s/, 1);
  if (!/^[0-9a-f]+$/.test(digest)) throw badRequest("The body must be a digest");
  return digest;
}

const mavenRoutes = [
  project.put("/:path*", {
    summary:
      "Upload a file of a Maven package, or its digest, which is compared: the body is what Maven sends",
    ...writing,
    ...asked,
    input,
    body: "stream",
    maxBodyBytes: OWN.maven_max_file_size,
    status: 200,
    prepare: async ({ path }, { db, store, source, caller, body, now }) => {
      await requireUnprotected({ db, source, caller }, "push", versionOf(path));
      if (path.algorithm) return { digest: await digestIn(body) };
      const hashing = new Hashing();
      const most = await limitOf(db, "maven_max_file_size");
      const file = await storeFile(store, hashing.pass(body, most), now);
      return { file: { ...file, ...hashing.digests() } };
    },
    handle: async ({ db, source, caller, input: { path }, prepared, now }) => {
      if ("file" in prepared) {
        await add(db, source.id, path, prepared.file, packages.creatorOf(caller), now);
        return undefined;
      }
      const found = await findFile(db, path, ofProject(source));
      if (!found || !path.algorithm) throw notFound();
      if (found[path.algorithm] !== prepared.digest) {
        throw new ApiError(409, { message: "409 Conflict" });
      }
      return path.algorithm === "sha1" ? new RawReply(204, {}) : undefined;
    },
  }),
  project.get("/:path*", {
    summary: "Download a file of a Maven package, or its digest",
    answersWith: "application/octet-stream",
    ...readingProject,
    ...asked,
    input,
    handle: async ({ db, request, source, input: { path } }) => {
      const found = await findFile(db, path, ofProject(source));
      if (!found) throw notFound();
      return answer(db, request, path, found);
    },
  }),
  group.get("/:path*", {
    summary: "Download a file of a Maven package of the projects in a group and below it",
    answersWith: "application/octet-stream",
    ...reading,
    ...asked,
    input,
    handle: async (context) => {
      const { db, request, source, input } = context;
      const found = await findFile(db, input.path, inGroup(source, context));
      if (!found) throw notFound();
      return answer(db, request, input.path, found);
    },
  }),
  instance.get("/:path*", {
    summary: "Download a file of a Maven package whose name begins with the path of its project",
    answersWith: "application/octet-stream",
    ...open,
    ...asked,
    input,
    handle: async (context) => {
      const { db, request, caller, input } = context;
      const where = all([BELOW_PROJECT, readable(context)]);
      const found = await findFile(db, input.path, where);
      if (!found) throw caller ? notFound() : basicAuthRequired();
      return answer(db, request, input.path, found);
    },
  }),
];

/** The registry of Maven packages, over the packages of projects (docs/packages.md). */
export const mavenPackageResource: Resource = {
  name: "Maven packages",
  migrations: [],
  routes: mavenRoutes,
};
