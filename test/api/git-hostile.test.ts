// Packs that nobody should take, sent as they are. Each is refused with a reason, and nothing of it is left.
import { randomBytes } from "node:crypto";
import { deflateSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type TestApp, testApp, tokenOf } from "../helpers.ts";
import { entry, head, oid, pack, push as pushTo, whole } from "../packs.ts";

let app: TestApp;
const failures: unknown[] = [];
beforeAll(async () => {
  app = await testApp({ onError: (error) => failures.push(error) });
});
afterEach(() => expect(failures).toEqual([]));
afterAll(() => app.dispose());

const MEGABYTE = 1_000_000;

/** A size in a delta. */
function size(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) | 128, ...size(Math.floor(value / 128))];
}

/** The distance to the base of a delta. */
function distance(value: number): number[] {
  const rest = Math.floor(value / 128);
  const before = rest > 0 ? distance(rest - 1).map((byte) => byte | 128) : [];
  return [...before, value % 128];
}

const deltaBefore = (back: number, delta: number[]) =>
  Buffer.concat([
    head("ofs", delta.length),
    Buffer.from(distance(back)),
    deflateSync(Buffer.from(delta)),
  ]);
const deltaOf = (base: Buffer, delta: number[]) =>
  Buffer.concat([head("ref", delta.length), base, deflateSync(Buffer.from(delta))]);

const commitOf = (tree: Buffer, ...parents: Buffer[]) =>
  Buffer.from(
    [
      `tree ${tree.toString("hex")}`,
      ...parents.map((parent) => `parent ${parent.toString("hex")}`),
      "author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n",
    ].join("\n"),
  );

const blob = Buffer.from("hello\n");
const blobOid = oid("blob", blob);

/** A commit of a tree, with a blob that the tree may name. */
function sound(tree = entry("100644", "a", blobOid)) {
  const commit = commitOf(oid("tree", tree));
  const entries = [whole("blob", blob), whole("tree", tree), whole("commit", commit)];
  return { entries, tip: oid("commit", commit) };
}

/** Each push is to a branch of its own. */
let pushes = 0;
const newBranch = () => {
  pushes += 1;
  return `refs/heads/x${pushes}`;
};

/** Pushes a pack to a new branch, and returns the answer: a report, or the text of an error. */
const push = (sent: Buffer, tip: Buffer, name = newBranch()) =>
  pushTo(app, "acme/site", sent, { [name]: tip });

/** Everything that is stored of repositories. */
async function stored(): Promise<unknown[]> {
  const tables = ["refs", "packs", "repository_packs", "pack_pieces", "pack_indexes"];
  const found: unknown[] = [];
  for (const table of tables) {
    found.push((await app.store.rows(`select count(*) from git_${table}`))[0]);
  }
  return found;
}

async function expectRefused(sent: Buffer, tip: Buffer, reason: string, name?: string) {
  const before = await stored();
  const answer = await push(sent, tip, name);
  expect(answer).toContain(reason);
  expect(answer).not.toMatch(/^....ok /m);
  expect(await stored()).toEqual(before);
}

async function expectTaken(sent: Buffer, tip: Buffer) {
  expect(await push(sent, tip)).toMatch(/unpack ok\n.*ok refs/s);
}

it("a sound pack is taken, also a second time", async () => {
  const { entries, tip } = sound();
  await expectTaken(pack(entries), tip);
  await expectTaken(pack(entries), tip);
});

describe("a tree", () => {
  const a = entry("100644", "a", blobOid);
  it.each([
    ["an unknown mode", entry("100666", "a", blobOid), "unknown mode"],
    ["a mode without end", Buffer.alloc(100, "7"), "cut short"],
    ["a mode of other digits", entry("10063<", "a", blobOid), "unknown mode"],
    ["a name twice", Buffer.concat([a, a]), "has a name twice"],
    ["a wrong order", Buffer.concat([entry("100644", "b", blobOid), a]), "not sorted"],
    [
      "a file and a folder of one name",
      Buffer.concat([a, entry("100644", "a.b", blobOid), entry("40000", "a", blobOid)]),
      "a file and a folder of one name",
    ],
    ["an empty name", entry("100644", "", blobOid), "an empty name"],
    ["a slash", entry("100644", "a/b", blobOid), "a name with a slash"],
    ["half an entry", a.subarray(0, -1), "cut short"],
    ["a link .gitmodules", entry("120000", ".gitmodules", blobOid), ".gitmodules"],
    ["an object that is missing", entry("100644", "a", randomBytes(20)), "is missing"],
    ["a folder that is a blob", entry("40000", "a", blobOid), "another type"],
  ])("with %s is refused", async (_, tree, reason) => {
    const { entries, tip } = sound(tree);
    await expectRefused(pack(entries), tip, reason);
  });

  it.each([
    ...[".git", ".GIT", "..", ".", "git~1", ".git ", ".git.", ".g\u200cit", ".git\\x"],
    ".git::$INDEX_ALLOCATION",
  ])("with the name %j is refused", async (name) => {
    const { entries, tip } = sound(entry("100644", name, blobOid));
    await expectRefused(pack(entries), tip, "has the name");
  });

  it.each([".gitmodules", ".gitignore", "git", "\u00fc", "..a"])(
    "with the name %j is taken",
    async (name) => {
      const { entries, tip } = sound(entry("100644", name, blobOid));
      await expectTaken(pack(entries), tip);
    },
  );

  it("with a mode that begins with a zero is taken, as old histories have them", async () => {
    const inner = entry("100644", "b", blobOid);
    const tree = entry("040000", "a", oid("tree", inner));
    const { entries, tip } = sound(tree);
    const name = newBranch();
    const answer = await push(pack([...entries, whole("tree", inner)]), tip, name);
    expect(answer).toMatch(/unpack ok\n.*ok refs/s);
    const path = `/projects/acme%2Fsite/repository/tree?ref=${name}&recursive=true`;
    const { json } = await app.call(`GET ${path}`, { as: "owner" });
    expect(json.map((one: { path: string; mode: string }) => [one.path, one.mode])).toEqual([
      ["a", "040000"],
      ["a/b", "100644"],
    ]);
  });

  it("with a submodule is taken, whose commit is elsewhere", async () => {
    const { entries, tip } = sound(entry("160000", "sub", randomBytes(20)));
    await expectTaken(pack(entries), tip);
  });
});

