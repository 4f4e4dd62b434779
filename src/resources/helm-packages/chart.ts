import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import * as v from "valibot";
import { ConfigurationError, isList, isMapping, type Value } from "../../ci/values.ts";
import { badRequest } from "../../core/errors.ts";
import { readFile } from "../../files/read.ts";
import type { StoredFile } from "../../files/write.ts";
import type { Reader } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import { isVersion } from "../packages/versions.ts";

/** Bytes of a Chart.yaml, and of all before it in the archive: Helm puts it first. */
const MOST_BYTES = 64 * 1024;
const MOST_BEFORE = 64 * 1024 * 1024;

/** Whether a text may be the name of a chart or of a channel. */
export const isName = (text: string): boolean =>
  text.length <= 255 && /^[a-z0-9](?:[._-]?[a-z0-9])*$/i.test(text);

const text = v.optional(v.string());
const texts = v.optional(v.array(v.string()));

/** What a Chart.yaml says of its chart (helm.sh/docs/topics/charts), which an index repeats. */
const CHART = v.object({
  apiVersion: v.string(),
  name: v.pipe(v.string(), v.check(isName)),
  version: v.pipe(
    v.string(),
    v.check((text) => isVersion(text.replace(/^v/, ""))),
  ),
  appVersion: text,
  kubeVersion: text,
  description: text,
  type: v.optional(v.picklist(["application", "library"])),
  keywords: texts,
  home: text,
  sources: texts,
  icon: text,
  deprecated: v.optional(v.boolean()),
  condition: text,
  tags: text,
  annotations: v.optional(v.record(v.string(), v.string())),
  maintainers: v.optional(v.array(v.object({ name: text, email: text, url: text }))),
  dependencies: v.optional(
    v.array(
      v.object({
        name: text,
        version: text,
        repository: text,
        condition: text,
        tags: texts,
        enabled: v.optional(v.boolean()),
        alias: v.optional(v.pipe(v.string(), v.regex(/^[\w-]+$/))),
      }),
    ),
  ),
});

/** What a chart says of itself. */
export type Chart = v.InferOutput<typeof CHART>;

/**
 * Reads what a chart says of itself: the file Chart.yaml of its only folder.
 *
 * @param archive a tar archive, compressed with gzip
 * @throws ApiError 400 if it is none, or says too little or what can't be
 */
export async function readChart(db: Reader, archive: StoredFile, budget: Budget): Promise<Chart> {
  const content = await chartFile(db, archive);
  if (content === undefined) throw refused("the archive has no Chart.yaml");
  const { readDocument } = await import("../../ci/document.ts");
  let read: unknown;
  try {
    read = plain(await budget.take(readDocument(content)));
  } catch (error) {
    if (error instanceof ConfigurationError) throw refused(`Chart.yaml: ${error.message}`);
    throw error;
  }
  const { success, output, issues } = v.safeParse(CHART, read);
  if (success) return output;
  throw refused(`Chart.yaml: ${v.getDotPath(issues[0])} is missing or invalid`);
}

const refused = (why: string) => badRequest(`Validation failed: ${why}`);

/** The content of the first Chart.yaml of a folder; `undefined` if there is none, or the archive can't be read so far. */
async function chartFile(db: Reader, archive: StoredFile): Promise<string | undefined> {
  const { extract } = await import("tar-stream");
  const source = Readable.from(readFile(db, archive));
  const gunzip = createGunzip();
  const entries = extract();
  let size = 0;
  gunzip.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > MOST_BEFORE) gunzip.destroy(new Error("the archive is too large"));
  });
  source.on("error", (error) => gunzip.destroy(error));
  gunzip.on("error", (error) => entries.destroy(error));
  source.pipe(gunzip).pipe(entries);
  try {
    for await (const entry of entries) {
      const { name, type, size } = entry.header;
      if (type !== "file" || !/^[^/]+\/Chart\.yaml$/.test(name.replace(/^\.\//, ""))) {
        entry.resume();
        continue;
      }
      if ((size ?? 0) > MOST_BYTES) return undefined;
      const parts: Buffer[] = [];
      for await (const part of entry) parts.push(part as Buffer);
      return Buffer.concat(parts).toString();
    }
    return undefined;
  } catch {
    return undefined;
  } finally {
    entries.destroy();
    gunzip.destroy();
    source.destroy();
  }
}

/** A value of YAML as one of JSON. Numbers are no texts: Helm refuses these as well. */
function plain(value: Value): unknown {
  if (isList(value)) return value.map(plain);
  if (!isMapping(value)) return value;
  return Object.fromEntries([...value].map(([name, one]) => [name, plain(one)]));
}
