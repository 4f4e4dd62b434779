import { digest } from "../core/digest.ts";
import { Conditions, RuleError } from "./conditions.ts";
import { given } from "./entry.ts";
import { checkCircles } from "./logic.ts";
import { maskOf } from "./masks.ts";
import { readPattern } from "./patterns.ts";
import { splitRef } from "./policies.ts";
import type {
  CacheConfiguration,
  Circumstances,
  Configuration,
  JobConfiguration,
  JobVariable,
  Lookup,
  Need,
  NeedElsewhere,
  Plan,
  PlannedJob,
  Policy,
  Rule,
  SiteOptions,
  Variable,
} from "./types.ts";
import { ConfigurationError } from "./values.ts";
import { byKey, expandVariables, Values } from "./variables.ts";

/** Maximum number of variables of all jobs together. */
const MAX_VARIABLES = 500_000;

const NO_WORKFLOW = "Pipeline filtered out by workflow rules.";
const NO_JOBS =
  "Pipeline will not run for the selected trigger. The rules configuration prevented any jobs from being added to the pipeline.";

/** @see planPipeline */
export async function plan(
  configuration: Configuration,
  circumstances: Circumstances,
): Promise<Plan> {
  try {
    return await new Planning(configuration, circumstances).plan();
  } catch (error) {
    if (!(error instanceof RuleError || error instanceof ConfigurationError)) throw error;
    return failed("config_error", [maskOf(circumstances)(error.message)]);
  }
}

function failed(failure: NonNullable<Plan["failure"]>, errors: readonly string[]): Plan {
  return { errors, failure, name: undefined, stages: [], jobs: [], autoCancel: {} };
}

class Planning {
  readonly #configuration: Configuration;
  readonly #circumstances: Circumstances;
  readonly #conditions: Conditions;
  readonly #predefined: ReadonlyMap<string, Variable>;
  readonly #given: ReadonlyMap<string, Variable>;
  readonly #stages: ReadonlyMap<string, number>;
  readonly #digests = new Map<string, Promise<string>>();
  readonly #lists = new WeakMap<object, readonly JobVariable[]>();
  #variables = 0;

  constructor(configuration: Configuration, circumstances: Circumstances) {
    this.#configuration = configuration;
    this.#circumstances = circumstances;
    this.#conditions = new Conditions(circumstances);
    this.#predefined = byKey(circumstances.predefined);
    this.#given = byKey(circumstances.variables);
    this.#stages = new Map(configuration.stages.map((stage, index) => [stage, index]));
  }

