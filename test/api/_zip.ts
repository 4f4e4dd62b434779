import { deflateRawSync, inflateRawSync } from "node:zlib";
import { expect } from "vitest";
import { crc32 } from "../../src/git/crc32.ts";

/** The files of a ZIP archive by their paths. */
export function unzipped(zip: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  const end = zip.lastIndexOf("PK\x05\x06", undefined, "latin1");
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [nameLength, extraLength] = [zip.readUInt16LE(at + 28), zip.readUInt16LE(at + 30)];
    const name = zip.toString("utf8", at + 46, at + 46 + nameLength);
    const local = zip.readUInt32LE(at + 42);
    const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
    const packed = zip.subarray(start, start + zip.readUInt32LE(at + 20));
    const data = zip.readUInt16LE(at + 10) === 0 ? packed : inflateRawSync(packed);
    // What is said of the content is said in its header or, if that says so, behind it.
    const follows = (zip.readUInt16LE(local + 6) & 8) > 0;
    const about = follows ? start + packed.length + 4 : local + 14;
    const said = [zip.readUInt32LE(at + 16), zip.readUInt32LE(at + 20), zip.readUInt32LE(at + 24)];
    expect(said).toEqual([crc32(data), packed.length, data.length]);
    expect([0, 4, 8].map((offset) => zip.readUInt32LE(about + offset))).toEqual(said);
    files.set(name, data);
    at += 46 + nameLength + extraLength;
  }
  expect(at).toBe(end);
  return files;
}

/**
 * A ZIP archive of files by their paths, each of which is compressed.
 *
 * @param modes types and permissions of files by their paths
 */
export function zipped(
  files: Readonly<Record<string, string | Buffer>>,
  modes: Readonly<Record<string, number>> = {},
): Buffer<ArrayBuffer> {
  const contents: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [path, content] of Object.entries(files)) {
    const data = Buffer.from(content);
    const [name, packed] = [Buffer.from(path), deflateRawSync(data)];
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(name.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt16LE(modes[path] ?? 0, 8);
    place.writeUInt32LE(at, 10);
    directory.push(Buffer.from("PK\x01\x02\x14\x00", "latin1"), common, place, name);
    const written = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, name, packed]);
    contents.push(written);
    at += written.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...contents, listed, end]);
}
