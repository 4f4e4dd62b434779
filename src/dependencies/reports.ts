import { isObject, objectsIn, type Package, parseObject, textOf } from "./read.ts";
import {
  type Dependency,
  type DependencyFile,
  type PackageManager,
  type ReadReport,
  SEVERITIES,
  type Severity,
  type Vulnerability,
} from "./types.ts";

type Json = Record<string, unknown>;

/** Package managers by the names scanners use; some share another manager's registry. */
const MANAGERS: ReadonlyMap<string, PackageManager> = new Map([
  ["bundler", "bundler"],
  ["composer", "composer"],
  ["gradle", "maven"],
  ["maven", "maven"],
  ["npm", "npm"],
  ["pip", "pip"],
  ["pipenv", "pip"],
  ["pnpm", "npm"],
  ["poetry", "pip"],
  ["sbt", "maven"],
  ["setuptools", "pip"],
  ["uv", "pip"],
  ["yarn", "yarn"],
]);

/** Package managers by package URL type. */
const PURL_TYPES: ReadonlyMap<string, PackageManager> = new Map([
  ["composer", "composer"],
  ["gem", "bundler"],
  ["maven", "maven"],
  ["npm", "npm"],
  ["pypi", "pip"],
]);

/**
 * Reads a CycloneDX SBOM or GitLab's dependency scanning report.
 *
 * @param fileName the dependency file's name if an SBOM names none
 * @throws Error that says what is wrong
 */
export function parseReport(text: string, fileName: string): ReadReport {
  const report = parseObject(text);
  if (report["bomFormat"] === "CycloneDX") return fromCycloneDx(report, fileName);
  const type = isObject(report["scan"]) ? report["scan"]["type"] : "dependency_scanning";
  if (type === "dependency_scanning" && Array.isArray(report["dependency_files"])) {
    return fromGitLab(report);
  }
  throw new Error("is neither a CycloneDX SBOM nor a dependency scanning report, both as JSON");
}

/** Collects dependencies by file. */
class DependencyCollector {
  readonly #byPath = new Map<string, Dependency[]>();
  skipped = 0;

  file(path: string): Dependency[] {
    const known = this.#byPath.get(path);
    if (known) return known;
    const list: Dependency[] = [];
    this.#byPath.set(path, list);
    return list;
  }

  /** @param fallback the file to report as empty if none was named */
  result(fallback?: string): ReadReport {
    if (fallback !== undefined && this.#byPath.size === 0) this.file(fallback);
    const files: DependencyFile[] = [...this.#byPath].map(([path, dependencies]) => ({
      path,
      dependencies,
    }));
    return { files, skipped: this.skipped };
  }
}

function fromCycloneDx(bom: Json, fileName: string): ReadReport {
  const version = textOf(bom["specVersion"]);
  if (!/^1\.[4-7]$/.test(version)) {
    throw new Error(`is CycloneDX ${version || "of no version"}: 1.4 to 1.7 are read`);
  }
  const collector = new DependencyCollector();
  const known = vulnerabilitiesByRef(bom);
  const overall = propertiesOf(isObject(bom["metadata"]) ? bom["metadata"] : {});
  // A report without findings empties its file.
  if (overall.file) collector.file(overall.file);

  const pending = objectsIn(bom["components"], "components").map((component) => ({
    component,
    above: overall,
  }));
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { component, above } = next;
    const own = propertiesOf(component);
    const properties = { file: own.file || above.file, manager: own.manager || above.manager };
    for (const nested of objectsIn(component["components"], "components")) {
      pending.push({ component: nested, above: properties });
    }
    const purl = textOf(component["purl"]);
    const found = purl === "" ? undefined : readPurl(purl);
    const manager = found && managerOf(found.type, properties);
    if (!manager) {
      collector.skipped += 1;
      continue;
    }
    collector.file(properties.file || fileName).push({
      name: found.name,
      version: found.version || textOf(component["version"]),
      package_manager: manager,
      vulnerabilities: known.get(textOf(component["bom-ref"])) ?? [],
    });
  }
  return collector.result(fileName);
}

/** GitLab's own properties; a component's override the document's. */
interface BomProperties {
  file: string;
  manager: string;
}

function propertiesOf(holder: Json): BomProperties {
  const values = new Map(
    objectsIn(holder["properties"], "properties").map(({ name, value }) => [name, textOf(value)]),
  );
  const read = (...names: string[]) => {
    const name = names.find((one) => values.get(`gitlab:dependency_scanning:${one}`));
    return name === undefined ? "" : (values.get(`gitlab:dependency_scanning:${name}`) ?? "");
  };
  return {
    file: read("input_file:path", "input_file"),
    manager: read("package_manager:name", "package_manager"),
  };
}

function managerOf(type: string, { file, manager }: BomProperties): PackageManager | undefined {
  const byType = PURL_TYPES.get(type);
  if (!byType) return undefined;
  const named = MANAGERS.get(manager.toLowerCase());
  if (named) return named;
  return byType === "npm" && /(^|\/)yarn\.lock$/.test(file) ? "yarn" : byType;
}

