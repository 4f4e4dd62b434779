import type { serve } from "../src/node.ts";

/** Loads what serves on this runtime: Bun, which `pm-cli` as one binary is, and Deno have their own servers. */
export async function loadServer(): Promise<{ serve: typeof serve }> {
  if (process.versions["bun"]) return import("../src/bun.ts");
  if (process.versions["deno"]) return import("../src/deno.ts");
  return import("../src/node.ts");
}
