import { Entry, given, itemsOf } from "./entry.ts";
import type { Findings } from "./findings.ts";
import { KEYWORDS } from "./keywords.ts";
import { readMatrix } from "./parallel.ts";
import type { Need, NeedElsewhere } from "./types.ts";
import { isList, isMapping, type Mapping, type Value } from "./values.ts";

/** Reads `needs`, but for what is elsewhere. */
export function readNeeds(value: Value, at: string, findings: Findings): readonly Need[] {
  const list = isMapping(value) || isList(value) ? itemsOf(value) : undefined;
  if (!list) {
    findings.error(at, "config can only be a hash or an array");
    return [];
  }
  // GitLab passes over an item that is empty, as an anchor of an empty list may leave.
  return list.flatMap((one) =>
    one === null || isElsewhere(one) ? [] : (readNeed(one, `${at}:need`, findings) ?? []),
  );
}

/** Whether one of `needs` is no job of the pipeline. */
const isElsewhere = (value: Value): value is Mapping =>
  isMapping(value) && (value.has("pipeline") || value.has("project"));

/** Jobs elsewhere that one job needs, at most, as in GitLab. */
const MAX_ELSEWHERE = 5;

/** Reads what of a job's `needs` is elsewhere; the others are {@link readNeeds}'. */
export function readNeedsElsewhere(
  value: Value,
  at: string,
  findings: Findings,
): readonly NeedElsewhere[] {
  const found = (itemsOf(value) ?? []).filter(isElsewhere);
  if (found.length > MAX_ELSEWHERE) {
    findings.error(at, `config must be less than or equal to ${MAX_ELSEWHERE}`);
    return [];
  }
  return found.flatMap((one) => readElsewhere(new Entry(one, `${at}:need`, findings)) ?? []);
}

function readElsewhere(entry: Entry): NeedElsewhere | undefined {
  const ofProject = entry.mapping.has("project");
  const keys = ofProject ? (["project", "job", "ref"] as const) : (["pipeline", "job"] as const);
  entry.allow(KEYWORDS[`needs of another ${ofProject ? "project" : "pipeline"}`]);
  const texts = keys.map((key) => {
    const value = entry.get(key);
    const text = typeof value === "number" ? String(value) : entry.text(key);
    if (!text) entry.errorOf(key, "can't be blank");
    return [key, text ?? ""] as const;
  });
  // Without its artifacts, nothing is left of it: such a job is not waited for.
  if (entry.boolean("artifacts") === false) return undefined;
  return Object.fromEntries(texts) as unknown as NeedElsewhere;
}

/**
 * The project whose pipeline a job stands for, with its status: `needs: { pipeline: group/project }` of a job that neither has
 * a script nor starts anything. `undefined` if it is none of these.
 */
export function mirroredBy(job: Mapping): string | undefined {
  if (["script", "run", "trigger"].some((key) => job.has(key))) return undefined;
  const [need, ...others] = itemsOf(job.get("needs") ?? null) ?? [];
  if (!isMapping(need) || others.length > 0 || need.has("job")) return undefined;
  const path = need.get("pipeline");
  return typeof path === "string" && path !== "" ? path : undefined;
}

function readNeed(value: Value, at: string, findings: Findings): Need | undefined {
  if (typeof value === "string" && value !== "") {
    return { job: value, artifacts: true, optional: false };
  }
  if (!isMapping(value) || !value.has("job")) return findings.error(at, "has an unsupported type");
  const entry = new Entry(value, at, findings);
  entry.allow(KEYWORDS.needs);
  const job = entry.text("job");
  if (job === "") entry.errorOf("job", "can't be blank");
  const parallel = entry.child("parallel");
  parallel?.allow(KEYWORDS.parallel);
  const matrix = parallel?.get("matrix");
  return {
    job: job ?? "",
    artifacts: entry.boolean("artifacts") ?? true,
    optional: entry.boolean("optional") ?? false,
    ...given({
      matrix:
        matrix === undefined ? undefined : readMatrix(matrix, `${at}:parallel:matrix`, findings),
    }),
  };
}
