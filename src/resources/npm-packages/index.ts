import type { Caller } from "../../core/access/caller.ts";
import { codeRole, type Source } from "../../core/access/source.ts";
import { badRequest, forbidden } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { flagWithoutEffect } from "../../core/kept.ts";
import { Json, type Resource, routes } from "../../core/resource.ts";
import { discardFile, type StoredFile, storeFile } from "../../files/write.ts";
import { all, type Condition } from "../../store/conditions.ts";
import type { Database, Reader } from "../../store/port.ts";
import { downloadOf } from "../packages/download.ts";
import { Hashing } from "../packages/hashing.ts";
import {
  type Asking,
  inGroup,
  ofProject,
  open,
  readable,
  reading,
  readingProject,
  writing,
} from "../packages/places.ts";
import * as packages from "../packages/queries.ts";
import { removeTag, setTag } from "../packages/tags.ts";
import { isVersion } from "../packages/versions.ts";
import { limitOf, OWN } from "../plan-limits/limits.ts";
import { requireUnprotected } from "../protection-rules/abilities.ts";
import { DOCUMENT_BYTES, Document } from "./document.ts";
import { allTags, noPackage, packumentOf } from "./packument.ts";
import {
  deprecatedIn,
  isPackageName,
  isTag,
  type Published,
  readPublished,
  withReason,
} from "./published.ts";

/** Versions of one package in a project, at most. */
const MOST_VERSIONS = 10_000;

const project = routes({
  source: "project",
  path: "/packages/npm",
  features: ["package_registry"],
});
const group = routes({ source: "group", path: "/-/packages/npm" });
const instance = routes({ path: "/packages/npm" });

const named = {
  package_name: param.checked(param.anyText(), isPackageName, "is not the name of a package"),
};
const tagged = {
  ...named,
  tag: param.checked(param.anyText(), isTag, "is not a tag"),
};

/**
 * The projects whose packages of a name everybody finds without naming a project or group: those in the namespace that
 * its scope names, so that nobody takes the names of others.
 *
 * @throws ApiError 404 for a name without a scope
 */
function inScope(name: string, asking: Asking): Condition {
  const scope = /^@([^/]+)\//.exec(name)?.[1];
  if (scope === undefined) throw noPackage();
  const below = `p.namespace_id in (select a.namespace_id from namespaces n
    join namespace_ancestors a on a.ancestor_id = n.id where lower(n.full_path) = lower(?))`;
  return all([{ sql: below, values: [scope] }, readable(asking)]);
}

const versionOf = (name: string, version: string): packages.Version => ({
  package_type: "npm",
  name,
  version,
});

/** A version of a package of a project. @throws ApiError 404 */
async function requireVersion(db: Reader, { id }: Source, name: string, version: string) {
  const found = await packages.findVersion(db, id, versionOf(name, version));
  if (found === undefined) throw noPackage();
  return found;
}

/** What has arrived: a version with its archive, or, without one, which versions are deprecated. */
type Arrival =
  | { readonly published: Published; readonly file: StoredFile & Required<packages.Digests> }
  | { readonly deprecated: ReadonlyMap<string, string> };

/** @throws ApiError 403 for a version that there is, 400 for more versions than may be */
async function requireNew(db: Reader, projectId: number, name: string, version: string) {
  const known = await packages.findVersion(db, projectId, versionOf(name, version));
  if (known !== undefined) throw forbidden("Package already exists.");
  const [count] = await db.rows(
    "select count(*) from packages where project_id = ? and package_type = 'npm' and name = ?",
    [projectId, name],
  );
  if (Number(count?.[0]) >= MOST_VERSIONS) {
    throw badRequest(`A package may have ${MOST_VERSIONS} versions at most`);
  }
}

/** Stores the version that has arrived. */
async function publish(
  db: Database,
  source: Source,
  caller: Caller,
  name: string,
  { published, file }: Extract<Arrival, { published: unknown }>,
  now: number,
): Promise<void> {
  const { version, manifest, tags } = published;
  await requireNew(db, source.id, name, version);
  const made = { status: "default", creator_id: packages.creatorOf(caller), manifest } as const;
  const id = await packages.insertVersion(db, source.id, versionOf(name, version), made, now);
  await packages.insertFile(db, id, { ...file, name: published.file }, "default", now);
  for (const tag of tags) {
    await setTag(db, source.id, { package_type: "npm", name }, tag, id, now);
  }
}

