import { Entry, given, itemsOf } from "./entry.ts";
import type { Findings } from "./findings.ts";
import { readMatrix } from "./parallel.ts";
import type { Need } from "./types.ts";
import { isList, isMapping, type Value } from "./values.ts";

const KEYS = ["job", "artifacts", "optional", "parallel"];

/** Reads `needs`. */
export function readNeeds(value: Value, at: string, findings: Findings): readonly Need[] {
  const list = isMapping(value) || isList(value) ? itemsOf(value) : undefined;
  if (!list) {
    findings.error(at, "config can only be a hash or an array");
    return [];
  }
  return list.flatMap((one) => readNeed(one, `${at}:need`, findings) ?? []);
}

function readNeed(value: Value, at: string, findings: Findings): Need | undefined {
  if (typeof value === "string" && value !== "") {
    return { job: value, artifacts: true, optional: false };
  }
  if (isMapping(value) && (value.has("pipeline") || value.has("project"))) {
    const kind = value.has("project") ? "project" : "pipeline";
    return findings.error(at, `config ${kind} is not supported on this server`);
  }
  if (!isMapping(value) || !value.has("job")) return findings.error(at, "has an unsupported type");
  const entry = new Entry(value, at, findings);
  entry.allow(KEYS);
  const job = entry.text("job");
  if (job === "") entry.errorOf("job", "can't be blank");
  const parallel = entry.child("parallel");
  parallel?.allow(["matrix"]);
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
