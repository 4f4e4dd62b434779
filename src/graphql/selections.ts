import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type FragmentSpreadNode,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  getDirectiveValues,
  type InlineFragmentNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from "graphql";
import type { OutputField } from "./declare.ts";
import type { RuntimeType } from "./schema.ts";

/** The definitions of a document. */
export interface Definitions {
  readonly operations: readonly OperationDefinitionNode[];
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
}

/** Sorts the definitions of a document. */
export function definitionsOf({ definitions }: DocumentNode): Definitions {
  const operations: OperationDefinitionNode[] = [];
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) operations.push(definition);
    if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      fragments.set(definition.name.value, definition);
    }
  }
  return { operations, fragments };
}

/** An operation with the fragments of its document, and its variables with their defaults. */
export interface Selecting {
  readonly operation: OperationDefinitionNode;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly variables: Readonly<Record<string, unknown>>;
}

/**
 * Whether `@skip` and `@include` leave a selection in.
 *
 * @throws GraphQLError if a condition is null
 */
export function isIncluded(node: SelectionNode, { variables }: Pick<Selecting, "variables">) {
  if (!node.directives || node.directives.length === 0) return true;
  const skip = getDirectiveValues(GraphQLSkipDirective, node, variables);
  if (skip?.["if"] === true) return false;
  return getDirectiveValues(GraphQLIncludeDirective, node, variables)?.["if"] !== false;
}

/** The fragment that a selection stands for. */
export function fragmentOf(
  selection: FragmentSpreadNode | InlineFragmentNode,
  { fragments }: Pick<Selecting, "fragments">,
): FragmentDefinitionNode | InlineFragmentNode {
  if (selection.kind === Kind.INLINE_FRAGMENT) return selection;
  // Validated documents define all of their fragments.
  return fragments.get(selection.name.value) as FragmentDefinitionNode;
}

/** The fields with one name in the answer. */
export interface Selected {
  readonly key: string;
  readonly name: string;
  readonly nodes: readonly FieldNode[];
}

/** Merges the fields of selections that apply to a type, by their names in the answer. */
export function collect(
  type: RuntimeType,
  sets: readonly SelectionSetNode[],
  document: Selecting,
): Selected[] {
  const found = new Map<string, { key: string; name: string; nodes: FieldNode[] }>();
  const visited = new Set<object>();
  const visit = (set: SelectionSetNode): void => {
    for (const selection of set.selections) {
      if (!isIncluded(selection, document)) continue;
      if (selection.kind === Kind.FIELD) {
        const name = selection.name.value;
        const key = selection.alias?.value ?? name;
        const known = found.get(key);
        if (known) known.nodes.push(selection);
        else found.set(key, { key, name, nodes: [selection] });
        continue;
      }
      const fragment = fragmentOf(selection, document);
      if (visited.has(fragment)) continue;
      visited.add(fragment);
      const condition = fragment.typeCondition?.name.value;
      if (condition === undefined || type.names.has(condition)) visit(fragment.selectionSet);
    }
  };
  for (const set of sets) visit(set);
  return [...found.values()];
}

/** The columns that selections on a type of rows need; its key is the first one. */
export function columnsFor(
  type: RuntimeType,
  sets: readonly SelectionSetNode[],
  document: Selecting,
): string[] {
  const key = (type.rows as NonNullable<RuntimeType["rows"]>).key;
  const columns = new Set([key, ...(type.typeName?.columns ?? [])]);
  for (const object of type.objects.length > 0 ? type.objects : [type]) {
    for (const { name } of collect(object, sets, document)) {
      const declared = object.fields.get(name);
      if (declared) for (const column of columnsOf(declared)) columns.add(column);
    }
  }
  return [...columns];
}

/** What is selected below fields. */
export function setsOf(nodes: readonly FieldNode[]): SelectionSetNode[] {
  return nodes.flatMap(({ selectionSet }) => (selectionSet ? [selectionSet] : []));
}

function columnsOf(declared: OutputField): readonly string[] {
  switch (declared.kind) {
    case "leaf":
      return declared.field.columns;
    case "computed":
      return declared.columns;
    case "loaded":
      return declared.key === undefined ? [] : [declared.key];
    case "children":
      return [...(declared.key === undefined ? [] : [declared.key]), ...(declared.needs ?? [])];
    default:
      return [];
  }
}
