import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type FragmentSpreadNode,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  getDirectiveValues,
  type InlineFragmentNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
} from "graphql";

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
