import * as field from "../../../core/field.ts";
import { presenter } from "../../../core/presenter.ts";
import { isoInstant } from "../../../core/time.ts";
import { blockOf, projectOf, userOf } from "./blocks.ts";
import { commitBlock, openCode } from "./commits.ts";
import type { HookPayload, Making, ToldHookEvent } from "./making.ts";

const deployment = presenter({
  id: field.integer("dp.id"),
  project_id: field.integer("dp.project_id"),
  user_id: field.integer("dp.user_id"),
  status: field.text("dp.status"),
  ref: field.text("dp.ref"),
  sha: field.text("dp.sha"),
  name: field.text("en.name"),
  tier: field.text("en.tier"),
  slug: field.text("en.slug"),
  external_url: field.text("en.external_url"),
  user_url: field.url("u.username", (username) => `/${username}`),
});

const FROM = `deployments dp join environments en on en.id = dp.environment_id
  left join users u on u.id = dp.user_id where dp.id = ?`;

/** The payload about a status of a deployment. */
export async function deploymentEvent(
  making: Making,
  { data, at }: ToldHookEvent,
): Promise<HookPayload | undefined> {
  const found = await blockOf(making, deployment, FROM, [data.id]);
  if (!found) return undefined;
  const projectId = found["project_id"] as number;
  const project = await projectOf(making, projectId);
  if (!project) return undefined;
  const sha = found["sha"] as string;
  const commit = await commitBlock(await openCode(making, projectId), sha);
  return {
    event: "deployment",
    title: "Deployment Hook",
    body: {
      object_kind: "deployment",
      status: data["status"] ?? found["status"],
      status_changed_at: isoInstant(at),
      deployment_id: data.id,
      deployable_id: null,
      deployable_url: null,
      environment: found["name"],
      environment_tier: found["tier"],
      environment_slug: found["slug"],
      environment_external_url: found["external_url"],
      project,
      short_sha: sha.slice(0, 8),
      user: await userOf(making, found["user_id"] as number | null),
      user_url: found["user_url"],
      commit_url: `${project["web_url"]}/-/commit/${sha}`,
      commit_title: commit?.["title"] ?? null,
      ref: found["ref"],
    },
  };
}
