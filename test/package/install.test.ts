import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newProject, type Project } from "./project.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

let project: Project;
beforeAll(async () => {
  project = await newProject();
});
afterAll(() => project.remove());

/** Also uses what is loaded lazily: the database, passwords, forms, two-factor, mail, repositories. */
const program = `
  const server = await startTestServer({ seed: { users: [
    { username: "ada", admin: true, password: "difference engine", tokens: [{ token: "ada-token" }] },
  ] } });
  const headers = { "private-token": server.token };
  const { username } = await (await fetch(server.url + "/api/v4/user", { headers })).json();
  const form = new FormData();
  form.set("name", "acme");
  form.set("path", "acme");
  const made = await fetch(server.url + "/api/v4/groups", { method: "POST", headers, body: form });
  const pm = await createApp({ url: "https://pm.example.com/pm", mail: { from: "pm@example.com", smtp: "smtp://127.0.0.1:1" } });
  const version = await pm.fetch("https://pm.example.com/pm/api/v4/groups");
  const ask = async (path, json) => (await fetch(server.url + "/api/v4" + path, {
    method: json ? "POST" : "GET",
    headers: { ...headers, "content-type": "application/json" },
    ...(json && { body: JSON.stringify(json) }),
  })).json();
  const { id } = await ask("/projects", { name: "site" });
  const actions = [{ action: "create", file_path: "a.txt", content: "text" }];
  const commit = { branch: "main", commit_message: "First", actions };
  await ask("/projects/" + id + "/repository/commits", commit);
  const file = await ask("/projects/" + id + "/repository/files/a.txt?ref=main");
  await pm.close();
  await server.close();
  console.log(username, made.status, version.status, new SeedError("").name, typeof createMiddleware, file.size);
`;
const printed = "ada 201 200 SeedError function 4\n";

const imports = `
  import { createApp, SeedError } from "pm-api";
  import { createMiddleware } from "pm-api/node";
  import { startTestServer } from "pm-api/testing";
`;
const requires = `
  const { createApp, SeedError } = require("pm-api");
  const { createMiddleware } = require("pm-api/node");
  const { startTestServer } = require("pm-api/testing");
`;

/** Behaves like Node before 20.19 and 22.12, which cannot `require` an ES module. */
const withoutRequireOfModules = process.allowedNodeEnvironmentFlags.has(
  "--experimental-require-module",
)
  ? ["--no-experimental-require-module"]
  : [];

