import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The project's folder, with a slash at its end. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/**
 * What a test file needs, and so where it runs:
 *
 * - `app`: it sends requests to an application, or tests the store: on both engines, and on every runtime
 * - `rest`: it needs nothing
 * - `built`: it tests what `npm run build` makes: `pm-cli` as a process, and the package as others import it
 * - `browser`: like `built`, in Chromium
 * - `timed`: like `built`, and it must run alone, since it is sensitive to what runs beside it
 */
export type Kind = "app" | "rest" | "built" | "browser" | "timed";

/** The first pattern that fits a path decides. */
const KINDS: readonly (readonly [RegExp, Kind])[] = [
  [/^test\/(adapters\/middleware|cli\/hostile)/, "timed"],
  [/^test\/(api|graphql|oauth|store|web)\//, "app"],
  [/^test\/e2e\//, "browser"],
  [
    /^(examples\/|test\/(adapters|cli|examples|package)\/|test\/docs\/deploy|test\/testing\/(docs|package))/,
    "built",
  ],
  [/^test\//, "rest"],
];

/** @param file its path from the project's folder */
export function kindOf(file: string): Kind {
  return KINDS.find(([pattern]) => pattern.test(file))?.[1] ?? "rest";
}

/** The paths of all test files from the project's folder, in order. */
export function testFiles(): string[] {
  return ["test", "examples"]
    .flatMap(filesBelow)
    .filter((file) => /\.test\.(ts|m?js)$/.test(file))
    .sort();
}

/** The paths of all files below a folder of the project, from the project's folder; without those of packages. */
export function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : filesBelow(path);
    return [path];
  });
}
