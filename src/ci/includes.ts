import { type Conditions, RuleError } from "./conditions.ts";
import { readDocument, splitDocuments } from "./document.ts";
import { durationOf } from "./durations.ts";
import { Findings } from "./findings.ts";
import {
  askedOfComponent,
  type Inputs,
  includedByHeader,
  inputsOfFile,
  valuesOfInputs,
  withInputs,
} from "./inputs.ts";
import { interpolate } from "./interpolation.ts";
import { KEYWORDS } from "./keywords.ts";
import type { Merger } from "./merge.ts";
import { readGlobs } from "./patterns.ts";
import { INCLUDE_RULES, readRules } from "./rules.ts";
import {
  type Circumstances,
  type Commit,
  DEFAULT_LIMITS,
  INCLUDE_KINDS,
  type IncludedFile,
  type Lookup,
} from "./types.ts";
import {
  ConfigurationError,
  isList,
  isMapping,
  type Mapping,
  type Value,
  valueOfJson,
} from "./values.ts";
import { expandVariables, Values } from "./variables.ts";

/** Maximum length of all files together in characters. */
const MAX_LENGTH = 1024 * 1024;

type Kind = (typeof INCLUDE_KINDS)[number];
const KIND_NAMES = INCLUDE_KINDS.map((kind) => `\`${kind}\``).join(", ");

/** What an item of a kind may have besides inputs and rules. */
const KEYS: Readonly<Record<Kind, readonly string[]>> = {
  local: [],
  project: KEYWORDS["include:project"],
  remote: KEYWORDS["include:remote"],
  template: [],
  artifact: KEYWORDS["include:artifact"],
  component: [],
};

/** Where a file was found: what it includes is looked for from there. */
interface Scope {
  /** `undefined` for a file of no project: it includes nothing of one, and what everybody may read. */
  readonly commit: Commit | undefined;
  readonly values: Lookup;
}

/** The scope of what another server, or the administrator, provides. */
const NOWHERE: Scope = { commit: undefined, values: new Values() };

/** A file that is to be included. */
interface Wanted extends Pick<IncludedFile, "type" | "location"> {
  read(): Promise<Found>;
}

/** A file that was found. */
interface Found extends Pick<IncludedFile, "file"> {
  readonly text: string;
  readonly scope: Scope;
  readonly extra?: IncludedFile["extra"];
  /** What the file may refer to of the component that it is, by name. */
  readonly component?: Inputs;
}

/** Includes files of the commit and of elsewhere, and what these include in turn. */
export class Includes {
  readonly files: IncludedFile[] = [];
  readonly #circumstances: Circumstances;
  readonly #conditions: Conditions;
  readonly #merger: Merger;
  readonly #values: Lookup;
  readonly #read = new Map<string, Promise<Mapping>>();
  #count = 0;
  #length = 0;

  constructor(
    circumstances: Circumstances,
    conditions: Conditions,
    merger: Merger,
    values: Lookup,
  ) {
    this.#circumstances = circumstances;
    this.#conditions = conditions;
    this.#merger = merger;
    this.#values = values;
  }

  /**
   * Reads a configuration, and merges the files that it includes with it; its own keys override theirs.
   *
   * @throws ConfigurationError if a file does not exist or is no configuration, or if there are too many
   */
  async resolve(text: string): Promise<Mapping> {
    const { inputs = {}, areTexts = false } = this.#circumstances;
    const scope = { commit: this.#circumstances, values: this.#values };
    const given = new Map(
      Object.entries(inputs).map(([name, value]) => [name, valueOfJson(value)]),
    );
    return this.#merge(await this.#document({ text, scope }, given, { areTexts }), scope);
  }

  async #merge(root: Mapping, scope: Scope): Promise<Mapping> {
    const included = root.get("include");
    const own = new Map(root);
    own.delete("include");
    let merged: Mapping = new Map();
    const list = isList(included) ? included.flat() : [included ?? []].flat();
    for (const include of list as readonly Value[]) {
      const inputs = isMapping(include) ? inputsOf(include) : undefined;
      for (const wanted of await this.#wanted(include, scope)) {
        // Most files are too short for a pause of their own.
        const { pace } = this.#circumstances;
        if (pace.isDue) await pace.pause();
        const found = await this.#found(wanted, scope);
        const document = await this.#included(wanted, found, inputs);
        merged = this.#merger.merge(merged, await this.#merge(document, found.scope));
      }
    }
    return this.#merger.merge(merged, own);
  }

