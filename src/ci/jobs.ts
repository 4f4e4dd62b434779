import type { Steps } from "../turns/pace.ts";
import { readArtifacts, readExpiry, withFolder } from "./artifacts.ts";
import { readCaches } from "./cache.ts";
import { durationOf } from "./durations.ts";
import { areStrings, Entry, given, jsonOf } from "./entry.ts";
import { readEnvironment } from "./environment.ts";
import type { Findings } from "./findings.ts";
import { readImage, readServices } from "./images.ts";
import { KEYWORDS, REFUSED } from "./keywords.ts";
import { mirroredBy, readNeeds, readNeedsElsewhere } from "./needs.ts";
import { type Instance, readParallel } from "./parallel.ts";
import { readPattern } from "./patterns.ts";
import { readPolicy } from "./policies.ts";
import { readRelease } from "./releases.ts";
import { readRetry } from "./retry.ts";
import { JOB_RULES, readRules } from "./rules.ts";
import { readSecrets } from "./secrets.ts";
import { readTrigger } from "./triggers.ts";
import type {
  JobConfiguration,
  JobOptions,
  Policy,
  Retry,
  Rule,
  SiteOptions,
  When,
} from "./types.ts";
import { isMapping, type Mapping, type Value } from "./values.ts";
import { readVariables } from "./variables.ts";

const WHEN = ["on_success", "on_failure", "always", "manual", "delayed"] as const;
const WEEK = 7 * 24 * 3600;
const MONTH = 30 * 24 * 3600;
const MAX_TAGS = 50;
const MAX_NAME = 255;
/** Characters of an audience. */
const MOST_AUDIENCE = 1024;
/** Each token is signed when a runner gets the job. */
const MOST_TOKENS = 20;
const MOST_AUDIENCES = 20;

/** What jobs have from `default` unless they have their own. */
export type Parts = Pick<
  JobOptions,
  "before_script" | "after_script" | "hooks" | "image" | "services" | "cache" | "artifacts"
> &
  Pick<JobOptions, "id_tokens"> & {
    readonly interruptible?: boolean;
    readonly retry?: Retry;
    readonly tags?: readonly string[];
    readonly timeout?: number;
  };

/** What jobs are read with. */
export interface JobDefaults {
  readonly parts: Parts;
  readonly hasWorkflowRules: boolean;
}

/** A job, and what `parallel` makes of it. */
export interface ReadJob {
  readonly job: JobConfiguration;
  readonly instances: readonly Instance[] | undefined;
}

/** Reads a job. */
export function* readJob(
  name: string,
  mapping: Mapping,
  defaults: JobDefaults,
  findings: Findings,
): Steps<ReadJob> {
  const place = `jobs:${name || "job"}`;
  const entry = new Entry(mapping, place, findings);
  const mirrors = mirroredBy(mapping);
  const isBridge = mapping.has("trigger") || mirrors !== undefined;
  checkName(entry, name);
  checkKeys(entry, isBridge);
  const inherit = readInherit(entry);
  const parts: Parts = isBridge
    ? given({ interruptible: readInterruptible(entry) })
    : { ...inherited(defaults.parts, inherit.parts), ...readParts(entry) };
  const { interruptible, retry, tags, timeout, ...options } = parts;
  const rules = yield* readJobRules(entry, defaults);
  const policies = rules ? {} : yield* readPolicies(entry, defaults);
  const needs = mirrors === undefined ? entry.get("needs") : undefined;
  const elsewhere =
    needs === undefined ? [] : readNeedsElsewhere(needs, `${place}:needs`, findings);
  if (isBridge && elsewhere.length > 0) {
    entry.errorIn("needs", "of other projects and pipelines can't be used with trigger");
  }
  const trigger = entry.get("trigger");
  const when: When = entry.word("when", WHEN) ?? "on_success";
  const job: JobConfiguration = {
    name,
    stage: readStage(entry),
    when,
    ...readFailure(entry, when, isBridge),
    variables: readVariables(entry.get("variables"), `${place}:variables`, findings),
    inheritVariables: inherit.variables,
    tags: tags ?? [],
    options: isBridge ? {} : readOptions(entry, name, options),
    ...given({
      startIn: readStart(entry, when, rules !== undefined),
      rules,
      ...policies,
      needs: needs === undefined ? undefined : readNeeds(needs, `${place}:needs`, findings),
      needsElsewhere: elsewhere.length > 0 ? elsewhere : undefined,
      environment: readPart(entry, "environment", readEnvironment),
      coverage: isBridge ? undefined : readCoverage(entry),
      interruptible,
      resourceGroup: entry.text("resource_group"),
      retry,
      timeout,
      trigger:
        trigger === undefined ? undefined : readTrigger(trigger, `${place}:trigger`, findings),
      mirrors,
      manualConfirmation: entry.text("manual_confirmation"),
    }),
  };
  checkDependencies(entry, job);
  const parallel = entry.get("parallel");
  const instances =
    parallel === undefined
      ? undefined
      : readParallel(parallel, `${place}:parallel`, findings, { isBridge });
  return { job, instances };
}

