import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getNamedType,
  isCompositeType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
} from "graphql";
import type { OutputField } from "./declare.ts";
import type { Schema } from "./schema.ts";

/** Characters of the documents of one request, as in GitLab. */
export const MAX_DOCUMENT = 10_000;
/** Nesting of brackets: graphql-js reads them recursively. */
const MAX_BRACKETS = 200;
/** Fields and fragments of a document: validating them takes quadratic time. */
const MAX_FIELDS = 500;

/** How much a document may ask for, by who asks: GitLab's limits. */
export interface DocumentLimits {
  readonly complexity: number;
  readonly depth: number;
}

/** The limits of anonymous callers, users and administrators. */
export const LIMITS = {
  anonymous: { complexity: 200, depth: 15 },
  user: { complexity: 250, depth: 20 },
  admin: { complexity: 300, depth: 20 },
} as const satisfies Record<string, DocumentLimits>;

/**
 * Checks a document's text before it is parsed.
 *
 * @throws GraphQLError if its brackets are nested too deeply
 */
export function requireShallow(text: string): void {
  let depth = 0;
  for (const character of text) {
    if (character === "{" || character === "[" || character === "(") depth += 1;
    else if (character === "}" || character === "]" || character === ")") depth -= 1;
    if (depth > MAX_BRACKETS) throw new GraphQLError("Query is nested too deeply");
  }
}

/**
 * Checks a document before it is validated.
 *
 * @throws GraphQLError if it has too many fields
 */
export function requireFewFields({ definitions }: DocumentNode): void {
  let left = MAX_FIELDS;
  const count = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      left -= 1;
      if (left < 0) throw new GraphQLError(`Query has more than ${MAX_FIELDS} fields`);
      if (selection.kind !== Kind.FRAGMENT_SPREAD && selection.selectionSet) {
        count(selection.selectionSet);
      }
    }
  };
  for (const definition of definitions) {
    if ("selectionSet" in definition) count(definition.selectionSet);
  }
}

/** What a document costs. */
export interface Cost {
  complexity: number;
  depth: number;
}

/** Fields below which the same field may be nested again. */
const TRANSPARENT = new Set(["node", "nodes", "edges", "ofType"]);
/** How often a field may be nested in itself. */
const MAX_RECURSION = 2;
/** Stops counting, since nested fragments can describe more fields than there are atoms. */
const MAX_COUNTED = 10_000;

/**
 * Counts the complexity and depth of an operation by GitLab's rules: a field costs 1 and its children; searching and
 * sorting cost more; the children of a connection cost more the longer its pages are. Introspection costs nothing.
 *
 * @param variables the operation's, with their defaults
 * @throws GraphQLError if a field is nested in itself too often, or if there are too many fields
 */
export function costOf(
  schema: Schema,
  operation: OperationDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  variables: Readonly<Record<string, unknown>>,
): Cost {
  const { graphql } = schema;
  const above: string[] = [];
  let counted = 0;
  let depth = 0;

  const costOfSet = (set: SelectionSetNode, typeName: string, level: number): number => {
    let cost = 0;
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) {
        cost += costOfField(selection, typeName, level);
        continue;
      }
      counted += 1;
      if (counted > MAX_COUNTED) throw tooComplex();
      const fragment =
        selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value) : selection;
      if (!fragment) continue;
      const name = fragment.typeCondition?.name.value ?? typeName;
      cost += costOfSet(fragment.selectionSet, name, level);
    }
    return cost;
  };

  const costOfField = (field: FieldNode, typeName: string, level: number): number => {
    counted += 1;
    if (counted > MAX_COUNTED) throw tooComplex();
    const name = field.name.value;
    const type = graphql.getType(typeName) as GraphQLObjectType | undefined;
    const isIntrospection = name.startsWith("__") || typeName.startsWith("__");
    if (isIntrospection && !field.selectionSet) return 0;
    depth = Math.max(depth, level);
    const declared = schema.types.get(typeName)?.fields.get(name);
    const own = isIntrospection ? 0 : ownCost(declared, field);
    if (!field.selectionSet) return own;
    if (!TRANSPARENT.has(name) && !isIntrospection) {
      if (above.filter((other) => other === name).length >= MAX_RECURSION) {
        throw new GraphQLError(`Recursive query - too many of fields '${name}' nested`);
      }
    }
    above.push(name);
    const below = isIntrospection
      ? introspectedType(name)
      : namedType(type?.getFields()[name]?.type);
    const children = costOfSet(field.selectionSet, below, level + 1);
    above.pop();
    if (isIntrospection) return 0;
    const page = declared?.kind === "children" ? pageOf(declared, field, variables) : 0;
    return own + children + Math.floor(children * page * 0.01);
  };

  const root = operation.operation === OperationTypeNode.MUTATION ? "Mutation" : "Query";
  const complexity = costOfSet(operation.selectionSet, root, 1);
  return { complexity, depth };
}

/** Introspection's types are not ours: what is below them is only counted. */
const introspectedType = (name: string) => (name === "__typename" ? "String" : "__Type");

function namedType(type: GraphQLOutputType | undefined): string {
  const named = type && getNamedType(type);
  return named && isCompositeType(named) ? named.name : "";
}

function tooComplex(): GraphQLError {
  return new GraphQLError("Query is too complex");
}

/** GitLab's costs of arguments. */
const SEARCH_COST = 5;
const SORT_COST = 1;

function ownCost(declared: OutputField | undefined, { arguments: args = [] }: FieldNode): number {
  const names = args.map(({ name }) => name.value);
  const isLoaded = declared?.kind === "children" || declared?.kind === "loaded";
  const more =
    (names.includes("search") ? SEARCH_COST : 0) + (names.includes("sort") ? SORT_COST : 0);
  return (declared?.complexity ?? (isLoaded ? 2 : 1)) + (isLoaded ? more : 0);
}

/** The rows of a page, as far as a document says. */
function pageOf(
  { shape, maxPage = 100 }: Extract<OutputField, { kind: "children" }>,
  { arguments: args = [] }: FieldNode,
  variables: Readonly<Record<string, unknown>>,
): number {
  if (shape === "first") return 0;
  const asked = args.find(({ name }) => name.value === "first" || name.value === "last")?.value;
  const given =
    asked?.kind === Kind.INT
      ? Number(asked.value)
      : asked?.kind === Kind.VARIABLE
        ? variables[asked.name.value]
        : undefined;
  return typeof given === "number" ? Math.min(Math.max(given, 0), maxPage) : maxPage;
}
