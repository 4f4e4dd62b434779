import { GraphQLError, OperationTypeNode, parse, validate } from "graphql";
import { requireFewFields, requireParsable } from "./limits.ts";
import type { Schema } from "./schema.ts";
import { type Definitions, definitionsOf } from "./selections.ts";

/** Validation errors shown at most, as in GitLab. */
const MAX_ERRORS = 5;
/** Characters of the documents kept: clients send the same few again and again. Each character takes 200 bytes. */
const MAX_KEPT = 200_000;

/** A document that can be executed, or what is wrong with it. */
export type Read =
  | { readonly errors: readonly GraphQLError[] }
  | (Definitions & { errors?: never });

/** Parses and validates documents, and remembers the last ones that were valid. */
export class Documents {
  readonly #schema: Schema;
  readonly #kept = new Map<string, Read>();
  #characters = 0;

  constructor(schema: Schema) {
    this.#schema = schema;
  }

  /** The document with a text. */
  get(text: string): Read {
    const known = this.#kept.get(text);
    if (known) {
      // The last one used is the last one to be forgotten.
      this.#kept.delete(text);
      this.#kept.set(text, known);
      return known;
    }
    const read = this.#read(text);
    if (!read.errors) this.#keep(text, read);
    return read;
  }

  #keep(text: string, read: Read): void {
    this.#kept.set(text, read);
    this.#characters += text.length;
    for (const oldest of this.#kept.keys()) {
      if (this.#characters <= MAX_KEPT) return;
      this.#kept.delete(oldest);
      this.#characters -= oldest.length;
    }
  }

  #read(text: string): Read {
    try {
      requireParsable(text);
      const document = parse(text);
      requireFewFields(document);
      const errors = validate(this.#schema.graphql, document, undefined, { maxErrors: MAX_ERRORS });
      if (errors.length > 0) return { errors: errors.slice(0, MAX_ERRORS) };
      const definitions = definitionsOf(document);
      const [other] = definitions.operations.filter(
        ({ operation }) => operation === OperationTypeNode.SUBSCRIPTION,
      );
      // Without a type of subscriptions, graphql-js validates nothing in them.
      if (!other) return definitions;
      return { errors: [new GraphQLError("Subscriptions are not supported", { nodes: other })] };
    } catch (error) {
      if (error instanceof GraphQLError) return { errors: [error] };
      throw error;
    }
  }
}
