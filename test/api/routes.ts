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

/** Where notes are written or changed, whose commands are performed in transactions of their own. */
const TAKES_COMMANDS =
  /^(POST|PUT) \/projects\/:id\/(issues|merge_requests)\/:noteable_id\/(notes|discussions)/;

const MANY = [
  "PUT /projects/:id/packages/maven/:path*",
  "PUT /projects/:id/packages/npm/:package_name*",
  "POST /projects",
  "POST /projects/:id/housekeeping",
  "POST /projects/:id/releases",
  "POST /todos/mark_as_done",
];

/** The part of a body that has a file, if each request of a route must have one. */
export function filePartOf({ upload, input }: Route): string | undefined {
  const schema = upload && input?.[upload.part];
  return schema?.notes.optional ? undefined : upload?.part;
}

/**
 * Whether a route stores in several transactions: before its own a file, or objects of a repository; or after it. They
 * can't be undone one by one: ids would be given twice, and what is known of them would be another's.
 */
export const storesInMany = (route: Route) => {
  const { body, repository, isReading, method, path } = route;
  return (
    filePartOf(route) !== undefined ||
    body === "file" ||
    ((repository || /^\/(projects|groups)\/:id\/wikis/.test(path)) && !isReading) ||
    MANY.includes(`${method} ${path}`) ||
    TAKES_COMMANDS.test(`${method} ${path}`)
  );
};
