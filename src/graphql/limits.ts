import {
  type DocumentNode,
  type FieldNode,
  GraphQLError,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getNamedType,
  isCompositeType,
  Kind,
  Lexer,
  OperationTypeNode,
  type SelectionSetNode,
  Source,
  TokenKind,
} from "graphql";
import type { OutputField } from "./declare.ts";
import { introspectionCost } from "./introspection.ts";
import type { Schema } from "./schema.ts";
import { fragmentOf, isIncluded, type Selecting } from "./selections.ts";

/** Characters of the documents of one request, as in GitLab. */
export const MAX_DOCUMENT = 10_000;
/** Operations of one request: validation of even the smallest takes half a millisecond. */
export const MAX_OPERATIONS = 100;
/** Tokens of a document. */
const MAX_TOKENS = 5000;
/** Nesting of brackets: graphql-js reads them recursively. */
const MAX_BRACKETS = 200;
/** Fields and fragments of a document. */
const MAX_FIELDS = 500;
/** Fields with one name in the answer: validation compares each of them with all others. */
const MAX_WITH_NAME = 150;

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

const OPENING: ReadonlySet<string> = new Set([
  TokenKind.BRACE_L,
  TokenKind.BRACKET_L,
  TokenKind.PAREN_L,
]);
const CLOSING: ReadonlySet<string> = new Set([
  TokenKind.BRACE_R,
  TokenKind.BRACKET_R,
  TokenKind.PAREN_R,
]);

/**
 * Checks a document's text before it is parsed.
 *
 * @throws GraphQLError if it has too many tokens, or brackets that are nested too deeply
 */
export function requireParsable(text: string): void {
  const lexer = new Lexer(new Source(text));
  let depth = 0;
  for (let tokens = 0; ; tokens += 1) {
    const { kind } = lexer.advance();
    if (kind === TokenKind.EOF) return;
    if (OPENING.has(kind)) depth += 1;
    else if (CLOSING.has(kind)) depth -= 1;
    if (depth > MAX_BRACKETS) throw new GraphQLError("Query is nested too deeply");
    if (tokens === MAX_TOKENS) throw new GraphQLError(`Query has more than ${MAX_TOKENS} tokens`);
  }
}

/**
 * Checks a document before it is validated.
 *
 * @throws GraphQLError if it has too many fields, or too many of one name
 */
export function requireFewFields({ definitions }: DocumentNode): void {
  let left = MAX_FIELDS;
  const names = new Map<string, number>();
  const countName = (name: string): void => {
    const known = (names.get(name) ?? 0) + 1;
    if (known > MAX_WITH_NAME) {
      throw new GraphQLError(`Query has more than ${MAX_WITH_NAME} fields named '${name}'`);
    }
    names.set(name, known);
  };
  const count = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      left -= 1;
      if (left < 0) throw new GraphQLError(`Query has more than ${MAX_FIELDS} fields`);
      if (selection.kind === Kind.FIELD) countName((selection.alias ?? selection.name).value);
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
  readonly complexity: number;
  readonly depth: number;
  /** Values that the answers to `__schema` and `__type` have, at most. */
  readonly introspection: number;
}

/** Fields below which the same field may be nested again. */
const TRANSPARENT = new Set(["node", "nodes", "edges", "ofType"]);
/** How often a field may be nested in itself. */
const MAX_RECURSION = 2;
/** Stops counting, since nested fragments can describe more fields than there are atoms. */
const MAX_COUNTED = 10_000;
/** What each row of a page adds to the cost of a connection, as a share of the rest. */
const COST_OF_ROW = 0.01;

/**
 * Counts the complexity and depth of an operation by GitLab's rules: a field costs 1 and its children; searching and
 * sorting cost more; a connection costs more the longer its pages are. Fields that are left out cost nothing.
 * Introspection is counted by itself.
 *
 * @throws GraphQLError if a field is nested in itself too often, or if there are too many fields
 */
