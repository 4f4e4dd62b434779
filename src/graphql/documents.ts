import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  parse,
  validate,
} from "graphql";
import { requireFewFields, requireShallow } from "./limits.ts";
import type { Schema } from "./schema.ts";

/** Validation errors shown at most, as in GitLab. */
const MAX_ERRORS = 5;
/** Tokens of a document. */
const MAX_TOKENS = 5000;
/** Documents kept: clients send the same few again and again. Each has at most 10,000 characters. */
const MAX_KEPT = 200;

/** A valid document. */
export interface Document {
  readonly operations: readonly OperationDefinitionNode[];
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
}

/** Parses and validates documents, and remembers the last ones. */
export class Documents {
  readonly #schema: Schema;
  readonly #kept = new Map<string, Document | readonly GraphQLError[]>();

  constructor(schema: Schema) {
    this.#schema = schema;
  }

  /** The document with a text, or what is wrong with it. */
  get(text: string): Document | readonly GraphQLError[] {
    const known = this.#kept.get(text);
    if (known) {
      // The last one used is the last one to be forgotten.
      this.#kept.delete(text);
      this.#kept.set(text, known);
      return known;
    }
    const read = this.#read(text);
    this.#kept.set(text, read);
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value as string);
    return read;
  }

  #read(text: string): Document | readonly GraphQLError[] {
    let parsed: DocumentNode;
    try {
      requireShallow(text);
      parsed = parse(text, { maxTokens: MAX_TOKENS });
      requireFewFields(parsed);
    } catch (error) {
      if (error instanceof GraphQLError) return [error];
      throw error;
    }
    const errors = validate(this.#schema.graphql, parsed, undefined, { maxErrors: MAX_ERRORS });
    if (errors.length > 0) return errors.slice(0, MAX_ERRORS);
    const { definitions } = parsed;
    const fragments = definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
    return {
      operations: definitions.filter(
        ({ kind }) => kind === Kind.OPERATION_DEFINITION,
      ) as OperationDefinitionNode[],
      fragments: new Map(
        (fragments as FragmentDefinitionNode[]).map((one) => [one.name.value, one]),
      ),
    };
  }
}
