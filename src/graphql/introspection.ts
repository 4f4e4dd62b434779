import {
  executeSync,
  type FieldNode,
  type GraphQLError,
  type GraphQLSchema,
  getIntrospectionQuery,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
} from "graphql";
import { definitionsOf, fragmentOf, isIncluded, type Selecting } from "./selections.ts";

/** Answers kept: describing the whole schema takes a tenth of a second. */
const MAX_KEPT = 8;
/** Characters of the key and the text of an answer that is kept. */
const MAX_KEPT_CHARACTERS = 2 * 1024 * 1024;
const kept = new WeakMap<GraphQLSchema, Map<string, string>>();

/**
 * Answers `__schema` or `__type` by graphql-js, which knows them.
 *
 * @param nodes the field, as selected in all places
 * @param errors gets what is wrong
 * @returns the JSON text of the field's value
 */
export function introspected(
  schema: GraphQLSchema,
  { operation, fragments, sent }: Selecting & { sent: Readonly<Record<string, unknown>> },
  nodes: readonly FieldNode[],
  errors: GraphQLError[],
): string {
  const answers = kept.get(schema) ?? new Map<string, string>();
  kept.set(schema, answers);
  const places = [operation, ...nodes].map(({ loc }) => loc?.start);
  const key = JSON.stringify([operation.loc?.source.body, places, sent]);
  const known = answers.get(key);
  if (known !== undefined) return known;
  const alone: OperationDefinitionNode = {
    ...operation,
    selectionSet: { kind: Kind.SELECTION_SET, selections: nodes },
  };
  const result = executeSync({
    schema,
    document: { kind: Kind.DOCUMENT, definitions: [alone, ...fragments.values()] },
    variableValues: sent,
  });
  if (result.errors) errors.push(...result.errors);
  const text = JSON.stringify(Object.values(result.data ?? {})[0] ?? null);
  if (result.errors || key.length + text.length > MAX_KEPT_CHARACTERS) return text;
  answers.set(key, text);
  if (answers.size > MAX_KEPT) answers.delete(answers.keys().next().value as string);
  return text;
}

/** How many of what introspection lists there are: of all types together, and of the type that has most. */
interface Sizes {
  readonly all: Readonly<Record<string, number>>;
  readonly most: Readonly<Record<string, number>>;
  /** The most that one request may ask for. */
  readonly limit: number;
}

const sizes = new WeakMap<GraphQLSchema, Sizes>();

/**
 * How many values the answer to a field of introspection has, at most. Lists of lists multiply: a document of a few
 * hundred characters could ask for gigabytes.
 *
 * @param nodes the field, as selected in all places
 */
export function introspectionCost(
  schema: GraphQLSchema,
  nodes: readonly FieldNode[],
  selecting: Pick<Selecting, "fragments" | "variables">,
): number {
  return costOfSet({ kind: Kind.SELECTION_SET, selections: nodes }, selecting, sizesOf(schema));
}

/** The most values that introspection may give: twice as many as tools need to know the whole schema. */
export const introspectionLimit = (schema: GraphQLSchema) => sizesOf(schema).limit;

/** Objects at a place of a document: how many, and whether they are all that there are, none of them twice. */
interface Place {
  readonly count: number;
  readonly isAll: boolean;
}

function costOfSet(
  set: SelectionSetNode,
  selecting: Pick<Selecting, "fragments" | "variables">,
  { all, most, limit }: Sizes,
): number {
  let cost = 0;
  const visit = ({ selections }: SelectionSetNode, { count, isAll }: Place): void => {
    for (const selection of selections) {
      cost += Math.max(count, 1);
      // Nested fragments could otherwise describe more fields than can be counted.
      if (cost > limit) return;
      if (!isIncluded(selection, selecting)) continue;
      if (selection.kind !== Kind.FIELD) {
        visit(fragmentOf(selection, selecting).selectionSet, { count, isAll });
      } else if (selection.selectionSet) {
        const name = selection.name.value;
        const items = all[name];
        const below =
          items === undefined
            ? { count, isAll: name === "__schema" }
            : isAll
              ? { count: items, isAll }
              : { count: count * (most[name] ?? 0), isAll };
        visit(selection.selectionSet, below);
      }
    }
  };
  visit(set, { count: 1, isAll: false });
  return cost;
}

function sizesOf(schema: GraphQLSchema): Sizes {
  const known = sizes.get(schema);
  if (known) return known;
  const types = Object.values(schema.getTypeMap());
  const withFields = types.filter((type) => isObjectType(type) || isInterfaceType(type));
  const lists: Record<string, number[]> = {
    types: [types.length],
    directives: [schema.getDirectives().length],
    fields: withFields.map((type) => Object.keys(type.getFields()).length),
    args: [
      ...withFields.flatMap((type) =>
        Object.values(type.getFields()).map(({ args }) => args.length),
      ),
      ...schema.getDirectives().map(({ args }) => args.length),
    ],
    inputFields: types
      .filter(isInputObjectType)
      .map((type) => Object.keys(type.getFields()).length),
    interfaces: withFields.map((type) => type.getInterfaces().length),
    possibleTypes: types.map((type) =>
      "getTypes" in type || isInterfaceType(type) ? schema.getPossibleTypes(type).length : 0,
    ),
    enumValues: types.map((type) => ("getValues" in type ? type.getValues().length : 0)),
  };
  const mapped = (of: (counts: readonly number[]) => number) =>
    Object.fromEntries(Object.entries(lists).map(([name, counts]) => [name, of(counts)]));
  const all = mapped((counts) => counts.reduce((sum, count) => sum + count, 0));
  const most = mapped((counts) => Math.max(...counts));
  const found = { all, most, limit: 2 * costOfStandard({ all, most }) };
  sizes.set(schema, found);
  return found;
}

/** What the query costs with which tools read a schema, with all that it can ask for. */
function costOfStandard(known: Omit<Sizes, "limit">): number {
  const query = getIntrospectionQuery({
    descriptions: true,
    specifiedByUrl: true,
    directiveIsRepeatable: true,
    schemaDescription: true,
    inputValueDeprecation: true,
    oneOf: true,
  });
  const { operations, fragments } = definitionsOf(parse(query));
  const [{ selectionSet }] = operations as readonly [OperationDefinitionNode];
  const unlimited = { ...known, limit: Number.POSITIVE_INFINITY };
  return costOfSet(selectionSet, { fragments, variables: {} }, unlimited);
}
