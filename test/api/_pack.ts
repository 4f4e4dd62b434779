// Packs and pushes as bytes, for tests without Git's own client.
import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";
import type { TestApp } from "../helpers.ts";

/** The types of entries of packs, as numbers. */
const TYPES = { commit: 1, tree: 2, blob: 3, tag: 4, ofs: 6, ref: 7 };
type Type = keyof typeof TYPES;

/** The header of an entry. */
export function head(type: Type, size: number): Buffer {
  const bytes = [(TYPES[type] << 4) | (size % 16)];
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) as number) | 128;
    bytes.push(rest % 128);
  }
  return Buffer.from(bytes);
}

/** The SHA-1 of bytes. */
const sha1 = (...parts: (string | Uint8Array)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash("sha1")).digest();

/** The name of an object. */
export const oid = (type: Type, data: Uint8Array) => sha1(`${type} ${data.length}\0`, data);

/** An entry with a whole object. */
export const whole = (type: Type, data: Uint8Array, packed = deflateSync(data)) =>
  Buffer.concat([head(type, data.length), packed]);

/** A pack of entries, which may announce another number of them. */
export function pack(entries: readonly Buffer[], count = entries.length, version = 2): Buffer {
  const start = Buffer.alloc(12, "PACK");
  start.writeUInt32BE(version, 4);
  start.writeUInt32BE(count, 8);
  const body = Buffer.concat([start, ...entries]);
  return Buffer.concat([body, sha1(body)]);
}

/** An entry of a tree. */
export const entry = (mode: string, name: string, object: Buffer) =>
  Buffer.concat([Buffer.from(`${mode} ${name}\0`), object]);

/** A commit as an object. */
export const commitOf = (tree: Buffer, parents: readonly Buffer[] = [], message = "x") =>
  Buffer.from(
    [
      `tree ${tree.toString("hex")}`,
      ...parents.map((parent) => `parent ${parent.toString("hex")}`),
      `author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\n${message}\n`,
    ].join("\n"),
  );

/** A new commit that changes the only file of its tree, and a pack of it. */
export function newCommit(content: string | Uint8Array, parent?: string) {
  const blob = Buffer.from(content as string);
  const tree = entry("100644", "a", oid("blob", blob));
  const parents = parent === undefined ? [] : [Buffer.from(parent, "hex")];
  const commit = commitOf(oid("tree", tree), parents, oid("blob", blob).toString("hex"));
  const entries = [whole("blob", blob), whole("tree", tree), whole("commit", commit)];
  return { oid: oid("commit", commit).toString("hex"), pack: pack(entries) };
}

/** The name that stands for no object. */
const NOTHING = "0".repeat(40);

/** A change of a reference: names of objects, or nothing. */
export interface Change {
  name: string;
  from?: string | undefined;
  to?: string | undefined;
}

/** The body of a push. Unless it only deletes, it ends with a pack, which may be empty. */
export function pushOf(
  changes: readonly Change[],
  sent = changes.some(({ to }) => to) ? pack([]) : Buffer.alloc(0),
  capabilities = "report-status",
): Buffer {
  const lines = changes.map(({ name, from = NOTHING, to = NOTHING }, at) => {
    const line = `${from} ${to} ${name}${at === 0 ? `\0${capabilities}` : ""}`;
    return (Buffer.byteLength(line) + 4).toString(16).padStart(4, "0") + line;
  });
  return Buffer.concat([Buffer.from(`${lines.join("")}0000`), sent]);
}

/** The headers of a push. */
export const pushHeaders = (password: string, login = "any") => ({
  authorization: `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}`,
  "content-type": "application/x-git-receive-pack-request",
});

/** Capabilities with which a push is told more than what became of it. */
export const MULTIPLEXED = "report-status side-band-64k";

/** Pushes to a project of an application; returns the status, and what is said as lines. */
export async function pushTo(
  app: Pick<TestApp, "call">,
  project: string,
  body: Buffer,
  headers: Record<string, string>,
): Promise<{ status: number; text: string }> {
  const { status, text } = await app.call(`POST http://pm.test/${project}.git/git-receive-pack`, {
    headers,
    body: new Uint8Array(body),
  });
  return { status, text };
}
