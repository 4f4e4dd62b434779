import type { Person, TestApp } from "../helpers.ts";

/** A GraphQL answer. */
export interface Asked {
  // biome-ignore lint/suspicious/noExplicitAny: tests assert the shape themselves
  data: any;
  // biome-ignore lint/suspicious/noExplicitAny: tests assert the shape themselves
  errors: any[] | undefined;
}

/** Sends a GraphQL document. */
export async function ask(
  app: TestApp,
  as: Person,
  query: string,
  variables: object = {},
): Promise<Asked> {
  const { status, text, json } = await app.call("POST /api/graphql", {
    as,
    json: { query, variables },
  });
  if (status !== 200) throw new Error(`GraphQL answered ${status}: ${text}`);
  return { data: json.data, errors: json.errors };
}

/** What GraphQL answers for anything that is not there, or that the caller may not see or change. */
export const NOT_AVAILABLE =
  "The resource that you are attempting to access does not exist or you don't have permission to perform this action";
