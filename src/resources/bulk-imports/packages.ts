import { ApiError } from "../../core/errors.ts";
import { type StoredFile, storeFile } from "../../files/write.ts";
import type { Database } from "../../store/port.ts";
import { ArchiveError } from "../exports/format.ts";
import { readPath } from "../maven-packages/paths.ts";
import { isTag, readPublished } from "../npm-packages/published.ts";
import { readNuspec } from "../nuget-packages/nuspec.ts";
import { Hashing } from "../packages/hashing.ts";
import { requireNames } from "../packages/names.ts";
import * as packages from "../packages/queries.ts";
import { setTag } from "../packages/tags.ts";
import { type InForce, limitOf } from "../plan-limits/limits.ts";
import { isFileOf, isName, isVersion, normalized } from "../pypi-packages/names.ts";
import type { SourceRecord } from "./records.ts";
import { instantIn, listIn, textIn, toldIn } from "./rows.ts";
import type { Bringing } from "./running.ts";
import { isTold, type Told } from "./source.ts";

/** A version of a package, as it is told of. */
interface Version {
  readonly name: string;
  /** Empty for what belongs to all versions. */
  readonly version: string;
}

/** How the packages of a kind are read from another server. */
interface Kind {
  readonly type: packages.Version["package_type"];
  readonly limit: InForce;
  /** The name by which it is looked up here. */
  readonly nameOf: (name: string) => string;
  /** Which of its files are read. Default: all. */
  readonly takes?: (file: string) => boolean;
  /** The path of a file below that of the packages of a project. @throws ArchiveError, ApiError if there can't be one like it here */
  readonly pathOf: (version: Version, file: string, told: Told) => string;
  /** Whether further digests of its files are stored. */
  readonly hasDigests: boolean;
  /** What is told of a version, as it is stored. @param files those that were read */
  readonly manifestOf?: (
    bringing: Bringing,
    version: Version,
    files: readonly Read[],
  ) => Promise<string>;
}

/** A file that was read. */
interface Read {
  readonly name: string;
  readonly at: number;
  readonly file: StoredFile & packages.Digests;
}

const wrong = () => new ArchiveError("it is no package that there can be here");
const encoded = (path: string) => path.split("/").map(encodeURIComponent).join("/");

const KINDS: Readonly<Record<string, Kind>> = {
  generic: {
    ...{ type: "generic", limit: "generic_packages_max_file_size", hasDigests: false },
    nameOf: (name) => name,
    pathOf: ({ name, version }, file_name) => {
      requireNames({ package_name: name, package_version: version, file_name });
      return `generic/${encoded(`${name}/${version}/${file_name}`)}`;
    },
  },
  maven: {
    ...{ type: "maven", limit: "maven_max_file_size", hasDigests: true },
    nameOf: (name) => name,
    pathOf: ({ name, version }, file) => {
      const path = [name, version, file].filter((part) => part !== "").join("/");
      const read = readPath(path);
      const isSame = read?.name === name && read.version === version && read.file === file;
      if (!isSame || read.algorithm) throw wrong();
      return `maven/${encoded(path)}`;
    },
  },
  npm: {
    ...{ type: "npm", limit: "npm_max_file_size", hasDigests: true },
    nameOf: (name) => name,
    pathOf: ({ name }, file) => `npm/${encodeURIComponent(name)}/-/${encoded(file)}`,
    manifestOf: async (bringing, { name, version }, [archive]) => {
      const all = await bringing.aboutOne(
        "what npm packages tell",
        `${bringing.path}/packages/npm/${encodeURIComponent(name)}`,
      );
      const told = toldIn(toldIn(all["versions"])[version]);
      const file = `${name}-${version}.tgz`;
      if (archive?.name !== file) throw wrong();
      const document = { name, versions: { [version]: told }, _attachments: { [file]: {} } };
      const arrived = archive.file as Parameters<typeof readPublished>[2];
      return readPublished(document, name, arrived).manifest;
    },
  },
  nuget: {
    ...{ type: "nuget", limit: "nuget_max_file_size", hasDigests: false },
    nameOf: (name) => name,
    // Symbols are asked for in another way.
    takes: (file) => file.endsWith(".nupkg"),
    pathOf: ({ name, version }, file) => `nuget/download/${encoded(`${name}/${version}/${file}`)}`,
    manifestOf: async ({ running }, { name, version }, files) => {
      const [archive] = files;
      const nuspec = archive && (await readNuspec(running.store.reader(), archive.file));
      if (nuspec?.id !== name || nuspec.version !== version) throw wrong();
      return JSON.stringify(nuspec);
    },
  },
  pypi: {
    ...{ type: "pypi", limit: "pypi_max_file_size", hasDigests: false },
    nameOf: normalized,
    pathOf: ({ name, version }, file, told) => {
      const sha256 = textIn(told["file_sha256"]) ?? "";
      const isOfPython = isName(name) && isVersion(version) && isFileOf(file, name);
      if (!isOfPython || !/^[0-9a-f]{64}$/.test(sha256)) throw wrong();
      return `pypi/files/${sha256}/${encodeURIComponent(file)}`;
    },
    manifestOf: async (bringing, { name }, files) => {
      const requires_python = await pythonOf(bringing, name, files[0]?.name ?? "");
      return JSON.stringify(requires_python === undefined ? {} : { requires_python });
    },
  },
};