  async plan(): Promise<Plan> {
    const { workflow, stages, jobs } = this.#configuration;
    const globals = this.#configuration.variables;
    const rule = await this.#workflowRule(globals);
    if (rule === "none") return failed("filtered_by_workflow_rules", [NO_WORKFLOW]);
    const variables = rule?.variables ? new Map([...globals, ...rule.variables]) : globals;
    const planned: PlannedJob[] = [];
    for (const job of jobs) {
      const one = await this.#job(job, variables);
      if (one) planned.push(one);
    }
    // Jobs around a pipeline are none.
    const isEmpty = planned.every(({ stage }) => stage === ".pre" || stage === ".post");
    if (isEmpty) return failed("filtered_by_rules", [NO_JOBS]);
    const { pace } = this.#circumstances;
    if (pace.isDue) await pace.pause();
    const { needed, errors } = withNeeds(planned);
    if (errors.length > 0) return failed("config_error", errors);
    if (pace.isDue) await pace.pause();
    checkCircles(needed);
    if (pace.isDue) await pace.pause();
    const used = new Set(needed.map(({ stage }) => stage));
    const values = new Values(this.#given, variables, this.#predefined);
    return {
      errors: [],
      name: workflow.name && expandVariables(workflow.name, values).trim(),
      stages: stages.filter((stage) => used.has(stage)),
      jobs: needed,
      autoCancel: { ...workflow.autoCancel, ...rule?.autoCancel },
    };
  }

  async #workflowRule(variables: Configuration["variables"]): Promise<Rule | "none" | undefined> {
    const { rules } = this.#configuration.workflow;
    if (!rules) return undefined;
    const values = new Values(this.#given, variables, this.#predefined);
    const rule = await this.#conditions.first(rules, values);
    return rule && rule.when !== "never" ? rule : "none";
  }

  async #job(
    job: JobConfiguration,
    globals: Configuration["variables"],
  ): Promise<PlannedJob | undefined> {
    const { rules, only, except, inheritVariables, variables, ...rest } = job;
    const inherited = inheritedOf(globals, inheritVariables);
    const values = new Values(this.#given, variables, inherited, this.#predefined);
    const isAllowed =
      (!only || (await this.#satisfies(only, values, "every"))) &&
      !(except && (await this.#satisfies(except, values, "some")));
    if (!isAllowed) return undefined;
    const rule = rules && (await this.#rule(job, rules, values));
    if (rules && !rule) return undefined;
    const {
      allowFailureExitCodes,
      environment,
      startIn,
      interruptible,
      needs,
      needsElsewhere,
      resourceGroup,
      ...kept
    } = rest;
    return {
      ...kept,
      when: (rule?.when as JobConfiguration["when"] | undefined) ?? job.when,
      allowFailure: rule?.allowFailure ?? job.allowFailure,
      stageIndex: this.#stages.get(job.stage) as number,
      tags: job.tags.map((tag) => expandVariables(tag, values, { keepUnknown: true })),
      variables: this.#merged(inherited, variables, rule?.variables),
      options: await this.#options(job.options, values),
      ...given({
        environment: environment && {
          ...environment,
          name: expandVariables(environment.name, values),
          ...(environment.url && {
            url: expandVariables(environment.url, values, { keepUnknown: true }),
          }),
        },
        resourceGroup: resourceGroup && expandVariables(resourceGroup, values),
        startIn: rule?.startIn ?? startIn,
        interruptible: rule?.interruptible ?? interruptible,
        needs: rule?.needs ?? needs,
        needsElsewhere: needsElsewhere?.map((need) => expanded(need, values)),
        allowFailureExitCodes: rule?.allowFailure === undefined ? allowFailureExitCodes : undefined,
      }),
    };
  }

  /** The rule by which a job is in the pipeline. */
  async #rule(job: JobConfiguration, rules: readonly Rule[], values: Lookup) {
    try {
      const rule = await this.#conditions.first(rules, values);
      return rule?.when === "never" ? undefined : rule;
    } catch (error) {
      if (!(error instanceof RuleError)) throw error;
      throw new RuleError(`Failed to parse rule for ${job.name}: ${error.message}`);
    }
  }

  async #satisfies(
    { refs, variables, changes, kubernetes }: Policy,
    values: Lookup,
    how: "every" | "some",
  ): Promise<boolean> {
    const parts: boolean[] = [];
    const { pace } = this.#circumstances;
    if (pace.isDue) await pace.pause();
    if (refs) parts.push(refs.some((ref) => this.#isRef(ref)));
    if (variables) {
      let isAny = false;
      for (const { expression } of variables) {
        if (pace.isDue) await pace.pause();
        isAny = this.#conditions.isTrue(expression, values);
        if (isAny) break;
      }
      parts.push(isAny);
    }
    if (changes) parts.push(await this.#conditions.haveChanged(changes, values));
    // No project has a Kubernetes cluster here.
    if (kubernetes) parts.push(false);
    return how === "every" ? parts.every(Boolean) : parts.some(Boolean);
  }

  #isRef(text: string): boolean {
    const { ref, tag, source, project: path } = this.#circumstances;
    const { pattern, project } = splitRef(text);
    if (project !== undefined && project !== path) return false;
    const kind = source.replace(/_event$/, "");
    const isBranch = !tag && kind !== "merge_request" && kind !== "external_pull_request";
    if (pattern === "tags" && tag) return true;
    if (pattern === "branches" && isBranch) return true;
    if (pattern === source || pattern === kind || pattern === pluralOf(kind)) return true;
    return pattern.startsWith("/") ? (readPattern(pattern)?.fits(ref) ?? false) : pattern === ref;
  }

  /** A job's variables. Jobs without variables of their own share one list. */
  #merged(...layers: readonly (ReadonlyMap<string, JobVariable> | undefined)[]) {
    const filled = layers.filter((layer) => layer !== undefined && layer.size > 0);
    const [only] = filled;
    const known = only && filled.length === 1 ? this.#lists.get(only) : undefined;
    if (known) return known;
    const merged = new Map<string, JobVariable>();
    for (const layer of filled) for (const [key, value] of layer ?? []) merged.set(key, value);
    this.#variables += merged.size;
    if (this.#variables > MAX_VARIABLES) {
      throw new RuleError(`jobs config has too many variables (maximum is ${MAX_VARIABLES})`);
    }
    const list = [...merged.values()];
    if (only && filled.length === 1) this.#lists.set(only, list);
    return list;
  }

  async #options(
    { pages, ...options }: JobConfiguration["options"],
    values: Lookup,
  ): Promise<JobConfiguration["options"]> {
    const site = pages && { pages: siteOf(pages, values) };
    if (!options.cache?.some(({ files }) => files)) return { ...options, ...site };
    const cache = await Promise.all(options.cache.map((one) => this.#cache(one)));
    return { ...options, cache, ...site };
  }

  /** A cache whose key has what the contents of its files come to. */
  async #cache({ files, ...cache }: CacheConfiguration): Promise<CacheConfiguration> {
    if (!files) return cache;
    const list = files.join("\n");
    const known = this.#digests.get(list) ?? this.#digest(files);
    this.#digests.set(list, known);
    const key = await known;
    return { ...cache, key: cache.key === "" ? key : `${cache.key}-${key}` };
  }

  async #digest(files: readonly string[]): Promise<string> {
    const texts = await Promise.all(files.map((file) => this.#circumstances.file(file)));
    if (texts.every((text) => text === undefined)) return "default";
    return digest("sha1", JSON.stringify(texts.map((text) => text ?? null)));
  }
}

/** How a job publishes a site, once the values of variables are known. */
function siteOf({ publish, path_prefix: prefix, expire_in }: SiteOptions, values: Lookup) {
  return {
    publish: expandVariables(publish, values),
    ...given({
      path_prefix: prefix && expandVariables(prefix, values),
      expire_in: expire_in && expandVariables(expire_in, values),
    }),
  };
}

function pluralOf(kind: string): string {
  return /(?:s|sh|ch)$/.test(kind) ? `${kind}es` : `${kind}s`;
}

function inheritedOf(
  variables: Configuration["variables"],
  which: JobConfiguration["inheritVariables"],
): Configuration["variables"] {
  if (typeof which === "boolean") return which ? variables : new Map();
  return new Map(
    which.flatMap((key) => {
      const variable = variables.get(key);
      return variable ? [[key, variable] as const] : [];
    }),
  );
}

/** What is needed elsewhere, with variables replaced. */
const expanded = (need: NeedElsewhere, values: Lookup): NeedElsewhere =>
  Object.fromEntries(
    Object.entries(need).map(([key, text]) => [key, expandVariables(text, values)]),
  ) as unknown as NeedElsewhere;

/** The jobs with the needs that the pipeline has, and what is wrong with these. */
function withNeeds(jobs: readonly PlannedJob[]) {
  const names = new Set(jobs.map(({ name }) => name));
  const errors: string[] = [];
  const needed = jobs.map(({ needs, ...job }): PlannedJob => {
    if (!needs) return job;
    for (const { job: name, optional } of needs as readonly Need[]) {
      if (!optional && !names.has(name)) errors.push(missingNeed(job.name, name));
    }
    const present = needs.filter((need) => names.has(need.job));
    return { ...job, needs: present.map(({ job: name, artifacts }) => ({ job: name, artifacts })) };
  });
  return { needed, errors };
}

function missingNeed(name: string, need: string): string {
  return `'${name}' job needs '${need}' job, but '${need}' does not exist in the pipeline. This might be because of the only, except, or rules keywords. To need a job that sometimes does not exist in the pipeline, use needs:optional.`;
}
