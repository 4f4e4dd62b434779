import * as v from "valibot";
import { type InstantSeed, instant, oneOf, seedList, type Word } from "../../core/seeding.ts";
import {
  DEPLOYMENT_STATUSES,
  type DeploymentStatus,
  insertDeployment,
} from "../ci/environments.ts";
import { queueTask } from "../ci/progress.ts";
import type { SeededEnvironment } from "../environments/seed.ts";
import { tipOf } from "../repositories/seed.ts";

/** A deployment of a seed. */
export interface DeploymentSeed {
  /** A user name. */
  user: string;
  /** A branch, or a tag with `tag`. */
  ref: string;
  tag?: boolean | undefined;
  /** The name of a commit. Default: the one that the branch or tag is for. */
  sha?: string | undefined;
  status?: Word<DeploymentStatus> | undefined;
  created_at?: InstantSeed;
}

/** The deployments to an environment. */
export const deploymentsPart = seedList({
  entries: {
    user: v.string(),
    ref: v.string(),
    tag: v.optional(v.boolean(), false),
    sha: v.optional(v.string()),
    status: v.optional(oneOf(DEPLOYMENT_STATUSES), "success"),
    created_at: instant,
  },
  counted: "deployments",
  async insert(seeding, deployment, { id, project }: SeededEnvironment) {
    const { user, ref, tag, status, created_at: at = project.createdAt } = deployment;
    const made = {
      project_id: project.id,
      environment_id: id,
      user_id: seeding.userId(user),
      ref,
      tag,
      sha: deployment.sha ?? (await tipOf(seeding, project.id, ref, tag)),
      status,
    };
    const deployed = await insertDeployment(seeding.db, made, at);
    if (status === "success") await queueTask(seeding.db, { deployed }, at);
  },
});
