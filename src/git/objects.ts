import * as crypto from "node:crypto";
import { RefusedError } from "./errors.ts";
import { OID_BYTES } from "./oid-table.ts";

/** The types of objects, as packs number them. */
export const COMMIT = 1;
export const TREE = 2;
export const BLOB = 3;
export const TAG = 4;

const NAMES = ["", "commit", "tree", "blob", "tag"];

/** An object: its type and content. */
export interface GitObject {
  readonly type: number;
  readonly data: Buffer;
}

/** The mode of folders in trees. */
export const FOLDER = 0o40000;
/** The mode of submodules in trees: their commits are in another repository. */
export const SUBMODULE = 0o160000;
/** The mode of a symbolic link in a tree. */
export const SYMLINK = 0o120000;
const MODES = new Set([0o100644, 0o100755, 0o100664, SYMLINK, FOLDER, SUBMODULE]);

const SPACE = 0x20;
const SLASH = 0x2f;
const ZERO = 0x30;

/** Node.js 20.12 and later, and half as expensive for small objects. */
const hashOnce = (crypto as { hash?: (name: string, data: Uint8Array, to: "binary") => string })
  .hash;
const scratch = Buffer.alloc(16 * 1024);
/** The longest beginning of an object, such as `commit 100000000` with its NUL. */
const MAX_START = 32;

/** The hash that becomes an object's name, once its content was added. */
export function hashOf(type: number, size: number): crypto.Hash {
  return crypto.createHash("sha1").update(`${NAMES[type]} ${size}\0`);
}

/** The name of an object. */
export function oidOf(type: number, data: Uint8Array): Buffer {
  if (!hashOnce || data.length > scratch.length - MAX_START) {
    return hashOf(type, data.length).update(data).digest();
  }
  const length = scratch.write(`${NAMES[type]} ${data.length}\0`, "latin1");
  scratch.set(data, length);
  // Half as expensive as "buffer".
  return Buffer.from(
    hashOnce("sha1", scratch.subarray(0, length + data.length), "binary"),
    "latin1",
  );
}

/** The parts of a commit that link it to other objects. */
export interface CommitLinks {
  readonly tree: Buffer;
  readonly parents: readonly Buffer[];
  /** When it was committed, in seconds of the epoch. */
  readonly time: number;
}

/**
 * Reads a commit's links.
 *
 * @throws RefusedError if it is malformed
 */
export function linksOf(commit: Buffer): CommitLinks {
  const end = commit.indexOf("\n\n");
  const lines = commit.toString("latin1", 0, end < 0 ? commit.length : end).split("\n");
  let at = 0;
  const oid = (word: string): Buffer | undefined => {
    const line = lines[at];
    if (!line?.startsWith(`${word} `)) return undefined;
    const hex = line.slice(word.length + 1);
    if (!/^[0-9a-f]{40}$/.test(hex)) throw new RefusedError(`a commit has a malformed ${word}`);
    at += 1;
    return Buffer.from(hex, "hex");
  };
  const tree = oid("tree");
  if (!tree) throw new RefusedError("a commit has no tree");
  const parents: Buffer[] = [];
  for (let parent = oid("parent"); parent; parent = oid("parent")) parents.push(parent);
  const author = lines[at];
  const committer = lines[at + 1];
  if (!author?.startsWith("author ") || !committer?.startsWith("committer ")) {
    throw new RefusedError("a commit has no author or no committer");
  }
  const seconds = Number(/> (-?\d{1,15}) [+-]\d+$/.exec(committer)?.[1] ?? 0);
  return { tree, parents, time: seconds };
}

/** What an annotated tag is for: the name and the type of an object. */
export interface TagLink {
  readonly target: Buffer;
  readonly type: number;
}

/**
 * Reads what an annotated tag is for.
 *
 * @throws RefusedError if it is malformed
 */
export function tagLinkOf(tag: Buffer): TagLink {
  const start = tag.toString("latin1", 0, 70);
  const [, hex, name] = /^object ([0-9a-f]{40})\ntype (commit|tree|blob|tag)\n/.exec(start) ?? [];
  if (!hex || !name) throw new RefusedError("a tag is malformed");
  return { target: Buffer.from(hex, "hex"), type: NAMES.indexOf(name) };
}

/**
 * Visits an entry of a tree.
 *
 * @param from where its name begins in the tree
 * @param to where its name ends
 * @param oid where its object's name begins
 */
type VisitEntry = (mode: number, from: number, to: number, oid: number) => void;

/** Visits the entries of a tree that was checked. */
export function eachEntry(tree: Uint8Array, visit: VisitEntry): void {
  for (let at = 0; at < tree.length; ) {
    let mode = 0;
    for (; tree[at] !== SPACE && at < tree.length; at += 1) {
      mode = mode * 8 + (tree[at] as number) - ZERO;
    }
    const from = at + 1;
    at = from;
    while (at < tree.length && tree[at] !== 0) at += 1;
    if (at + 1 + OID_BYTES > tree.length) throw badTree("is cut short");
    visit(mode, from, at, at + 1);
    at += 1 + OID_BYTES;
  }
}

