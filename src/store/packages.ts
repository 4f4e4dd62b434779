import { createRequire } from "node:module";
import { isAbsolute } from "node:path";

/**
 * Loads a package with `require`, which bundlers leave alone: it has a binary that is only found from its own folder. It is
 * resolved from this file or, in case that was bundled and moved, from the program's.
 *
 * @throws the error of `require` if there is no such package
 */
export function loadPackage<Package>(name: string): Package {
  // A CommonJS bundle has no `import.meta.url`. `node -e` has a global `__filename`, too, which is no file.
  const own = typeof __filename === "string" && isAbsolute(__filename);
  const here = createRequire(own ? __filename : import.meta.url);
  const program = process.argv[1] ?? "";
  const places = isAbsolute(program) ? [here, createRequire(program)] : [here];
  return (places.find((require) => has(require, name)) ?? here)(name);
}

function has(require: NodeJS.Require, name: string): boolean {
  try {
    require.resolve(name);
    return true;
  } catch {
    return false;
  }
}