  /** Finds a file that a file of a scope includes. */
  async #found(wanted: Wanted, scope: Scope): Promise<Found> {
    this.#count += 1;
    const { includes } = this.#circumstances.limits ?? DEFAULT_LIMITS;
    if (this.#count > includes) {
      throw new ConfigurationError(`Maximum of ${includes} nested includes are allowed!`);
    }
    const found = await wanted.read();
    const { type, location } = wanted;
    const { file, extra = {} } = found;
    const context = scope.commit && { project: scope.commit.project, sha: scope.commit.sha };
    this.files.push({ type, location, extra, context, ...(file && { file }) });
    return found;
  }

  /** A file's header with the inputs of the files that it includes. */
  async #header(header: Mapping, scope: Scope): Promise<Mapping> {
    const others = new Map<string, Value>();
    for (const include of includedByHeader(header)) {
      const isPossible =
        typeof include === "string" ||
        (isMapping(include) && SHARED.some((kind) => include.has(kind)));
      const barred = isMapping(include)
        ? ["rules", "inputs"].filter((key) => include.has(key))
        : [];
      if (!isPossible) throw new ConfigurationError(NOT_SHARED);
      if (barred.length > 0) {
        throw new ConfigurationError(
          `header:spec:include config contains unknown keys: ${barred.join(", ")}`,
        );
      }
      for (const wanted of await this.#wanted(include, scope)) {
        const { text } = await this.#found(wanted, scope);
        this.#charge(text);
        const { pace } = this.#circumstances;
        try {
          const inputs = inputsOfFile(await pace.take(readDocument(text)));
          for (const [name, input] of inputs) others.set(name, input);
        } catch (error) {
          throw named(error, wanted.location);
        }
      }
    }
    return others.size > 0 ? withInputs(header, others) : header;
  }

  #charge(text: string): void {
    this.#length += text.length;
    if (this.#length > MAX_LENGTH) {
      throw new ConfigurationError("The included files are too big");
    }
  }

  /** The files that one item of `include` names. */
  async #wanted(include: Value, scope: Scope): Promise<readonly Wanted[]> {
    if (typeof include === "string") {
      const isRemote = /^https?:\/\//i.test(include);
      const item = new Map([[isRemote ? "remote" : "local", include]]);
      return this.#ofKind(isRemote ? "remote" : "local", item, scope);
    }
    if (!isMapping(include)) {
      throw new ConfigurationError("Each include must be a hash or a string");
    }
    const [kind, ...others] = INCLUDE_KINDS.filter((one) => include.has(one));
    if (others.length > 0) {
      throw new ConfigurationError(`Each include must use only one of: ${KIND_NAMES}`);
    }
    const location = kind && include.get(kind);
    if (!kind || location === null || location === "") {
      throw new ConfigurationError(
        `\`${textOf(include)}\` does not have a valid subkey for include. Valid subkeys are: ${KIND_NAMES}`,
      );
    }
    const known = [kind, ...KEYS[kind], "rules", "inputs"];
    const unknown = [...include.keys()].filter((key) => !known.includes(key));
    if (unknown.length > 0) {
      throw new ConfigurationError(`include config contains unknown keys: ${unknown.join(", ")}`);
    }
    return (await this.#isIncluded(include, scope)) ? this.#ofKind(kind, include, scope) : [];
  }

  async #isIncluded(include: Mapping, { values }: Scope): Promise<boolean> {
    const value = include.get("rules") ?? undefined;
    if (value === undefined) return true;
    const findings = new Findings();
    const { pace } = this.#circumstances;
    const rules = await pace.take(readRules(value, "include:rules", findings, INCLUDE_RULES));
    const [error] = findings.errors;
    if (error !== undefined) throw new ConfigurationError(error);
    try {
      const rule = await this.#conditions.first(rules, values);
      return rule !== undefined && rule.when !== "never";
    } catch (mistake) {
      if (!(mistake instanceof RuleError)) throw mistake;
      throw new ConfigurationError(`include:rules: ${mistake.message}`);
    }
  }

  /** The files of one kind that an item names, with variables replaced in what names them. */
  async #ofKind(kind: Kind, include: Mapping, scope: Scope): Promise<readonly Wanted[]> {
    const read = (key: string) => {
      const value = include.get(key) ?? undefined;
      if (value === undefined) return undefined;
      if (typeof value === "string") {
        return expandVariables(value, scope.values, { keepUnknown: true });
      }
      throw new ConfigurationError(`Included file \`${String(value)}\` needs to be a string`);
    };
    const location = read(kind) as string;
    switch (kind) {
      case "local":
        return this.#local(location, scope);
      case "project":
        return this.#ofProject(location, include.get("file"), read("ref"), scope);
      case "remote":
        return [this.#remote(location, read("integrity"), include.get("cache"))];
      case "template":
        return [this.#template(location)];
      case "component":
        return [this.#component(location, scope)];
      case "artifact":
        return [this.#artifact(location, read("job"))];
    }
  }

  async #local(location: string, scope: Scope): Promise<readonly Wanted[]> {
    const path = location.replace(/^\//, "");
    const { commit } = scope;
    if (!commit) throw new ConfigurationError(`Local file \`${path}\` does not have project!`);
    const wanted = (one: string): Wanted => ({
      type: "local",
      location: one,
      read: async () => {
        requireYaml(one);
        const text = await commit.file(one);
        return { ...requireText(text, `Local file \`${one}\``), ...at(commit, one), scope };
      },
    });
    if (!path.includes("*")) return [wanted(path)];
    const globs = readGlobs(path);
    const found = (await commit.paths()).filter((one) => {
      const names = one.split("/");
      return YAML_NAME.test(one) && globs.some((glob) => glob.fits(names));
    });
    return found.toSorted().map(wanted);
  }

  #ofProject(
    location: string,
    file: Value | undefined,
    ref: string | undefined,
    scope: Scope,
  ): readonly Wanted[] {
    const files = isList(file) ? file : [file ?? ""];
    if (files.some((one) => one === "") || files.length === 0) {
      throw new ConfigurationError(
        "include config must specify the file where to fetch the config from",
      );
    }
    const { elsewhere } = this.#circumstances;
    const project = location.replace(/^\//, "");
    return files.map((one) => {
      const path = this.#pathOf(one, scope);
      return {
        type: "file",
        location: path,
        read: async () => {
          requireYaml(path);
          const commit = await elsewhere.project(project, ref, scope.commit === undefined);
          if (commit === "project") throw new ConfigurationError(notFound(project));
          if (commit === "reference") {
            throw new ConfigurationError(
              `Project \`${project}\` reference \`${ref}\` does not exist!`,
            );
          }
          const text = await commit.file(path);
          return {
            ...requireText(text, `Project \`${project}\` file \`${path}\``),
            ...at(commit, path),
            scope: { commit, values: scope.values },
            extra: { project, ref: ref ?? "HEAD" },
          };
        },
      };
    });
  }

  #pathOf(value: Value, { values }: Scope): string {
    if (typeof value === "string") {
      return expandVariables(value, values, { keepUnknown: true }).replace(/^\//, "");
    }
    throw new ConfigurationError(`Included file \`${String(value)}\` needs to be a string`);
  }

  #remote(url: string, integrity: string | undefined, cache: Value | undefined): Wanted {
    const seconds = secondsOf(cache ?? false);
    return {
      type: "remote",
      location: url,
      read: async () => {
        if (!URL.canParse(url) || !/^https?:\/\//i.test(url)) {
          throw new ConfigurationError(`Remote file \`${url}\` does not have a valid address!`);
        }
        requireYaml(new URL(url).pathname, url);
        const answer = await this.#circumstances.elsewhere.remote(url, seconds);
        if (typeof answer === "string") {
          throw new ConfigurationError(
            `Remote file \`${url}\` could not be fetched because ${answer}!`,
          );
        }
        if (integrity !== undefined && (await integrityOf(answer.text)) !== integrity) {
          throw new ConfigurationError(`Remote file \`${url}\` failed the integrity check!`);
        }
        return { ...requireText(answer.text, `Remote file \`${url}\``), scope: NOWHERE };
      },
    };
  }

  #template(name: string): Wanted {
    return {
      type: "template",
      location: name,
      read: async () => {
        if (!name.endsWith(".gitlab-ci.yml")) {
          throw new ConfigurationError(`Template file \`${name}\` is not a valid location!`);
        }
        const text = await this.#circumstances.elsewhere.template(name);
        if (text !== undefined && text.trim() !== "") return { text, scope: NOWHERE };
        throw new ConfigurationError(`Included file \`${name}\` is empty or does not exist!`);
      },
    };
  }

  #component(address: string, scope: Scope): Wanted {
    const refusal = (reason: string) =>
      new ConfigurationError(`Component '${address}' - ${reason}`);
    return {
      type: "component",
      location: address,
      read: async () => {
        const host = this.#values.get("CI_SERVER_FQDN");
        const [, path = "", name = "", reference = ""] =
          /^(.+)\/([^/@]+)@([^@]+)$/.exec(address.slice(`${host}/`.length)) ?? [];
        if (!address.startsWith(`${host}/`) || path === "") {
          throw refusal("the component path is not supported");
        }
        if (!scope.commit) {
          throw new ConfigurationError("Unable to use components outside of a project context");
        }
        const commit = await this.#circumstances.elsewhere.component(path, reference, false);
        if (commit === "project") {
          throw refusal("project does not exist or you don't have sufficient permissions");
        }
        if (commit === "latest") throw refusal(NO_LATEST);
        if (commit !== "version") {
          const { sha, version } = commit;
          for (const file of [`templates/${name}.yml`, `templates/${name}/template.yml`]) {
            const text = await commit.file(file);
            if (text === undefined) continue;
            return {
              text,
              ...at(commit, file),
              scope: { commit, values: scope.values },
              component: new Map(Object.entries({ name, sha, version, reference })),
            };
          }
        }
        throw refusal("content not found");
      },
    };
  }

  #artifact(path: string, job: string | undefined): Wanted {
    return {
      type: "artifact",
      location: path,
      read: async () => {
        const { elsewhere } = this.#circumstances;
        if (!elsewhere.artifact) {
          throw new ConfigurationError(
            "Including configs from artifacts is only allowed when triggering child pipelines",
          );
        }
        if (job === undefined) {
          throw new ConfigurationError(
            "Job must be provided when including configs from artifacts",
          );
        }
        requireYaml(path);
        const found = await elsewhere.artifact(job, path);
        if (found === "job") {
          throw new ConfigurationError(
            `Job \`${job}\` not found in parent pipeline or does not have artifacts!`,
          );
        }
        const text = found === "file" ? undefined : found.text;
        const scope = { commit: this.#circumstances, values: this.#values };
        return { ...requireText(text, `File \`${path}\``), scope, extra: { job_name: job } };
      },
    };
  }

  /** Reads an included file. One that is included again without inputs is the same. */
  #included(
    { type, location }: Wanted,
    found: Found,
    inputs: Inputs | undefined,
  ): Promise<Mapping> {
    const { file } = found;
    const key =
      inputs || !file || type === "component"
        ? undefined
        : `${file.project}@${file.sha}:${file.path}`;
    const known = key === undefined ? undefined : this.#read.get(key);
    if (known) return known;
    const document = this.#document(found, inputs ?? NO_INPUTS, { location });
    if (key !== undefined) this.#read.set(key, document);
    return document;
  }

  /**
   * Reads a file as YAML, with its inputs in place.
   *
   * @param location what mistakes are named with
   * @param areTexts whether all inputs are given as texts
   */
  async #document(
    { text, scope, component }: Found,
    given: Inputs,
    { location, areTexts = false }: { readonly location?: string; readonly areTexts?: boolean },
  ): Promise<Mapping> {
    this.#charge(text);
    const { pace, masked } = this.#circumstances;
    try {
      const [content, own] = await splitDocuments(text, pace);
      if (!own) {
        if (given.size > 0) throw new ConfigurationError(NO_SPEC);
        return await pace.take(readDocument(content));
      }
      const header = await this.#header(own, scope);
      const asked = askedOfComponent(header);
      const values = new Map([
        ["inputs", await pace.take(valuesOfInputs(header, given, areTexts))],
        ["component", new Map([...(component ?? [])].filter(([name]) => asked.includes(name)))],
      ]);
      const isMasked = (key: string) => masked?.has(key) === true;
      const variables = scope.values;
      return await pace.take(readDocument(interpolate(content, { values, variables, isMasked })));
    } catch (error) {
      throw location === undefined ? error : named(error, location);
    }
  }
}

