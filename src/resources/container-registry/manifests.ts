import { createHash } from "node:crypto";
import { insertMany, insertRow } from "../../store/insert.ts";
import { placeholders } from "../../store/placeholders.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import { linksOf, type Repository } from "./blobs.ts";
import { isDigest } from "./names.ts";

/** Maximum bytes of a manifest: 4 MiB, as the specification lets registries have. */
export const MANIFEST_BYTES = 4 * 1024 ** 2;
/** What a manifest may refer to. */
const REFERENCES = 1000;
/** Characters of the annotations of a manifest, as JSON, that are told of it as a referrer. */
const ANNOTATIONS = 16_384;

const IMAGES = [
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
];
/** The media type of a list of manifests, as referrers are answered. */
export const INDEX = "application/vnd.oci.image.index.v1+json";
const INDEXES = [INDEX, "application/vnd.docker.distribution.manifest.list.v2+json"];

/** What a manifest refers to. */
interface Descriptor {
  readonly digest: string;
  readonly mediaType: string;
  readonly size: number;
  /** Whether it is stored elsewhere, as layers are that may not be passed on. */
  readonly isForeign: boolean;
}

/** A manifest that was read. */
interface Manifest {
  readonly mediaType: string;
  readonly artifactType: string | null;
  readonly subject: string | null;
  /** As JSON. */
  readonly annotations: string | null;
  readonly config: Descriptor | undefined;
  /** Layers of an image, or manifests of an index. */
  readonly parts: readonly Descriptor[];
  readonly isIndex: boolean;
}

/** What is wrong with a manifest, for its sender. */
export class ManifestError extends Error {
  /**
   * @param code of OCI's errors
   * @param digest of what is missing
   */
  constructor(
    readonly code: "MANIFEST_INVALID" | "MANIFEST_BLOB_UNKNOWN",
    message: string,
    readonly digest?: string,
  ) {
    super(message);
  }
}

const invalid = (message: string) => new ManifestError("MANIFEST_INVALID", message);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function descriptorOf(value: unknown, what: string): Descriptor {
  const { digest, mediaType, size, urls } = isObject(value) ? value : {};
  if (!isDigest(digest)) throw invalid(`${what} has no valid digest`);
  if (typeof mediaType !== "string") throw invalid(`${what} has no media type`);
  if (!Number.isSafeInteger(size) || Number(size) < 0) throw invalid(`${what} has no size`);
  const isForeign = Array.isArray(urls) && /foreign|nondistributable/.test(mediaType);
  return { digest, mediaType, size: Number(size), isForeign };
}

function partsOf(value: unknown, what: string): Descriptor[] {
  if (!Array.isArray(value)) throw invalid(`${what}s must be a list`);
  if (value.length > REFERENCES) throw invalid(`there can be at most ${REFERENCES} ${what}s`);
  return value.map((one) => descriptorOf(one, `a ${what}`));
}

/**
 * Reads a manifest.
 *
 * @param type its media type, as its sender says
 * @throws ManifestError
 */
export function readManifest(bytes: Uint8Array, type: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw invalid("it is not JSON");
  }
  if (!isObject(value)) throw invalid("it is no object");
  const isIndex = INDEXES.includes(type);
  if (!isIndex && !IMAGES.includes(type)) throw invalid(`its media type ${type} is not supported`);
  if (value["schemaVersion"] !== 2) throw invalid("its schemaVersion is not 2");
  if (value["mediaType"] !== undefined && value["mediaType"] !== type) {
    throw invalid("its mediaType is not that of the request");
  }
  const { annotations, artifactType, subject } = value;
  const told = isObject(annotations) ? JSON.stringify(annotations) : "";
  const config = isIndex ? undefined : descriptorOf(value["config"], "the config");
  return {
    mediaType: type,
    artifactType: typeof artifactType === "string" ? artifactType : (config?.mediaType ?? null),
    subject: subject === undefined ? null : descriptorOf(subject, "the subject").digest,
    annotations: told === "" || told.length > ANNOTATIONS ? null : told,
    config,
    parts: isIndex ? partsOf(value["manifests"], "manifest") : partsOf(value["layers"], "layer"),
    isIndex,
  };
}

