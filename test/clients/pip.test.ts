import { execFile, spawnSync } from "node:child_process";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestServer } from "../../src/testing.ts";
import { newFolder } from "../folder.ts";
import { isLong } from "../forms.ts";
import { hasPython, newEnvironment } from "../suites/python.ts";
import { startWithTool, TOKEN } from "./_tool.ts";

// pip as it comes with Python, and twine, which is installed for `npm run test:all` only.

const run = promisify(execFile);
const hasPip = hasPython() && spawnSync("python3", ["-m", "pip", "--version"]).status === 0;
if (!hasPip) console.warn("not tested, since there is no pip");
const LONG = 120_000;

let server: TestServer;
let folder: string;
let project: string;

beforeAll(async () => {
  const tool = await startWithTool();
  server = tool.server;
  folder = newFolder();
  project = `/api/v4/projects/${tool.id}/packages/pypi`;
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const withToken = (path: string, token = TOKEN) =>
  `${server.url.replace("//", `//ann:${token}@`)}${path}`;

/** Writes a wheel of a version. @returns its path */
async function wheel(version: string): Promise<string> {
  const name = `acme_thing-${version}-py3-none-any.whl`;
  const info = `acme_thing-${version}.dist-info`;
  const program = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("acme_thing/__init__.py", "NAME = 'thing ${version}'\\n")
    wheel.writestr("${info}/METADATA", "Metadata-Version: 2.1\\nName: acme-thing\\nVersion: ${version}\\nRequires-Python: >=3.8\\n")
    wheel.writestr("${info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("${info}/RECORD", "")
`;
  const path = join(folder, name);
  await run("python3", ["-c", program, path]);
  return path;
}

/** Runs pip. @returns what it printed, also if it failed */
const pip = (...args: string[]) =>
  run("python3", [
    ...["-m", "pip", "--isolated", "--no-cache-dir", "--disable-pip-version-check"],
    ...[...args, "--no-deps", "--no-input", "--retries", "0"],
  ]).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => String(stdout) + String(stderr),
  );

it.runIf(hasPip)(
  "pip downloads what is uploaded, by hash, from a project and from a group",
  async () => {
    for (const version of ["1.0.0", "1.1.0"]) {
      const path = await wheel(version);
      const form = new FormData();
      const sent = { name: "acme-thing", version, requires_python: ">=3.8" };
      for (const [name, value] of Object.entries(sent)) form.append(name, value);
      form.append("content", new Blob([await readFile(path)]), path.split("/").pop());
      const headers = { "private-token": TOKEN };
      const answer = await fetch(server.url + project, { method: "POST", body: form, headers });
      expect([answer.status, await answer.json()]).toEqual([201, { message: "201 Created" }]);
    }
    const group = "/api/v4/groups/acme/-/packages/pypi";
    for (const [at, [index, wanted, version]] of [
      [project, "acme_Thing", "1.1.0"],
      [group, "acme-thing<1.1", "1.0.0"],
    ].entries()) {
      const into = join(folder, `got${at}`);
      const said = await pip(
        "download",
        "-d",
        into,
        "-i",
        withToken(`${index}/simple`),
        wanted as string,
      );
      const file = `acme_thing-${version}-py3-none-any.whl`;
      expect([said, await readdir(into)]).toEqual([said, [file]]);
      expect(await readFile(join(into, file))).toEqual(await readFile(join(folder, file)));
    }
    const none = await pip(
      "download",
      "-d",
      folder,
      "-i",
      withToken(`${project}/simple`),
      "absent",
    );
    expect(none).toContain("No matching distribution found for absent");
    const wrong = withToken(`${project}/simple`, "wrong");
    const refused = await pip("download", "-d", folder, "-i", wrong, "acme-thing");
    expect(refused).toContain("No matching distribution found");
  },
  LONG,
);

it.runIf(isLong && hasPip)(
  "twine uploads a wheel, and is told that it is there",
  async () => {
    const { folder: installed, start } = await newEnvironment("twine.txt");
    const path = await wheel("2.0.0");
    const upload = (...more: string[]) =>
      start("twine", [
        ...["upload", "--non-interactive", "--disable-progress-bar", "-u", "ann", "-p", TOKEN],
        ...["--repository-url", server.url + project, ...more, path],
      ]);
    const first = await upload();
    expect([first.code, first.output]).toEqual([
      0,
      expect.stringContaining("Uploading acme_thing-2.0.0"),
    ]);
    const second = await upload("--verbose");
    expect([second.code, second.output]).toEqual([1, expect.stringContaining("400")]);
    await rm(installed, { recursive: true });
  },
  LONG,
);
