/** The package managers the API has a word for (contract §2). */
export const PACKAGE_MANAGERS = ["bundler", "composer", "maven", "npm", "pip", "yarn"] as const;
export type PackageManager = (typeof PACKAGE_MANAGERS)[number];

/** How bad a vulnerability is, the worst first (gitlab-facts §5). */
export const SEVERITIES = [
  "critical",
  "high",
  "medium",
  "low",
  "unknown",
  "info",
  "undefined",
] as const;
export type Severity = (typeof SEVERITIES)[number];

/** A known weakness of a dependency. */
export interface Vulnerability {
  name: string;
  severity: Severity;
}

/** Something a project depends on. */
export interface Dependency {
  name: string;
  /** As its file has it; a requirement where nothing is pinned, `""` where the file doesn't say. */
  version: string;
  package_manager: PackageManager;
  vulnerabilities: readonly Vulnerability[];
}

/** A file of a project and what it says the project depends on. */
export interface DependencyFile {
  /** Relative to the project's root. */
  path: string;
  dependencies: readonly Dependency[];
}

/** The most characters of a name, a version and a path: both engines can index them. */
export const LONGEST = { name: 255, version: 255, path: 500 } as const;
