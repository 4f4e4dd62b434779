import { lexicographicSortSchema, printSchema } from "graphql";
import { buildSchema } from "../../src/graphql/schema.ts";
import { faces } from "../../src/resources/graphql.ts";

/** The GraphQL schema in GraphQL's schema language, sorted by name. */
export function graphqlSchema(): string {
  return `${printSchema(lexicographicSortSchema(buildSchema(faces).graphql))}\n`;
}
