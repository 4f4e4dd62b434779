import { type Recording, recordHookEvent } from "../../hooks/events.ts";
import { insertRow } from "../../store/insert.ts";
import type { Awaitable, Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { type EnvironmentTier, slugOf, tierOf } from "./environment-names.ts";

/** What happens in an environment. */
export const STATES = ["available", "stopping", "stopped"] as const;
export type EnvironmentState = (typeof STATES)[number];

/** When environments are stopped by themselves. */
export const STOP_SETTINGS = ["always", "with_action"] as const;

/** An environment, as handlers need it. */
export interface Environment {
  id: number;
  name: string;
  state: EnvironmentState;
  tier: EnvironmentTier;
  updated_at: number;
}

/** A new environment. */
export interface NewEnvironment {
  name: string;
  external_url?: string | null | undefined;
  description?: string | null | undefined;
  /** Default: what the name speaks of. */
  tier?: EnvironmentTier | undefined;
  state?: EnvironmentState | undefined;
  auto_stop_setting?: (typeof STOP_SETTINGS)[number] | undefined;
  /** The merge request whose pipeline adds it. */
  merge_request_id?: number | undefined;
}

/** An environment of a project by its id or name, or `undefined`. */
export function findEnvironment(
  db: Reader,
  projectId: number,
  by: { id: number } | { name: string },
): Awaitable<Environment | undefined> {
  const [column, value] = "id" in by ? ["id", by.id] : ["name", by.name];
  return db.one<Environment>(
    `select id, name, state, tier, updated_at from environments where project_id = ? and ${column} = ?`,
    [projectId, value],
  );
}

/** Adds an environment and returns its id. */
export function insertEnvironment(
  db: Database,
  projectId: number,
  environment: NewEnvironment,
  now: number,
): Promise<number> {
  const { name, external_url, description, tier, state, auto_stop_setting } = environment;
  return insertRow(db, "environments", {
    project_id: projectId,
    name,
    slug: slugOf(name),
    description: description ?? null,
    external_url: external_url ?? null,
    tier: tier ?? tierOf(name),
    state: state ?? "available",
    auto_stop_setting: auto_stop_setting ?? "always",
    merge_request_id: environment.merge_request_id ?? null,
    created_at: now,
    updated_at: now,
  });
}

/** Sets the state of an environment. */
export async function setState(
  db: Database,
  id: number,
  state: EnvironmentState,
  now: number,
): Promise<void> {
  await db.run(
    "update environments set state = ?, auto_stop_at = null, updated_at = ? where id = ?",
    [state, now, id],
  );
}

/** How far a deployment is. */
export const DEPLOYMENT_STATUSES = [
  "created",
  "running",
  "success",
  "failed",
  "canceled",
  "skipped",
  "blocked",
] as const;
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number];

/** The statuses after which nothing more happens. */
const ENDS: readonly DeploymentStatus[] = ["success", "failed", "canceled", "skipped"];

/** A new deployment. */
export interface NewDeployment {
  project_id: number;
  environment_id: number;
  user_id: number | null;
  ref: string;
  tag: boolean;
  sha: string;
  status: DeploymentStatus;
  /** The job that deploys, if it is one. */
  job_id?: number | undefined;
}

/** Adds a deployment and returns its id. One that succeeds makes its environment available. */
export async function insertDeployment(
  db: Database,
  deployment: NewDeployment,
  now: number,
): Promise<number> {
  const { project_id, environment_id, status } = deployment;
  const rows = await db.rows("select max(iid) from deployments where project_id = ?", [project_id]);
  const id = await insertRow(db, "deployments", {
    ...deployment,
    job_id: deployment.job_id ?? null,
    iid: ((rows[0]?.[0] as number | null) ?? 0) + 1,
    tag: Number(deployment.tag),
    created_at: now,
    updated_at: now,
    finished_at: ENDS.includes(status) ? now : null,
  });
  if (status === "success") await setState(db, environment_id, "available", now);
  return id;
}

/** Sets the status of a deployment. One that succeeds makes its environment available. */
export async function setDeploymentStatus(
  db: Database,
  { id, environment_id }: { readonly id: number; readonly environment_id: number },
  status: DeploymentStatus,
  now: number,
): Promise<void> {
  const finished_at = ENDS.includes(status) ? now : undefined;
  await updateRow(db, "deployments", id, { status, finished_at }, now);
  if (status === "success") await setState(db, environment_id, "available", now);
}

/** Tells webhooks that a deployment has got a status, for the user who did it. */
export function tellOfDeployment(
  recording: Recording,
  { id, projectId, userId }: { id: number; projectId: number; userId: number | null },
  status: DeploymentStatus,
): void {
  const of = { project: projectId };
  recordHookEvent(recording, { kind: "deployment", of, userId, id, data: { status } });
}
