import type { JobOptions } from "../../ci/index.ts";

type Release = NonNullable<JobOptions["release"]>;

/** The flags of `release-cli create` that are given once, in GitLab's order, by the keys of `release`. */
const FLAGS = ["name", "description", "tag_name", "tag_message", "ref", "released_at"] as const;

/**
 * The command by which a job makes its release, as GitLab's runners get it: `release-cli` of the job's image calls the API
 * with the job's token. What is in quotes is the shell's to read, with its variables.
 */
export function releaseCommand(release: Release): string {
  const { milestones, assets } = release;
  const links = (assets as { links?: readonly object[] } | undefined)?.links ?? [];
  return [
    "release-cli create",
    ...FLAGS.flatMap((key) => {
      const value = release[key];
      return value === undefined ? [] : [`--${key.replaceAll("_", "-")} "${value}"`];
    }),
    ...[milestones ?? []].flat().map((title) => `--milestone "${title}"`),
    // A text in JSON of what is JSON: the quotes of a shell take its backslashes away.
    ...links.map((link) => `--assets-link ${JSON.stringify(JSON.stringify(link))}`),
  ].join(" ");
}