function checkName(entry: Entry, name: string) {
  if (name === "") entry.errorOf("name", "can't be blank");
  if (name.length > MAX_NAME) {
    entry.errorOf("name", `is too long (maximum is ${MAX_NAME} characters)`);
  }
}

function checkKeys(entry: Entry, isBridge: boolean) {
  for (const key of REFUSED.job) {
    if (entry.mapping.has(key)) entry.errorIn(key, "is not supported on this server");
  }
  entry.allow([...(isBridge ? KEYWORDS["job with trigger"] : KEYWORDS.job), ...REFUSED.job]);
  if (!isBridge && !entry.get("script")) entry.errorOf("script", "can't be blank");
  if (entry.get("rules") === undefined) return;
  const barred = ["only", "except", "start_in"].filter((key) => entry.get(key) !== undefined);
  if (barred.length > 0) {
    entry.error(`config key may not be used with \`rules\`: ${barred.join(", ")}`);
  }
}

/** Reads the parts that `default` can have, too. */
export function readParts(entry: Entry): Parts {
  return given({
    before_script: entry.script("before_script"),
    after_script: entry.script("after_script"),
    hooks: readHooks(entry),
    image: readPart(entry, "image", readImage),
    services: readPart(entry, "services", readServices),
    cache: readPart(entry, "cache", readCaches),
    artifacts: readPart(entry, "artifacts", readArtifacts),
    id_tokens: readTokens(entry),
    interruptible: readInterruptible(entry),
    retry: readPart(entry, "retry", readRetry),
    tags: readTags(entry),
    timeout: readTimeout(entry.get("timeout"), entry.at("timeout"), entry.findings),
  });
}

function readPart<T>(
  entry: Entry,
  key: string,
  read: (value: Value, at: string, findings: Findings) => T | undefined,
): T | undefined {
  const value = entry.get(key);
  return value === undefined ? undefined : read(value, entry.at(key), entry.findings);
}

function readHooks(entry: Entry) {
  const hooks = entry.child("hooks");
  hooks?.allow(KEYWORDS.hooks);
  const script = hooks?.script("pre_get_sources_script");
  return script && { pre_get_sources_script: script };
}

function readTokens(entry: Entry) {
  const tokens = entry.child("id_tokens");
  if (!tokens) return undefined;
  if (tokens.mapping.size > MOST_TOKENS) {
    entry.errorIn("id_tokens", `must be less than the limit of ${MOST_TOKENS} tokens`);
  }
  for (const name of tokens.mapping.keys()) {
    const token = tokens.child(name);
    token?.allow(KEYWORDS.id_tokens);
    const audiences = token?.oneOrMore("aud");
    if (token && audiences === undefined) token.error("config missing required keys: aud");
    if (audiences && audiences.length > MOST_AUDIENCES) {
      token?.errorIn("aud", `must be less than the limit of ${MOST_AUDIENCES} audiences`);
    }
    if (audiences?.some((audience) => audience.length > MOST_AUDIENCE)) {
      token?.errorIn("aud", `must have no more than ${MOST_AUDIENCE} characters`);
    }
  }
  return jsonOf(tokens.mapping) as NonNullable<JobOptions["id_tokens"]>;
}

function readInterruptible(entry: Entry): boolean | undefined {
  const value = entry.get("interruptible");
  if (value === undefined || typeof value === "boolean") return value;
  return entry.errorIn("interruptible", "should be a boolean value");
}

function readTags(entry: Entry): readonly string[] | undefined {
  const value = entry.get("tags");
  if (value === undefined) return undefined;
  if (!areStrings(value)) return entry.errorIn("tags", "should be an array of strings");
  if (value.length < MAX_TAGS) return value;
  return entry.errorIn("tags", `must be less than the limit of ${MAX_TAGS} tags`);
}

function readTimeout(value: Value | undefined, at: string, findings: Findings) {
  if (value === undefined) return undefined;
  const seconds = typeof value === "string" ? durationOf(value) : undefined;
  if (seconds === undefined) return findings.error(at, "config should be a duration");
  return seconds > MONTH ? findings.error(at, "config should not exceed the limit") : seconds;
}

type InheritedParts = boolean | readonly string[];

function readInherit(entry: Entry) {
  const inherit = entry.child("inherit");
  inherit?.allow(KEYWORDS.inherit);
  const read = (key: string): InheritedParts => {
    const value = inherit?.get(key);
    if (value === undefined) return true;
    if (typeof value === "boolean" || areStrings(value)) return value;
    inherit?.errorIn(key, "should be a bool or array of strings");
    return true;
  };
  return { parts: read("default"), variables: read("variables") };
}

function inherited(parts: Parts, which: InheritedParts): Parts {
  if (typeof which === "boolean") return which ? parts : {};
  return Object.fromEntries(Object.entries(parts).filter(([key]) => which.includes(key)));
}

