import type { serve } from "../src/node.ts";

/** Loads the server of this runtime: Bun (also in the binary of `pm-cli`), Deno or Node. */
export async function loadServer(): Promise<{ serve: typeof serve }> {
  if (process.versions["bun"]) return import("../src/bun.ts");
  if (process.versions["deno"]) return import("../src/deno.ts");
  return import("../src/node.ts");
}
