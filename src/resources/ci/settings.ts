import * as param from "../../core/input.ts";
import { effective, kept, keptIn } from "../../core/kept.ts";
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

/** Reads what a project's kept settings say about deployments. */
export const deploymentSettingsIn = (stored: Value | undefined) =>
  keptIn("p.kept_settings", DEPLOYMENT_SETTINGS).read(stored);
