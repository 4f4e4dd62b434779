import { createReadStream, createWriteStream } from "node:fs";
import { chmod, lstat, mkdir, readdir, readlink, realpath, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type Entry, open, type ZipFile } from "yauzl";
import { ZipFile as Writer } from "yazl";
import { Glob } from "../../src/core/globs.ts";

const MODES = 0xffff;
const PERMISSIONS = 0o777;
const KIND = 0o170000;
const LINK = 0o120000;

/** A pattern of files: it fits what it says, and all below. */
function patternOf(text: string): (names: readonly string[]) => boolean {
  const path = text.replace(/^\.?\//, "").replace(/\/+$/, "");
  if (path === "" || path === ".") return () => true;
  const glob = new Glob(`/${path}`);
  return (names) => names.some((_, at) => glob.fits(names.slice(0, at + 1)));
}

/**
 * The files below a folder that some patterns fit, by their paths with `/`, sorted.
 *
 * @param exclude patterns of files that are left out
 */
export async function select(
  folder: string,
  paths: readonly string[],
  exclude: readonly string[] = [],
): Promise<string[]> {
  const wanted = paths.map(patternOf);
  const unwanted = exclude.map(patternOf);
  const found: string[] = [];
  const walk = async (names: readonly string[]) => {
    for (const entry of await readdir(join(folder, ...names), { withFileTypes: true })) {
      const own = [...names, entry.name];
      if (names.length === 0 && entry.name === ".git") continue;
      if (entry.isDirectory()) await walk(own);
      else if (wanted.some((fits) => fits(own)) && !unwanted.some((fits) => fits(own))) {
        found.push(own.join("/"));
      }
    }
  };
  await walk([]);
  return found.sort();
}

/** Writes files below a folder into a ZIP archive, with their permissions; links stay links. */
export async function zip(folder: string, paths: readonly string[], file: string): Promise<void> {
  const writer = new Writer();
  for (const path of paths) {
    const source = join(folder, path);
    const { mode, mtime } = await lstat(source);
    if ((mode & KIND) === LINK) {
      writer.addBuffer(Buffer.from(await readlink(source)), path, { mode, mtime });
    } else writer.addFile(source, path, { mode, mtime });
  }
  const written = pipeline(writer.outputStream as NodeJS.ReadableStream, createWriteStream(file));
  writer.end();
  await written;
}

/** Writes files below a folder into one, each compressed, behind each other, as GitLab Runner does with reports. */
export async function gzip(folder: string, paths: readonly string[], file: string): Promise<void> {
  const target = createWriteStream(file);
  for (const path of paths) {
    await pipeline(createReadStream(join(folder, path)), createGzip(), target, { end: false });
  }
  await new Promise<void>((resolve, reject) => target.end(resolve).on("error", reject));
}

/** Puts the files of a ZIP archive into a folder. @throws Error for names that lead out of it */
export async function unzip(file: string, folder: string): Promise<void> {
  const archive = await new Promise<ZipFile>((resolve, reject) =>
    open(file, { lazyEntries: true, autoClose: true }, (error, opened) =>
      error ? reject(error) : resolve(opened),
    ),
  );
  await new Promise<void>((resolve, reject) => {
    archive.on("error", reject).on("end", resolve);
    archive.on("entry", (entry: Entry) => {
      extract(archive, entry, folder).then(() => archive.readEntry(), reject);
    });
    archive.readEntry();
  });
}

/** @throws Error if a folder is not in another one, links followed: an archive could write anywhere through a link */
async function requireWithin(folder: string, inner: string): Promise<void> {
  const [outside, inside] = await Promise.all([realpath(folder), realpath(inner)]);
  if (inside === outside || inside.startsWith(`${outside}/`)) return;
  throw new Error(`${inner} leads out of ${folder}`);
}

async function extract(archive: ZipFile, entry: Entry, folder: string): Promise<void> {
  const target = join(folder, entry.fileName);
  if (entry.fileName.endsWith("/")) {
    await mkdir(target, { recursive: true });
    return;
  }
  await mkdir(dirname(target), { recursive: true });
  await requireWithin(folder, dirname(target));
  const mode = (entry.externalFileAttributes >>> 16) & MODES;
  const content = await new Promise<NodeJS.ReadableStream>((resolve, reject) =>
    archive.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream))),
  );
  if ((mode & KIND) === LINK) {
    const chunks: Buffer[] = [];
    for await (const chunk of content) chunks.push(chunk as Buffer);
    await symlink(Buffer.concat(chunks).toString(), target).catch(() => undefined);
    return;
  }
  await pipeline(content, createWriteStream(target));
  if (mode !== 0) await chmod(target, mode & PERMISSIONS);
}
