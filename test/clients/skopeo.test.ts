import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer } from "../../src/testing.ts";
import { newFolder } from "../folder.ts";
import { writeImage } from "./_image.ts";

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
  writeImage(LAYOUT);
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
