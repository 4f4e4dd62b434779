// `npm run docs`: generates reference.md and openapi.json from the routes, schema.graphql from the types of GraphQL, and
// seed.schema.json. test/docs fails while they are outdated.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { graphqlSchema } from "./graphql.ts";
import { openapi } from "./openapi.ts";
import { reference } from "./reference.ts";
import { seedSchema } from "./seed.ts";

/** The generated documents by their path in the parent folder. */
export const documents: Record<string, () => string> = {
  "reference.md": reference,
  "openapi.json": () => `${JSON.stringify(openapi(), null, 2)}\n`,
  "schema.graphql": graphqlSchema,
  "seed.schema.json": () => `${JSON.stringify(seedSchema(), null, 2)}\n`,
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, generate] of Object.entries(documents)) {
    writeFileSync(new URL(`../${name}`, import.meta.url), generate());
  }
}
