import type { Source } from "../../core/access/source.ts";
import { codeRole } from "../../core/access/source.ts";
import { notFound } from "../../core/errors.ts";
import type { View } from "../../core/field.ts";
import { dispositionOf } from "../../core/http/file-reply.ts";
import { cancellable } from "../../core/http/streamed.ts";
import * as param from "../../core/input.ts";
import { Json, type PrepareContext, RawReply, type Resource, routes } from "../../core/resource.ts";
import { archive } from "../../git/archive.ts";
import { reading } from "../packages/places.ts";
import { requireArchivable } from "../repositories/archives.ts";
import { type OpenRepository, openRepository } from "../repositories/open.ts";
import { filesOf } from "./files.ts";
import { decoded, type Module, moduleOf } from "./modules.ts";
import { findVersion, listVersions, type ModuleVersion, tagsOf } from "./versions.ts";

const { get } = routes({
  source: "project",
  path: "/packages/go/:module_name*/@v",
  features: ["package_registry"],
});

const shared = { ...reading, basicAuth: "asked", role: codeRole } as const;
const input = { module_name: param.anyText({ max: 1024 }) };
const oneVersion = { ...input, module_version: param.anyText({ max: 255 }) };
const text = { "content-type": "text/plain; charset=utf-8" };

/** What a handler has once the repository is open. */
interface Found {
  readonly opened: OpenRepository;
  readonly module: Module;
}

/** Finds a module of the project. @throws ApiError 404 */
function requireModule(name: string, source: Source, { base }: View): Module {
  const host = base.slice(base.indexOf("://") + "://".length);
  const module = moduleOf(name, `${host}/${source.fullPath}`);
  if (!module) throw notFound();
  return module;
}

/** Opens the repository at a version of a module. @throws ApiError 404 if there is no such module */
async function open(
  { module_name: name, module_version: version }: { module_name: string; module_version: string },
  preparing: Pick<PrepareContext, "db" | "store" | "budget" | "view"> & { source: Source },
): Promise<Found> {
  const module = requireModule(name, preparing.source, preparing.view);
  return { module, opened: await openRepository(preparing, tagsOf(module, decoded(version))) };
}

/** The version that a request names. @throws ApiError 404 */
async function requireVersion(
  { opened, module }: Found,
  { module_version: version }: { module_version: string },
): Promise<ModuleVersion> {
  const found = await findVersion(opened, module, decoded(version));
  if (!found) throw notFound();
  return found;
}

/** Modules of projects, which Go finds in their repositories: https://go.dev/ref/mod#goproxy-protocol (docs/packages.md). */
export const goPackageResource: Resource = {
  name: "Go modules",
  migrations: [],
  routes: [
    get("/list", {
      summary: "List the versions of a Go module: the tags that are versions, one on each line",
      answersWith: "text/plain",
      ...shared,
      input,
      prepare: async ({ module_name: name }, preparing) => ({
        module: requireModule(name, preparing.source, preparing.view),
        opened: await openRepository(preparing),
      }),
      handle: async ({ db, prepared: { module, opened } }) => {
        const versions = await listVersions(db, opened, module);
        return new RawReply(200, text, versions.join("\n"));
      },
    }),
    get("/:module_version.info", {
      summary: "Get the name and the time of a version of a Go module",
      ...shared,
      input: oneVersion,
      examples: [{ Version: "v1.0.0", Time: "2026-01-01T00:00:00.000Z" }],
      prepare: open,
      handle: async ({ prepared, input }) => {
        const { name, time } = await requireVersion(prepared, input);
        return new Json({ Version: name, Time: new Date(time * 1000).toISOString() });
      },
    }),
    get("/:module_version.mod", {
      summary: "Get the go.mod of a version of a Go module",
      answersWith: "text/plain",
      ...shared,
      input: oneVersion,
      prepare: open,
      handle: async ({ prepared, input }) =>
        new RawReply(200, text, (await requireVersion(prepared, input)).gomod),
    }),
    get("/:module_version.zip", {
      summary: "Download the files of a version of a Go module",
      answersWith: "application/zip",
      ...shared,
      input: oneVersion,
      prepare: open,
      handle: async ({ prepared, input }) => {
        const { name, commit, time, tree } = await requireVersion(prepared, input);
        const { opened, module } = prepared;
        await requireArchivable(opened, tree);
        const { repository } = opened;
        const folder = `${module.name}@${name}`;
        const archived = { repository, commit, time, root: tree, tree, path: "", folder };
        return new RawReply(
          200,
          {
            "content-type": "application/zip",
            "content-disposition": dispositionOf("attachment", `${name}.zip`),
          },
          cancellable((signal) =>
            archive(archived, "zip", signal, (members) =>
              filesOf(repository, `${folder}/`, members),
            ),
          ),
        );
      },
    }),
  ],
};
