// `npm run docs`: generates reference.md, kept.md and openapi.json from the routes, schema.graphql from the types of GraphQL,
// seed.schema.json, the table of followers in jobs.md, and what all steps of the schema make of an empty database. test/docs fails while they are outdated.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { jobs } from "./followers.ts";
import { graphqlSchema } from "./graphql.ts";
import { keptAttributes } from "./kept.ts";
import { newestSchema } from "./newest-schema.ts";
import { openapi } from "./openapi.ts";
import { reference } from "./reference.ts";
import { seedSchema } from "./seed.ts";

/** What is generated, by its path in the parent folder. */
export const documents: Record<string, () => string | Promise<string>> = {
  "reference.md": reference,
  "kept.md": keptAttributes,
  "jobs.md": jobs,
  "openapi.json": () => `${JSON.stringify(openapi(), null, 2)}\n`,
  "schema.graphql": graphqlSchema,
  "seed.schema.json": () => `${JSON.stringify(seedSchema(), null, 2)}\n`,
  "../src/database/newest-schema.ts": newestSchema,
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, generate] of Object.entries(documents)) {
    writeFileSync(new URL(`../${name}`, import.meta.url), await generate());
  }
}