function* readJobRules(entry: Entry, defaults: JobDefaults): Steps<readonly Rule[] | undefined> {
  const value = entry.get("rules");
  if (value === undefined) return undefined;
  const rules = yield* readRules(value, entry.at("rules"), entry.findings, JOB_RULES);
  const last = rules.at(-1);
  const isBare = last !== undefined && Object.keys(last).join() === "when";
  if (isBare && last.when !== "never" && !defaults.hasWorkflowRules) {
    entry.findings.warn(entry.place, MANY_PIPELINES);
  }
  return rules;
}

const MANY_PIPELINES =
  "may allow multiple pipelines to run for a single action due to `rules:when` clause with no `workflow:rules` - read more: https://docs.gitlab.com/ci/debugging/#pipeline-warnings";

/** Refs for which jobs without any condition run: all but merge requests. */
const DEFAULT_REFS = { refs: ["branches", "tags"] };

function* readPolicies(
  entry: Entry,
  { hasWorkflowRules }: JobDefaults,
): Steps<Pick<JobConfiguration, "only" | "except">> {
  const read = function* (key: "only" | "except") {
    const value = entry.get(key);
    return value === undefined
      ? undefined
      : yield* readPolicy(value, entry.at(key), entry.findings);
  };
  const only: Policy | undefined = yield* read("only");
  const isPlain = entry.get("only") === undefined;
  return given({
    only: isPlain && hasWorkflowRules ? undefined : { ...DEFAULT_REFS, ...only },
    except: yield* read("except"),
  });
}

function readStage(entry: Entry): string {
  const stage = entry.get("stage");
  if (typeof stage === "string") return stage;
  if (stage !== undefined) entry.errorIn("stage", "should be a string");
  return "test";
}

function readFailure(entry: Entry, when: When, isBridge: boolean) {
  const value = entry.get("allow_failure");
  if (value === undefined) return { allowFailure: when === "manual" };
  if (typeof value === "boolean") return { allowFailure: value };
  if (isBridge || !isMapping(value)) {
    entry.errorOf(
      "allow_failure",
      isBridge ? "should be a boolean value" : "should be a hash or a boolean value",
    );
    return { allowFailure: false };
  }
  const criteria = new Entry(value, entry.at("allow_failure"), entry.findings);
  criteria.allow(KEYWORDS.allow_failure);
  const codes = criteria.integers("exit_codes");
  if (!value.has("exit_codes")) criteria.error("config missing required keys: exit_codes");
  return { allowFailure: false, ...(codes && { allowFailureExitCodes: codes }) };
}

function readStart(entry: Entry, when: When, hasRules: boolean): number | undefined {
  if (hasRules) return undefined;
  if (when === "delayed") {
    if (entry.get("start_in") === undefined)
      return entry.errorOf("start_in", "should be a duration");
    return entry.duration("start_in", WEEK);
  }
  if (entry.get("start_in") === undefined) return undefined;
  return entry.errorOf("start_in", "must be blank");
}

function readCoverage(entry: Entry): string | undefined {
  const value = entry.get("coverage");
  if (value === undefined) return undefined;
  const isValid = typeof value === "string" && value.endsWith("/") && readPattern(value);
  if (isValid) return (value as string).slice(1, -1);
  return entry.errorIn("coverage", "must be a regular expression with re2 syntax");
}

function readOptions(entry: Entry, name: string, parts: JobOptions): JobOptions {
  const pages = readSite(entry, name);
  return {
    ...parts,
    ...given({
      script: entry.script("script"),
      dependencies: entry.strings("dependencies"),
      release: readPart(entry, "release", readRelease),
      secrets: readPart(entry, "secrets", readSecrets),
      pages,
      artifacts: pages ? withFolder(parts.artifacts, pages.publish) : parts.artifacts,
    }),
  };
}

/** Reads how a job publishes a site, if it does. */
function readSite(entry: Entry, name: string): SiteOptions | undefined {
  const pages = entry.get("pages");
  const publish = entry.text("publish");
  const isPages = name === "pages" ? pages !== false : pages !== undefined && pages !== false;
  if (publish !== undefined && !isPages) {
    entry.errorOf("publish", "can only be used within a `pages` job");
  }
  if (pages !== undefined && typeof pages !== "boolean" && !isMapping(pages)) {
    entry.errorIn("pages", "should be a hash or a boolean value");
  }
  if (!isPages) return undefined;
  const own = isMapping(pages) ? entry.child("pages") : undefined;
  own?.allow(KEYWORDS.pages);
  return {
    publish: own?.text("publish") ?? publish ?? "public",
    ...given({
      path_prefix: own?.text("path_prefix"),
      expire_in: own && readExpiry(own, "expire_in"),
    }),
  };
}

function checkDependencies(entry: Entry, { needs, options: { dependencies } }: JobConfiguration) {
  if (!dependencies || !needs?.length) return;
  const names = new Set(needs.map(({ job }) => job));
  const missing = dependencies.filter((name) => !names.has(name));
  if (missing.length > 0) {
    entry.errorOf("dependencies", `the ${missing.join(", ")} should be part of needs`);
  }
}
