import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { transform } from "esbuild";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";
import { defineConfig, type Options } from "tsup";

const packageEntries = {
  index: "src/index.ts",
  node: "src/node.ts",
  bun: "src/bun.ts",
  deno: "src/deno.ts",
  testing: "src/testing.ts",
};
const names = Object.keys(packageEntries);

/** Started by file name, next to the others. */
const worker = { "passwords-worker": "src/auth/passwords-worker.mjs" };

/** The largest tables, which few programs need: what is exported, by the ends of their paths. */
const TABLES: Record<string, () => Promise<object>> = {
  "templates/licenses.ts": () => import("./src/resources/templates/licenses.ts"),
  "templates/gitignores.ts": () => import("./src/resources/templates/gitignores.ts"),
  "gemoji/index.js": async () => {
    const { gemoji } = await import("gemoji");
    return {
      gemoji: gemoji.map(({ emoji, names, description }) => ({ emoji, names, description })),
    };
  },
};

/** Compresses tables better than npm does; they are read when they are first used. */
const tables = {
  name: "tables",
  setup(build) {
    build.onLoad(
      { filter: /(licenses|gitignores)\.ts$|\/gemoji\/index\.js$/ },
      async ({ path }) => {
        const [, read] = Object.entries(TABLES).find(([end]) => path.endsWith(`/${end}`)) ?? [];
        if (!read) return;
        const exported = { ...(await read()) };
        const text = brotliCompressSync(JSON.stringify(exported)).toString("base64");
        return {
          contents: `import { brotliDecompressSync } from "node:zlib";
          const read = () => JSON.parse(brotliDecompressSync(Buffer.from("${text}", "base64")).toString());
          export const { ${Object.keys(exported).join(", ")} } = read();`,
        };
      },
    );
  },
} satisfies NonNullable<Options["esbuildPlugins"]>[number];

const shared = {
  target: "node20",
  outDir: "dist",
  splitting: true,
  // It is no CommonJS, which older versions of Node 20 and Jest need.
  noExternal: ["gemoji"],
  // The default would rewrite node:sqlite to sqlite, which exists nowhere.
  removeNodeProtocol: false,
} satisfies Options;

/** Names stay, for stack traces; without the spaces, the package is smaller. */
const smaller = { minifySyntax: true, minifyWhitespace: true } as const;

/** Stands for `import.meta.url`, which CommonJS has not; if it was bundled into an ES module, the program's file does. */
const OWN_URL = "importMetaUrl";

/** What a chunk takes of another. */
const OF_CHUNKS = /^import \{([^}]*)\} from ("\.\/chunk-\w+\.cjs");$/gm;

/**
 * Requires other chunks by names of their own: esbuild would ask the other chunk for each use of a name, which is longer and
 * slower. That needs chunks that do not require each other, and names that do not change.
 */
function requiringByName(code: string): string {
  return code.replace(
    OF_CHUNKS,
    (_, taken: string, path) => `const {${taken.replaceAll(" as ", ": ")}} = require(${path});`,
  );
}

/** Makes CommonJS of the chunks. tsup does so too, but replaces operators that Node has by functions, which are slow. */
const commonJs = {
  name: "commonjs",
  async renderChunk(code: string, { type }: { type: string }) {
    if (type !== "chunk") return;
    return transform(requiringByName(code), {
      format: "cjs",
      platform: "node",
      target: shared.target,
      // Jest has no `import()` in CommonJS.
      supported: { "dynamic-import": false },
      define: { "import.meta.url": OWN_URL },
      ...(code.includes("import.meta.url") && {
        banner: `const ${OWN_URL} = require("node:url").pathToFileURL(typeof __filename === "string" ? __filename : process.argv[1] ?? ".").href;`,
      }),
      ...smaller,
      lineLimit: 500,
    });
  },
} satisfies NonNullable<Options["plugins"]>[number];

/** Lets ES modules import what CommonJS requires: the same code, so the same classes (decision 17). */
async function addModules(): Promise<void> {
  const require = createRequire(import.meta.url);
  for (const name of names) {
    const exported = Object.keys(require(resolve(`dist/${name}.cjs`)));
    writeFileSync(`dist/${name}.js`, `export { ${exported.join(", ")} } from "./${name}.cjs";\n`);
    writeFileSync(`dist/${name}.d.ts`, `export * from "./${name}.cjs";\n`);
  }
}

/**
 * Writes the types: what the entries export, and what that refers to, in files named as those of `src`. TypeScript 7 makes
 * them ten times as fast as the compiler of tsup, whose bundler also has names of its own.
 */
async function writeTypes(): Promise<void> {
  const compiler = "node_modules/typescript-7/bin/tsc";
  execFileSync(process.execPath, [compiler, "--project", "src"], { stdio: "inherit" });
  rmSync("dist/types", { recursive: true, force: true });
  const bundle = await rollup({
    input: Object.fromEntries(names.map((name) => [name, `build/types/${name}.d.ts`])),
    plugins: [dts({ includeExternal: ["@hattip/core"] })],
    external: /^node:/,
  });
  await bundle.write({
    dir: shared.outDir,
    preserveModules: true,
    preserveModulesRoot: "build/types",
    minifyInternalExports: false,
    entryFileNames: ({ name, facadeModuleId }) => {
      if (names.includes(name)) return `${name}.d.cts`;
      const isOwn = !facadeModuleId?.includes("@hattip");
      return `types/${isOwn ? name.replace(/\.d$/, "") : "hattip"}.d.cts`;
    },
  });
  await bundle.close();
}

/** The program imports the package as others do. */
const ofPackage = {
  name: "package",
  setup(build) {
    build.onResolve({ filter: new RegExp(`/src/(${names.join("|")})\\.ts$`) }, ({ path }) => ({
      path: path.replace(/^.*\/src\/(\w+)\.ts$/, "./$1.js"),
      external: true,
    }));
  },
} satisfies NonNullable<Options["esbuildPlugins"]>[number];

await writeTypes();

export default defineConfig([
  {
    ...shared,
    entry: packageEntries,
    format: "esm",
    esbuildPlugins: [tables],
    outExtension: () => ({ js: ".cjs" }),
    plugins: [commonJs],
    onSuccess: addModules,
  },
  {
    ...shared,
    entry: { ...worker, "pm-cli": "cli/index.ts" },
    format: "esm",
    ...smaller,
    esbuildPlugins: [ofPackage],
  },
]);