export function costOf(schema: Schema, selecting: Selecting): Cost {
  const { operation, variables } = selecting;
  const above: string[] = [];
  let counted = 0;
  let depth = 0;
  let introspection = 0;

  /** The fields of selections by name in the answer: the same one in several fragments counts once. */
  const collected = (sets: readonly SelectionSetNode[], typeName: string) => {
    const found = new Map<string, { owner: string; nodes: FieldNode[] }>();
    const visited = new Set<object>();
    const visit = ({ selections }: SelectionSetNode, owner: string): void => {
      for (const selection of selections) {
        counted += 1;
        if (counted > MAX_COUNTED) throw new GraphQLError("Query is too complex");
        if (!isIncluded(selection, selecting)) continue;
        if (selection.kind === Kind.FIELD) {
          const name = selection.name.value;
          const key = `${selection.alias?.value ?? name} ${name}`;
          const known = found.get(key);
          if (known) known.nodes.push(selection);
          else found.set(key, { owner, nodes: [selection] });
          continue;
        }
        const fragment = fragmentOf(selection, selecting);
        if (visited.has(fragment)) continue;
        visited.add(fragment);
        visit(fragment.selectionSet, fragment.typeCondition?.name.value ?? owner);
      }
    };
    for (const set of sets) visit(set, typeName);
    return found.values();
  };

  const costOfSets = (
    sets: readonly SelectionSetNode[],
    typeName: string,
    level: number,
  ): number => {
    let cost = 0;
    for (const { owner, nodes } of collected(sets, typeName)) {
      cost += costOfField(nodes, owner, level);
    }
    return cost;
  };

  const costOfField = (nodes: readonly FieldNode[], owner: string, level: number): number => {
    const [field] = nodes as readonly [FieldNode];
    const name = field.name.value;
    const sets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    if (name.startsWith("__")) {
      introspection += introspectionCost(schema.graphql, nodes, selecting);
      return 0;
    }
    depth = Math.max(depth, level);
    const declared = schema.types.get(owner)?.fields.get(name);
    const own = ownCost(declared, field, variables);
    if (sets.length === 0) return own;
    if (!TRANSPARENT.has(name)) {
      if (above.filter((other) => other === name).length >= MAX_RECURSION) {
        throw new GraphQLError(`Recursive query - too many of fields '${name}' nested`);
      }
    }
    above.push(name);
    const type = schema.graphql.getType(owner) as GraphQLObjectType | undefined;
    const children = costOfSets(sets, namedType(type?.getFields()[name]?.type), level + 1);
    above.pop();
    const page = declared?.kind === "children" ? pageOf(declared, field, variables) : 0;
    return Math.floor((own + children) * (1 + page * COST_OF_ROW));
  };

  const root = operation.operation === OperationTypeNode.MUTATION ? "Mutation" : "Query";
  const complexity = costOfSets([operation.selectionSet], root, 1);
  return { complexity, depth, introspection };
}

function namedType(type: GraphQLOutputType | undefined): string {
  const named = type && getNamedType(type);
  return named && isCompositeType(named) ? named.name : "";
}

/** GitLab's costs of arguments. */
const SEARCH_COST = 5;
const SORT_COST = 1;

function ownCost(
  declared: OutputField | undefined,
  field: FieldNode,
  variables: Readonly<Record<string, unknown>>,
): number {
  if (declared?.complexity !== undefined) return declared.complexity;
  if (declared?.kind !== "children" && declared?.kind !== "loaded") return 1;
  const isGiven = (name: string) => given(field, name, variables) !== undefined;
  return 1 + (isGiven("search") ? SEARCH_COST : 0) + (isGiven("sort") ? SORT_COST : 0);
}

/** What a document says about an argument: a number, or anything that is not null. */
function given(
  { arguments: args = [] }: FieldNode,
  name: string,
  variables: Readonly<Record<string, unknown>>,
): unknown {
  const sent = args.find((one) => one.name.value === name)?.value;
  if (sent?.kind === Kind.VARIABLE) return variables[sent.name.value] ?? undefined;
  if (sent?.kind === Kind.INT) return Number(sent.value);
  return sent?.kind === Kind.NULL ? undefined : sent;
}

/** The rows of a page, as far as a document says; none if its cost is declared, or for the rows with one number. */
function pageOf(
  { shape, complexity, maxPage = 100 }: Extract<OutputField, { kind: "children" }>,
  field: FieldNode,
  variables: Readonly<Record<string, unknown>>,
): number {
  const isFixed = complexity !== undefined || given(field, "iid", variables) !== undefined;
  if (shape === "first" || isFixed) return 0;
  const asked = given(field, "first", variables) ?? given(field, "last", variables);
  return typeof asked === "number" ? Math.min(Math.max(asked, 0), maxPage) : maxPage;
}
