import { createHash } from "node:crypto";

/** What is published as an archive. */
export const TGZ = Buffer.from("not really a tarball, but bytes: \0\xff", "latin1");

/** A digest of some bytes. */
export const digest = (algorithm: string, encoding: "hex" | "base64", bytes: Uint8Array) =>
  createHash(algorithm).update(bytes).digest(encoding);

/** What `npm publish` sends. */
export function document(
  name: string,
  version: string,
  more: Record<string, unknown> = {},
  tgz = TGZ,
) {
  const file = `${name}-${version}.tgz`;
  return {
    _id: name,
    name,
    "dist-tags": { latest: version },
    versions: {
      [version]: {
        name,
        version,
        description: "A thing",
        dependencies: { other: "^1.0.0" },
        readme: "Long",
        dist: {
          shasum: digest("sha1", "hex", tgz),
          integrity: `sha512-${digest("sha512", "base64", tgz)}`,
          tarball: `http://localhost/${file}`,
        },
      },
    },
    access: null,
    _attachments: {
      [file]: {
        content_type: "application/octet-stream",
        data: tgz.toString("base64"),
        length: tgz.length,
      },
    },
    ...more,
  };
}
