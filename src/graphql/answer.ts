import { GraphQLError, getVariableValues, type OperationDefinitionNode } from "graphql";
import { ApiError, unverified } from "../core/errors.ts";
import { isVerified, sessionOf } from "../core/http/session-cookie.ts";
import type { Context, Route } from "../core/resource.ts";
import { type Face, type GraphContext, type Mutation, notAvailable } from "./declare.ts";
import { type Document, Documents } from "./documents.ts";
import { isCorrectable, messagesOf } from "./errors.ts";
import { Execution, TooMuch } from "./execute.ts";
import { type Cost, costOf, LIMITS, MAX_DOCUMENT } from "./limits.ts";
import { buildSchema, type Schema } from "./schema.ts";

/** One operation to execute, as a client sent it. */
export interface Operation {
  readonly query: string;
  readonly operationName: string | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** A request's context, as the route has it. */
export type RequestContext = Pick<
  Context,
  "caller" | "viewer" | "view" | "now" | "tier" | "request" | "call"
> & { readonly db: GraphContext["db"] };

/** An operation that was found valid, or the errors to answer. */
type Prepared =
  | { readonly errors: readonly GraphQLError[] }
  | {
      readonly errors: undefined;
      readonly document: Document;
      readonly operation: OperationDefinitionNode;
      readonly variables: Readonly<Record<string, unknown>>;
      /** The variables as they were sent. */
      readonly sent: Readonly<Record<string, unknown>>;
      readonly cost: Cost;
    };

/** Answers GraphQL operations. */
export class Answers {
  readonly schema: Schema;
  readonly #documents: Documents;

  constructor(faces: readonly Face[]) {
    this.schema = buildSchema(faces);
    this.#documents = new Documents(this.schema);
  }

  /**
   * Answers the operations of a request, in order.
   *
   * @returns the JSON text of each answer
   * @throws ApiError 422 for documents that are too long together, and for changes by GET or without a CSRF token
   */
  async answer(operations: readonly Operation[], context: RequestContext): Promise<string[]> {
    const length = operations.reduce((sum, { query }) => sum + query.length, 0);
    if (length > MAX_DOCUMENT) throw unprocessable("Query too large");
    const prepared = operations.map((operation) => this.#prepare(operation));
    for (const one of prepared) if (!one.errors) requireChangeable(one.operation, context);
    const { caller } = context;
    const limits = LIMITS[caller?.admin ? "admin" : caller ? "user" : "anonymous"];
    const score = prepared.reduce((sum, one) => sum + (one.errors ? 0 : one.cost.complexity), 0);
    const texts: string[] = [];
    let { db } = context;
    for (const one of prepared) {
      if (one.errors) {
        texts.push(JSON.stringify({ errors: one.errors }));
        continue;
      }
      const { depth } = one.cost;
      const refusal =
        score > limits.complexity
          ? `Query has complexity of ${score}, which exceeds max complexity of ${limits.complexity}`
          : depth > limits.depth
            ? `Query has depth of ${depth}, which exceeds max depth of ${limits.depth}`
            : undefined;
      if (refusal !== undefined) {
        texts.push(JSON.stringify({ errors: [{ message: refusal }] }));
        continue;
      }
      const executed = await this.#execute(
        one,
        { ...context, db },
        {
          score,
          limit: limits.complexity,
        },
      );
      texts.push(executed.text);
      db = executed.db;
    }
    return texts;
  }

  #prepare({ query, operationName, variables }: Operation): Prepared {
    const document = this.#documents.get(query);
    if (Array.isArray(document)) return { errors: document };
    const { operations, fragments } = document as Document;
    const named = operations.filter(({ name }) => name?.value === operationName);
    const [operation] = operationName === undefined ? operations : named;
    if (!operation || (operationName === undefined && operations.length > 1)) {
      const problem = operation
        ? "An operation name is required"
        : `No operation named "${operationName}"`;
      return { errors: [new GraphQLError(problem)] };
    }
    const read = getVariableValues(
      this.schema.graphql,
      operation.variableDefinitions ?? [],
      variables,
      { maxErrors: 5 },
    );
    if (read.errors) return { errors: read.errors };
    try {
      const cost = costOf(this.schema, operation, fragments, read.coerced);
      return {
        errors: undefined,
        document: document as Document,
        operation,
        variables: read.coerced,
        sent: variables,
        cost,
      };
    } catch (error) {
      if (error instanceof GraphQLError) return { errors: [error] };
      throw error;
    }
  }

  async #execute(
    { document, operation, variables, sent }: Extract<Prepared, { errors: undefined }>,
    context: RequestContext,
    complexity: { score: number; limit: number },
  ): Promise<{ text: string; db: GraphContext["db"] }> {
    const known = { ...context, complexity };
    const executable = { operation, fragments: document.fragments, variables, sent };
    const execution = new Execution(this.schema, executable, known);
    try {
      const data =
        operation.operation === "mutation"
          ? await this.#change(execution, known)
          : await execution.data();
      const { errors } = execution;
      const text = `{"data":${data}${errors.length > 0 ? `,"errors":${JSON.stringify(errors)}` : ""}}`;
      return { text, db: known.db };
    } catch (error) {
      if (!(error instanceof TooMuch)) throw error;
      return { text: JSON.stringify({ errors: [{ message: error.message }] }), db: known.db };
    }
  }

  /** Performs the mutations of a document one after the other; earlier ones stay if later ones fail. */
  async #change(execution: Execution, context: GraphContext & RequestContext): Promise<string> {
    const members: string[] = [];
    for (const field of execution.rootFields("Mutation")) {
      const text =
        field.name === "__typename"
          ? '"Mutation"'
          : await execution.payload(field, () => {
              const { input } = execution.argumentsOf("Mutation", field) as {
                input: Record<string, unknown>;
              };
              return this.#run(field.name, input, context);
            });
      members.push(`${JSON.stringify(field.key)}:${text}`);
    }
    return `{${members.join(",")}}`;
  }

  async #run(
    name: string,
    { clientMutationId, ...input }: Record<string, unknown>,
    context: { db: GraphContext["db"] } & Omit<GraphContext & RequestContext, "db">,
  ): Promise<object> {
    const { caller } = context;
    if (!caller?.scopes.includes("api")) throw notAvailable();
    const call = async (route: Route, parameters: object) => {
      try {
        const { value, db } = await context.call(route, parameters);
        context.db = db;
        return value as Record<string, unknown>;
      } catch (error) {
        // A change that changes nothing, such as subscribing twice.
        if (error instanceof ApiError && error.status === 304) return {};
        throw error;
      }
    };
    const { run } = this.schema.mutations.get(name) as Mutation;
    try {
      const given = await run(input as never, { ...context, caller, call });
      return { clientMutationId, errors: [], ...given };
    } catch (error) {
      if (!(error instanceof ApiError && isCorrectable(error))) throw error;
      return { clientMutationId, errors: messagesOf(error) };
    }
  }
}

/** 422, as GitLab answers requests that it does not execute. */
export const unprocessable = (message: string) => new ApiError(422, { message });

/**
 * Checks that a request may change something: GET requests may not, nor those of other sites' pages.
 *
 * @throws ApiError 422
 */
function requireChangeable(
  { operation }: OperationDefinitionNode,
  { request, caller, view }: RequestContext,
): void {
  if (operation !== "mutation") return;
  if (request.method === "GET") throw unprocessable("Mutations are forbidden in GET requests");
  if (caller?.by.kind !== "session") return;
  const session = sessionOf(request);
  if (session === undefined || !isVerified(request, session, view.base)) throw unverified();
}
