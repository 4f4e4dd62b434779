import type { Budget } from "../turns/budget.ts";
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
  for await (const item of itemsOf(text, budget)) {
    const problem = problemOf(item);
    if (!budget.spend("problems", 1)) throw malformed("the reports have too many problems");
    problems.set(problem.fingerprint, problem);
  }
}

/** The objects of a list, each as text. @throws ReportError if it is none */
async function* itemsOf(text: AsyncIterable<string>, budget: Budget): AsyncGenerator<string> {
  let [depth, item, isText, isEscaped] = [0, "", false, false];
  let state: "before" | "item" | "between" | "after" = "before";
  for await (const part of text) {
    let start = 0;
    for (let at = 0; at < part.length; at += 1) {
      const sign = part[at] as string;
      if (depth > 1) {
        if (isText) {
          if (isEscaped) isEscaped = false;
          else if (sign === "\\") isEscaped = true;
          else if (sign === '"') isText = false;
        } else if (sign === '"') isText = true;
        else if (sign === "{" || sign === "[") depth += 1;
        else if (sign === "}" || sign === "]") depth -= 1;
        if (depth > 1) continue;
        yield item + part.slice(start, at + 1);
        [item, state] = ["", "between"];
        if (budget.isDue) await budget.pause();
        continue;
      }
      if (/\s|\uFEFF/.test(sign)) continue;
      if (state === "before" && sign === "[") [depth, state] = [1, "item"];
      else if (sign === "{" && state === "item") [depth, start] = [2, at];
      else if (sign === "," && state === "between") state = "item";
      else if (sign === "]" && (state === "item" || state === "between")) {
        [depth, state] = [0, "after"];
      } else throw malformed(`unexpected ${JSON.stringify(sign)}`);
    }
    if (depth > 1) item += part.slice(start);
    if (item.length > MOST_LENGTH) throw malformed("a problem is too long");
    if (budget.isDue) await budget.pause();
  }
  if (state !== "after") throw malformed("unexpected end");
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
