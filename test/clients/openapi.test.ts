import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../src/testing.ts";
import { newFolder } from "../folder.ts";
import { isLong } from "../forms.ts";

// Clients that are generated from docs/openapi.json are compiled and used: in npm test the one of openapi-typescript, in
// npm run test:all also those whose generators take minutes. They are apart from the project: test/openapi-clients.

const parts = fileURLToPath(new URL("../openapi-clients", import.meta.url));
const document = fileURLToPath(new URL("../../docs/openapi.json", import.meta.url));
const run = promisify(execFile);
const GENERATOR = "org.openapitools:openapi-generator-cli:7.17.0";
/** Generating takes minutes on a busy machine: this only ends what hangs. */
const LONG = 3_600_000;

let folder: string;
let server: TestServer;

beforeAll(async () => {
  folder = newFolder();
  if (!existsSync(join(parts, "node_modules"))) {
    await run("npm", ["ci", "--no-audit", "--no-fund"], { cwd: parts });
  }
  await symlink(join(parts, "node_modules"), join(folder, "node_modules"));
}, LONG);
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(async () => {
  server = await startTestServer({
    seed: {
      users: [{ username: "ann", tokens: [{ token: "ann-token" }] }],
      groups: [
        {
          path: "acme",
          members: { ann: "owner" },
          projects: [{ path: "site", issues: [{ title: "One", author: "ann" }] }],
        },
      ],
    },
  });
});
afterEach(() => server.close());

/** What each client prints that it has done. */
const DONE = { created: 2, titles: ["Two", "One"], error: "404 Project Not Found" };

/** Runs a program in the folder, and returns what it prints. */
async function ran(command: string, args: readonly string[], cwd = folder): Promise<string> {
  const { stdout } = await run(command, args, { cwd, maxBuffer: 2 ** 28 });
  return stdout;
}

const used = async (command: string, args: readonly string[], cwd = folder) =>
  JSON.parse(await ran(command, [...args, server.url, "ann-token"], cwd));

/** Whether programs are installed; says which is missing. */
function has(...commands: readonly string[]): boolean {
  // Java's old form of the option is the one that all of them take.
  const missing = commands.filter(
    (name) => spawnSync(name, [name === "go" ? "version" : "-version"]).error,
  );
  if (missing.length > 0) console.warn(`not tested, since there is no ${missing.join(", ")}`);
  return missing.length === 0;
}

const tsc = (...args: string[]) =>
  ran(process.execPath, [join(parts, "node_modules/typescript/bin/tsc"), ...args]);

/** @param name of the generator */
async function generate(name: string, ...options: string[]): Promise<void> {
  const jar = join(folder, "generator.jar");
  if (!existsSync(jar)) {
    const [, artifact, version] = GENERATOR.split(":");
    await ran("mvn", [
      "-q",
      "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy",
      `-Dartifact=${GENERATOR}`,
      `-DoutputDirectory=${folder}`,
    ]);
    await cp(join(folder, `${artifact}-${version}.jar`), jar);
  }
  await ran("java", ["-jar", jar, "generate", "-i", document, "-g", name, "-o", name, ...options]);
}

const WITH_TYPES = `
import createClient from "openapi-fetch";
import type { paths } from "./api.d.ts";
declare const process: { argv: string[] };
const [address, token] = process.argv.slice(2) as [string, string];
const headers = { "Private-Token": token };
const client = createClient<paths>({ baseUrl: address + "/api/v4", headers });
const path = { id: "acme/site" };
const { data: created } = await client.POST("/projects/{id}/issues", {
  params: { path }, body: { title: "Two" },
});
const { data: listed = [] } = await client.GET("/projects/{id}/issues", { params: { path } });
const { error } = await client.GET("/projects/{id}", { params: { path: { id: "acme/none" } } });
const iid: number | undefined = created?.iid;
const titles: string[] = listed.map(({ title }) => title);
console.log(JSON.stringify({ created: iid, titles, error: error?.message }));
`;

it(
  "openapi-typescript's types fit openapi-fetch",
  async () => {
    const program = join(parts, "node_modules/openapi-typescript/bin/cli.js");
    await ran(process.execPath, [program, document, "-o", "api.d.ts"]);
    await writeFile(join(folder, "types.mts"), WITH_TYPES);
    const strict = ["--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck"];
    await tsc("types.mts", ...strict, "--lib", "es2022,dom");
    expect(await used(process.execPath, ["types.mjs"])).toEqual(DONE);
  },
  LONG,
);

const WITH_FETCH = `
import { Configuration, IssuesApi, ProjectsApi, ResponseError } from "./typescript-fetch";
declare const process: { argv: string[] };
const [address, token] = process.argv.slice(2) as [string, string];
const configuration = new Configuration({ basePath: address + "/api/v4", apiKey: token });
const issues = new IssuesApi(configuration);
async function main() {
  const id = "acme/site";
  const created = await issues.createProjectIssue({ id, createProjectIssueBody: { title: "Two" } });
  const listed = await issues.listProjectIssues({ id });
  const refused = await new ProjectsApi(configuration)
    .getProject({ id: "acme/none" })
    .catch((error: ResponseError) => error.response.json());
  const titles = listed.map(({ title }) => title);
  console.log(JSON.stringify({ created: created.iid, titles, error: refused.message }));
}
void main();
`;

it.runIf(isLong && has("java", "mvn"))(
  "openapi-generator's client for TypeScript compiles and works",
  async () => {
    // It forgets the enumerations of objects with `anyOf`, which says here that one of several attributes is needed.
    const normalizer = "REMOVE_ANYOF_ONEOF_AND_KEEP_PROPERTIES_ONLY=true";
    await generate("typescript-fetch", "--openapi-normalizer", normalizer);
    await writeFile(join(folder, "fetch.ts"), WITH_FETCH);
    const options = ["--target", "es2022", "--module", "nodenext", "--skipLibCheck"];
    await tsc("fetch.ts", "--strict", ...options, "--lib", "es2022,dom", "--outDir", "fetch");
    await writeFile(join(folder, "fetch/package.json"), '{ "type": "commonjs" }');
    expect(await used(process.execPath, ["fetch/fetch.js"])).toEqual(DONE);
  },
  LONG,
);

it.runIf(isLong && has("java", "mvn", "python3"))(
  "openapi-generator's client for Python is imported and works",
  async () => {
    await generate("python", "--package-name", "pm_api");
    const python = join(folder, "venv/bin/python");
    await ran("python3", ["-m", "venv", "venv"]);
    await ran(python, ["-m", "pip", "install", "-q", "-r", join(parts, "requirements.txt")]);
    await cp(join(parts, "use.py"), join(folder, "python/use.py"));
    expect(await used(python, ["use.py"], join(folder, "python"))).toEqual(DONE);
  },
  LONG,
);

it.runIf(isLong && has("go"))(
  "oapi-codegen's client for Go compiles and works",
  async () => {
    const module = join(folder, "go");
    await cp(join(parts, "go"), module, { recursive: true });
    await run("mkdir", ["-p", join(module, "api")]);
    await ran("go", ["tool", "oapi-codegen", "-config", "codegen.yaml", document], module);
    await ran("go", ["build", "-o", "use", "."], module);
    expect(await used(join(module, "use"), [], module)).toEqual(DONE);
  },
  LONG,
);
