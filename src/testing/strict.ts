import type { Strictness } from "../core/http/strict.ts";
import { flagOption, type OptionSchemas, optionsOf, readOptions } from "../core/options.ts";

/** What a test server refuses that GitLab ignores or converts. */
export interface Strict {
  get(): Strictness;
  /** Sets both, or one of them. @throws OptionError if one is wrong or misspelt */
  set(changes: Partial<Strictness>): void;
}

/** The schema of changes of {@link Strictness}. */
export const strictOption = optionsOf({
  parameters: flagOption,
  types: flagOption,
} satisfies OptionSchemas<Strictness>);

/** Creates the strictness of a test server. @param start the one after each reset */
export function createStrict(start: Partial<Strictness>) {
  const strictness: Strictness = { parameters: false, types: false };
  const strict: Strict = {
    get: () => ({ ...strictness }),
    set: (changes) => {
      const { parameters, types } = readOptions("strict.set", strictOption, changes);
      strictness.parameters = parameters ?? strictness.parameters;
      strictness.types = types ?? strictness.types;
    },
  };
  const reset = () => strict.set({ parameters: false, types: false, ...start });
  reset();
  return { strict, strictness, reset };
}
