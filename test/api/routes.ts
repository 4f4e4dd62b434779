import type { Resource, Route } from "../../src/core/resource.ts";
import { allMounts } from "../../src/mounts.ts";
import { topicResource } from "../toy/topics.ts";

/** The API's resources, and the toy, which has the kinds of routes that the API doesn't have yet. */
const resources = [
  ...allMounts.filter(({ name }) => name === "REST API").flatMap((mount) => mount.resources),
  topicResource,
];

/**
 * Every route of the API, as data: tests that iterate over them cover new ones automatically. Their app needs the
 * mounts of test/toy.
 */
export const routes: readonly Route[] = resources.flatMap((resource) => resource.routes);

/** The resource that declares a route. */
export function resourceOf(route: Route): Resource {
  return resources.find((resource) => resource.routes.includes(route)) as Resource;
}
