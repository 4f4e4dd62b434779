import { Entry, given, jsonOf } from "./entry.ts";
import type { Findings } from "./findings.ts";
import { KEYWORDS } from "./keywords.ts";
import { INCLUDE_KINDS, type Json, type Trigger } from "./types.ts";
import { isList, isMapping, type Value } from "./values.ts";

const STRATEGIES = ["depend", "mirror"] as const;
/** Maximum number of files of which a child pipeline's configuration is made. */
const MAX_FILES = 3;
const FORWARD = { yamlVariables: true, pipelineVariables: false };

/** Reads `trigger`. */
export function readTrigger(value: Value, at: string, findings: Findings): Trigger | undefined {
  if (typeof value === "string") {
    if (value !== "") return { project: value, depends: false, forward: FORWARD };
    return findings.error(at, "config can't be blank");
  }
  if (!isMapping(value)) return findings.error(at, "has to be either a string or a hash");
  const entry = new Entry(value, at, findings);
  const isChild = value.has("include");
  entry.allow(KEYWORDS[`trigger of a ${isChild ? "child" : "project"}`]);
  const strategy = entry.word("strategy", STRATEGIES);
  const project = isChild ? undefined : entry.text("project");
  if (!isChild && !entry.get("project")) entry.errorOf("project", "can't be blank");
  return {
    depends: strategy !== undefined,
    forward: readForward(entry),
    ...given({
      project,
      branch: isChild ? undefined : entry.text("branch"),
      include: isChild ? readFiles(entry) : undefined,
      inputs: readInputs(entry),
    }),
  };
}

function readForward(entry: Entry): Trigger["forward"] {
  const forward = entry.child("forward");
  if (!forward) return FORWARD;
  forward.allow(KEYWORDS["trigger:forward"]);
  return {
    yamlVariables: forward.boolean("yaml_variables") ?? true,
    pipelineVariables: forward.boolean("pipeline_variables") ?? false,
  };
}

/** Reads the inputs of another project's configuration; those of a child pipeline's are with its files. */
function readInputs(entry: Entry): Trigger["inputs"] {
  const inputs = entry.child("inputs");
  return inputs && (jsonOf(inputs.mapping) as NonNullable<Trigger["inputs"]>);
}

function readFiles(entry: Entry): readonly Json[] {
  const value = entry.get("include") ?? [];
  const files = isList(value) ? value : [value];
  if (files.length > MAX_FILES) {
    entry.errorIn("include", `is too long (maximum is ${MAX_FILES})`);
    return [];
  }
  return files.flatMap((file) => {
    const isNamed = isMapping(file)
      ? INCLUDE_KINDS.some((kind) => file.get(kind))
      : typeof file === "string" && file !== "";
    if (isNamed) return [jsonOf(file)];
    entry.errorIn(
      "include",
      `should be a string or a hash with one of: ${INCLUDE_KINDS.join(", ")}`,
    );
    return [];
  });
}