describe("a commit", () => {
  it.each([
    ["without its tree", commitOf(randomBytes(20)), "is missing"],
    ["of a blob", commitOf(blobOid), "another type"],
    ["that is malformed", Buffer.from("tree x\n\n"), "malformed tree"],
    ["without an author", Buffer.from(`tree ${"0".repeat(40)}\n\nx`), "no author"],
    ["with too many parents", commitOf(blobOid, ...Array(251).fill(blobOid)), "250 parents"],
  ])("%s is refused", async (_, commit, reason) => {
    const entries = [whole("blob", blob), whole("commit", commit)];
    await expectRefused(pack(entries), oid("commit", commit), reason);
  });

  it("is what a branch is, not a blob", async () => {
    await expectRefused(pack([whole("blob", blob)]), blobOid, "not a commit");
  });
});

describe("a pack", () => {
  const { entries, tip } = sound();
  const [first = blob, ...others] = entries;
  const changed = (bytes: Buffer, at: number) => {
    const copy = Buffer.from(bytes);
    copy[(copy.length + at) % copy.length] = (copy.at(at) as number) ^ 1;
    return copy;
  };
  const damaged = whole("blob", blob, changed(deflateSync(blob), -1));
  const sized = (bytes: number) => Buffer.concat([head("blob", bytes), deflateSync(blob)]);
  it.each([
    ["with a wrong Adler-32", pack([damaged, ...others]), "not valid zlib data"],
    ["with a wrong checksum", changed(pack(entries), -1), "checksum is wrong"],
    ["with fewer objects than announced", pack(entries, 7), ""],
    ["with four billion objects", pack(entries, 0xffff_ffff), "more than 5000000 objects"],
    ["with more objects than announced", pack(entries, 2), "checksum is wrong"],
    ["that is missing", Buffer.alloc(0), "cut short"],
    ["that is cut short", pack(entries).subarray(0, 60), "cut short"],
    ["of another version", pack(entries, 3, 9), "format is unknown"],
    ["with a smaller object than announced", pack([sized(700), ...others]), "not valid zlib"],
    ["with a larger object than announced", pack([sized(3), ...others]), "not valid zlib"],
    ["with 90 MB announced", pack([sized(90 * MEGABYTE), ...others]), "not valid zlib"],
    ["with 2^50 bytes announced", pack([sized(2 ** 50), ...others]), "malformed size"],
    ["with an object twice", pack([first, ...entries]), "in the pack twice"],
    ["with an unknown type", pack([changed(first, 0)]), ""],
  ])("%s is refused", async (_, sent, reason) => {
    await expectRefused(sent, tip, reason);
  });

  it("with a bomb is refused before it is unpacked", async () => {
    const zeros = Buffer.alloc(300 * MEGABYTE);
    const bomb = pack([whole("blob", zeros)]);
    await expectRefused(bomb, oid("blob", zeros), "larger than");
    const large = deflateSync(zeros.subarray(0, 90 * MEGABYTE));
    const one = Buffer.concat([head("blob", 90 * MEGABYTE), large]);
    await expectRefused(pack(Array(80).fill(one)), tip, "in the pack twice");
  });
});

