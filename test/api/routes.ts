import type { Resource, Route } from "../../src/core/resource.ts";
import { allMounts } from "../../src/mounts.ts";

const resources = allMounts
  .filter(({ name }) => name === "REST API")
  .flatMap((mount) => mount.resources);

/** Every route of the API, as data: tests that iterate over them cover new ones automatically. */
export const routes: readonly Route[] = resources.flatMap((resource) => resource.routes);

/** The resource that declares a route. */
export function resourceOf(route: Route): Resource {
  return resources.find((resource) => resource.routes.includes(route)) as Resource;
}
