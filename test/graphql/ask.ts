import type { Answer, CallOptions, TestApp } from "../helpers.ts";

/** Where GraphQL is. */
export const ENDPOINT = "/api/graphql";

/** Sends an operation; `variables` and other members of the body as told. */
export function post(
  app: Pick<TestApp, "call">,
  query: string,
  { body = {}, ...options }: Omit<CallOptions, "json" | "body"> & { body?: object } = {},
): Promise<Answer> {
  return app.call(`POST ${ENDPOINT}`, { ...options, json: { query, ...body } });
}

/** The data of an operation's answer; it must have no errors. */
export async function ask(
  app: Pick<TestApp, "call">,
  query: string,
  variables: object = {},
  as: CallOptions["as"] = "owner",
  // biome-ignore lint/suspicious/noExplicitAny: tests assert the shape themselves
): Promise<any> {
  const { json, text } = await post(app, query, { as, body: { variables } });
  if (json?.errors || !json?.data) throw new Error(`${query}: ${text}`);
  return json.data;
}

/** The messages of an answer's errors. */
export function messagesOf({ json }: Answer): string[] {
  return (json.errors ?? []).map(({ message }: { message: string }) => message);
}
