import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestServer } from "../../src/testing.ts";
import { newFolder } from "../folder.ts";
import { isLong } from "../forms.ts";
import { startWithTool } from "./_tool.ts";

// Maven fetches its own plugins when it first deploys, so it runs in `npm run test:all` only.

const run = promisify(execFile);
const LONG = 600_000;

function hasMaven(): boolean {
  const has = spawnSync("mvn", ["--version"]).status === 0;
  if (!has) console.warn("not tested, since there is no Maven");
  return has;
}
const isRun = isLong && hasMaven();

let server: TestServer;
let folder: string;
let project: string;

beforeAll(async () => {
  const tool = await startWithTool();
  server = tool.server;
  folder = newFolder();
  project = `${server.url}/api/v4/projects/${tool.id}/packages/maven`;
  const of = (id: string, configuration: string) =>
    `<server><id>${id}</id>${configuration}</server>`;
  const header =
    "<configuration><httpHeaders><property><name>Private-Token</name><value>ann-token</value></property></httpHeaders></configuration>";
  const basic = "<username>ann</username><password>ann-token</password>";
  await writeFile(
    join(folder, "settings.xml"),
    `<settings><servers>${of("by-header", header)}${of("by-password", basic)}</servers></settings>`,
  );
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const mvn = (...args: string[]) =>
  run("mvn", ["-B", "-q", "-s", "settings.xml", ...args], { cwd: folder, maxBuffer: 2 ** 26 }).then(
    () => "",
    ({ stdout, stderr }) => String(stdout) + String(stderr),
  );

it.runIf(isRun)(
  "Maven deploys releases and snapshots, and gets them from a project and a group",
  async () => {
    await mkdir(join(folder, "target"));
    const jar = join(folder, "target/thing.jar");
    const deploy = (id: string, version: string) =>
      mvn(
        "deploy:deploy-file",
        ...[`-DrepositoryId=${id}`, `-Durl=${project}`, `-Dfile=${jar}`, "-Dpackaging=jar"],
        ...["-DgroupId=com.acme", "-DartifactId=thing", `-Dversion=${version}`],
      );
    const group = `${server.url}/api/v4/groups/acme/-/packages/maven`;
    const got = async (id: string, url: string, version: string) => {
      const local = join(folder, "repository");
      const said = await mvn(
        "dependency:get",
        ...[`-DremoteRepositories=${id}::default::${url}`, "-Dtransitive=false", "-U"],
        `-Dartifact=com.acme:thing:${version}`,
      );
      expect([id, version, said]).toEqual([id, version, ""]);
      return existsSync(local);
    };
    await writeFile(jar, "first");
    expect(await deploy("by-header", "1.0")).toBe("");
    expect(await deploy("by-password", "1.1-SNAPSHOT")).toBe("");
    await writeFile(jar, "second");
    expect(await deploy("by-header", "1.1-SNAPSHOT")).toBe("");
    await got("by-header", project, "1.0");
    await got("by-password", group, "1.1-SNAPSHOT");
    const home = join(process.env["HOME"] ?? "", ".m2/repository/com/acme/thing");
    expect(await readFile(join(home, "1.0/thing-1.0.jar"), "utf8")).toBe("first");
    expect(await readFile(join(home, "1.1-SNAPSHOT/thing-1.1-SNAPSHOT.jar"), "utf8")).toBe(
      "second",
    );
    await rm(home, { recursive: true });
    const headers = { "private-token": "ann-token" };
    const answer = await fetch(`${project}/com/acme/thing/maven-metadata.xml`, { headers });
    expect(await answer.text()).toContain("<version>1.1-SNAPSHOT</version>");
  },
  LONG,
);
