import type { Route } from "../../src/core/resource.ts";
import { resources } from "../../src/resources/index.ts";
import type { TestApp } from "../helpers.ts";

/** Every route there is, as data: tests that go through all of them can't forget a new one. */
export const routes: readonly Route[] = resources.flatMap((resource) => resource.routes);

/** What path parameters stand for, by name; `id` once for groups and once for projects. */
export interface Places {
  group: string;
  project: string;
  params: Record<string, string | number>;
}

/** A route's path with its parameters filled in. */
export function pathOf(route: Route, { group, project, params }: Places): string {
  return route.path.replace(/:(\w+)/g, (_, name: string) => {
    if (name === "id") {
      return encodeURIComponent(route.path.startsWith("/groups/") ? group : project);
    }
    const value = params[name];
    if (value === undefined) throw new Error(`no value for :${name} of ${route.path}`);
    return encodeURIComponent(value);
  });
}

/** One of each thing that paths name, in a group and a project of it that have them. */
export async function placesIn(app: TestApp, group: string, project: string): Promise<Places> {
  const first = async (path: string): Promise<number> => {
    const { json } = await app.call(`GET ${path}`, { as: "admin" });
    return json[0].id;
  };
  const at = `/groups/${encodeURIComponent(group)}`;
  const within = `/projects/${encodeURIComponent(project)}`;
  /** Where the seed has none, an id that nothing has. */
  const firstOrNone = async (path: string): Promise<number> => {
    const { json } = await app.call(`GET ${path}`, { as: "admin" });
    return json[0]?.id ?? 0;
  };
  const board_id = await first(`${at}/boards`);
  const user_id = await first("/users?username=owner");
  return {
    group,
    project,
    params: {
      board_id,
      list_id: await first(`${at}/boards/${board_id}/lists`),
      label_id: await first(`${at}/labels`),
      milestone_id: await first(`${at}/milestones`),
      badge_id: await first(`${at}/badges`),
      user_id,
      token_id: await first(`/users/${user_id}/impersonation_tokens`),
      issue_iid: 1,
      merge_request_iid: 1,
      noteable_iid: 1,
      target_iid: 1,
      note_id: await firstOrNone(`${within}/issues/1/notes`),
      award_id: await firstOrNone(`${within}/issues/1/award_emoji`),
      todo_id: await firstOrNone("/todos"),
      name: "a-1.svg",
    },
  };
}
