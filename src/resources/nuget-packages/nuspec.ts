import * as v from "valibot";
import { badRequest } from "../../core/errors.ts";
import { bytesOf } from "../../files/read.ts";
import type { StoredFile } from "../../files/write.ts";
import { zipFolder, zipMember } from "../../files/zip.ts";
import type { Reader } from "../../store/port.ts";
import { isName, normalized } from "./versions.ts";

/** Bytes of a .nuspec. */
const MOST_BYTES = 256 * 1024;
/** Characters of what is kept of it. */
const MOST_KEPT = 64 * 1024;

const text = v.optional(v.pipe(v.string(), v.maxLength(4000)));
const list = <T extends v.GenericSchema>(one: T) =>
  v.optional(
    v.pipe(
      v.any(),
      v.transform((value) => (Array.isArray(value) ? value : [value])),
      v.array(one),
    ),
  );
const dependency = v.object({
  "@id": v.pipe(v.string(), v.check(isName)),
  "@version": v.optional(v.pipe(v.string(), v.maxLength(255))),
});
/** An element without others in it is read as a text. */
const orEmpty = <T extends v.GenericSchema>(schema: T) =>
  v.optional(
    v.union([
      v.pipe(
        v.literal(""),
        v.transform(() => undefined),
      ),
      schema,
    ]),
  );

/** What a .nuspec says of its package (learn.microsoft.com/nuget/reference/nuspec), as far as it is told. */
const METADATA = v.object({
  id: v.pipe(v.string(), v.check(isName)),
  version: v.pipe(
    v.string(),
    v.rawTransform<string, string>(({ dataset, addIssue, NEVER }) => {
      const version = normalized(dataset.value);
      if (version !== undefined) return version;
      addIssue({ message: "is invalid" });
      return NEVER;
    }),
  ),
  authors: text,
  description: text,
  summary: text,
  title: text,
  tags: text,
  projectUrl: text,
  licenseUrl: text,
  iconUrl: text,
  dependencies: orEmpty(
    v.object({
      dependency: list(dependency),
      group: list(
        orEmpty(
          v.object({ "@targetFramework": v.optional(v.string()), dependency: list(dependency) }),
        ),
      ),
    }),
  ),
});

/** What a package says of itself. */
export type Nuspec = v.InferOutput<typeof METADATA>;

/**
 * Reads what a package says of itself: the only .nuspec at the root of its archive.
 *
 * @throws ApiError 400 if there is not exactly one, or it says too little or what can't be
 */
export async function readNuspec(db: Reader, archive: StoredFile): Promise<Nuspec> {
  const root = (await zipFolder(db, archive, "", false)) ?? [];
  const found = root.filter(({ path }) => /^[^/]+\.nuspec$/i.test(path));
  const [entry, second] = found;
  if (!entry || second) throw refused("the package must have one .nuspec file");
  const member = await zipMember(db, archive, entry.path);
  if (!member) throw refused("the .nuspec file can't be read");
  if (member.length > MOST_BYTES) throw refused("the .nuspec file is too large");
  const metadata = await metadataIn(await contentOf(member.chunks()));
  const { success, output, issues } = v.safeParse(METADATA, metadata);
  if (!success)
    throw refused(
      `the .nuspec file's ${v.getDotPath(issues[0]) ?? "metadata"} is missing or invalid`,
    );
  if (JSON.stringify(output).length > MOST_KEPT) throw refused("the .nuspec file says too much");
  return output;
}

const refused = (why: string) => badRequest(`Validation failed: ${why}`);

async function contentOf(chunks: AsyncGenerator<Uint8Array>): Promise<string> {
  try {
    return (await bytesOf(chunks)).toString().replace(/^\ufeff/, "");
  } catch {
    // The archive is broken, or says something wrong about the file.
    throw refused("the .nuspec file can't be read");
  }
}

/** The element with all that matters. */
async function metadataIn(xml: string): Promise<unknown> {
  // Entities of one's own can stand for much more than they take.
  if (/<!DOCTYPE/i.test(xml)) throw refused("the .nuspec file may have no DOCTYPE");
  const { XMLParser, XMLValidator } = await import("fast-xml-parser");
  try {
    if (XMLValidator.validate(xml) !== true) return undefined;
    const parser = new XMLParser({
      ignoreAttributes: false,
      attributeNamePrefix: "@",
      parseTagValue: false,
      removeNSPrefix: true,
    });
    const parsed = parser.parse(xml) as { package?: { metadata?: unknown } } | undefined;
    return parsed?.package?.metadata;
  } catch {
    return undefined;
  }
}
