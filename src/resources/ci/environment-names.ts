import { createHash } from "node:crypto";

/** What an environment is for. */
export const TIERS = ["production", "staging", "testing", "development", "other"] as const;
export type EnvironmentTier = (typeof TIERS)[number];

/** Maximum characters of a slug: names of hosts and Kubernetes' labels are made of it. */
const MAX_SLUG = 24;
/** How much of a name its slug keeps, if it can't be the slug itself. */
const KEPT = 17;
const SUFFIX = 6;

/** The slug of an environment, as GitLab makes it: the name itself, or the beginning of it with a digest. */
export function slugOf(name: string): string {
  const dashed = name.toLowerCase().replace(/[^a-z0-9]/g, "-");
  const slug = (/^[a-z]/.test(dashed) ? dashed : `env-${dashed}`).replace(/-+/g, "-");
  if (slug.length <= MAX_SLUG && slug === name)
    return slug.endsWith("-") ? slug.slice(0, -1) : slug;
  const kept = slug.slice(0, KEPT);
  const digest = createHash("sha256").update(name).digest("hex");
  const suffix = BigInt(`0x${digest}`).toString(36).slice(-SUFFIX);
  return `${kept}${kept.endsWith("-") ? "" : "-"}${suffix}`;
}

/** Parts of names, by the tier that they speak of; the first one that fits counts. */
const SIGNS: readonly [EnvironmentTier, RegExp][] = [
  ["development", /dev|review|trunk/i],
  ["testing", /test|tst|int|acc?e?pt|acc|qa|qc|control|quality/i],
  ["staging", /sta?g|mode?l|pre|demo|non/i],
  ["production", /pro?d|live/i],
];

/** The tier that the name of an environment speaks of. */
export function tierOf(name: string): EnvironmentTier {
  return SIGNS.find(([, sign]) => sign.test(name))?.[0] ?? "other";
}

/** What is wrong with the name of an environment, if anything. */
export function nameErrors(name: string): string[] {
  if (name.trim() === "") return ["can't be blank"];
  if (name.length > 255) return ["is too long (maximum is 255 characters)"];
  if (/^[\w/${}. -]+$/.test(name) && !name.startsWith("/") && !name.endsWith("/")) return [];
  return [
    "can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', and spaces, but it cannot start or end with '/'",
  ];
}
