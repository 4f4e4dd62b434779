import * as v from "valibot";
import { oneOf, type SeededSource, seedList, type Word } from "../../core/seeding.ts";
import * as variables from "./queries.ts";

/** A CI variable of a seed. */
export interface VariableSeed {
  key: string;
  value: string;
  variable_type?: Word<variables.VariableType> | undefined;
  protected?: boolean | undefined;
  masked?: boolean | undefined;
  /** Whether the API never shows its value. */
  hidden?: boolean | undefined;
  raw?: boolean | undefined;
  /** The name of an environment, which may have `*`. Default: all environments. */
  environment_scope?: string | undefined;
  description?: string | undefined;
}

const flag = v.optional(v.boolean(), false);

/** The CI variables of a group or project. */
export const variablesPart = seedList({
  entries: {
    key: v.string(),
    value: v.string(),
    variable_type: v.optional(oneOf(variables.VARIABLE_TYPES), "env_var"),
    protected: flag,
    masked: flag,
    hidden: flag,
    raw: flag,
    environment_scope: v.optional(v.string(), variables.EVERYWHERE),
    description: v.optional(v.string()),
  },
  counted: "variables",
  async insert({ db, secrets }, { description = null, ...variable }, source: SeededSource) {
    const { createdAt } = source;
    await variables.insert(db, secrets, source, { ...variable, description }, createdAt);
  },
});
