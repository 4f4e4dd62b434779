import type { Resource, Route } from "../../src/core/resource.ts";
import { everything } from "../../src/doors.ts";

/** Every route of the API, as data: tests that iterate over them cover new ones automatically. */
export const routes: readonly Route[] = everything
  .filter(({ door }) => door === undefined)
  .flatMap((resource) => resource.routes);

/** The resource that declares a route. */
export function resourceOf(route: Route): Resource {
  return everything.find((resource) => resource.routes.includes(route)) as Resource;
}
