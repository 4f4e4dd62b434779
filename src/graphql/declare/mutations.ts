import type { Resource, Route } from "../../core/resource.ts";
import type { Args, Mutation, MutationContext, OutputFields, Values } from "./declarations.ts";

/** Declares a mutation. */
export function mutation<const A extends Args>(declared: {
  about: string;
  input: A;
  payload: OutputFields;
  run: (input: Values<A>, context: MutationContext) => Promise<object>;
}): Mutation {
  return declared as Mutation;
}

/**
 * A route of a resource, for mutations that perform it.
 *
 * @param name method and path, such as `"POST /projects/:id/issues"`
 * @throws TypeError if the resource has no such route
 */
export function routeOf({ name: resource, routes }: Resource, name: string): Route {
  const found = routes.find(({ method, path }) => `${method} ${path}` === name);
  if (!found) throw new TypeError(`${resource} has no route ${name}`);
  return found;
}