/** The digest of some bytes. @param like has the algorithm. Default SHA-256 */
export function digestOf(bytes: Uint8Array, like = "sha256:"): string {
  const algorithm = like.slice(0, like.indexOf(":"));
  return `${algorithm}:${createHash(algorithm).update(bytes).digest("hex")}`;
}

/** A manifest as stored, without its content. */
export interface StoredManifest {
  readonly id: number;
  readonly digest: string;
  readonly media_type: string;
  readonly size: number;
}

const COLUMNS = "m.id, m.digest, m.media_type, m.size";

/** A manifest of a repository by its digest or a tag, or `undefined`. */
export function findManifest(
  db: Reader,
  repositoryId: number,
  reference: string,
): Awaitable<StoredManifest | undefined> {
  return isDigest(reference)
    ? db.one<StoredManifest>(
        `select ${COLUMNS} from container_manifests m where m.repository_id = ? and m.digest = ?`,
        [repositoryId, reference],
      )
    : db.one<StoredManifest>(
        `select ${COLUMNS} from container_tags t join container_manifests m on m.id = t.manifest_id
         where t.repository_id = ? and t.name = ?`,
        [repositoryId, reference],
      );
}

/** The bytes of a manifest, as they were sent. */
export async function contentOf(db: Reader, { id }: StoredManifest): Promise<Uint8Array> {
  const [row] = await db.rows("select content from container_manifests where id = ?", [id]);
  return row?.[0] as Uint8Array;
}

interface Child {
  readonly id: number;
  readonly total_size: number;
}

async function childrenOf(
  db: Reader,
  repositoryId: number,
  digests: readonly string[],
): Promise<Map<string, Child>> {
  if (digests.length === 0) return new Map();
  const among = placeholders(digests);
  const rows = await db.rows(
    `select digest, id, total_size from container_manifests where repository_id = ? and digest in (${among.sql})`,
    [repositoryId, ...among.values],
  );
  return new Map(
    rows.map(([digest, id, size]) => [
      String(digest),
      { id: Number(id), total_size: Number(size) },
    ]),
  );
}

/**
 * Stores a manifest whose blobs and manifests its repository has.
 *
 * @param bytes kept as they are
 * @returns its id
 * @throws ManifestError if the repository lacks something
 */
export async function putManifest(
  db: Database,
  repository: Repository,
  { digest, bytes }: { readonly digest: string; readonly bytes: Uint8Array },
  manifest: Manifest,
  now: number,
): Promise<number> {
  const needed = manifest.parts.filter(({ isForeign }) => !isForeign);
  const digests = [...new Set(needed.map((one) => one.digest))];
  const children = manifest.isIndex
    ? await childrenOf(db, repository.id, digests)
    : new Map<string, Child>();
  // Caches of builds are indexes of layers.
  const blobs = [
    ...(manifest.config ? [manifest.config.digest] : []),
    ...digests.filter((one) => !children.has(one)),
  ];
  const links = blobs.length === 0 ? new Map() : await linksOf(db, repository.id, blobs);
  const missing = blobs.find((one) => !links.has(one));
  if (missing !== undefined) {
    throw new ManifestError("MANIFEST_BLOB_UNKNOWN", "blob unknown to registry", missing);
  }
  const known = await findManifest(db, repository.id, digest);
  if (known) {
    await db.run("update container_manifests set unused_since = null where id = ?", [known.id]);
    return known.id;
  }
  const total = needed.reduce(
    (sum, one) => sum + (children.get(one.digest)?.total_size ?? one.size),
    0,
  );
  const id = await insertRow(db, "container_manifests", {
    repository_id: repository.id,
    project_id: repository.project_id,
    digest,
    media_type: manifest.mediaType,
    artifact_type: manifest.artifactType,
    subject: manifest.subject,
    annotations: manifest.annotations,
    config_digest: manifest.config?.digest ?? null,
    content: bytes,
    size: bytes.length,
    total_size: Math.min(total, Number.MAX_SAFE_INTEGER),
    created_at: now,
  });
  const used = [...links.values()].map((link) => [id, link]);
  await insertMany(db, "container_manifest_blobs", ["manifest_id", "link_id"], used);
  const listed = [...children.values()].map((child) => [id, child.id]);
  await insertMany(db, "container_manifest_children", ["manifest_id", "child_id"], listed);
  return id;
}