/** `pkg:npm/%40scope/name@1.0.0?arch=x#path` as type, name and version. */
function readPurl(purl: string): Package & { type: string } {
  const [, type, rest] = /^pkg:\/*([A-Za-z0-9.+-]+)\/([^?#]*)/.exec(purl) ?? [];
  if (!type || !rest) throw new Error(`${purl.slice(0, 60)} is no package URL`);
  const slash = rest.lastIndexOf("/");
  const at = rest.lastIndexOf("@");
  // In npm names an unencoded @ begins the scope.
  const end = at > slash + 1 ? at : rest.length;
  try {
    return {
      type: type.toLowerCase(),
      name: rest
        .slice(0, end)
        .split("/")
        .filter((part) => part !== "")
        .map(decodeURIComponent)
        .join("/"),
      version: decodeURIComponent(rest.slice(end + 1)),
    };
  } catch {
    throw new Error(`${purl.slice(0, 60)} has a malformed escape`);
  }
}

/** Analysis states of vulnerabilities that don't affect the project. */
const HARMLESS = ["resolved", "resolved_with_pedigree", "false_positive", "not_affected"];

function vulnerabilitiesByRef(bom: Json): Map<string, Vulnerability[]> {
  const byRef = new Map<string, Map<string, Vulnerability>>();
  for (const vulnerability of objectsIn(bom["vulnerabilities"], "vulnerabilities")) {
    const { analysis } = vulnerability;
    if (isObject(analysis) && HARMLESS.includes(textOf(analysis["state"]))) continue;
    const known = {
      name: nameOf(vulnerability, ["id", "bom-ref", "description"]),
      severity: worst(objectsIn(vulnerability["ratings"], "ratings").map(severityOfRating)),
    };
    for (const { ref } of objectsIn(vulnerability["affects"], "affects")) {
      const target = refOf(textOf(ref));
      const byName = byRef.get(target) ?? new Map<string, Vulnerability>();
      if (!byName.has(known.name)) byName.set(known.name, known);
      byRef.set(target, byName);
    }
  }
  return new Map([...byRef].map(([ref, byName]) => [ref, [...byName.values()]]));
}

/** A reference within the SBOM, or qualified by the SBOM's own URN: `urn:cdx:…/1#ref`. */
function refOf(ref: string): string {
  if (!ref.startsWith("urn:cdx:") || !ref.includes("#")) return ref;
  const fragment = ref.slice(ref.indexOf("#") + 1);
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

function nameOf(vulnerability: Json, keys: readonly string[]): string {
  const key = keys.find((one) => textOf(vulnerability[one]).trim() !== "");
  const name = key === undefined ? "" : textOf(vulnerability[key]).replace(/\s+/g, " ").trim();
  return name.slice(0, 255) || "Unnamed vulnerability";
}

function severityOf(word: unknown): Severity {
  const lower = textOf(word).toLowerCase();
  if (lower === "none") return "info";
  return SEVERITIES.find((severity) => severity === lower) ?? "unknown";
}

/** Severity by name, or by CVSS score (the qualitative scale of CVSS 3.1 §5). */
function severityOfRating({ severity, score }: Json): Severity {
  if (severity !== undefined || typeof score !== "number") return severityOf(severity);
  if (score >= 9) return "critical";
  if (score >= 7) return "high";
  if (score >= 4) return "medium";
  return score > 0 ? "low" : "info";
}

/** Known severities before unknown ones, then the worst first. */
function worst(severities: readonly Severity[]): Severity {
  const certain = SEVERITIES.filter((one) => one !== "unknown" && one !== "undefined");
  return certain.find((one) => severities.includes(one)) ?? "unknown";
}

function fromGitLab(report: Json): ReadReport {
  const collector = new DependencyCollector();
  const known = vulnerabilitiesByLocation(report);
  for (const file of objectsIn(report["dependency_files"], "dependency_files")) {
    const path = textOf(file["path"]);
    const manager = MANAGERS.get(textOf(file["package_manager"]).toLowerCase());
    const dependencies = objectsIn(file["dependencies"], "dependencies");
    if (!manager) {
      collector.skipped += dependencies.length;
      continue;
    }
    const list = collector.file(path);
    for (const dependency of dependencies) {
      const { name, version } = readDependency(dependency);
      list.push({
        name,
        version,
        package_manager: manager,
        vulnerabilities: known.get(JSON.stringify([path, name, version])) ?? [],
      });
    }
  }
  return collector.result();
}

function vulnerabilitiesByLocation(report: Json): Map<string, Vulnerability[]> {
  const byLocation = new Map<string, Vulnerability[]>();
  for (const vulnerability of objectsIn(report["vulnerabilities"], "vulnerabilities")) {
    const location = isObject(vulnerability["location"]) ? vulnerability["location"] : {};
    if (!isObject(location["dependency"])) continue;
    const { name, version } = readDependency(location["dependency"]);
    const key = JSON.stringify([textOf(location["file"]), name, version]);
    const list = byLocation.get(key) ?? [];
    list.push({
      name: nameOf(vulnerability, ["name", "message", "cve", "id"]),
      severity: severityOf(vulnerability["severity"]),
    });
    byLocation.set(key, list);
  }
  return byLocation;
}

function readDependency(dependency: Json): Package {
  const name = isObject(dependency["package"]) ? textOf(dependency["package"]["name"]) : "";
  return { name, version: textOf(dependency["version"]) };
}
