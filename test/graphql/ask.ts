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
): Promise<Answer["json"]> {
  const { json, text } = await post(app, query, { as, body: { variables } });
  if (json?.errors || !json?.data) throw new Error(`${query}: ${text}`);
  return json.data;
}

/** The messages of an answer's errors. */
export function messagesOf({ json }: Answer): string[] {
  return (json.errors ?? []).map(({ message }: { message: string }) => message);
}

/** The data and errors of an operation's answer. */
export async function send(
  app: Pick<TestApp, "call">,
  as: CallOptions["as"],
  query: string,
  variables: object = {},
): Promise<{ data: Answer["json"]; errors: Answer["json"][] | undefined }> {
  const { status, text, json } = await post(app, query, { ...(as && { as }), body: { variables } });
  if (status !== 200) throw new Error(`GraphQL answered ${status}: ${text}`);
  return { data: json.data, errors: json.errors };
}

/** What GraphQL answers for anything that is not there, or that the caller may not see or change. */
export const NOT_AVAILABLE =
  "The resource that you are attempting to access does not exist or you don't have permission to perform this action";
