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

/** Imports of our own files that violate the rule. */
function strays(folder: string, allowed: (imported: string, file: string) => boolean): string[] {
  return importsBelow(folder)
    .filter(([, imported]) => /^(src|cli|test|examples)\//.test(imported))
    .filter(([file, imported]) => !allowed(imported, file))
    .map(([file, imported]) => `${file} → ${imported}`);
}

it("core imports no resource", () => {
  expect(strays("src/core", (path) => /^src\/(core|store)\/[^/]+$/.test(path))).toEqual([]);
});

it("drivers import the port, each other, and shared helpers", () => {
  const allowed = (path: string) =>
    /^src\/store\/(kept|port|sqlite|statement-cache|drivers\/[^/]+)\.ts$/.test(path);
  expect(strays("src/store/drivers", allowed)).toEqual([]);
});

it("resources import core, the store's helpers, and only the public parts of each other", () => {
  const allowed = (path: string, file: string) =>
    path.startsWith(`${dirname(file)}/`) ||
    /^src\/core\/[^/]+$/.test(path) ||
    /^src\/store\/(migrate|patterns|placeholders|port|update)\.ts$/.test(path) ||
    /^src\/resources\/[^/]+\/(json|queries|rules)\.ts$/.test(path) ||
    path === "src/audit/log.ts" ||
    /^src\/jobs\/(outbox|table)\.ts$/.test(path) ||
    file === "src/resources/index.ts";
  expect(strays("src/resources", allowed)).toEqual([]);
});

it("doors import core, the store's helpers, resources' queries and each other", () => {
  const allowed = (path: string) =>
    /^src\/(accounts|core|oauth|web)\/[^/]+$/.test(path) ||
    /^src\/store\/(migrate|patterns|placeholders|port|update)\.ts$/.test(path) ||
    /^src\/resources\/[^/]+\/(json|queries|rules)\.ts$/.test(path);
  for (const folder of ["src/accounts", "src/oauth", "src/web"])
    expect(strays(folder, allowed)).toEqual([]);
});

it("jobs import only the store, notifications also resources and jobs", () => {
  expect(strays("src/jobs", (path) => /^src\/(jobs|store)\/[^/]+$/.test(path))).toEqual([]);
  const allowed = (path: string) =>
    /^src\/(core|jobs|notifications)\/[^/]+$/.test(path) ||
    /^src\/store\/(placeholders|port)\.ts$/.test(path) ||
    /^src\/resources\/[^/]+\/(json|queries|rules)\.ts$/.test(path);
  expect(strays("src/notifications", allowed)).toEqual([]);
});

it("the CLI imports only the public API", () => {
  const allowed = (path: string) =>
    path.startsWith("cli/") ||
    /^src\/(index|node|bun|deno)\.ts$/.test(path) ||
    // Help texts need it before a command is known, and importing the library would load all of that each time.
    path === "src/core/scopes.ts";
  expect(strays("cli", allowed)).toEqual([]);
});

it("hattip's router is imported in one file", () => {
  const users = importsBelow("src").filter(([, imported]) => imported === "@hattip/router");
  expect(users.map(([file]) => file)).toEqual(["src/core/http/pipeline.ts"]);
});

it("every resource is in the list, and the version is the package's", () => {
  const folders = readdirSync(join(root, "src/resources"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `src/resources/${name}/index.ts`);
  const listed = importsBelow("src/resources")
    .filter(([file]) => file === "src/resources/index.ts")
    .map(([, imported]) => imported);
  expect(listed.filter((path) => path.startsWith("src/resources/")).sort()).toEqual(folders.sort());
  expect(VERSION).toBe(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version);
});