/** Deprecates versions. @throws ApiError 404 if there is none of them */
async function deprecate(
  db: Database,
  { id: projectId }: Source,
  name: string,
  reasons: ReadonlyMap<string, string>,
  now: number,
): Promise<void> {
  const known = await db.all<{ id: number; version: string }>(
    "select id, version from packages where project_id = ? and package_type = 'npm' and name = ?",
    [projectId, name],
  );
  const wanted = known.filter(({ version }) => reasons.has(version));
  if (wanted.length === 0) throw noPackage();
  // One by one: together, what is kept of thousands of versions may be too much for memory.
  for (const { id, version } of wanted) {
    const [row] = await db.rows("select manifest from packages where id = ?", [id]);
    const manifest = String(row?.[0]);
    const changed = withReason(manifest, reasons.get(version) as string);
    if (changed === manifest) continue;
    await db.run("update packages set manifest = ?, updated_at = ? where id = ?", [
      changed,
      now,
      id,
    ]);
  }
}

const metadata = {
  answersWith: "application/json",
  input: { ...named, write: flagWithoutEffect() },
} as const;
const tags = { input: named, examples: [{ latest: "1.0.0" }] } as const;
const audit = {
  ...open,
  body: "bytes",
  maxBodyBytes: DOCUMENT_BYTES,
  status: 200,
  examples: [[]],
} as const;
const nothingKnown = () => new Json([]);

