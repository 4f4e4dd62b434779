import { GraphQLError, getVariableValues, type OperationDefinitionNode } from "graphql";
import { ApiError, messagesOf, unverified } from "../core/errors.ts";
import { isVerified, sessionOf } from "../core/http/session-cookie.ts";
import type { Context, Route } from "../core/resource.ts";
import { withDefaults } from "./arguments.ts";
import { type GraphContext, type GraphqlModule, type Mutation, notAvailable } from "./declare.ts";
import { Documents } from "./documents.ts";
import { isCorrectable } from "./errors.ts";
import { type Executable, Execution } from "./execute.ts";
import { introspectionLimit } from "./introspection.ts";
import { type Cost, costOf, LIMITS, MAX_DOCUMENT, MAX_OPERATIONS } from "./limits.ts";
import { TooMuch } from "./quota.ts";
import { buildSchema, type Schema } from "./schema.ts";

/** One operation to execute, as a client sent it. */
export interface Operation {
  readonly query: string;
  readonly operationName: string | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** A request's context, as the route has it. */
export type RequestContext = Pick<Context, "call"> & Omit<GraphContext, "complexity" | "read">;

/** An operation that was found valid, or the errors to answer. */
type Prepared =
  | { readonly errors: readonly GraphQLError[] }
  | { readonly errors: undefined; readonly executable: Executable; readonly cost: Cost };

/** Answers GraphQL operations. */
export class Answers {
  readonly schema: Schema;
  readonly #documents: Documents;

  constructor(modules: readonly GraphqlModule[]) {
    this.schema = buildSchema(modules);
    this.#documents = new Documents(this.schema);
  }

  /**
   * Answers the operations of a request, in order.
   *
   * @returns the JSON text of each answer
   * @throws ApiError 422 for too many operations, documents that are too long together, and for changes by GET or without a CSRF token
   */
  async answer(operations: readonly Operation[], context: RequestContext): Promise<string[]> {
    if (operations.length > MAX_OPERATIONS) {
      throw unprocessable(`Batch has more than ${MAX_OPERATIONS} operations`);
    }
    const length = operations.reduce((sum, { query }) => sum + query.length, 0);
    if (length > MAX_DOCUMENT) throw unprocessable("Query too large");
    const prepared = operations.map((operation) => this.#prepare(operation));
    for (const one of prepared) {
      if (!one.errors) requireChangeable(one.executable.operation, context);
    }
    const { caller } = context;
    const limits = LIMITS[caller?.admin ? "admin" : caller ? "user" : "anonymous"];
    const costs = prepared.flatMap((one) => (one.errors ? [] : one.cost));
    const score = costs.reduce((sum, { complexity }) => sum + complexity, 0);
    const described = costs.reduce((sum, { introspection }) => sum + introspection, 0);
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
            : described > introspectionLimit(this.schema.graphql)
              ? "Introspection asks for too much: lists in lists multiply"
              : undefined;
      if (refusal !== undefined) {
        texts.push(JSON.stringify({ errors: [{ message: refusal }] }));
        continue;
      }
      const complexity = { score, limit: limits.complexity };
      const read = async (route: Route, parameters: object) =>
        (await context.call(route, parameters)).value;
      const executed = await this.#execute(one.executable, { ...context, db, complexity, read });
      texts.push(executed.text);
      db = executed.db;
    }
    return texts;
  }

  #prepare({ query, operationName, variables: sent }: Operation): Prepared {
    const document = this.#documents.get(query);
    if (document.errors) return document;
    const { operations, fragments } = document;
    const named = operations.filter(({ name }) => name?.value === operationName);
    const [operation] = operationName === undefined ? operations : named;
    if (!operation || (operationName === undefined && operations.length > 1)) {
      const problem =
        operationName === undefined
          ? "An operation name is required"
          : `No operation named "${operationName}"`;
      return { errors: [new GraphQLError(problem)] };
    }
    const { variableDefinitions = [] } = operation;
    const { graphql } = this.schema;
    const read = getVariableValues(graphql, variableDefinitions, sent, { maxErrors: 5 });
    if (read.errors) return { errors: read.errors };
    const executable = { operation, fragments, variables: read.coerced, sent };
    try {
      return { errors: undefined, executable, cost: costOf(this.schema, executable) };
    } catch (error) {
      if (error instanceof GraphQLError) return { errors: [error] };
      throw error;
    }
  }

  async #execute(
    executable: Executable,
    context: GraphContext & RequestContext,
  ): Promise<{ text: string; db: GraphContext["db"] }> {
    const execution = new Execution(this.schema, executable, context);
    try {
      const data =
        executable.operation.operation === "mutation"
          ? await this.#change(execution, context)
          : await execution.data();
      const { errors } = execution;
      const text = `{"data":${data}${errors.length > 0 ? `,"errors":${JSON.stringify(errors)}` : ""}}`;
      return { text, db: context.db };
    } catch (error) {
      if (!(error instanceof TooMuch)) throw error;
      return { text: JSON.stringify({ errors: [{ message: error.message }] }), db: context.db };
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
    const { run, input: declared } = this.schema.mutations.get(name) as Mutation;
    try {
      const read = withDefaults(input, declared);
      const given = await run(read as never, { ...context, caller, call });
      return { clientMutationId, errors: [], ...given };
    } catch (error) {
      if (!(error instanceof ApiError && isCorrectable(error))) throw error;
      return { clientMutationId, errors: messagesOf(error) };
    }
  }
}

/** 422, as GitLab answers requests that it does not execute. */
const unprocessable = (message: string) => new ApiError(422, { message });

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
  if (request.method !== "POST") throw unprocessable("Mutations are forbidden in GET requests");
  if (caller?.by.kind !== "session") return;
  const session = sessionOf(request);
  if (session === undefined || !isVerified(request, session, view.base)) throw unverified();
}
