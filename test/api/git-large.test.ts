// Objects of more than 1 MiB, which are read and sent part by part.
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { deflateSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import type { TestApp } from "../helpers.ts";
import { entry, head, oid, pack, push, whole } from "../packs.ts";
import { shareWorkshop, type Workshop } from "./_git.ts";
import { unzipped } from "./_zip.ts";

const MEBIBYTE = 1024 * 1024;

let app: TestApp;
let workshop: Workshop;
shareWorkshop((opened) => {
  ({ app, workshop } = opened);
});

/** One that can't be compressed, and one that can; neither has a size that anything divides. */
const files: Record<string, Buffer> = {
  random: randomBytes(9 * MEBIBYTE + 7),
  plain: Buffer.concat([Buffer.alloc(20 * MEBIBYTE, "text\n"), Buffer.from("end")]),
};

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

async function bytesOf(path: string): Promise<{ headers: Headers; bytes: Buffer }> {
  const response = await app.fetch(
    new Request(`http://pm.test/api/v4/projects/owner%2Flarge/repository${path}`, {
      headers: { "private-token": "token-of-owner" },
    }),
  );
  expect(response.status).toBe(200);
  return { headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

describe("large files", () => {
  beforeAll(async () => {
    const { git, url, folder } = workshop;
    await app.call("POST /projects", { as: "owner", json: { name: "large" } });
    await git("", "init", "--quiet", "--initial-branch=main", "work");
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(join(folder, "work", name), content);
    }
    await git("work", "add", ".");
    await git("work", "commit", "--quiet", "-m", "Large files");
    await git("work", "push", "--quiet", url("owner/large", "owner"), "main");
  });

  it("are read, also as JSON and in archives", async () => {
    for (const [name, content] of Object.entries(files)) {
      const raw = await bytesOf(`/files/${name}/raw`);
      expect(raw.bytes.equals(content)).toBe(true);
      expect(raw.headers.get("x-gitlab-content-sha256")).toBe(sha256(content));
      const file = JSON.parse((await bytesOf(`/files/${name}?ref=main`)).bytes.toString());
      expect([file.size, file.content_sha256]).toEqual([content.length, sha256(content)]);
      expect(Buffer.from(file.content, "base64").equals(content)).toBe(true);
      const blob = JSON.parse((await bytesOf(`/blobs/${file.blob_id}`)).bytes.toString());
      expect([blob.size, blob.sha]).toEqual([content.length, file.blob_id]);
      expect(Buffer.from(blob.content, "base64").equals(content)).toBe(true);
      const whole = await bytesOf(`/blobs/${file.blob_id}/raw`);
      expect(whole.bytes.equals(content)).toBe(true);
    }
    const { bytes } = await bytesOf("/archive.tar");
    const prefix = `large-main-${await workshop.git("work", "rev-parse", "main")}/`;
    const expected = execFileSync("git", ["archive", `--prefix=${prefix}`, "main"], {
      cwd: join(workshop.folder, "work"),
      maxBuffer: 64 * MEBIBYTE,
    });
    expect(bytes.equals(expected)).toBe(true);
  });

  it("are packed into a ZIP archive", async () => {
    const prefix = `large-main-${await workshop.git("work", "rev-parse", "main")}/`;
    const zip = unzipped((await bytesOf("/archive.zip")).bytes);
    expect([...zip.keys()]).toEqual([prefix, `${prefix}plain`, `${prefix}random`]);
    for (const [name, content] of Object.entries(files)) {
      expect(zip.get(prefix + name)?.equals(content)).toBe(true);
    }
  });

  it("are cloned, changed by deltas, and verified", async () => {
    const { git, url, folder } = workshop;
    const changed = Buffer.concat([files["random"] as Buffer, Buffer.from("more")]);
    writeFileSync(join(folder, "work", "random"), changed);
    await git("work", "commit", "--quiet", "--all", "-m", "A delta");
    // The same content under another name, as an object that the server has.
    writeFileSync(join(folder, "work", "copy"), files["random"] as Buffer);
    await git("work", "add", ".");
    await git("work", "commit", "--quiet", "-m", "A copy");
    await git("work", "push", "--quiet", url("owner/large", "owner"), "main");
    await git("", "clone", "--quiet", url("owner/large", "owner"), "clone");
    await git("clone", "fsck", "--strict", "--full");
    expect(await git("clone", "rev-parse", "HEAD")).toBe(await git("work", "rev-parse", "main"));
    expect((await bytesOf("/files/random/raw")).bytes.equals(changed)).toBe(true);
  });
});

describe("a ZIP archive of a file of 60 MiB", () => {
  /** The bytes of all buffers that are in use. */
  const inUse = () => {
    const { arrayBuffers, external } = process.memoryUsage();
    return Math.max(arrayBuffers, external);
  };

  /** Frees the buffers that nobody uses any more. V8 lets up to 64 MiB of them be, which is more than the file has. */
  const collect = () => {
    const { Bun } = globalThis as { Bun?: { gc(isFull: boolean): void } };
    if (Bun) Bun.gc(true);
    else {
      setFlagsFromString("--expose-gc");
      runInNewContext("gc")();
    }
  };

  it("is sent while it is read: memory never holds half of it", async () => {
    const { git, url, folder } = workshop;
    const size = 60 * MEBIBYTE;
    const content = Buffer.alloc(size);
    for (let at = 0; at < size; at += 16_384) randomBytes(1024).copy(content, at);
    await app.call("POST /projects", { as: "owner", json: { name: "huge" } });
    await git("", "init", "--quiet", "--initial-branch=main", "huge");
    writeFileSync(join(folder, "huge", "file"), content);
    await git("huge", "add", ".");
    await git("huge", "commit", "--quiet", "-m", "A large file");
    await git("huge", "push", "--quiet", url("owner/huge", "owner"), "main");
    const { body } = await app.fetch(
      new Request("http://pm.test/api/v4/projects/owner%2Fhuge/repository/archive.zip", {
        headers: { "private-token": "token-of-owner" },
      }),
    );
    const before = inUse();
    let most = 0;
    let received = 0;
    for await (const part of body as ReadableStream<Uint8Array>) {
      received += part.length;
      if (inUse() - before > size / 4) collect();
      most = Math.max(most, inUse() - before);
    }
    expect(received).toBeGreaterThan(size / 16);
    expect(most).toBeLessThan(size / 2);
  });
});

describe("a pack with a large blob", () => {
  const content = files["random"] as Buffer;
  const blob = oid("blob", content);
  const tree = entry("100644", "a", blob);
  const commit = Buffer.from(
    `tree ${oid("tree", tree).toString("hex")}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n`,
  );
  const rest = [whole("tree", tree), whole("commit", commit)];
  const sent = (entries: readonly Buffer[], branch: string) =>
    push(app, "acme/site", pack(entries), { [`refs/heads/${branch}`]: oid("commit", commit) });
  const packed = deflateSync(content, { level: 1 });

  it("is taken, also a second time", async () => {
    const entries = [whole("blob", content, packed), ...rest];
    expect(await sent(entries, "first")).toContain("unpack ok");
    expect(await sent(entries, "second")).toContain("unpack ok");
    // Its end comes exactly at the end of what has arrived, or it is last.
    expect(await sent([...rest, whole("blob", content, packed)], "third")).toContain("unpack ok");
  });

  it.each([
    [
      "that is larger than announced",
      () => Buffer.concat([head("blob", content.length - 1), packed]),
    ],
    [
      "that is smaller than announced",
      () => Buffer.concat([head("blob", content.length + 1), packed]),
    ],
    [
      "whose checksum is wrong",
      () => {
        const entry = Buffer.concat([head("blob", content.length), packed]);
        entry.writeUInt8(entry.readUInt8(entry.length - 1) ^ 1, entry.length - 1);
        return entry;
      },
    ],
    ["that is no zlib data", () => Buffer.concat([head("blob", content.length), content])],
  ])("is refused if it has one %s", async (_, large) => {
    expect(await sent([large(), ...rest], "bad")).toContain(
      "unpack an object is not valid zlib data of its announced size",
    );
  });

  it("is refused if it ends within it", async () => {
    const cut = pack([whole("blob", content, packed)], 3).subarray(0, 5 * MEBIBYTE);
    const name = "refs/heads/cut";
    const answer = await push(app, "acme/site", cut, { [name]: oid("commit", commit) });
    expect(answer).toContain("unpack the pack is cut short");
  });
});
