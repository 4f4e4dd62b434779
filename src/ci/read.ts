import { Conditions } from "./conditions.ts";
import { readRoot, withEdgeStages } from "./configuration.ts";
import { writeDocument } from "./document.ts";
import { resolveExtends } from "./extends.ts";
import { Findings } from "./findings.ts";
import { Includes } from "./includes.ts";
import { maskOf } from "./masks.ts";
import { Merger } from "./merge.ts";
import { resolveReferences } from "./references.ts";
import type { Circumstances, Reading } from "./types.ts";
import { ConfigurationError } from "./values.ts";
import { byKey, Values } from "./variables.ts";

/** @see readConfiguration */
export async function read(text: string, circumstances: Circumstances): Promise<Reading> {
  const { pace } = circumstances;
  const findings = new Findings();
  const merger = new Merger();
  const values = new Values(byKey(circumstances.variables), byKey(circumstances.predefined));
  const includes = new Includes(circumstances, new Conditions(circumstances), merger, values);
  let mergedYaml: Reading["mergedYaml"];
  let configuration: Reading["configuration"];
  try {
    if (text.trim() === "") throw new ConfigurationError(EMPTY);
    const included = await includes.resolve(text);
    // In GitLab's order: what is referred to may be inherited.
    const extended = await pace.take(resolveExtends(included, merger));
    const resolved = await pace.take(resolveReferences(extended));
    const merged = withEdgeStages(resolved);
    mergedYaml = () => writeDocument(merged);
    configuration = await pace.take(readRoot(merged, findings, circumstances.limits));
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    findings.errors.push(error.message);
  }
  const mask = maskOf(circumstances);
  const [errors, warnings] = [findings.errors, findings.warnings].map((all) => all.map(mask));
  const files = includes.files.map(({ location, extra, ...file }) => ({
    ...file,
    location: mask(location),
    extra: Object.fromEntries(Object.entries(extra).map(([key, text]) => [key, mask(text)])),
  }));
  return {
    errors: errors ?? [],
    warnings: warnings ?? [],
    mergedYaml,
    includes: files,
    configuration,
  };
}

const EMPTY = "Please provide content of .gitlab-ci.yml";