/** Lets a tag name a manifest, whatever it named before. */
export async function putTag(
  db: Database,
  { id }: Repository,
  name: string,
  manifestId: number,
  now: number,
): Promise<void> {
  await db.run(
    `insert into container_tags (repository_id, manifest_id, name, pushed_at) values (?, ?, ?, ?)
     on conflict (repository_id, name) do update set manifest_id = excluded.manifest_id, pushed_at = excluded.pushed_at`,
    [id, manifestId, name, now],
  );
  await db.run("update container_repositories set updated_at = ? where id = ?", [now, id]);
}

/** Whether an index of its repository needs a manifest. */
export async function isChild(db: Reader, { id }: StoredManifest): Promise<boolean> {
  const found = await db.rows(
    "select 1 from container_manifest_children where child_id = ? limit 1",
    [id],
  );
  return found.length > 0;
}

/** Deletes a manifest, with its tags. */
export async function deleteManifest(db: Database, { id }: StoredManifest): Promise<void> {
  await db.run("delete from container_manifests where id = ?", [id]);
}

/** Deletes a tag, and returns whether there was one. Its manifest stays until the sweep. */
export async function deleteTag(
  db: Database,
  repositoryId: number,
  name: string,
): Promise<boolean> {
  const deleted = await db.run("delete from container_tags where repository_id = ? and name = ?", [
    repositoryId,
    name,
  ]);
  return deleted > 0;
}

/** The tags of a repository after one, in the order of their names; one more than `most` if there are more. */
export async function tagsAfter(
  db: Reader,
  repositoryId: number,
  last: string,
  most: number,
): Promise<string[]> {
  const rows = await db.rows(
    "select name from container_tags where repository_id = ? and name > ? order by name limit ?",
    [repositoryId, last, most + 1],
  );
  return rows.map(([name]) => String(name));
}

/** Manifests that one answer about referrers has at most. */
const REFERRERS = 100;

/** Descriptors of the manifests that have another one as their subject, and the id of the last if there are more. */
export async function referrersOf(
  db: Reader,
  repositoryId: number,
  subject: string,
  artifactType: string | undefined,
  after: number,
): Promise<{ readonly found: object[]; readonly next: number | undefined }> {
  const filter = artifactType === undefined ? "" : "and artifact_type = ?";
  const rows = await db.rows(
    `select id, digest, media_type, size, artifact_type, annotations from container_manifests
     where repository_id = ? and subject = ? ${filter} and id > ? order by id limit ?`,
    [
      ...[repositoryId, subject],
      ...(artifactType === undefined ? [] : [artifactType]),
      ...[after, REFERRERS + 1],
    ],
  );
  const shown = rows.slice(0, REFERRERS);
  const found = shown.map(([, digest, mediaType, size, type, annotations]) => ({
    mediaType,
    digest,
    size: Number(size),
    ...(type !== null && { artifactType: type }),
    ...(annotations !== null && { annotations: JSON.parse(String(annotations)) }),
  }));
  return { found, next: rows.length > REFERRERS ? Number(shown.at(-1)?.[0]) : undefined };
}
