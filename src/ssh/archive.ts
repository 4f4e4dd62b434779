import { type ArchiveFormat, archive } from "../git/archive.ts";
import { commitNumber } from "../git/commits.ts";
import { RefusedError } from "../git/errors.ts";
import type { Member } from "../git/members.ts";
import { FOLDER } from "../git/objects.ts";
import { band, ERROR_BAND, FLUSH, PACK_BAND, type Packets, pkt } from "../git/pkt-line.ts";
import { refNamesOf } from "../git/revisions.ts";
import { TreeList } from "../git/tree-list.ts";
import { entryAt, partsOf, treeOf } from "../git/trees.ts";
import type { Served } from "../git/upload-pack.ts";
import { Budget } from "../turns/budget.ts";

/** Arguments that are read, and the characters of all of them. */
const MOST_ARGUMENTS = 64;
const MOST_CHARACTERS = 64 * 1024;
/** More are not archived: trees can be made that have billions of entries. */
const MOST_ARCHIVED = 1_000_000;

const FORMATS: Readonly<Record<string, ArchiveFormat>> = {
  tar: "tar",
  "tar.gz": "tar.gz",
  tgz: "tar.gz",
  zip: "zip",
};

/** What a client asks for. */
interface Asked {
  readonly format: ArchiveFormat;
  /** The folder of all files, without a slash at its end; `""` for none. */
  readonly folder: string;
  /** A branch, tag or `HEAD`, and perhaps a folder of it, after a colon. */
  readonly tree: string;
  /** Files and folders that are wanted; all, if none is named. */
  readonly paths: readonly string[];
}

/**
 * Answers git-upload-archive(1): an archive of what a branch or tag has. As with Git, commits can't be asked for by their id.
 *
 * @param packets what the client sends
 * @param signal ends the work once the client has left
 */
export async function* uploadArchive(
  served: Served,
  packets: Packets,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  try {
    const asked = await readAsked(packets);
    const archived = await find(served, asked, new Budget(signal));
    yield pkt("ACK", FLUSH);
    const wanted =
      asked.paths.length === 0 ? undefined : those(isBelow(asked.paths, archived.folder));
    for await (const part of archive(archived, asked.format, signal, wanted)) {
      yield band(PACK_BAND, part);
    }
    yield pkt(FLUSH);
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    yield Buffer.concat([
      pkt("ACK", FLUSH),
      band(ERROR_BAND, Buffer.from(`fatal: ${error.message}\n`)),
      pkt(FLUSH),
    ]);
  }
}

async function readAsked(packets: Packets): Promise<Asked> {
  const args: string[] = [];
  let characters = 0;
  for (let next = await packets.packet(); typeof next === "string"; next = await packets.packet()) {
    if (!next.startsWith("argument ")) throw new RefusedError("'argument' token or flush expected");
    const argument = next.slice("argument ".length);
    characters += argument.length;
    args.push(argument);
    if (args.length > MOST_ARGUMENTS || characters > MOST_CHARACTERS) {
      throw new RefusedError("Too many options (>63)");
    }
  }
  let format = "tar";
  let prefix = "";
  const rest: string[] = [];
  for (const [at, arg] of args.entries()) {
    if (arg === "--") {
      rest.push(...args.slice(at + 1));
      break;
    }
    const [, name, value = ""] = /^--(format|prefix)=(.*)$/s.exec(arg) ?? [];
    if (name === "format") format = value;
    else if (name === "prefix") prefix = value;
    // The level of compression is the server's.
    else if (!/^-\d$/.test(arg)) {
      if (arg.startsWith("-")) throw new RefusedError(`unsupported option ${shortened(arg)}`);
      rest.push(arg);
    }
  }
  const [tree, ...paths] = rest;
  if (tree === undefined) throw new RefusedError("no tree was named");
  const known = Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  if (!known) throw new RefusedError(`Unknown archive format '${shortened(format)}'`);
  if (prefix !== "" && !prefix.endsWith("/")) {
    throw new RefusedError("the prefix must end with a slash");
  }
  const folder = prefix.slice(0, -1);
  if (folder !== "" && partsOf(folder).join("/") !== folder) {
    throw new RefusedError("the prefix must be the path of a folder");
  }
  return { format: known, folder, tree, paths };
}

const shortened = (text: string) => text.slice(0, 100);

async function find({ repository, refs }: Served, { tree, folder, paths }: Asked, budget: Budget) {
  const unknown = () => new RefusedError(`no such ref: ${shortened(tree)}`);
  const colon = tree.indexOf(":");
  const name = colon < 0 ? tree : tree.slice(0, colon);
  const below = colon < 0 ? "" : tree.slice(colon + 1);
  const named = refNamesOf(name, refs.head)
    .map((full) => refs.list.find((ref) => ref.name === full))
    .find((ref) => ref !== undefined);
  const oid = named && (named.peeled ?? named.oid);
  const commit = oid === undefined ? undefined : commitNumber(repository, oid);
  if (oid === undefined || commit === undefined) throw unknown();
  const root = treeOf(repository, commit);
  const parts = partsOf(below);
  const found = parts.length === 0 ? undefined : await entryAt(repository, root, below);
  if (parts.length > 0 && found?.mode !== FOLDER) throw unknown();
  const object = found ? repository.findHex(found.oid) : root;
  for (const path of paths) {
    if (!(await entryAt(repository, object, path))) {
      throw new RefusedError(`pathspec '${shortened(path)}' did not match any files`);
    }
  }
  if ((await new TreeList(repository, object, "", true, budget).length()) > MOST_ARCHIVED) {
    throw new RefusedError(`The archive would have more than ${MOST_ARCHIVED} entries`);
  }
  const time = repository.graph.times[commit] as number;
  return { repository, commit: oid, time, root: object, tree: object, path: "", folder };
}

/** Chooses members of an archive by their paths. */
const those = (isWanted: (path: string) => boolean) =>
  async function* (members: AsyncIterable<Member>): AsyncGenerator<Member> {
    for await (const member of members) if (isWanted(member.path)) yield member;
  };

/** Whether a member of an archive is one of some files and folders, in one of these, or a folder above one. */
function isBelow(paths: readonly string[], folder: string): (member: string) => boolean {
  const prefix = folder === "" ? "" : `${Buffer.from(folder).toString("latin1")}/`;
  const wanted = paths.map((path) => Buffer.from(partsOf(path).join("/")).toString("latin1"));
  return (member) => {
    const path = member.slice(prefix.length);
    return wanted.some(
      (one) => path === one || path.startsWith(`${one}/`) || `${one}/`.startsWith(path),
    );
  };
}
