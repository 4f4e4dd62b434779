import * as param from "../../core/input.ts";
import { effective, kept, keptIn, storedIn } from "../../core/kept.ts";
import type { Reader, Value } from "../../store/port.ts";

/** What a project decides about its pipelines. */
export interface CiSettings {
  /** The path of its configuration. */
  readonly configurationPath: string;
  /** Seconds after which a job is ended that says nothing about it. */
  readonly timeout: number;
}

const DEFAULTS: CiSettings = { configurationPath: ".gitlab-ci.yml", timeout: 3600 };

/** What a project decides about its pipelines. @param projectId `undefined` if it is yet to be created */
export async function ciSettingsOf(db: Reader, projectId: number | undefined): Promise<CiSettings> {
  if (projectId === undefined) return DEFAULTS;
  const [found] = await db.rows("select ci_config_path, build_timeout from projects where id = ?", [
    projectId,
  ]);
  const [path, timeout] = found as [string | null, number];
  return { configurationPath: path ?? DEFAULTS.configurationPath, timeout };
}

const on = effective(kept(param.boolean(), true));

/** The settings of projects about what deployments are refused, which are kept with others. */
export const DEPLOYMENT_SETTINGS = {
  ci_forward_deployment_enabled: on,
  ci_forward_deployment_rollback_allowed: on,
};

/** The setting of projects whether new pipelines cancel older ones. */
export const PENDING_SETTINGS = {
  auto_cancel_pending_pipelines: effective(kept(param.choice(["enabled", "disabled"]), "enabled")),
};

/** Whether a project's kept settings say that new pipelines cancel older ones. */
export const cancelsPendingIn = (stored: Value | undefined) =>
  keptIn("p.kept_settings", PENDING_SETTINGS).read(stored).auto_cancel_pending_pipelines ===
  "enabled";

/** The setting of projects what the subject of tokens of jobs is made of. */
export const TOKEN_SETTINGS = {
  ci_id_token_sub_claim_components: effective(
    kept(
      param.checked(
        param.arrayOf(param.choice(["project_path", "ref_type", "ref"]), { max: 3 }),
        (names) => names[0] === "project_path" && new Set(names).size === names.length,
        "must begin with project_path, and name nothing twice",
      ),
      ["project_path", "ref_type", "ref"],
    ),
  ),
};

/** The setting of projects in which order the jobs of new resource groups run. */
export const RESOURCE_GROUP_SETTINGS = {
  resource_group_default_process_mode: effective(
    kept(
      param.choice(["unordered", "oldest_first", "newest_first", "newest_ready_first"]),
      "unordered",
    ),
  ),
};

/** In which order the jobs of a project's new resource groups run. */
export async function resourceGroupModeOf(db: Reader, projectId: number) {
  const stored = await storedIn(db, "projects", projectId);
  return keptIn("kept_settings", RESOURCE_GROUP_SETTINGS).read(stored)
    .resource_group_default_process_mode;
}

/** Reads what a project's kept settings say about deployments. */
export const deploymentSettingsIn = (stored: Value | undefined) =>
  keptIn("p.kept_settings", DEPLOYMENT_SETTINGS).read(stored);
