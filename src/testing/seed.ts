import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { SeedError } from "../core/seeding.ts";
import type { Seed } from "../seed/input.ts";
import { namesFiles, withFolders } from "./folders.ts";

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
  if (typeof seed !== "string" && !(seed instanceof URL)) {
    return withFolders(seed, process.cwd());
  }
  const file = String(seed).startsWith("file:") ? fileURLToPath(seed) : String(seed);
  const text = await readFile(file, "utf8");
  return withFolders(await parsed(seed, file, text), dirname(file));
}

async function parsed(seed: string | URL, file: string, text: string): Promise<Seed> {
  const isYaml = /\.ya?ml$/i.test(file);
  try {
    return isYaml ? (await import("yaml")).parse(text) : (JSON.parse(text) as Seed);
  } catch (cause) {
    const kind = isYaml ? "YAML" : "JSON";
    throw new SeedError(`${seed} is not ${kind}: ${(cause as Error).message}`, { cause });
  }
}

/**
 * A seed that came over HTTP: it is data, and names no files of this machine.
 *
 * @throws SeedError if it does
 */
export function sentSeed(given: unknown): Seed | Seed[] {
  for (const one of [given].flat()) {
    if (typeof one === "string")
      throw new SeedError("the seed must be data, not the path of a file");
    if (namesFiles(one))
      throw new SeedError("a seed that is sent names no files: send what is in them");
  }
  return given as Seed | Seed[];
}
