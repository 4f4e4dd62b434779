import { GraphQLError } from "graphql";
import { ApiError } from "../core/errors.ts";
import { GraphError } from "./declare.ts";
import { messageOf } from "./errors.ts";
import type { Selected } from "./selections.ts";
import { type Path, REFUSED, type Text } from "./texts.ts";

/** Errors of one answer: a wrong argument would otherwise be reported for each of thousands of objects. */
const MAX_ERRORS = 100;

/** The errors that an answer tells besides its data. */
export class Problems {
  readonly found: GraphQLError[] = [];

  /** The texts of a field that must not be null. */
  required(texts: readonly Text[], field: Selected, paths: readonly (Path | undefined)[]): Text[] {
    return texts.map((text, index) => {
      if (text !== "null") return text;
      const problem = `Cannot return null for non-nullable field ${field.name}.`;
      this.report(new GraphError(problem), field, [paths[index]]);
      return REFUSED;
    });
  }

  /** Adds an error to the answer, for each place. Failures that are not the client's end the request. */
  report(error: unknown, { nodes }: Selected, places: readonly (Path | undefined)[]): void {
    const isKnown =
      error instanceof GraphError || error instanceof GraphQLError || error instanceof ApiError;
    if (!isKnown || (error instanceof ApiError && error.status >= 500)) throw error;
    const message = error instanceof ApiError ? messageOf(error) : error.message;
    for (const place of places.slice(0, MAX_ERRORS - this.found.length)) {
      const path: (string | number)[] = [];
      for (let step = place; step; step = step.before) path.unshift(step.at);
      this.found.push(new GraphQLError(message, { nodes, path }));
    }
  }
}