/** Bytes of a list of the files of a Python package. */
const MOST_INDEX = 4 * 1024 * 1024;

/** Which Python a file needs, which only the list that pip reads tells. */
async function pythonOf(
  { running, path }: Bringing,
  name: string,
  file: string,
): Promise<string | undefined> {
  const parts: Uint8Array[] = [];
  const address = `${path}/packages/pypi/simple/${encodeURIComponent(normalized(name))}`;
  for await (const part of running.source.bytes(address, MOST_INDEX)) parts.push(part);
  const line = Buffer.concat(parts)
    .toString("utf8")
    .split("<a ")
    .find((link) => link.includes(`>${file}<`));
  const needed = /data-requires-python="([^"]{1,255})"/.exec(line ?? "")?.[1];
  return needed?.replaceAll("&gt;", ">").replaceAll("&lt;", "<").replaceAll("&amp;", "&");
}

/** Brings packages with their files, as far as their kind is one whose files say all that there is. */
export async function bringPackages(bringing: Bringing, told: Told): Promise<void> {
  if (told["packages_enabled"] === false) return;
  const query = { order_by: "created_at", sort: "asc", include_versionless: true };
  await bringing.list("packages", `${bringing.path}/packages`, query, (one) =>
    packageOf(bringing, one),
  );
}

async function packageOf(bringing: Bringing, told: Told): Promise<SourceRecord> {
  const kind = KINDS[String(told["package_type"])];
  if (!kind) throw new ArchiveError(`packages of the kind ${told["package_type"]} are not taken`);
  const version = { name: textIn(told["name"]) ?? "", version: textIn(told["version"]) ?? "" };
  const at = instantIn(told["created_at"]) ?? bringing.running.now();
  try {
    const files = await filesOf(bringing, kind, version, told);
    const manifest = await kind.manifestOf?.(bringing, version, files);
    const found = { kind, version, at, files, manifest };
    return {
      ...{ kind: "packages", key: String(told["id"]), rows: [] },
      title: `${version.name} ${version.version}`.trim(),
      instead: (db) => insert(db, bringing, found, told),
    };
  } catch (error) {
    if (error instanceof ApiError) throw wrong();
    throw error;
  }
}

/** Reads the files of a package: of several of a name, the newest. */
async function filesOf(
  bringing: Bringing,
  kind: Kind,
  version: Version,
  { id }: Told,
): Promise<Read[]> {
  const { store, source, now } = bringing.running;
  const at = `${bringing.path}/packages`;
  const listed = await bringing.about("files of packages", `${at}/${id}/package_files`);
  const named = listed.map((told) => [String(told["file_name"]), told] as const);
  const newest = new Map(named.filter(([name]) => kind.takes?.(name) ?? true));
  const most = await limitOf(store.reader(), kind.limit);
  const files: Read[] = [];
  for (const [name, told] of newest) {
    const path = kind.pathOf(version, name, told);
    const hashing = new Hashing();
    const bytes = source.bytes(`${at}/${path}`, most);
    const file = await storeFile(store, hashing.pass(bytes, most), now());
    const sha256 = textIn(told["file_sha256"]);
    if (sha256 !== null && sha256 !== file.sha256)
      throw new ArchiveError(`${name} is another file`);
    const digests = kind.hasDigests ? hashing.digests() : {};
    files.push({ name, at: instantIn(told["created_at"]) ?? now(), file: { ...file, ...digests } });
  }
  if (files.length === 0) throw new ArchiveError("it has no files");
  return files;
}

/** What is inserted of a package. */
interface Found {
  readonly kind: Kind;
  readonly version: Version;
  readonly at: number;
  readonly files: readonly Read[];
  readonly manifest: string | undefined;
}

async function insert(
  db: Database,
  { running, place }: Bringing,
  { kind, version, at, files, manifest }: Found,
  told: Told,
): Promise<number> {
  const name = kind.nameOf(version.name);
  const of = { package_type: kind.type, name, version: version.version };
  if ((await packages.findVersion(db, place.id, of)) !== undefined) {
    throw new ArchiveError("another one has its place here");
  }
  const status = told["status"] === "hidden" ? "hidden" : "default";
  const made = { status, creator_id: running.importer.id, ...(manifest && { manifest }) } as const;
  const id = await packages.insertVersion(db, place.id, of, made, at);
  for (const { name: file_name, at: created, file } of files) {
    await packages.insertFile(db, id, { ...file, name: file_name }, status, created);
  }
  for (const { name: tag } of listIn(told["tags"]).filter(isTold)) {
    if (kind.type !== "npm" || !isTag(String(tag))) continue;
    await setTag(db, place.id, { package_type: kind.type, name }, String(tag), id, at);
  }
  return id;
}
