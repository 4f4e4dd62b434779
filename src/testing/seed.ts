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

/** Initial data, or the path or `file:` URL of a JSON or YAML file with it. */
export type SeedSource = Seed | string | URL;

/**
 * Reads seeds, and makes one of several: each of its lists is those of the seeds one after the other.
 *
 * @throws SeedError if a file can't be read, or is neither JSON nor YAML
 */
export async function readSeeds(sources: SeedSource | readonly SeedSource[]): Promise<Seed> {
  const seeds = await Promise.all([sources].flat().map((source) => readSeed(source as SeedSource)));
  const [first = {}, ...more] = seeds;
  if (more.length === 0) return first;
  const all: Record<string, unknown> = {};
  for (const [name, value] of seeds.flatMap((seed) => Object.entries(seed))) {
    const before = all[name];
    all[name] = Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
  }
  return all as Seed;
}

async function readSeed(seed: SeedSource): Promise<Seed> {
  if (typeof seed !== "string" && !(seed instanceof URL)) return seed;
  const file = String(seed).startsWith("file:") ? new URL(seed) : seed;
  const text = await readFile(file, "utf8");
  const isYaml = /\.ya?ml$/i.test(String(file));
  try {
    return isYaml ? (await import("yaml")).parse(text) : (JSON.parse(text) as Seed);
  } catch (cause) {
    const kind = isYaml ? "YAML" : "JSON";
    throw new SeedError(`${seed} is not ${kind}: ${(cause as Error).message}`, { cause });
  }
}
