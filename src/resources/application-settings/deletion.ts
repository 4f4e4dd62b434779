import { storedIn } from "../../core/kept.ts";
import type { Reader } from "../../store/port.ts";
import { keptSettings } from "./kept.ts";

/** Whether what is deleted is only marked first, and for how many days. */
export interface DelayedDeletion {
  readonly ofProjects: boolean;
  readonly ofGroups: boolean;
  readonly days: number;
}

/** What the application's settings say about deleting projects and groups. */
export async function delayedDeletion(db: Reader): Promise<DelayedDeletion> {
  const settings = keptSettings.read(await storedIn(db, "application_settings", 1));
  return {
    ofProjects: settings.delayed_project_deletion === true,
    ofGroups: settings.delayed_group_deletion === true,
    // Stored zeros are from when any number was kept.
    days: Math.max(1, Number(settings.deletion_adjourned_period)),
  };
}
