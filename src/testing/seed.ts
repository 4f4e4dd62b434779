import { readFile } from "node:fs/promises";
import { SeedError } from "../core/seeding.ts";
import type { Seed } from "../seed/input.ts";

/** The data of a test server whose options name none. */
export const DEFAULT_SEED: Seed = {
  users: [{ username: "root", name: "Administrator", admin: true }],
  groups: [
    {
      path: "acme",
      name: "Acme",
      visibility: "public",
      members: { root: "owner" },
      labels: [
        { name: "bug", color: "#d9534f" },
        { name: "feature", color: "#428bca" },
      ],
      milestones: [{ title: "v1.0" }],
      boards: [{ name: "Development", lists: ["bug", "feature"] }],
      projects: [
        { path: "app", name: "App", visibility: "public" },
        { path: "site", name: "Site" },
      ],
    },
  ],
};

/** Reads a seed from a file, unless it is one. @throws SeedError if the file is not JSON */
export async function readSeed(seed: Seed | string | URL): Promise<Seed> {
  if (typeof seed !== "string" && !(seed instanceof URL)) return seed;
  const file = String(seed).startsWith("file:") ? new URL(seed) : seed;
  const text = await readFile(file, "utf8");
  try {
    return JSON.parse(text) as Seed;
  } catch (cause) {
    throw new SeedError(`${seed} is not JSON: ${(cause as Error).message}`, { cause });
  }
}