describe("a delta", () => {
  const { tip } = sound();
  const [first = blob] = sound().entries;
  const copyOf = (from: number, length: number) => {
    const bytes = [0, 8, 16, 24].map((shift) => Math.floor(from / 2 ** shift) % 256);
    return [0xff, ...bytes, ...[0, 8, 16].map((shift) => (length >> shift) & 255)];
  };
  const back = first.length;
  it.each([
    ["that copies past its base", deltaBefore(back, [6, 6, 0x91, 4, 6]), "copies too much"],
    ["that inserts too much", deltaBefore(back, [6, 3, 100, 1]), "inserts too much"],
    ["that makes too little", deltaBefore(back, [6, 9, 0x90, 3]), "makes too little"],
    ["for another base", deltaBefore(back, [7, 3, 0x90, 3]), "another base"],
    ["with an unknown instruction", deltaBefore(back, [6, 6, 0]), "unknown instruction"],
    ["without sizes", deltaBefore(back, [0x80]), "malformed size"],
    ["of something that is missing", deltaOf(randomBytes(20), [6, 3, 0x90, 3]), "has no base"],
    ["of no entry", deltaBefore(back - 1, [6, 3, 0x90, 3]), "base is not in the pack"],
    ["of what is before the pack", deltaBefore(5000, [6, 3, 0x90, 3]), "base is not in the pack"],
    ["of itself", deltaBefore(0, [6, 3, 0x90, 3]), "base is not in the pack"],
  ])("%s is refused", async (_, delta, reason) => {
    await expectRefused(pack([first, delta]), tip, reason);
  });

  it("that doubles its base again and again is refused", async () => {
    const seed = Buffer.alloc(MEGABYTE, 1);
    const entries = [whole("blob", seed)];
    for (let bytes = MEGABYTE; entries.length < 13; bytes *= 2) {
      const pieces: number[] = [];
      for (let from = 0; from < bytes; from += 0xff_ffff) {
        pieces.push(...copyOf(from, Math.min(0xff_ffff, bytes - from)));
      }
      const last = entries.at(-1) as Buffer;
      entries.push(
        deltaBefore(last.length, [...size(bytes), ...size(2 * bytes), ...pieces, ...pieces]),
      );
    }
    await expectRefused(pack(entries), tip, "larger than");
  });

  it("in a chain that is too long is refused", async () => {
    const entries = [first];
    for (let count = 0; count < 4097; count += 1) {
      const text = [...Buffer.from(String(count).padStart(6))];
      entries.push(deltaBefore((entries.at(-1) as Buffer).length, [6, 6, 6, ...text]));
    }
    await expectRefused(pack(entries), tip, "chain of deltas is too long");
  });

  it("may come before its base, which may be such a delta itself", async () => {
    const [one, two, three] = ["one\n", "two\n", "three\n"].map((text) => Buffer.from(text));
    const [a, b, c] = [one, two, three] as [Buffer, Buffer, Buffer];
    const insert = (base: Buffer, data: Buffer) => [base.length, data.length, data.length, ...data];
    const tree = Buffer.concat([
      entry("100644", "a", oid("blob", a)),
      entry("100644", "b", oid("blob", b)),
      entry("100644", "c", oid("blob", c)),
    ]);
    const commit = commitOf(oid("tree", tree));
    const second = deltaOf(oid("blob", a), insert(a, b));
    const entries = [
      second,
      // Of an entry that is not known yet.
      deltaBefore(second.length, insert(b, c)),
      whole("tree", tree),
      whole("commit", commit),
      whole("blob", a),
    ];
    await expectTaken(pack(entries), oid("commit", commit));
  });
});

describe("a reference", () => {
  const { entries, tip } = sound();
  it.each([
    ...["a..b", ".a", "a.lock", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\", "a//b", "a/"],
    ...["@{x", "a.", "x\x07", "x\x7f", "", "a".repeat(1100)],
  ])("refs/heads/%j is refused", async (name) => {
    await expectRefused(pack(entries), tip, "", `refs/heads/${name}`);
  });

  it.each(["HEAD", "main", "refs/x", "../x/y", "refs", "heads/a/b"])(
    "%j is refused",
    async (name) => {
      await expectRefused(pack(entries), tip, "funny refname", name);
    },
  );
});

it("a client that leaves in the middle leaves nothing behind", async () => {
  const before = await stored();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.error(new Error("left"));
    },
    start(controller) {
      const command = `${"0".repeat(40)} ${"1".repeat(40)} refs/heads/left\0report-status`;
      const length = (command.length + 4).toString(16).padStart(4, "0");
      controller.enqueue(Buffer.from(`${length}${command}0000`));
      controller.enqueue(pack(sound().entries).subarray(0, 40));
    },
  });
  const request = new Request("http://pm.test/acme/site.git/git-receive-pack", {
    method: "POST",
    headers: {
      authorization: `Basic ${btoa(`any:${tokenOf("owner")}`)}`,
      "content-type": "application/x-git-receive-pack-request",
    },
    body,
    duplex: "half",
  } as RequestInit);
  await app.fetch(request).then((response) => expect(response.status).not.toBe(200));
  expect(await stored()).toEqual(before);
  failures.length = 0;
});