/** An entry of a tree that is written. */
interface Written {
  /** Each byte as one character. That of a folder ends with a slash, which trees are sorted by. */
  readonly name: string;
  readonly mode: number;
  /** The name of its object, in hex. */
  readonly oid: string;
}

/**
 * The content of a tree with entries, in any order. It is written into one buffer: two for each entry would take three
 * times as long.
 */
export function treeWith(entries: readonly Written[]): Buffer {
  const sorted = entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const heads = sorted.map(
    ({ name, mode }) => `${mode.toString(8)} ${mode === FOLDER ? name.slice(0, -1) : name}\0`,
  );
  const size = heads.reduce((bytes, head) => bytes + head.length + OID_BYTES, 0);
  const tree = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for (const [place, head] of heads.entries()) {
    at += tree.write(head, at, "latin1");
    at += tree.write((sorted[place] as Written).oid, at, "hex");
  }
  return tree;
}

/** Part of a tree: a name, and whether it is a folder's. */
interface Name {
  readonly from: number;
  readonly to: number;
  readonly isFolder: boolean;
}

/**
 * Checks a tree like `git fsck --strict`: nothing in it may lead a checkout astray, or be refused by other clients.
 * It reads byte by byte: most of what is pushed are trees, and names are too short for the functions of buffers.
 *
 * @param visit called for each entry
 * @throws RefusedError
 */
export function checkTree(tree: Buffer, visit: VisitEntry): void {
  let last: Name | undefined;
  /** Files whose names the next name may begin with: `a`, then `a.b`, then a folder `a` are in order. */
  const files: Name[] = [];
  eachEntry(tree, (mode, from, to, oid) => {
    const start = last ? last.to + 1 + OID_BYTES : 0;
    if (!MODES.has(mode) || !isOctal(tree, start, from - 1)) {
      throw badTree("has an entry with an unknown mode");
    }
    checkName(tree, from, to, mode);
    const name = { from, to, isFolder: mode === FOLDER };
    if (last) {
      const common = commonLength(tree, last, name);
      if (order(tree, last, name, common) >= 0) {
        throw badTree("is not sorted, or has a name twice");
      }
      if (!last.isFolder) files.push(last);
    }
    for (let file = files.at(-1); file; file = files.at(-1)) {
      const length = file.to - file.from;
      if (commonLength(tree, file, name) === length) {
        if (name.isFolder && length === to - from) {
          throw badTree("has a file and a folder of one name");
        }
        break;
      }
      files.pop();
    }
    last = name;
    visit(mode, from, to, oid);
  });
}

const badTree = (problem: string) => new RefusedError(`a tree ${problem}`);

/**
 * Whether a number is written in octal digits. The first ones may be zeros: GitLab ignores these, too
 * (`fsck.zeroPaddedFilemode`), since histories have them that were made by early programs.
 */
function isOctal(tree: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    const digit = (tree[at] as number) - ZERO;
    if (digit < 0 || digit > 7) return false;
  }
  return true;
}

/** Whether an entry of a tree may have a name. */
export function isEntryName(name: Buffer, mode: number): boolean {
  try {
    checkName(name, 0, name.length, mode);
    return true;
  } catch {
    return false;
  }
}

function checkName(tree: Buffer, from: number, to: number, mode: number): void {
  if (from === to) throw badTree("has an empty name");
  for (let at = from; at < to; at += 1) {
    if (tree[at] === SLASH) throw badTree("has a name with a slash");
  }
  // Only such names can be one of the forbidden ones.
  const first = tree[from] as number;
  if (first !== 0x2e && first !== 0x47 && first !== 0x67 && first < 0x80) return;
  const name = tree.toString("utf8", from, to);
  const plain = plainName(name);
  if (name === "." || name === ".." || plain === ".git" || plain === "git~1") {
    throw badTree(`has the name ${JSON.stringify(name)}`);
  }
  if (mode === SYMLINK && (plain === ".gitmodules" || plain === "gitmod~1")) {
    throw badTree("has a symbolic link .gitmodules");
  }
}

/** The name a file gets on HFS+, which ignores some characters, and on NTFS, which cuts others off. */
function plainName(name: string): string {
  const visible = name.replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, "");
  const base = visible.toLowerCase().split(/[\\:]/, 1)[0] as string;
  let end = base.length;
  while (end > 0 && (base[end - 1] === "." || base[end - 1] === " ")) end -= 1;
  return base.slice(0, end);
}

/** How many bytes two names begin with in common. */
function commonLength(tree: Buffer, a: Name, b: Name): number {
  const most = Math.min(a.to - a.from, b.to - b.from);
  let length = 0;
  while (length < most && tree[a.from + length] === tree[b.from + length]) length += 1;
  return length;
}

/** Compares names as trees are sorted: folders as if their names ended with a slash. */
function order(tree: Buffer, a: Name, b: Name, common: number): number {
  const next = ({ from, to, isFolder }: Name) =>
    from + common < to ? (tree[from + common] as number) : isFolder ? SLASH : 0;
  return next(a) - next(b);
}