describe("the packed package", () => {
  it("works with import", async () => {
    await writeFile(join(project.folder, "index.mjs"), imports + program);
    expect(await project.node(["index.mjs"])).toBe(printed);
  });

  it("works with require, on a Node that cannot require ES modules", async () => {
    const code = `${requires} (async () => { ${program} })();`;
    await writeFile(join(project.folder, "index.cjs"), code);
    expect(await project.node([...withoutRequireOfModules, "index.cjs"])).toBe(printed);
  });

  it.each([
    ["mjs", 'import * as library from "pm-api";'],
    ["cjs", 'const library = require("pm-api");'],
  ])("shows errors by their exported names, as %s", async (extension, load) => {
    const code = `${load}
      const errors = Object.entries(library).filter(([, one]) => one.prototype instanceof Error);
      console.log(errors.map(([name, one]) => [name, one.name, String(new one("a", "b", "c")).split(":")[0]]));`;
    await writeFile(join(project.folder, `errors.${extension}`), code);
    const shown = await project.node([`errors.${extension}`]);
    const names = [
      "ApiError",
      "DependencyError",
      "OptionError",
      "SeedError",
      "StoreError",
      "UnavailableError",
    ];
    const rows = names.map((name) => `  [ '${name}', '${name}', '${name}' ]`);
    expect(shown.trim()).toBe(`[\n${rows.join(",\n")}\n]`);
  });

  it("works in code that is in no file: given to Node, on standard input, or of a worker", async () => {
    const code = `import("pm-api").then((m) => m.createApp()).then((app) => app.close())
      .then(() => console.log("works"));`;
    const inWorker = `new (require("node:worker_threads").Worker)(process.argv[1], { eval: true })`;
    expect(await project.node(["-e", code])).toBe("works\n");
    expect(await project.node(["-p", code])).toMatch(/works\n$/);
    expect(await project.node(["-e", inWorker, code])).toBe("works\n");
    const reading = execFile(process.execPath, ["-"], { cwd: project.folder });
    reading.stdin?.end(code);
    let output = "";
    for await (const chunk of reading.stdout ?? []) output += chunk;
    expect(output).toBe("works\n");
  });

  it("requires no ES module, and contains no dynamic import in CommonJS", async () => {
    const dist = join(project.folder, "node_modules/pm-api/dist");
    const files = (await readdir(dist)).filter((name) => name.endsWith(".cjs"));
    const required = new Set<string>();
    for (const file of files) {
      const code = await readFile(join(dist, file), "utf8");
      // Jest refuses `import()`.
      expect(code, file).not.toMatch(/[^.\w]import\(/);
      for (const [, name] of code.matchAll(/\brequire\(["']([^."'][^"']*)["']\)/g)) {
        if (!name?.startsWith("node:")) required.add(name as string);
      }
    }
    expect([...required].sort()).toContain("valibot");
    // It is loaded when somebody signs in at another provider, which such a Node is told not to offer.
    required.delete("openid-client");
    const load = [...required].map((name) => `require(${JSON.stringify(name)});`).join("");
    await project.node([...withoutRequireOfModules, "--eval", load]);
  });

  it("loads few packages until somebody asks for more", async () => {
    const code = `(async () => {
      const app = await require("pm-api").createApp();
      console.log((await app.fetch("http://pm.example/api/v4/projects")).status);
      const names = Object.keys(require.cache).map((path) => /.*node_modules\\/([^/]+)/.exec(path)?.[1]);
      console.log([...new Set(names)].filter((name) => name && name !== "pm-api").sort().join(" "));
      await app.close();
    })();`;
    const printed = await project.node(["--eval", code], { PM_SQLITE: "better-sqlite3" });
    expect(printed).toBe(
      "200\nbetter-sqlite3 bindings croner file-uri-to-path ipaddr.js valibot\n",
    );
  });

  it("says what sign-in at other providers needs, on a Node that cannot require ES modules", async () => {
    const provider = { name: "p", issuer: "https://p.example", clientId: "c" };
    const options = { url: "https://pm.example", signIn: { providers: [provider] } };
    const code = `require("pm-api").createApp(${JSON.stringify(options)}).catch((error) => console.log(error.message));`;
    const said = "signIn.providers needs Node 20.19 or newer, or 22.12 or newer\n";
    const printed = await project.node([...withoutRequireOfModules, "--eval", code]);
    if (withoutRequireOfModules.length > 0) expect(printed).toBe(said);
  });

  it("has its code once: what is imported is what is required", async () => {
    const dist = join(project.folder, "node_modules/pm-api/dist");
    const modules = (await readdir(dist)).filter((name) =>
      /^(index|node|bun|deno|testing)\.js$/.test(name),
    );
    expect(modules).toHaveLength(5);
    for (const name of modules) {
      const text = await readFile(join(dist, name), "utf8");
      expect(text).toMatch(/^export \{ [\w, ]+ \} from "\.\/\w+\.cjs";\n$/);
    }
    const code = `import { ApiError, createApp } from "pm-api";
      import { createRequire } from "node:module";
      const required = createRequire(import.meta.url)("pm-api");
      console.log(ApiError === required.ApiError, createApp === required.createApp);`;
    await writeFile(join(project.folder, "once.mjs"), code);
    expect(await project.node(["once.mjs"])).toBe("true true\n");
  });

  it("has types to read: each in the file of its source, under its own name", async () => {
    const dist = join(project.folder, "node_modules/pm-api/dist");
    const files = await readdir(join(dist, "types"), { recursive: true });
    expect(await readFile(join(dist, "types/app.d.cts"), "utf8")).toContain(
      "declare function createApp(options?: AppOptions): Promise<App>;",
    );
    for (const file of files.filter((name) => name.endsWith(".d.cts") && name !== "hattip.d.cts")) {
      expect(existsSync(join(root, "src", file.replace(/\.d\.cts$/, ".ts"))), file).toBe(true);
      expect(await readFile(join(dist, "types", file), "utf8"), file).not.toMatch(/\w\$\d/);
    }
  });

  it("stays small", () => {
    const pack = ["pack", "--dry-run", "--json", "--ignore-scripts"];
    const listed = execFileSync("npm", pack, { cwd: root, encoding: "utf8", stdio: "pipe" });
    const [{ size }] = JSON.parse(listed);
    expect(size).toBeLessThan(1_800_000);
  });

  it("contains the documents its own links lead to", async () => {
    const installed = join(project.folder, "node_modules/pm-api");
    const files = await readdir(installed, { recursive: true });
    const documents = files.filter((name) => name.endsWith(".md"));
    expect(documents).toContain("docs/guide.md");
    const dead: string[] = [];
    for (const document of documents) {
      const text = await readFile(join(installed, document), "utf8");
      for (const [, target] of text.matchAll(
        /(?<!`[^`\n]*)\]\((?!\w+:|#|\/?uploads\/)([^)#\s]+)/g,
      )) {
        const path = join(document, "..", target as string).replace(/\/$/, "");
        const isElsewhere = NOT_PACKED.test(path) && existsSync(join(root, path));
        if (!files.includes(path) && !isElsewhere) dead.push(`${document} → ${target}`);
      }
    }
    expect(dead).toEqual([]);
    expect(files.filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))).toEqual([]);
  });
});

/** Documents that only the repository and the site have, so that the package is small. */
const NOT_PACKED =
  /^(docs\/(decisions|reference|coverage\.json|kept\.md|performance\.md|schema\.graphql)|(CHANGELOG|CONTRIBUTING)\.md$)/;

const BANNER =
  'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);';

describe("bundled with esbuild", () => {
  it.each([
    ["import", "esm", "mjs", imports + program],
    ["import", "cjs", "cjs", `${imports} (async () => { ${program} })();`],
    ["require", "cjs", "cjs", `${requires} (async () => { ${program} })();`],
  ] as const)("a program loaded by %s runs as %s", async (kind, format, extension, code) => {
    const entry = join(project.folder, `${kind}-${format}.js`);
    const bundle = join(project.folder, `${kind}-${format}.bundle.${extension}`);
    await writeFile(entry, code);
    const { errors } = await build({
      entryPoints: [entry],
      outfile: bundle,
      bundle: true,
      platform: "node",
      format,
      // Our dependencies include CommonJS that calls `require`: see docs/guide.md.
      ...(format === "esm" && { banner: { js: BANNER } }),
      logLevel: "silent",
    });
    expect(errors).toEqual([]);
    expect(await project.node([...withoutRequireOfModules, bundle])).toBe(printed);
  });
});

describe("without a loadable better-sqlite3", () => {
  const hasOwn = Number(process.versions.node.split(".")[0]) > 22;
  const opened = ["--input-type=module", "--eval", 'await (await import("pm-api")).createApp();'];

  it.each([
    {
      state: "not built",
      make: async (modules: string) => {
        const from = join(root, "node_modules/better-sqlite3");
        const to = join(modules, "better-sqlite3");
        await mkdir(to);
        for (const name of ["lib", "package.json"]) {
          await cp(join(from, name), join(to, name), { recursive: true });
        }
        for (const name of ["bindings", "file-uri-to-path"]) {
          await cp(join(root, "node_modules", name), join(modules, name), { recursive: true });
        }
      },
      words: [
        "better-sqlite3 is installed, but not built",
        "`npm rebuild better-sqlite3`",
        "`npm install-scripts approve better-sqlite3`",
        "`pnpm approve-builds`",
      ],
    },
    {
      state: "not installed",
      make: async () => undefined,
      words: ["better-sqlite3 is not installed: npm install better-sqlite3"],
    },
  ])("$state: suggests what to do", async ({ make, words }) => {
    const other = await newProject({ without: ["better-sqlite3"] });
    await make(join(other.folder, "node_modules"));
    for (const wanted of hasOwn ? ["better-sqlite3"] : ["", "better-sqlite3"]) {
      const error = await other.node(opened, { PM_SQLITE: wanted }).catch((reason) => reason);
      for (const word of words) expect(error.stderr).toContain(word);
    }
    await rm(other.folder, { recursive: true });
  });
});
