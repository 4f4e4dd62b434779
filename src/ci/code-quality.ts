import type { Budget } from "../turns/budget.ts";
import { objectsIn } from "./json-objects.ts";
import { ReportError } from "./xml.ts";

/** What is wrong with a line, by a report in Code Climate's format. */
export interface Problem {
  readonly description: string;
  readonly check: string | null;
  readonly fingerprint: string;
  readonly severity: string;
  readonly engine: string | null;
  readonly path: string;
  readonly line: number | null;
}

const SEVERITIES = ["blocker", "critical", "major", "minor", "info"];
/** Characters of one problem. */
const MOST_LENGTH = 256 * 1024;

const malformed = (reason: string) => new ReportError(`JSON parsing failed: ${reason}`);

/**
 * Reads a report about the quality of code, a list in JSON, one problem after another. Of equal fingerprints the last one
 * counts.
 *
 * @throws ReportError
 */
export async function readQuality(
  text: AsyncIterable<string>,
  problems: Map<string, Problem>,
  budget: Budget,
): Promise<void> {
  const how = { areListed: true, most: MOST_LENGTH, malformed };
  for await (const item of objectsIn(text, how, budget)) {
    const problem = problemOf(item);
    if (!budget.spend("problems", 1)) throw malformed("the reports have too many problems");
    problems.set(problem.fingerprint, problem);
  }
}

interface Place {
  readonly path?: unknown;
  readonly lines?: { readonly begin?: unknown };
  readonly positions?: { readonly begin?: { readonly line?: unknown } };
}

function problemOf(item: string): Problem {
  let read: Readonly<Record<string, unknown>>;
  try {
    read = JSON.parse(item) as typeof read;
  } catch {
    throw malformed("a problem is no object");
  }
  const textOf = (name: string) => (typeof read[name] === "string" ? read[name] : undefined);
  const place = (read["location"] ?? {}) as Place;
  const [description, fingerprint] = [textOf("description"), textOf("fingerprint")];
  if (description === undefined || fingerprint === undefined || typeof place.path !== "string") {
    throw new ReportError(
      "Invalid degradation format: a description, a fingerprint and a location with a path are needed",
    );
  }
  const line = place.lines?.begin ?? place.positions?.begin?.line;
  const severity = textOf("severity")?.toLowerCase() ?? "";
  return {
    description,
    fingerprint,
    check: textOf("check_name") ?? null,
    engine: textOf("engine_name") ?? null,
    severity: SEVERITIES.includes(severity) ? severity : "unknown",
    path: place.path.replace(/^\.\//, ""),
    line: typeof line === "number" && Number.isSafeInteger(line) ? line : null,
  };
}
