import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { VERSION } from "../../src/core/version.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Every TypeScript file below a folder, with its imports: packages by name, our files by path from the root. */
function importsBelow(folder: string): [file: string, imported: string][] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) => {
      const file = join(folder, name);
      const text = readFileSync(join(root, file), "utf8");
      const found = text.matchAll(/(?:\bfrom |\bimport\()"([^"]+)"/g);
      return [...found].map(([, path]): [string, string] => [
        file,
        path?.startsWith(".") ? relative(root, join(root, dirname(file), path)) : (path as string),
      ]);
    });
}

/** The folders of `src`, and files directly in it, from the bottom to the top: each imports only from those before it. */
const ORDER = [
  ["store", "turns"],
  ["files", "outgoing"],
  ["core", "git"],
  ["audit", "jobs"],
  ["hooks"],
  ["auth", "providers"],
  ["ci", "dependencies", "metrics", "graphql", "scim", "signatures"],
  ["resources"],
  ["git-http"],
  ["registry", "lfs"],
  ["ssh"],
  ["pages"],
  ["notifications"],
  ["oauth", "addresses"],
  ["web", "browse"],
  ["mounts.ts"],
  ["seed", "database"],
  ["admin"],
  ["background.ts"],
  ["options.ts"],
  ["app.ts"],
  ["adapters.ts"],
  ["node"],
  ["node.ts", "bun.ts", "deno.ts", "index.ts"],
  ["testing"],
  ["testing.ts"],
] as const;

/** A path's place in {@link ORDER}; -1 if it has none. */
function layerOf(path: string): number {
  const part = path.split("/")[1] as string;
  return ORDER.findIndex((parts) => (parts as readonly string[]).includes(part));
}

