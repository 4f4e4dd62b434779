import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";
import { type Person, type TestApp, tokenOf } from "./helpers.ts";

// Objects and packs of Git, written without it (gitformat-pack(5)).

const TYPES = { commit: 1, tree: 2, blob: 3, tag: 4, ofs: 6, ref: 7 };
/** The kinds of entries of a pack: objects, and deltas. */
export type EntryType = keyof typeof TYPES;

/** The header of an entry. */
export function head(type: EntryType, size: number): Buffer {
  const bytes = [(TYPES[type] << 4) | (size % 16)];
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) as number) | 128;
    bytes.push(rest % 128);
  }
  return Buffer.from(bytes);
}

export const sha1 = (...parts: (string | Buffer)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash("sha1")).digest();

/** The name of an object. */
export const oid = (type: EntryType, data: Buffer) => sha1(`${type} ${data.length}\0`, data);

/** The entry of an object that is no delta. */
export const whole = (type: EntryType, data: Buffer, packed = deflateSync(data)) =>
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

/** Objects that are to be pushed together. */
export class Objects {
  readonly #entries = new Map<string, Buffer>();

  /** Adds an object and returns its name. */
  add(type: "commit" | "tree" | "blob" | "tag", content: string | Buffer): Buffer {
    const data = Buffer.from(content);
    const name = oid(type, data);
    this.#entries.set(name.toString("hex"), whole(type, data));
    return name;
  }

  /** Adds a commit by somebody and returns its name. */
  commit(
    tree: Buffer,
    parents: readonly Buffer[],
    { author = "Ada", time = 1_700_000_000, message = "A commit\n", signature = "" } = {},
  ): Buffer {
    const person = `${author} <${author.toLowerCase()}@example.com> ${time} +0100`;
    const lines = [
      `tree ${tree.toString("hex")}`,
      ...parents.map((parent) => `parent ${parent.toString("hex")}`),
      `author ${person}`,
      `committer ${person}`,
      ...(signature === "" ? [] : [`gpgsig ${signature.replaceAll("\n", "\n ")}`]),
      "",
      message,
    ];
    return this.add("commit", lines.join("\n"));
  }

  get pack(): Buffer {
    return pack([...this.#entries.values()]);
  }
}

/** A new commit that changes the only file of its tree, and a pack of it. */
export function newCommit(content: string | Buffer, parent?: string) {
  const objects = new Objects();
  const blob = objects.add("blob", content);
  const tree = objects.add("tree", entry("100644", "a", blob));
  const parents = parent === undefined ? [] : [Buffer.from(parent, "hex")];
  const commit = objects.commit(tree, parents, { message: `${blob.toString("hex")}\n` });
  return { oid: commit.toString("hex"), pack: objects.pack };
}

/** The name that stands for no object. */
const NOTHING = "0".repeat(40);

/** A change of a reference: names of objects, in hex. */
export interface Change {
  name: string;
  from?: string | undefined;
  to?: string | undefined;
}

/** A capability with which a push is told more than what became of it. */
export const MULTIPLEXED = "report-status side-band-64k";

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

/** Sends a push to a project of an application; returns the status and what is said. */
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

/**
 * Pushes objects and new references, and returns the answer: a report, or the text of an error.
 *
 * @param refs the names of objects, by the full names of the references to create
 */
export async function push(
  app: Pick<TestApp, "call">,
  project: string,
  sent: Buffer,
  refs: Readonly<Record<string, Buffer>>,
  as: Exclude<Person, "anonymous"> = "owner",
): Promise<string> {
  const changes = Object.entries(refs).map(([name, object]) => ({
    name,
    to: object.toString("hex"),
  }));
  const headers = pushHeaders(tokenOf(as));
  return (await pushTo(app, project, pushOf(changes, sent), headers)).text;
}
