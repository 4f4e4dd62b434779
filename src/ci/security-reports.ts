import { createHash } from "node:crypto";
import type { Budget } from "../turns/budget.ts";
import { objectsIn } from "./json-objects.ts";
import { ReportError } from "./xml.ts";

/** The reports of scanners of security, as types of artifacts. */
export const SECURITY_REPORTS = [
  ...(["sast", "secret_detection", "dast", "dependency_scanning", "container_scanning"] as const),
  ...(["cluster_image_scanning", "coverage_fuzzing", "api_fuzzing"] as const),
] as const;
export type SecurityReport = (typeof SECURITY_REPORTS)[number];

/** How bad findings are, the worst first. */
export const FINDING_SEVERITIES = ["critical", "high", "medium", "low", "unknown", "info"] as const;

/** What the parts of a report in GitLab's format are: whatever a scanner has written. */
type Json = Readonly<Record<string, unknown>>;

/** What a scanner has found. */
export interface SecurityFinding {
  readonly uuid: string;
  readonly kind: SecurityReport;
  readonly name: string;
  readonly description: string | null;
  readonly solution: string | null;
  readonly severity: (typeof FINDING_SEVERITIES)[number];
  readonly confidence: string;
  readonly isFalsePositive: boolean;
  readonly scanner: { readonly id: string; readonly name: string; readonly vendor: string | null };
  readonly identifiers: readonly {
    readonly type: string;
    readonly value: string;
    readonly name: string;
    readonly url: string | null;
  }[];
  readonly location: FindingPlace;
}

/** Where something was found: what of it a kind of report says. */
interface FindingPlace {
  readonly file: string | null;
  readonly startLine: string | null;
  readonly endLine: string | null;
  readonly vulnerableClass: string | null;
  readonly vulnerableMethod: string | null;
  readonly hostname: string | null;
  readonly path: string | null;
  readonly param: string | null;
  readonly image: string | null;
  readonly operatingSystem: string | null;
  readonly dependency: {
    readonly package: { readonly name: string | null };
    readonly version: string | null;
  };
}

/** Characters of one report: it is parsed in one go. */
const MOST_LENGTH = 4 * 1024 * 1024;
/** Characters of a text. */
const MOST_TEXT = 15_000;

const malformed = (reason: string) => new ReportError(`JSON parsing failed: ${reason}`);

/**
 * Reads what a report of a scanner of security has found. Findings of the same kind with the same first identifier at the same
 * place are one, as in GitLab.
 *
 * @param known findings by their ids, to which those of the report are added
 * @throws ReportError
 */
export async function readFindings(
  kind: SecurityReport,
  text: AsyncIterable<string>,
  known: Map<string, SecurityFinding>,
  budget: Budget,
): Promise<void> {
  const how = { areListed: false, most: MOST_LENGTH, malformed };
  for await (const part of objectsIn(text, how, budget)) {
    const report = parsed(part);
    const { analyzer, scanner = analyzer } = objectOf(report["scan"]);
    for (const one of objectsOf(report["vulnerabilities"])) {
      if (!budget.spend("problems", 1)) throw malformed("the reports have too many findings");
      const finding = findingOf(kind, one, objectOf(scanner));
      if (!known.has(finding.uuid)) known.set(finding.uuid, finding);
      if (budget.isDue) await budget.pause();
    }
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw malformed("a report is no object");
  }
}

function findingOf(kind: SecurityReport, one: Json, scannerOfAll: Json): SecurityFinding {
  const own = { ...scannerOfAll, ...objectOf(one["scanner"]) };
  const scanner = {
    id: textOf(own["id"]) ?? "unknown",
    name: textOf(own["name"]) ?? textOf(own["id"]) ?? "unknown",
    vendor: textOf(objectOf(own["vendor"])["name"]) ?? null,
  };
  const identifiers = objectsOf(one["identifiers"]).flatMap((identifier) => {
    const [type, value] = [textOf(identifier["type"]), textOf(identifier["value"])];
    if (type === undefined || value === undefined) return [];
    const url = textOf(identifier["url"]);
    return {
      ...{ type, value, name: textOf(identifier["name"]) ?? value },
      url: url !== undefined && /^https?:\/\//i.test(url) ? url : null,
    };
  });
  const location = placeOf(objectOf(one["location"]));
  const description = textOf(one["description"]) ?? textOf(one["message"]) ?? null;
  const name = textOf(one["name"]) ?? textOf(one["message"]) ?? identifiers[0]?.name ?? "";
  const severity = textOf(one["severity"])?.toLowerCase() ?? "";
  const same = [kind, scanner.id, identifiers[0]?.type, identifiers[0]?.value ?? name, location];
  return {
    uuid: uuidOf(JSON.stringify(same)),
    ...{ kind, name, description, scanner, identifiers, location },
    solution: textOf(one["solution"]) ?? null,
    severity: FINDING_SEVERITIES.find((known) => known === severity) ?? "unknown",
    confidence: textOf(one["confidence"])?.toLowerCase() ?? "unknown",
    isFalsePositive: objectsOf(one["flags"]).some(
      ({ type }) => type === "flagged-as-likely-false-positive",
    ),
  };
}

function placeOf(place: Json): FindingPlace {
  const text = (name: string) => textOf(place[name]) ?? null;
  const line = (name: string) => (Number.isSafeInteger(place[name]) ? String(place[name]) : null);
  const dependency = objectOf(place["dependency"]);
  return {
    file: text("file")?.replace(/^\.\//, "") ?? null,
    startLine: line("start_line"),
    endLine: line("end_line"),
    vulnerableClass: text("class"),
    vulnerableMethod: text("method"),
    hostname: text("hostname"),
    path: text("path"),
    param: text("param"),
    image: text("image"),
    operatingSystem: text("operating_system"),
    dependency: {
      package: { name: textOf(objectOf(dependency["package"])["name"]) ?? null },
      version: textOf(dependency["version"]) ?? null,
    },
  };
}

/** An id that is the same for the same text, in the form of a UUID of version 5. */
function uuidOf(text: string): string {
  const bytes = createHash("sha1").update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const objectOf = (value: unknown): Json => (isObject(value) ? value : {});
const objectsOf = (value: unknown): readonly Json[] =>
  Array.isArray(value) ? value.filter(isObject) : [];
const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value.slice(0, MOST_TEXT).toWellFormed() : undefined;