const npmRoutes = [
  project.put("/:package_name*", {
    summary:
      "Publish a version of an npm package, or deprecate versions: the body is what npm sends",
    ...writing,
    input: named,
    body: "stream",
    maxBodyBytes: Math.ceil((OWN.npm_max_file_size * 4) / 3) + DOCUMENT_BYTES,
    status: 200,
    examples: [{ ok: true }],
    prepare: async ({ package_name: name }, { db, store, source, caller, body, now }) => {
      await requireUnprotected({ db, source, caller }, "push", { name, package_type: "npm" });
      const most = await limitOf(db, "npm_max_file_size");
      const [document, hashing] = [new Document(), new Hashing()];
      const file = await storeFile(store, hashing.pass(document.archive(body), most), now);
      try {
        const rest = document.rest();
        if (!document.hasArchive) {
          const deprecated = deprecatedIn(rest);
          await discardFile(store, file.id);
          return { deprecated };
        }
        const stored = { ...file, ...hashing.digests() };
        const published = readPublished(rest, name, stored);
        await requireNew(db, source.id, name, published.version);
        return { published, file: stored };
      } catch (error) {
        await discardFile(store, file.id);
        throw error;
      }
    },
    handle: async ({ db, source, caller, input, prepared, now }) => {
      const arrived: Arrival = prepared;
      const { package_name: name } = input;
      if ("deprecated" in arrived) await deprecate(db, source, name, arrived.deprecated, now);
      else await publish(db, source, caller, name, arrived, now);
      return new Json({ ok: true });
    },
  }),
  project.get("/:package_name*", {
    summary: "Get what npm needs to know of a package of a project: its versions and tags",
    ...readingProject,
    ...metadata,
    handle: ({ db, request, view, source, input }) =>
      packumentOf(db, request, view, input.package_name, ofProject(source)),
  }),
  group.get("/:package_name*", {
    summary: "Get what npm needs to know of a package of the projects in a group and below it",
    ...reading,
    ...metadata,
    handle: (context) => {
      const { db, request, view, source, input } = context;
      return packumentOf(db, request, view, input.package_name, inGroup(source, context));
    },
  }),
  instance.get("/:package_name*", {
    summary: "Get what npm needs to know of a package whose scope names a group or user",
    ...open,
    ...metadata,
    handle: (context) => {
      const { db, request, view, input } = context;
      return packumentOf(
        db,
        request,
        view,
        input.package_name,
        inScope(input.package_name, context),
      );
    },
  }),
  project.get("/:package_name*/-/:file_name*", {
    answersWith: "application/octet-stream",
    summary: "Download a version of an npm package",
    ...readingProject,
    input: { ...named, file_name: param.anyText() },
    handle: async ({ db, source, request, input: { package_name: name, file_name: file } }) => {
      const scope = /^@[^/]+\//.exec(name)?.[0] ?? "";
      const whole = file.startsWith(scope) ? file : `${scope}${file}`;
      const [before, after] = [`${name}-`, ".tgz"];
      if (!whole.startsWith(before) || !whole.endsWith(after)) throw noPackage();
      const version = versionOf(name, whole.slice(before.length, -after.length));
      const found = await packages.findContent(db, source.id, version, whole);
      if (!found) throw noPackage();
      return downloadOf(db, request, found, whole.slice(scope.length));
    },
  }),
  project.get("/-/package/:package_name*/dist-tags", {
    summary: "Get the tags of an npm package of a project",
    ...readingProject,
    ...tags,
    handle: async ({ db, source, input }) =>
      new Json(await allTags(db, input.package_name, ofProject(source))),
  }),
  group.get("/-/package/:package_name*/dist-tags", {
    summary: "Get the tags of an npm package of the projects in a group and below it",
    ...reading,
    ...tags,
    handle: async (context) => {
      const { db, source, input } = context;
      return new Json(await allTags(db, input.package_name, inGroup(source, context)));
    },
  }),
  instance.get("/-/package/:package_name*/dist-tags", {
    summary: "Get the tags of an npm package whose scope names a group or user",
    ...open,
    ...tags,
    handle: async (context) => {
      const name = context.input.package_name;
      return new Json(await allTags(context.db, name, inScope(name, context)));
    },
  }),
  project.put("/-/package/:package_name*/dist-tags/:tag", {
    summary: "Make a tag of an npm package stand for a version: the body is the version, as JSON",
    ...writing,
    input: tagged,
    body: "bytes",
    maxBodyBytes: 1024,
    handle: async (context) => {
      const { db, source, input, body, now } = context;
      const npm = { package_type: "npm", name: input.package_name } as const;
      await requireUnprotected(context, "push", npm);
      const id = await requireVersion(db, source, npm.name, versionIn(body));
      await setTag(db, source.id, npm, input.tag, id, now);
      return undefined;
    },
  }),
  project.del("/-/package/:package_name*/dist-tags/:tag", {
    summary: "Take a tag of an npm package away",
    ...writing,
    input: tagged,
    handle: async (context) => {
      const { db, source, input } = context;
      const npm = { package_type: "npm", name: input.package_name } as const;
      await requireUnprotected(context, "push", npm);
      if (!(await removeTag(db, source.id, npm, input.tag))) throw noPackage();
      return undefined;
    },
  }),
  project.query("/-/npm/v1/security/advisories/bulk", {
    summary: "Ask what is known against packages, as npm does after installing: nothing",
    ...audit,
    deployTokens: "read_package_registry",
    role: codeRole,
    handle: nothingKnown,
  }),
  project.query("/-/npm/v1/security/audits/quick", {
    summary: "Ask what is known against packages, as older versions of npm do: nothing",
    ...audit,
    deployTokens: "read_package_registry",
    role: codeRole,
    handle: nothingKnown,
  }),
  group.query("/-/npm/v1/security/advisories/bulk", {
    summary: "Ask in a group what is known against packages: nothing",
    ...audit,
    deployTokens: "read_package_registry",
    handle: nothingKnown,
  }),
  group.query("/-/npm/v1/security/audits/quick", {
    summary: "Ask in a group what is known against packages, as older versions of npm do: nothing",
    ...audit,
    deployTokens: "read_package_registry",
    handle: nothingKnown,
  }),
  instance.query("/-/npm/v1/security/advisories/bulk", {
    summary: "Ask what is known against packages whose scope names a group or user: nothing",
    ...audit,
    handle: nothingKnown,
  }),
  instance.query("/-/npm/v1/security/audits/quick", {
    summary: "Ask for all of the instance what is known against packages: nothing",
    ...audit,
    handle: nothingKnown,
  }),
];

/** @throws ApiError 400 for anything but a text as JSON */
function versionIn(body: Uint8Array): string {
  try {
    const version: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    if (typeof version === "string" && isVersion(version)) return version;
  } catch {}
  throw badRequest("The body must be a version, as JSON");
}

/** The registry of npm packages, over the packages of projects (docs/packages.md). */
export const npmPackageResource: Resource = {
  name: "npm packages",
  migrations: [],
  routes: npmRoutes,
};
