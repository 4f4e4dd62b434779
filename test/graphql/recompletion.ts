import {
  execute,
  type GraphQLFieldResolver,
  type GraphQLOutputType,
  type GraphQLSchema,
  isEnumType,
  isListType,
  isNonNullType,
  parse,
} from "graphql";

/**
 * Executes an operation by graphql-js on the data that was answered to it. The result is the same data without errors
 * if the answer is what the specification asks for: which fields it has and in which order, which are null, which are
 * lists, and whether leaves have values of their types. Selections in abstract types need `__typename`.
 */
export async function recompleted(
  schema: GraphQLSchema,
  { query, variables }: { query: string; variables: Record<string, unknown> },
  data: unknown,
): Promise<{ data?: unknown; errors?: readonly Error[] }> {
  const fieldResolver: GraphQLFieldResolver<Record<string, unknown>, unknown> = (
    source,
    _,
    __,
    { path, returnType },
  ) => inner(returnType, source[path.key]);
  return await execute({
    schema,
    document: parse(query),
    rootValue: data,
    variableValues: variables,
    fieldResolver,
  });
}

/** What graphql-js takes for a value: enumerations have values of their own in the program. */
function inner(type: GraphQLOutputType, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (isNonNullType(type)) return inner(type.ofType, value);
  if (isListType(type) && Array.isArray(value))
    return value.map((item) => inner(type.ofType, item));
  return isEnumType(type) ? type.getValue(String(value))?.value : value;
}
