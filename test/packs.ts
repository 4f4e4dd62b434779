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

/** A packet of Git's protocol. */
const packet = (text: string) =>
  `${(Buffer.byteLength(text) + 4).toString(16).padStart(4, "0")}${text}`;

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
  const commands = Object.entries(refs).map(([name, object], at) =>
    packet(
      `${"0".repeat(40)} ${object.toString("hex")} ${name}${at === 0 ? "\0report-status" : ""}`,
    ),
  );
  const { text } = await app.call(`POST http://pm.test/${project}.git/git-receive-pack`, {
    headers: {
      authorization: `Basic ${btoa(`any:${tokenOf(as)}`)}`,
      "content-type": "application/x-git-receive-pack-request",
    },
    body: Buffer.concat([Buffer.from(`${commands.join("")}0000`), sent]),
  });
  return text;
}
