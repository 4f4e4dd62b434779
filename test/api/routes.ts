import type { Route } from "../../src/core/resource.ts";
import { allMounts } from "../../src/mounts.ts";
import type { TestApp } from "../helpers.ts";
import { topicResource } from "../toy/topics.ts";

/** Every route of the API, as data: tests that iterate over them cover new ones automatically. */
export const routes: readonly Route[] = allMounts
  .filter(({ name }) => name === "REST API")
  .flatMap(({ resources }) => resources)
  .flatMap((resource) => resource.routes);

/** {@link routes} and the toys', which have the kinds of routes that the API doesn't have yet; for apps with the toys. */
export const routesWithToys: readonly Route[] = [...routes, ...topicResource.routes];

/** Values of path parameters by name; `id` once for groups and once for projects. */
export interface Places {
  group: string;
  project: string;
  params: Record<string, string | number>;
}

/** A route's path with its parameters filled in. */
export function pathOf(route: Route, { group, project, params }: Places): string {
  return route.path.replace(/:(\w+)\*?/g, (_, name: string) => {
    if (name === "id") {
      return encodeURIComponent(route.path.startsWith("/groups/") ? group : project);
    }
    const value = (route.path.includes("/merge_requests/") && params[`mr_${name}`]) || params[name];
    if (value === undefined) throw new Error(`no value for :${name} of ${route.path}`);
    return encodeURIComponent(value);
  });
}

/**
 * One record for each path parameter, in a group and a project of that group. Names of parameters below a merge request
 * begin with `mr_` if an issue has the same.
 */
export async function placesIn(
  app: Pick<TestApp, "call">,
  group: string,
  project: string,
): Promise<Places> {
  const first = async (path: string, key = "id"): Promise<number> => {
    const { json } = await app.call(`GET ${path}`, { as: "admin" });
    return json[0]?.[key] ?? 0;
  };
  const inGroup = `/groups/${encodeURIComponent(group)}`;
  const inProject = `/projects/${encodeURIComponent(project)}`;
  const board_id = await first(`${inGroup}/boards`);
  const user_id = await first("/users?username=owner");
  const issue = await first(`${inProject}/issues?sort=asc`, "iid");
  const request = await first(`${inProject}/merge_requests?sort=asc`, "iid");
  const ofIssue = `${inProject}/issues/${issue}`;
  const ofRequest = `${inProject}/merge_requests/${request}`;
  return {
    group,
    project,
    params: {
      board_id,
      list_id: await first(`${inGroup}/boards/${board_id}/lists`),
      label_id: await first(`${inGroup}/labels`),
      milestone_id: await first(`${inGroup}/milestones`),
      badge_id: await first(`${inGroup}/badges`),
      topic_id: await first(`${inGroup}/topics`),
      user_id,
      token_id: await first(`/users/${user_id}/impersonation_tokens`),
      forked_from_id: await first("/projects?search=core"),
      issue_iid: issue,
      merge_request_iid: request,
      noteable_iid: issue,
      mr_noteable_iid: request,
      target_iid: issue,
      mr_target_iid: request,
      note_id: await first(`${ofIssue}/notes?sort=asc`),
      mr_note_id: await first(`${ofRequest}/notes?sort=asc`),
      application_id: await first("/applications"),
      award_id: await first(`${ofIssue}/award_emoji`),
      mr_award_id: await first(`${ofRequest}/award_emoji`),
      audit_event_id: 1,
      todo_id: await first("/todos"),
      slug: await first(`${inProject}/wikis`, "slug"),
      snippet_id: await first("/snippets"),
      secret: "0".repeat(32),
      file_name: "none.txt",
    },
  };
}
