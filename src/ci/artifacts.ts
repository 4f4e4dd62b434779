import { Entry, given } from "./entry.ts";
import type { Findings } from "./findings.ts";
import { KEYWORDS } from "./keywords.ts";
import { COVERAGE_FORMATS, REPORTS } from "./report-kinds.ts";
import type { ArtifactAccess, Json } from "./types.ts";
import { isMapping, type Value } from "./values.ts";

type Artifact = { readonly [key: string]: Json };

const WHEN = ["on_success", "on_failure", "always"] as const;
const ACCESS = ["none", "developer", "maintainer", "all"] as const satisfies ArtifactAccess[];

/** Reads `artifacts` as what runners send: the archive, and each report. */
export function readArtifacts(value: Value, at: string, findings: Findings): readonly Artifact[] {
  if (!isMapping(value)) {
    findings.error(at, "config should be a hash");
    return [];
  }
  const entry = new Entry(value, at, findings);
  entry.allow(KEYWORDS.artifacts);
  const name = entry.text("name");
  const untracked = entry.boolean("untracked");
  const paths = entry.strings("paths");
  const exclude = entry.strings("exclude");
  const when = entry.word("when", WHEN);
  const expiry = readExpiry(entry, "expire_in");
  const access = readAccess(entry);
  const exposed = readExposure(entry, paths);
  const archive = given({ name, untracked, paths, exclude, when, expire_in: expiry });
  const isArchive = paths !== undefined || untracked === true;
  return [
    ...(isArchive
      ? [{ ...archive, artifact_type: "archive", artifact_format: "zip", ...access, ...exposed }]
      : []),
    ...readReports(entry, { ...given({ expire_in: expiry }), ...access }),
  ];
}

/** Artifacts with an archive that has a path, which is a folder. */
export function withFolder(
  artifacts: readonly Artifact[] = [],
  folder: string,
): readonly Artifact[] {
  const archive = artifacts.find(({ artifact_type: type }) => type === "archive");
  if (!archive) {
    return [{ paths: [folder], artifact_type: "archive", artifact_format: "zip" }, ...artifacts];
  }
  const paths = (archive["paths"] as readonly string[] | undefined) ?? [];
  if ([folder, `${folder}/`].some((path) => paths.includes(path))) return artifacts;
  return artifacts.map((one) => (one === archive ? { ...one, paths: [...paths, folder] } : one));
}

/** A time after which something ends, or `never`. */
export function readExpiry(entry: Entry, key: string): string | undefined {
  const value = entry.get(key);
  if (value === "never") return value;
  entry.duration(key);
  return typeof value === "string" ? value : undefined;
}

/** Who may download the archive and the reports, if not everybody who sees the job. */
function readAccess(entry: Entry): { readonly access?: ArtifactAccess } {
  const isPublic = entry.boolean("public") ?? true;
  const access = entry.word("access", ACCESS) ?? (isPublic ? "all" : "developer");
  if (entry.mapping.has("public") && entry.mapping.has("access")) {
    entry.error("config these keys cannot be used together: public, access");
  }
  return access === "all" ? {} : { access };
}

function readExposure(
  entry: Entry,
  paths: readonly string[] | undefined,
): { readonly expose_as?: string } {
  const name = entry.text("expose_as");
  if (name === undefined) return {};
  if (!paths?.length) entry.errorOf("paths", "can't be blank");
  if (paths?.some((path) => path.includes("*"))) {
    entry.errorOf("paths", "can't contain '*' when used with 'expose_as'");
  }
  if (name.length > 100) {
    entry.errorOf("expose_as", "is too long (maximum is 100 characters)");
  } else if (!/^\w[-\w ]*$/.test(name)) {
    entry.errorOf("expose_as", "can contain only letters, digits, '-', '_' and spaces");
  }
  return { expose_as: name };
}

function readReports(entry: Entry, common: Artifact): readonly Artifact[] {
  const reports = entry.child("reports");
  if (!reports) return [];
  reports.allow(KEYWORDS["artifacts:reports"]);
  const found = Object.entries(REPORTS).flatMap(([type, [name, format]]) => {
    const paths = reports.oneOrMore(type);
    return paths ? [{ type, name, format, paths }] : [];
  });
  const coverage = readCoverage(reports);
  return [...found, ...(coverage ? [coverage] : [])].map(({ type, name, format, paths }) => ({
    name,
    paths,
    when: "always",
    artifact_type: type,
    artifact_format: format,
    ...common,
  }));
}

function readCoverage(reports: Entry) {
  const entry = reports.child("coverage_report");
  if (!entry) return undefined;
  entry.allow(KEYWORDS["artifacts:reports:coverage_report"]);
  const type = entry.word("coverage_format", COVERAGE_FORMATS);
  const path = entry.text("path");
  for (const key of ["coverage_format", "path"]) {
    if (entry.get(key) === undefined) entry.errorOf(key, "can't be blank");
  }
  if (!type || path === undefined) return undefined;
  return { type, name: `${type}-coverage.xml`, format: "gzip", paths: [path] };
}