/** Imports of our own files that violate the rule. */
function strays(folder: string, allowed: (imported: string, file: string) => boolean): string[] {
  return importsBelow(folder)
    .filter(([, imported]) => /^(src|cli|test|examples)\//.test(imported))
    .filter(([file, imported]) => !allowed(imported, file))
    .map(([file, imported]) => `${file} → ${imported}`);
}

it("imports run one way, from the top of the order to the bottom", () => {
  const allowed = (imported: string, file: string) =>
    layerOf(imported) >= 0 && layerOf(imported) <= layerOf(file);
  expect(strays("src", allowed)).toEqual([]);
});

it("folders on the same level do not import each other", () => {
  const allowed = (imported: string, file: string) =>
    layerOf(imported) !== layerOf(file) || imported.split("/")[1] === file.split("/")[1];
  expect(strays("src", allowed)).toEqual([]);
});

/** The circles among imports, each as its names in order. */
function circlesAmong(imported: readonly (readonly [importer: string, imported: string])[]) {
  const imports = new Map<string, string[]>();
  for (const [from, to] of imported) imports.set(from, [...(imports.get(from) ?? []), to]);
  const done = new Set<string>();
  const circles = new Set<string>();
  const visit = (name: string, path: readonly string[]) => {
    if (path.includes(name)) circles.add([...path.slice(path.indexOf(name)), name].join(" → "));
    if (done.has(name) || path.includes(name)) return;
    for (const next of imports.get(name) ?? []) visit(next, [...path, name]);
    done.add(name);
  };
  for (const name of imports.keys()) visit(name, []);
  return [...circles];
}

it("files import each other in no circle", () => {
  expect(circlesAmong(importsBelow("src"))).toEqual([]);
});

it("what only some servers use is loaded once they use it", () => {
  const imports = new Map<string, string[]>();
  for (const file of new Set(importsBelow("src").map(([from]) => from))) {
    const text = readFileSync(join(root, file), "utf8");
    // Neither types nor what `import()` loads later.
    const found = text.matchAll(/^(?:import|export) (?!type )(?:[^;"]*? from )?"([^"]+)"/gm);
    imports.set(
      file,
      [...found].map(([, path = ""]) =>
        path.startsWith(".") ? relative(root, join(root, dirname(file), path)) : path,
      ),
    );
  }
  const reached = new Set(["src/index.ts", "src/node.ts", "src/bun.ts", "src/deno.ts"]);
  for (const file of reached) for (const next of imports.get(file) ?? []) reached.add(next);
  const late = /^(ssh2|ldapts|openid-client|pg|nodemailer)$|^src\/ssh\/(index|mount|server)\.ts$/;
  expect([...reached].filter((name) => late.test(name))).toEqual([]);
  expect(reached.has("src/lfs/tokens.ts") && reached.has("valibot")).toBe(true);
});

it("folders of resources import each other in no circle", () => {
  const folderOf = (path: string) => /^src\/resources\/([^/]+)\//.exec(path)?.[1];
  const folders = importsBelow("src/resources").flatMap(([file, imported]) => {
    const [from, to] = [folderOf(file), folderOf(imported)];
    return from && to && from !== to ? [[from, to] as const] : [];
  });
  expect(circlesAmong(folders)).toEqual([]);
});

it("drivers import the port, each other, and shared helpers", () => {
  const allowed = (path: string) =>
    /^src\/store\/(dialects|packages|row-cache|port|sqlite|statement-cache|drivers\/(postgres\/)?[^/]+)\.ts$/.test(
      path,
    );
  expect(strays("src/store/drivers", allowed)).toEqual([]);
});

it("resources import no routes of each other", () => {
  const allowed = (path: string, file: string) =>
    path.startsWith(`${dirname(file)}/`) ||
    !/^src\/resources\/[^/]+\/index\.ts$/.test(path) ||
    file === "src/resources/index.ts";
  expect(strays("src/resources", allowed)).toEqual([]);
});

it("pages show what the API tells: they import nothing of resources but rights, routes that have no address, and what renders Markdown", () => {
  const allowed = (path: string) =>
    !/^src\/(resources|store)\//.test(path) ||
    /^src\/resources\/[^/]+\/(abilities|actions)\.ts$/.test(path) ||
    [
      "src/store/port.ts",
      "src/resources/markdown/links.ts",
      "src/resources/markdown/render.ts",
    ].includes(path);
  expect(strays("src/browse", allowed)).toEqual([]);
  for (const [file] of importsBelow("src/browse")) {
    expect([
      file,
      /\bselect\b.*\bfrom\b|\.rows\(/.test(readFileSync(join(root, file), "utf8")),
    ]).toEqual([file, false]);
  }
});

it("the CLI imports only the public API", () => {
  const allowed = (path: string) =>
    path.startsWith("cli/") ||
    /^src\/(index|node|bun|deno|testing)\.ts$/.test(path) ||
    // Help texts need these lists before a command is known, and importing the library would load it all each time.
    /^src\/core\/(scopes|access\/(roles|visibility))\.ts$/.test(path) ||
    // The runner needs no library, but its globs are those of the server.
    path === "src/core/globs.ts";
  expect(strays("cli", allowed)).toEqual([]);
});

it("hattip's router is imported in one file", () => {
  const users = importsBelow("src").filter(([, imported]) => imported === "@hattip/router");
  expect(users.map(([file]) => file)).toEqual(["src/core/http/router.ts"]);
});

it("roles are compared only in abilities, and where routes declare them", () => {
  const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !/^core\/access\/|\/abilities\.ts$/.test(name))
    .map((name) => [name, readFileSync(join(root, "src", name), "utf8")] as const);
  // The levels of visibility, of downstream pipelines and of Markdown are others.
  const others =
    /^(resources\/(projects\/rules|groups\/changes|pipelines\/downstream)|core\/markdown.*)\.ts$/;
  const compared = files.filter(
    ([name, text]) =>
      /[^=][<>]=?\s*ROLES\b/.test(text) || (!others.test(name) && /\blevel\s*[<>]/.test(text)),
  );
  expect(compared.map(([name]) => name)).toEqual([]);
  const asking = files.filter(([, text]) => /\bhasRole\b/.test(text)).map(([name]) => name);
  expect(asking.sort()).toEqual(["core/http/authorize.ts", "core/http/pipeline.ts"]);
});

it("every resource is in the list, and the version is the package's", () => {
  // Folders without routes, such as namespaces/, have queries that several resources share.
  const folders = readdirSync(join(root, "src/resources"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith("/index.ts"))
    .map((name) => `src/resources/${name}`);
  const listed = importsBelow("src/resources")
    .filter(([file]) => file === "src/resources/index.ts")
    .map(([, imported]) => imported);
  expect(listed.filter((path) => path.startsWith("src/resources/")).sort()).toEqual(folders.sort());
  expect(VERSION).toBe(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version);
});
