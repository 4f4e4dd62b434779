import { lexicographicSortSchema, printSchema } from "graphql";
import { buildSchema } from "../../src/graphql/schema.ts";
import { modules } from "../../src/resources/graphql.ts";

/** The GraphQL schema in GraphQL's schema language, sorted by name. */
export function graphqlSchema(): string {
  return `${printSchema(lexicographicSortSchema(buildSchema(modules).graphql))}\n`;
}
