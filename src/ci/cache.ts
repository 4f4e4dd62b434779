import { areStrings, Entry, itemsOf } from "./entry.ts";
import type { Findings } from "./findings.ts";
import { KEYWORDS } from "./keywords.ts";
import type { CacheConfiguration } from "./types.ts";
import { isMapping, type Value } from "./values.ts";

const WHEN = ["on_success", "on_failure", "always"] as const;
const POLICY = /^(?:pull-push|push|pull|\$\w{1,255})$/;
/** Maximum numbers of caches, of files that a key is made of, and of further keys. */
const MAX_CACHES = 4;
const MAX_FILES = 2;
const MAX_FALLBACKS = 5;

/** Reads `cache`: one or a list. */
export function readCaches(
  value: Value,
  at: string,
  findings: Findings,
): readonly CacheConfiguration[] {
  const caches = itemsOf(value) ?? [value];
  if (caches.length > MAX_CACHES) {
    findings.error(at, `config no more than ${MAX_CACHES} caches can be created`);
    return [];
  }
  return caches.flatMap((cache) => readCache(cache, at, findings) ?? []);
}

function readCache(value: Value, at: string, findings: Findings): CacheConfiguration | undefined {
  if (!isMapping(value)) return findings.error(at, "config should be a hash");
  const entry = new Entry(value, at, findings);
  entry.allow(KEYWORDS.cache);
  const policy = entry.text("policy");
  if (policy !== undefined && !POLICY.test(policy)) {
    entry.errorOf("policy", "should be a variable or one of: pull-push, push, pull");
  }
  const fallbacks = stringsIn(entry, "fallback_keys") ?? [];
  if (fallbacks.length > MAX_FALLBACKS) {
    entry.errorOf("fallback_keys", `has to many entries (maximum ${MAX_FALLBACKS})`);
  }
  return {
    ...readKey(entry),
    paths: stringsIn(entry, "paths") ?? [],
    untracked: booleanIn(entry, "untracked") ?? false,
    unprotect: booleanIn(entry, "unprotect") ?? false,
    policy: policy ?? "pull-push",
    when: entry.word("when", WHEN) ?? "on_success",
    fallback_keys: fallbacks,
  };
}

function stringsIn(entry: Entry, key: string): readonly string[] | undefined {
  const value = entry.get(key);
  if (value === undefined || areStrings(value)) return value;
  return entry.errorIn(key, "should be an array of strings");
}

function booleanIn(entry: Entry, key: string): boolean | undefined {
  const value = entry.get(key);
  if (value === undefined || typeof value === "boolean") return value;
  return entry.errorIn(key, "should be a boolean value");
}

function readKey(entry: Entry): Pick<CacheConfiguration, "key" | "files"> {
  const value = entry.get("key");
  if (value === undefined) return { key: "default" };
  if (typeof value === "string") {
    checkKey(entry, value);
    return { key: value };
  }
  if (!isMapping(value)) {
    entry.findings.error(entry.at("key"), "should be a hash, a string or a symbol");
    return { key: "default" };
  }
  const key = new Entry(value, entry.at("key"), entry.findings);
  key.allow(KEYWORDS["cache:key"]);
  const name = value.has("files_commits") ? "files_commits" : "files";
  if (!value.has(name)) key.error("config missing required keys: files");
  const files = stringsIn(key, name);
  if (files?.length === 0) key.errorIn(name, "requires at least 1 item");
  if (files && files.length > MAX_FILES) {
    key.errorIn(name, `has too many items (maximum is ${MAX_FILES})`);
  }
  const prefix = key.get("prefix") ?? "";
  if (typeof prefix !== "string") {
    key.errorIn("prefix", "should be a string or symbol");
    return { key: "default" };
  }
  return { key: prefix, files: files ?? [] };
}

function checkKey(entry: Entry, key: string) {
  if (/\/|%2f/i.test(key)) entry.errorIn("key", 'cannot contain the "/" character');
  if (/^(?:\.|%2e){1,2}$/i.test(key)) entry.errorIn("key", 'cannot be "." or ".."');
}
