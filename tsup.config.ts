import { transform } from "esbuild";
import { defineConfig, type Options } from "tsup";

const packageEntries = {
  index: "src/index.ts",
  node: "src/node.ts",
  bun: "src/bun.ts",
  deno: "src/deno.ts",
  testing: "src/testing.ts",
};

/** Started by file name, next to the others. */
const worker = { "passwords-worker": "src/auth/passwords-worker.mjs" };

const shared = {
  target: "node20",
  outDir: "dist",
  splitting: true,
  // It is no CommonJS, which older versions of Node 20 and Jest need.
  noExternal: ["gemoji"],
  // The default would rewrite node:sqlite to sqlite, which exists nowhere.
  removeNodeProtocol: false,
} satisfies Options;

/**
 * Makes CommonJS of the chunks, before tsup does: it would take `this.#open = …` for an assignment to an exported `open`,
 * and replace that.
 */
const commonJs = {
  name: "commonjs",
  async renderChunk(this: { format: string }, code: string, { type }: { type: string }) {
    if (this.format !== "cjs" || type !== "chunk") return;
    // Jest has no `import()` in CommonJS.
    const supported = { "dynamic-import": false };
    return transform(code, { format: "cjs", platform: "node", target: shared.target, supported });
  },
} satisfies NonNullable<Options["plugins"]>[number];

export default defineConfig([
  // The CLI shares the package's chunks.
  { ...shared, entry: { ...packageEntries, ...worker, "pm-cli": "cli/index.ts" }, format: "esm" },
  // Replaces import.meta.url there.
  { ...shared, entry: packageEntries, format: "cjs", shims: true, plugins: [commonJs] },
  {
    ...shared,
    entry: packageEntries,
    format: ["esm", "cjs"],
    dts: { only: true, resolve: [/^@hattip\//] },
  },
]);
