import { type Conditions, RuleError } from "./conditions.ts";
import { readDocument } from "./document.ts";
import { Findings } from "./findings.ts";
import type { Merger } from "./merge.ts";
import { readGlobs } from "./patterns.ts";
import { INCLUDE_RULES, readRules } from "./rules.ts";
import type { Circumstances, IncludedFile, Lookup } from "./types.ts";
import { ConfigurationError, isList, isMapping, type Mapping, type Value } from "./values.ts";
import { expandVariables } from "./variables.ts";

/** Maximum number of included files; one that is included twice counts twice. */
const MAX_INCLUDES = 150;
/** Maximum length of all files together in characters. */
const MAX_LENGTH = 1024 * 1024;

/** What can be included in GitLab, of which this server knows `local`. */
const KINDS = ["local", "project", "remote", "template", "artifact", "component"] as const;

/** Includes files of the commit, and what these include in turn. */
export class Includes {
  readonly files: IncludedFile[] = [];
  readonly #circumstances: Circumstances;
  readonly #conditions: Conditions;
  readonly #merger: Merger;
  readonly #values: Lookup;
  readonly #read = new Map<string, Promise<Mapping>>();
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
   * Merges the files that a configuration includes with it; its own keys override theirs.
   *
   * @param from the path of the configuration if it was itself included
   * @throws ConfigurationError if a file does not exist or is no configuration, or if there are too many
   */
  async resolve(root: Mapping, from?: string): Promise<Mapping> {
    const included = root.get("include");
    const own = new Map(root);
    own.delete("include");
    let merged: Mapping = new Map();
    const list = isList(included) ? included.flat() : [included ?? []].flat();
    for (const include of list as readonly Value[]) {
      for (const path of await this.#pathsOf(include)) {
        if (this.files.length >= MAX_INCLUDES) {
          throw new ConfigurationError(`Maximum of ${MAX_INCLUDES} nested includes are allowed!`);
        }
        this.files.push({ type: "local", location: path, from });
        const file = await this.#file(path);
        merged = this.#merger.merge(merged, await this.resolve(file, path));
      }
    }
    return this.#merger.merge(merged, own);
  }

  /** The paths of files that one item of `include` names. */
  async #pathsOf(include: Value): Promise<readonly string[]> {
    if (typeof include === "string") {
      return this.#localPaths(/^https?:\/\//i.test(include) ? refuse("remote", include) : include);
    }
    if (!isMapping(include)) {
      throw new ConfigurationError("Each include must be a hash or a string");
    }
    const kinds = KINDS.filter((kind) => include.has(kind));
    if (kinds.length > 1) {
      throw new ConfigurationError(`Each include must use only one of: ${KIND_NAMES}`);
    }
    const [kind] = kinds;
    const location = kind && include.get(kind);
    if (!kind || location === null || location === "") {
      throw new ConfigurationError(
        `\`${textOf(include)}\` does not have a valid subkey for include. Valid subkeys are: ${KIND_NAMES}`,
      );
    }
    if (kind !== "local") return [refuse(kind, textOf(include))];
    const unknown = [...include.keys()].filter((key) => key !== "local" && key !== "rules");
    if (unknown.includes("inputs")) refuse("inputs", textOf(include));
    if (unknown.length > 0) {
      throw new ConfigurationError(`include config contains unknown keys: ${unknown.join(", ")}`);
    }
    if (!(await this.#isIncluded(include))) return [];
    if (typeof location === "string") return this.#localPaths(location);
    throw new ConfigurationError(`Included file \`${String(location)}\` needs to be a string`);
  }

  async #isIncluded(include: Mapping): Promise<boolean> {
    const value = include.get("rules") ?? undefined;
    if (value === undefined) return true;
    const findings = new Findings();
    const { pace } = this.#circumstances;
    const rules = await pace.take(readRules(value, "include:rules", findings, INCLUDE_RULES));
    const [error] = findings.errors;
    if (error !== undefined) throw new ConfigurationError(error);
    try {
      const rule = await this.#conditions.first(rules, this.#values);
      return rule !== undefined && rule.when !== "never";
    } catch (mistake) {
      if (!(mistake instanceof RuleError)) throw mistake;
      throw new ConfigurationError(`include:rules: ${mistake.message}`);
    }
  }

  async #localPaths(location: string): Promise<readonly string[]> {
    const path = expandVariables(location, this.#values, { keepUnknown: true }).replace(/^\//, "");
    if (!path.includes("*")) return [path];
    const globs = readGlobs(path);
    const found = (await this.#circumstances.paths()).filter((one) => {
      const names = one.split("/");
      return YAML_NAME.test(one) && globs.some((glob) => glob.fits(names));
    });
    return found.toSorted();
  }

  #file(path: string): Promise<Mapping> {
    const known = this.#read.get(path);
    if (known) return known;
    const file = this.#readFile(path);
    this.#read.set(path, file);
    return file;
  }

  async #readFile(path: string): Promise<Mapping> {
    if (!YAML_NAME.test(path)) {
      throw new ConfigurationError(`Included file \`${path}\` does not have YAML extension!`);
    }
    const text = await this.#circumstances.file(path);
    if (text === undefined) throw new ConfigurationError(`Local file \`${path}\` does not exist!`);
    if (text.trim() === "") throw new ConfigurationError(`Local file \`${path}\` is empty!`);
    this.#length += text.length;
    if (this.#length > MAX_LENGTH) {
      throw new ConfigurationError("The included files are too big");
    }
    try {
      return await this.#circumstances.pace.take(readDocument(text));
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      throw new ConfigurationError(`\`${path}\`: ${error.message}`);
    }
  }
}

const YAML_NAME = /.\.ya?ml$/i;
const KIND_NAMES = KINDS.map((kind) => `\`${kind}\``).join(", ");

function refuse(kind: string, what: string): never {
  throw new ConfigurationError(
    `\`${what}\`: include:${kind} is not supported on this server, which includes local files only`,
  );
}

/** A mapping as JSON, for messages. */
function textOf(include: Mapping): string {
  return JSON.stringify(
    Object.fromEntries([...include].filter(([, value]) => typeof value !== "object")),
  ).slice(0, 255);
}
