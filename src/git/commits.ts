import { COMMIT, type GitObject, TAG } from "./objects.ts";
import type { Repository } from "./repository.ts";

/** Who made a commit or tag, and when. */
export interface Signature {
  readonly name: string;
  readonly email: string;
  /** Seconds of the epoch. */
  readonly time: number;
  /** Minutes by which the clock there was ahead of UTC. */
  readonly zone: number;
}

/** A commit, or what is shown of it. */
export interface Commit {
  /** Its name, in hex. */
  readonly id: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: Signature;
  readonly committer: Signature;
  /** With what ends it, such as a newline. */
  readonly message: string;
  /** The signature of the commit as a whole, such as PGP's, if it has one. */
  readonly signature: string | undefined;
}

/** An annotated tag. */
export interface AnnotatedTag {
  /** Its name, in hex. */
  readonly id: string;
  /** The object it is for, in hex: a commit, or anything else. */
  readonly object: string;
  /** `undefined` if it does not say: the oldest tags do not. */
  readonly tagger: Signature | undefined;
  readonly message: string;
}

/**
 * Parses the content of a commit, which may have been written by anything: what is malformed is empty.
 *
 * @param id its name, in hex
 */
export function parseCommit(id: string, data: Buffer): Commit {
  const { headers, message } = partsOf(data);
  const one = (name: string) => headers.find(([key]) => key === name)?.[1] ?? "";
  return {
    id,
    tree: one("tree"),
    parents: headers.filter(([key]) => key === "parent").map(([, value]) => value),
    author: signatureOf(one("author")),
    committer: signatureOf(one("committer")),
    message,
    signature: headers.find(([key]) => key === "gpgsig")?.[1],
  };
}

/**
 * Parses the content of an annotated tag, like {@link parseCommit}.
 *
 * @param id its name, in hex
 */
function parseTag(id: string, data: Buffer): AnnotatedTag {
  const { headers, message } = partsOf(data);
  const one = (name: string) => headers.find(([key]) => key === name)?.[1];
  const tagger = one("tagger");
  return {
    id,
    object: one("object") ?? "",
    tagger: tagger === undefined ? undefined : signatureOf(tagger),
    message,
  };
}

/** Something that is signed. */
export interface Signed {
  /** The signature, such as PGP's, with its armor. */
  readonly signature: string;
  /** What it is a signature of. */
  readonly bytes: Buffer;
  /** The address of who made the commit or tag. */
  readonly email: string;
}

/** Reads the signature of a commit by its number; `undefined` if it has none. */
export async function readSignedCommit(
  repository: Repository,
  commit: number,
): Promise<Signed | undefined> {
  const { signature, committer } = await readCommit(repository, commit);
  if (signature === undefined) return undefined;
  const { data } = await repository.read(repository.graph.objects[commit] as number);
  return { signature, bytes: withoutSignatures(data), email: committer.email };
}

/** The content of a commit as it was signed: without signatures, which are headers of their own. */
function withoutSignatures(data: Buffer): Buffer {
  const kept: Buffer[] = [];
  let isSignature = false;
  let at = 0;
  while (at < data.length && data[at] !== 0x0a) {
    const newline = data.indexOf(0x0a, at);
    const end = newline < 0 ? data.length : newline + 1;
    const line = data.subarray(at, end);
    isSignature = line[0] === 0x20 ? isSignature : line.indexOf("gpgsig") === 0;
    if (!isSignature) kept.push(line);
    at = end;
  }
  return Buffer.concat([...kept, data.subarray(at)]);
}

/** Where the signature of a tag begins: it ends its message. */
const SIGNATURE = /^-----BEGIN (?:PGP SIGNATURE|PGP MESSAGE|SSH SIGNATURE|SIGNED MESSAGE)-----$/gm;

/** Reads the signature of an annotated tag by the number of its object; `undefined` if it has none, or is no such tag. */
export async function readSignedTag(
  repository: Repository,
  object: number,
): Promise<Signed | undefined> {
  if (repository.typeOf(object) !== TAG) return undefined;
  const { data } = await repository.read(object);
  const text = data.toString("latin1");
  const start = [...text.matchAll(SIGNATURE)].at(-1)?.index;
  const { tagger } = parseTag(repository.oidOf(object).toString("hex"), data);
  if (start === undefined) return undefined;
  const [bytes, signature] = [data.subarray(0, start), data.subarray(start).toString("utf8")];
  return { signature, bytes, email: tagger?.email ?? "" };
}

/** Commits that were parsed, as long as their objects are kept. */
const parsed = new WeakMap<GitObject, Commit>();