/** Which kinds of files a header includes. */
const SHARED = ["local", "project", "remote"] as const;
const NOT_SHARED = `header:spec:include config must use one of: ${SHARED.join(", ")}`;

/** A mistake with the file that it is in. */
const named = (error: unknown, location: string) =>
  error instanceof ConfigurationError
    ? new ConfigurationError(`\`${location}\`: ${error.message}`)
    : error;

const NO_INPUTS: Inputs = new Map();
const NO_SPEC = "Given inputs not defined in the `spec` section of the included configuration file";
const NO_LATEST =
  "The ~latest version reference is not supported for non-catalog resources. Use a tag, branch, or commit SHA instead.";
const YAML_NAME = /.\.ya?ml$/i;

const notFound = (project: string) =>
  `Project \`${project}\` not found or access denied! ` +
  "Make sure any includes in the pipeline configuration are correctly defined.";

function requireYaml(path: string, location = path): void {
  if (YAML_NAME.test(path)) return;
  throw new ConfigurationError(`Included file \`${location}\` does not have YAML extension!`);
}

function requireText(text: string | undefined, file: string): { readonly text: string } {
  if (text === undefined) throw new ConfigurationError(`${file} does not exist!`);
  if (text.trim() === "") throw new ConfigurationError(`${file} is empty!`);
  return { text };
}

const at = ({ project, sha }: Commit, path: string) => ({ file: { project, sha, path } });

/** The inputs that an item gives; `undefined` if it has none. @throws ConfigurationError */
function inputsOf(include: Mapping): Inputs | undefined {
  const inputs = include.get("inputs") ?? undefined;
  if (inputs === undefined || isMapping(inputs)) return inputs;
  throw new ConfigurationError("include:inputs config should be a hash");
}

/** For how long `cache` keeps a file of another server. @throws ConfigurationError */
function secondsOf(cache: Value): number {
  if (typeof cache === "boolean") return cache ? 3600 : 0;
  const seconds = typeof cache === "string" ? durationOf(cache) : undefined;
  if (seconds !== undefined && seconds >= 60) return seconds;
  throw new ConfigurationError(
    "include:cache config must be a boolean or a duration of at least 1 minute",
  );
}

/** What `integrity` says about a text (W3C Subresource Integrity, of SHA-256 alone). */
async function integrityOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}`;
}

/** A mapping as JSON, for messages. */
function textOf(include: Mapping): string {
  return JSON.stringify(
    Object.fromEntries([...include].filter(([, value]) => typeof value !== "object")),
  ).slice(0, 255);
}
