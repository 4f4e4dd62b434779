import { execFile, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer } from "../../src/testing.ts";
import { newFolder } from "../folder.ts";

// skopeo copies images between registries and folders, with the library of podman and buildah.

const run = promisify(execFile);
function hasSkopeo(): boolean {
  const has = spawnSync("skopeo", ["--version"]).status === 0;
  if (!has) console.warn("not tested, since there is no skopeo");
  return has;
}
const LONG = 120_000;

let server: Awaited<ReturnType<typeof startTestServer>>;
const folder = newFolder();
const LAYOUT = join(folder, "image");

/** Writes a blob of a layout, and returns its descriptor. */
function blob(content: string | Uint8Array, mediaType: string) {
  const hash = createHash("sha256").update(content).digest("hex");
  writeFileSync(join(LAYOUT, "blobs/sha256", hash), content);
  return { mediaType, digest: `sha256:${hash}`, size: Buffer.from(content).length };
}

beforeAll(async () => {
  server = await startTestServer({
    seed: {
      users: [{ username: "ada", name: "Ada", tokens: [{ token: "ada-token", scopes: ["api"] }] }],
      groups: [
        {
          ...{ path: "acme", name: "Acme", visibility: "public", members: { ada: "owner" } },
          projects: [
            { path: "site", name: "Site", visibility: "public" },
            { path: "core", name: "Core" },
          ],
        },
      ],
    },
  });
  mkdirSync(join(LAYOUT, "blobs/sha256"), { recursive: true });
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
  writeFileSync(join(LAYOUT, "index.json"), JSON.stringify(index));
  writeFileSync(join(LAYOUT, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
});
afterAll(() => server.close());

it.runIf(hasSkopeo())(
  "skopeo pushes an image, copies it to another project, lists, pulls and deletes it",
  async () => {
    const at = (name: string) => `docker://${new URL(server.url).host}/acme/${name}`;
    const creds = "ada:ada-token";
    const from = ["--src-tls-verify=false", "--src-creds", creds];
    const to = ["--dest-tls-verify=false", "--dest-creds", creds];
    const skopeo = async (...words: string[]) => (await run("skopeo", words)).stdout;
    const copy = (...words: string[]) => skopeo("copy", "--preserve-digests", ...words);

    await copy(...to, `oci:${LAYOUT}:1.0`, at("site/img:1.0"));
    await copy(...from, ...to, at("site/img:1.0"), at("core:2.0"));
    // Everybody may pull from a public project.
    const listed = await skopeo("list-tags", "--tls-verify=false", at("site/img"));
    expect(JSON.parse(listed).Tags).toEqual(["1.0"]);
    const pulled = join(folder, "pulled");
    await copy(...from, at("core:2.0"), `oci:${pulled}:2.0`);
    const { manifests } = JSON.parse(readFileSync(join(pulled, "index.json"), "utf8"));
    const sent = JSON.parse(readFileSync(join(LAYOUT, "index.json"), "utf8")).manifests;
    expect(manifests[0].digest).toBe(sent[0].digest);
    await expect(skopeo("inspect", "--tls-verify=false", at("core:2.0"))).rejects.toThrow("denied");
    await skopeo("delete", "--tls-verify=false", "--creds", creds, at("site/img:1.0"));
    const left = await skopeo("list-tags", "--tls-verify=false", at("site/img"));
    expect(JSON.parse(left).Tags).toEqual([]);
  },
  LONG,
);