/** Reads a commit by its number. */
export async function readCommit(repository: Repository, commit: number): Promise<Commit> {
  const object = repository.graph.objects[commit] as number;
  const content = await repository.read(object);
  const known = parsed.get(content);
  if (known) return known;
  const read = parseCommit(repository.oidOf(object).toString("hex"), content.data);
  parsed.set(content, read);
  return read;
}

/** Reads an annotated tag by the number of its object; `undefined` if that is something else. */
export async function readTag(
  repository: Repository,
  object: number,
): Promise<AnnotatedTag | undefined> {
  if (repository.typeOf(object) !== TAG) return undefined;
  const { data } = await repository.read(object);
  return parseTag(repository.oidOf(object).toString("hex"), data);
}

/** When a tag was made, in seconds of the epoch: if it is not annotated, when its commit was. */
export async function tagTime(
  repository: Repository,
  { oid, peeled }: { readonly oid: string; readonly peeled: string | null },
): Promise<number> {
  const tagger = peeled && (await readTag(repository, repository.findHex(oid)))?.tagger;
  if (tagger) return tagger.time;
  const number = commitNumber(repository, peeled ?? oid);
  return number === undefined ? 0 : (repository.graph.times[number] as number);
}

/** The number of a commit by its name in hex; `undefined` if there is no such commit. */
export function commitNumber(repository: Repository, oid: string): number | undefined {
  const object = repository.findHex(oid);
  if (object < 0 || repository.typeOf(object) !== COMMIT) return undefined;
  return repository.graph.commitOf(object);
}

/** The name of a commit in hex, by its number. */
export function commitId(repository: Repository, commit: number): string {
  return repository.oidOf(repository.graph.objects[commit] as number).toString("hex");
}

/** A header of an object; continued lines are joined by newlines. */
type Header = [name: string, value: string];

function partsOf(data: Buffer): { headers: Header[]; message: string } {
  const end = data.indexOf("\n\n");
  const head = end < 0 ? data : data.subarray(0, end);
  const encoding = /\nencoding ([\w.:-]{1,40})(?:\n|$)/.exec(head.toString("latin1"))?.[1];
  const headers: Header[] = [];
  for (const line of decode(head, encoding).split("\n")) {
    const last = headers.at(-1);
    if (line.startsWith(" ") && last) last[1] += `\n${line.slice(1)}`;
    else {
      const space = line.indexOf(" ");
      headers.push(space < 0 ? [line, ""] : [line.slice(0, space), line.slice(space + 1)]);
    }
  }
  return { headers, message: end < 0 ? "" : decode(data.subarray(end + 2), encoding) };
}

function decode(bytes: Buffer, encoding: string | undefined): string {
  if (encoding === undefined) return bytes.toString("utf8");
  try {
    return new TextDecoder(encoding).decode(bytes);
  } catch {
    // An encoding that nobody knows.
    return bytes.toString("utf8");
  }
}

/** Parses `Name <email> 1700000000 +0100`. */
function signatureOf(text: string): Signature {
  const open = text.indexOf("<");
  const close = text.indexOf(">", open);
  if (open < 0 || close < 0) return { name: text.trim(), email: "", time: 0, zone: 0 };
  const ending = text.slice(text.lastIndexOf(">") + 1).trim();
  const [, seconds = "0", sign = "+", hours = "0", minutes = "0"] =
    /^(\d{1,15}) ([+-])(\d\d)(\d\d)$/.exec(ending) ?? [];
  const offset = 60 * Number(hours) + Number(minutes);
  return {
    name: text.slice(0, open).trim(),
    email: text.slice(open + 1, close).trim(),
    time: Number(seconds) <= LAST ? Number(seconds) : 0,
    zone: offset < 24 * 60 ? (sign === "-" ? -offset : offset) : 0,
  };
}

/** The last second that a `Date` can have. */
const LAST = 8_640_000_000_000;

/** When something was signed, in the zone it was signed in: `2014-02-27T10:14:56.000+02:00`. */
export function timeOf({ time, zone }: Signature): string {
  const local = new Date(Math.min(time + 60 * zone, LAST) * 1000).toISOString().slice(0, -1);
  const two = (number: number) => String(number).padStart(2, "0");
  const offset = Math.abs(zone);
  return `${local}${zone < 0 ? "-" : "+"}${two(Math.floor(offset / 60))}:${two(offset % 60)}`;
}

/** The first line of a message. */
export function titleOf(message: string): string {
  return message.trimStart().split("\n", 1)[0] as string;
}
