/** The package managers whose files are read and that the API knows. */
export const PACKAGE_MANAGERS = ["bundler", "composer", "maven", "npm", "pip", "yarn"] as const;
export type PackageManager = (typeof PACKAGE_MANAGERS)[number];

/** Severities of vulnerabilities in GitLab's words, the worst first. */
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

/** A known vulnerability of a dependency. */
export interface Vulnerability {
  name: string;
  severity: Severity;
}

/** A package a project depends on. */
export interface Dependency {
  name: string;
  /** As written in its file: a requirement if no version is pinned, `""` if the file states none. */
  version: string;
  package_manager: PackageManager;
  vulnerabilities: readonly Vulnerability[];
}

/** A file of a project and the dependencies it states. */
export interface DependencyFile {
  /** Relative to the project's root. */
  path: string;
  dependencies: readonly Dependency[];
}

/** Maximum lengths in characters. Both databases can index values of these lengths. */
export const MAX_LENGTHS = { name: 255, version: 255, path: 500 } as const;

/** A file as text. */
export interface TextFile {
  /** Relative to the project's root, with `/` between folders. */
  path: string;
  content: string;
}

/** A report's dependencies by file, and how many of its packages belong to managers the API does not know. */
export interface ReadReport {
  files: DependencyFile[];
  skipped: number;
}
