import { hostSignIn } from "../auth/authenticators/host.ts";
import { accessToken } from "../auth/authenticators/oauth.ts";
import { personalToken } from "../auth/authenticators/personal.ts";
import { readingSession } from "../auth/authenticators/session.ts";
import { ApiError, messagesOf } from "../core/errors.ts";
import type { Mount } from "../core/http/mount.ts";
import { PARAMETER_LIMITS, parseJson, WHOLE_LIST } from "../core/http/parameters.ts";
import * as param from "../core/input.ts";
import { type PrepareContext, RawReply, type Resource, routes } from "../core/resource.ts";
import type { Store } from "../store/port.ts";
import type { Operation, RequestContext } from "./answer.ts";
import type { GraphqlModule } from "./declare.ts";

/** Where GraphQL is. */
const ENDPOINT = "/api/graphql";

/** GraphQL, without its resource. */
export const GRAPHQL: Omit<Mount, "resources"> = {
  name: "GraphQL",
  base: "",
  owns: (path) => path === ENDPOINT || path.startsWith(`${ENDPOINT}/`),
  authenticators: [personalToken, accessToken, hostSignIn, readingSession],
  allowsOrigins: true,
  showsRuntime: true,
  countsRequests: true,
  showError: ({ status, headers, body }) =>
    reply(
      status === 403 && "scope" in body ? 401 : status,
      JSON.stringify({ errors: [{ message: problemOf(status, body) }] }),
      headers,
    ),
};

function problemOf(status: number, body: object): string {
  if (status === 401 || "scope" in body) return "Invalid token";
  if (status === 403) return "API not accessible for user";
  if (status >= 500) return status === 503 ? "Request timed out" : "Internal server error";
  return messagesOf({ body }).join(", ");
}

function reply(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): RawReply {
  return new RawReply(
    status,
    { "content-type": "application/json; charset=utf-8", ...headers },
    body,
  );
}

const input = {
  query: param.optional(param.json("the document, a text")),
  variables: param.optional(param.json("an object, or its JSON text")),
  operationName: param.optional(
    param.json("which operation of the document, if there are several"),
  ),
  [WHOLE_LIST]: param.optional(
    param.json("several operations: a body that is an array of objects with these attributes"),
  ),
};

/**
 * The endpoint: one operation, or a list of them, by GET or POST. `graphql` and the types of all resources are loaded
 * with the first request.
 *
 * @param loadModules loads the GraphQL sides of all resources
 */
export function graphqlResource(loadModules: () => Promise<readonly GraphqlModule[]>): Resource {
  let loading: Promise<Answer> | undefined;
  const load = async (): Promise<Answer> => {
    const [{ Answers }, modules] = await Promise.all([import("./answer.ts"), loadModules()]);
    const answers = new Answers(modules);
    return (operations, context) => answers.answer(operations, context);
  };
  const prepare = async (_: unknown, { store }: Pick<PrepareContext, "store">) => {
    loading ??= load();
    return { answer: await loading, store };
  };
  const handle = async (
    given: Omit<RequestContext, "store"> & {
      input: param.Input<typeof input>;
      prepared: { answer: Answer; store: Store };
    },
  ) => {
    const context = { ...given, store: given.prepared.store };
    const sent = context.input[WHOLE_LIST];
    const isBatch = Array.isArray(sent);
    const operations = (isBatch ? sent : [context.input]).map(operationOf);
    const texts = await context.prepared.answer(operations, context);
    return reply(200, isBatch ? `[${texts.join(",")}]` : (texts[0] as string));
  };
  const { get, query } = routes();
  const spec = {
    access: "anyone",
    answersWith: "application/json",
    input,
    prepare,
    handle,
  } as const;
  return {
    name: "GraphQL",
    migrations: [],
    routes: [
      get(ENDPOINT, { summary: "Answer a query", ...spec }),
      query(ENDPOINT, { summary: "Answer queries and make changes", ...spec }),
    ],
  };
}

type Answer = (operations: readonly Operation[], context: RequestContext) => Promise<string[]>;

/**
 * Reads an operation as GitLab does: `variables` may be JSON text, as forms send them.
 *
 * @throws ApiError 422 for variables that are no object
 */
function operationOf(sent: unknown): Operation {
  const { query, variables, operationName } = (sent ?? {}) as Record<string, unknown>;
  return {
    query: typeof query === "string" ? query : "",
    operationName:
      typeof operationName === "string" && operationName !== "" ? operationName : undefined,
    variables: variablesOf(variables),
  };
}

function variablesOf(sent: unknown): Record<string, unknown> {
  if (sent === undefined || sent === null || sent === "") return {};
  const read = typeof sent === "string" ? parsed(sent) : sent;
  if (read === null) return {};
  if (typeof read === "object" && !Array.isArray(read)) return read as Record<string, unknown>;
  throw new ApiError(422, { message: "Invalid variables: a JSON object is expected" });
}

function parsed(text: string): unknown {
  if (text.trim() === "null") return null;
  try {
    const { [WHOLE_LIST]: list, ...named } = parseJson(text, PARAMETER_LIMITS);
    return list ?? named;
  } catch {
    return undefined;
  }
}
