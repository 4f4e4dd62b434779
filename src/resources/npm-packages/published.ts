import { badRequest } from "../../core/errors.ts";
import type { Digests } from "../packages/queries.ts";
import { isVersion } from "../packages/versions.ts";

/** Characters of what is kept of a version, as JSON. */
const LONGEST_MANIFEST = 64 * 1024;
/** Characters of why a version is deprecated. */
const LONGEST_REASON = 1024;
/** Tags that are set by one request. */
const MOST_TAGS = 10;

/** What is told of a version: its package.json. */
export type Manifest = Readonly<Record<string, unknown>>;

/** A version as it is published. */
export interface Published {
  readonly version: string;
  /** The name of its archive. */
  readonly file: string;
  /** As JSON, without what follows from its archive. */
  readonly manifest: string;
  readonly tags: readonly string[];
}

/** An archive that has arrived. */
export interface Arrived extends Required<Digests> {
  readonly size: number;
}

const NAME = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/i;

/** Whether a text is the name of a package, with its scope if it has one. */
export const isPackageName = (text: string): boolean =>
  text.length <= 214 && NAME.test(text) && !text.includes("..");

/** Whether a text may be a tag: it is no version, and stands in an address as it is. */
export const isTag = (text: string): boolean => /^[\w.~-]{1,255}$/.test(text) && !isVersion(text);

/** The names and values of an object from JSON. @throws ApiError 400 if it is none */
function entriesOf(value: unknown, name: string): [string, unknown][] {
  if (value === undefined) return [];
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw badRequest(`${name} is invalid`);
  }
  return Object.entries(value);
}

/** An object from JSON, whose names are looked up without those that every object has. */
const fieldsOf = (value: unknown, name: string): ReadonlyMap<string, unknown> =>
  new Map(entriesOf(value, name));

/**
 * What a document publishes.
 *
 * @param rest the document without its archive
 * @param name that the path has
 * @throws ApiError 400 if it does not agree with the name or the archive
 */
export function readPublished(rest: unknown, name: string, archive: Arrived): Published {
  const document = fieldsOf(rest, "The document");
  const [first, ...others] = entriesOf(document.get("versions"), "versions");
  if (!first) throw badRequest("Version is empty.");
  if (others.length > 0) throw badRequest("versions may have one version only");
  const [version, told] = first;
  if (!isVersion(version)) throw badRequest("Version is invalid");
  const manifest = fieldsOf(told, "The version");
  if (document.get("name") !== name || manifest.get("name") !== name) {
    throw badRequest("name is not that of the address");
  }
  if (manifest.get("version") !== version) throw badRequest("version is not that of versions");
  const file = `${name}-${version}.tgz`;
  const [attached, ...more] = entriesOf(document.get("_attachments"), "_attachments");
  if (attached?.[0] !== file || more.length > 0) {
    throw badRequest(`_attachments must have ${file} only`);
  }
  const length = fieldsOf(attached[1], "The attachment").get("length");
  if (archive.size === 0) throw badRequest("The attachment is empty");
  if (length !== undefined && length !== archive.size) {
    throw badRequest("length is not that of the attachment");
  }
  requireDigests(fieldsOf(manifest.get("dist"), "dist"), archive);
  return { version, file, manifest: keptOf(manifest), tags: tagsIn(document, version) };
}

/** @throws ApiError 400 for digests of another archive */
function requireDigests(dist: ReadonlyMap<string, unknown>, archive: Arrived): void {
  const shasum = dist.get("shasum");
  if (shasum !== undefined && shasum !== archive.sha1) {
    throw badRequest("shasum is not that of the attachment");
  }
  const integrity = dist.get("integrity");
  if (integrity === undefined) return;
  const sha512 = integrityOf(archive.sha512);
  const told = String(integrity).split(" ");
  const isOther = (one: string) => one.startsWith("sha512-") && one.split("?", 1)[0] !== sha512;
  if (!told.some((one) => one.startsWith("sha512-")) || told.some(isOther)) {
    throw badRequest("integrity is not that of the attachment");
  }
}

/** A SHA-512 as npm tells it. @param sha512 in hex */
export const integrityOf = (sha512: string): string =>
  `sha512-${Buffer.from(sha512, "hex").toString("base64")}`;

/** The tags that a document sets. Without any, npm's own. @throws ApiError 400 */
function tagsIn(document: ReadonlyMap<string, unknown>, version: string): string[] {
  const tags = entriesOf(document.get("dist-tags"), "dist-tags");
  if (tags.length > MOST_TAGS) throw badRequest("dist-tags has too many tags");
  for (const [tag, tagged] of tags) {
    if (!isTag(tag) || tagged !== version) throw badRequest("dist-tags is invalid");
  }
  return tags.length === 0 ? ["latest"] : tags.map(([tag]) => tag);
}

/** What is kept of a version: all but the text of its documentation, and what follows from its archive. */
function keptOf(manifest: ReadonlyMap<string, unknown>): string {
  const left = new Set(["readme", "readmeFilename", "dist", "gitHead", "_id"]);
  const kept = [...manifest].filter(([name]) => !left.has(name));
  return jsonOf(Object.fromEntries(kept));
}

/** @throws ApiError 400 if it is too long */
function jsonOf(manifest: Manifest): string {
  const text = JSON.stringify(manifest);
  if (text.length <= LONGEST_MANIFEST) return text;
  throw badRequest(
    `Package json structure is too large. Maximum size is ${LONGEST_MANIFEST} characters`,
  );
}

/**
 * Why a document that publishes nothing deprecates which versions; `""` for those that it no longer does.
 *
 * @throws ApiError 400
 */
export function deprecatedIn(rest: unknown): ReadonlyMap<string, string> {
  const versions = entriesOf(fieldsOf(rest, "The document").get("versions"), "versions");
  const reasons = new Map<string, string>();
  for (const [version, told] of versions) {
    const reason = fieldsOf(told, "The version").get("deprecated");
    if (reason === undefined) continue;
    if (typeof reason !== "string" || reason.length > LONGEST_REASON) {
      throw badRequest("deprecated is invalid");
    }
    reasons.set(version, reason);
  }
  if (reasons.size === 0) throw badRequest("Version is empty.");
  return reasons;
}

/** What is kept of a version that is deprecated, or no longer. @throws ApiError 400 if that is too long */
export function withReason(manifest: string, reason: string): string {
  const { deprecated: _, ...told } = JSON.parse(manifest) as Manifest;
  return jsonOf(reason === "" ? told : { ...told, deprecated: reason });
}
