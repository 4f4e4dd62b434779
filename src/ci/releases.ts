import { Entry, jsonOf } from "./entry.ts";
import type { Findings } from "./findings.ts";
import { KEYWORDS } from "./keywords.ts";
import type { JobOptions } from "./types.ts";
import { isList, isMapping, type Value } from "./values.ts";

/** Reads `release`. */
export function readRelease(value: Value, at: string, findings: Findings): JobOptions["release"] {
  if (!isMapping(value)) return findings.error(at, "config should be a hash");
  const entry = new Entry(value, at, findings);
  entry.allow(KEYWORDS.release);
  for (const key of ["tag_name", "description"]) {
    if (!entry.get(key)) entry.errorOf(key, "can't be blank");
  }
  for (const key of ["tag_name", "tag_message", "name", "description", "ref"]) entry.text(key);
  entry.oneOrMore("milestones");
  const released = entry.text("released_at");
  // Variables are known only when the job runs.
  if (released !== undefined && !released.includes("$") && Number.isNaN(Date.parse(released))) {
    entry.errorOf("released_at", "must be a valid datetime");
  }
  readAssets(entry);
  return jsonOf(value) as NonNullable<JobOptions["release"]>;
}

function readAssets(entry: Entry) {
  const assets = entry.child("assets");
  if (!assets) return;
  assets.allow(["links"]);
  const links = assets.get("links");
  if (!isList(links) || !links.every(isMapping)) {
    assets.errorIn("links", "should be an array of hashes");
    return;
  }
  for (const one of links) {
    const link = new Entry(one, `${assets.place}:links:link`, entry.findings);
    link.allow(KEYWORDS["release:assets:links"]);
    for (const key of ["name", "url"]) {
      if (!link.get(key)) link.errorOf(key, "can't be blank");
      link.text(key);
    }
    link.text("filepath");
    link.word("link_type", ["other", "runbook", "image", "package"]);
  }
}
