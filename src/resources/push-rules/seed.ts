import * as v from "valibot";
import { optionsOf } from "../../core/options.ts";
import { SeedError, type SeededSource, seedPart } from "../../core/seeding.ts";
import { insertRow } from "../../store/insert.ts";
import { FLAGS, PATTERNS } from "./queries.ts";

/** The push rule of a group or project in a seed: projects of the seed get none from their groups. */
export type PushRuleSeed = { [Name in (typeof PATTERNS)[number]]?: string | undefined } & {
  [Name in (typeof FLAGS)[number]]?: boolean | undefined;
} & {
  /** Mebibytes. Default: files may have any size. */
  max_file_size?: number | undefined;
};

const entries = {
  ...Object.fromEntries(PATTERNS.map((name) => [name, v.optional(v.string())])),
  ...Object.fromEntries(FLAGS.map((name) => [name, v.optional(v.boolean())])),
  max_file_size: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
};
const schema = v.optional(optionsOf(entries)) as unknown as v.GenericSchema<
  PushRuleSeed | undefined
>;

/** The push rule of a group or project. */
export const pushRulePart = seedPart({
  schema,
  async insert({ db }, rule: PushRuleSeed | undefined, source: SeededSource) {
    if (!rule) return 0;
    const { readExpression } = await import("../../core/expressions.ts");
    for (const name of PATTERNS) {
      const pattern = rule[name];
      if (pattern !== undefined && !readExpression(pattern)) {
        throw new SeedError(`${name} of ${source.fullPath} is no regular expression`);
      }
    }
    const { createdAt: at, column, id } = source;
    const columns = Object.entries(rule).map(([name, value]) => [
      name,
      typeof value === "boolean" ? Number(value) : value,
    ]);
    const times = { created_at: at, updated_at: at };
    await insertRow(db, "push_rules", { ...Object.fromEntries(columns), [column]: id, ...times });
    return 1;
  },
});
