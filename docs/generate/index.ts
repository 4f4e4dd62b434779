// `npm run docs`: generates what follows from the code; test/docs fails while it is outdated. The reference, kept.md and
// openapi.json are made from the routes, coverage.md, coverage.json and the figures in README.md from the calls of clients,
// orders.md and orders.openapi.json from the orders of test servers, schema.graphql from the types of GraphQL,
// seed.schema.json, the tables of followers in jobs.md of integrations in integrations.md and of keywords in ci.md, and what all steps of the schema make of an empty database.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { coverage, coverageJson, readme } from "./coverage.ts";
import { jobs } from "./followers.ts";
import { graphqlSchema } from "./graphql.ts";
import { integrations } from "./integrations.ts";
import { keptAttributes } from "./kept.ts";
import { keywords } from "./keywords.ts";
import { inLines } from "./lines.ts";
import { newestSchema } from "./newest-schema.ts";
import { openapi } from "./openapi.ts";
import { ordersOpenapi, ordersPage } from "./orders.ts";
import { reference } from "./reference.ts";
import { seedSchema } from "./seed.ts";

/** What is generated, by its path in the parent folder. */
export const documents: Record<string, () => string | Promise<string>> = {
  ...reference(),
  "kept.md": keptAttributes,
  "coverage.md": coverage,
  "coverage.json": coverageJson,
  "../README.md": readme,
  "orders.md": ordersPage,
  "orders.openapi.json": ordersOpenapi,
  "jobs.md": jobs,
  "integrations.md": integrations,
  "ci.md": keywords,
  "openapi.json": () => `${inLines(openapi(), 3)}\n`,
  "schema.graphql": graphqlSchema,
  "seed.schema.json": () => `${inLines(seedSchema(), 3)}\n`,
  "../src/database/newest-schema.ts": newestSchema,
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // Pages of resources that are no more.
  rmSync(new URL("../reference", import.meta.url), { recursive: true, force: true });
  mkdirSync(new URL("../reference", import.meta.url));
  for (const [name, generate] of Object.entries(documents)) {
    writeFileSync(new URL(`../${name}`, import.meta.url), await generate());
  }
}
