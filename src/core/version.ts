import type { SshAddress } from "./ssh-address.ts";

/** This package's version. */
export const VERSION = "0.1.0";

/** What `/version` reports as the revision. */
export const REVISION = `v${VERSION}`;

/** The version of GitLab that clients are told unless the application says another. */
export const GITLAB_VERSION = "18.5.0";

/** Which GitLab clients are told they speak to: many choose by it what they send. */
export interface Edition {
  /** Such as `18.5.0-ee`. */
  readonly version: string;
  /** Whether it is the Enterprise Edition, which has the features of the paid tiers. */
  readonly enterprise: boolean;
  /**
   * Where it serves the sites of projects: `"path"` for below its own address, or the URL below whose host they have
   * theirs. Default: nowhere.
   */
  readonly sites?: string | undefined;
  /** Where Git is served over SSH. Default: nowhere. */
  readonly ssh?: SshAddress | undefined;
}

/** The edition of a version and a tier: `free`, or one that is paid for. */
export function editionOf(version: string, tier: string): Edition {
  const enterprise = tier !== "free";
  return { version: enterprise ? `${version}-ee` : version, enterprise };
}
