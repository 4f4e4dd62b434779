import { readExpiry } from "./artifacts.ts";
import { Entry, given, jsonOf } from "./entry.ts";
import type { Findings } from "./findings.ts";
import { KEYWORDS } from "./keywords.ts";
import type { JobEnvironment } from "./types.ts";
import { isMapping, type Mapping, type Value } from "./values.ts";

const ACTIONS = ["start", "stop", "prepare", "verify", "access"] as const;
const TIERS = ["production", "staging", "testing", "development", "other"] as const;
const NAME = /^[\w/${}. -]+$/;
const NAME_MESSAGE =
  "can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', and spaces, but it cannot start or end with '/'";

/** Reads `environment`. */
export function readEnvironment(
  value: Value,
  at: string,
  findings: Findings,
): JobEnvironment | undefined {
  if (typeof value !== "string" && !isMapping(value)) {
    return findings.error(at, "config should be a hash or a string");
  }
  const mapping: Mapping = isMapping(value) ? value : new Map([["name", value]]);
  const entry = new Entry(mapping, at, findings);
  entry.allow(KEYWORDS.environment);
  const url = entry.text("url");
  if (url !== undefined && url.length > 255) {
    entry.errorOf("url", "is too long (maximum is 255 characters)");
  }
  const action = readAction(entry);
  return {
    name: readName(entry),
    action: action ?? "start",
    ...given({
      url,
      onStop: entry.text("on_stop"),
      deploymentTier: entry.word("deployment_tier", TIERS, `must be one of ${TIERS.join(", ")}`),
      autoStopIn: mapping.has("auto_stop_in") ? readExpiry(entry, "auto_stop_in") : undefined,
      kubernetes: mapping.has("kubernetes") ? jsonOf(mapping.get("kubernetes") ?? null) : undefined,
    }),
  };
}

function readAction(entry: Entry) {
  if (typeof entry.get("action") === "object") {
    return entry.errorOf("action", "should be a string");
  }
  return entry.word("action", ACTIONS, "should be start, stop, prepare, verify, or access");
}

function readName(entry: Entry): string {
  const name = entry.get("name");
  if (name === undefined || name === "") {
    entry.errorOf("name", "can't be blank");
    return "";
  }
  const text = typeof name === "object" ? "" : String(name);
  if (!NAME.test(text) || text.startsWith("/") || text.endsWith("/")) {
    entry.errorOf("name", NAME_MESSAGE);
  } else if (text.length > 255) {
    entry.errorOf("name", "is too long (maximum is 255 characters)");
  }
  return text;
}
