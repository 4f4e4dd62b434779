import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes an image of two layers into a new folder, as OCI lays it out, with the tag `1.0`. */
export function writeImage(layout: string): void {
  /** Writes a blob, and returns its descriptor. */
  const blob = (content: string | Uint8Array, mediaType: string) => {
    const hash = createHash("sha256").update(content).digest("hex");
    writeFileSync(join(layout, "blobs/sha256", hash), content);
    return { mediaType, digest: `sha256:${hash}`, size: Buffer.from(content).length };
  };
  mkdirSync(join(layout, "blobs/sha256"), { recursive: true });
  const layers = [randomBytes(3_000_000), randomBytes(10)].map((content) =>
    blob(content, "application/vnd.oci.image.layer.v1.tar"),
  );
  const config = blob(
    JSON.stringify({
      ...{ architecture: "amd64", os: "linux", config: {} },
      rootfs: { type: "layers", diff_ids: layers.map(({ digest }) => digest) },
    }),
    "application/vnd.oci.image.config.v1+json",
  );
  const type = "application/vnd.oci.image.manifest.v1+json";
  const manifest = blob(
    JSON.stringify({ schemaVersion: 2, mediaType: type, config, layers }),
    type,
  );
  const named = { ...manifest, annotations: { "org.opencontainers.image.ref.name": "1.0" } };
  const index = { schemaVersion: 2, manifests: [named] };
  writeFileSync(join(layout, "index.json"), JSON.stringify(index));
  writeFileSync(join(layout, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
}
