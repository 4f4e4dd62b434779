// The JSON Schema of seed files.
import { toJsonSchema } from "@valibot/to-json-schema";
import { definitions, SeedSchema } from "../../src/seed/index.ts";

/** The JSON Schema (2020-12) of what a seed file may hold, for editors. */
export function seedSchema(): object {
  return {
    title: "Seed of pm-api",
    description: "Data to fill a database with (docs/testing.md).",
    ...toJsonSchema(SeedSchema, { typeMode: "input", target: "draft-2020-12", definitions }),
  };
}
