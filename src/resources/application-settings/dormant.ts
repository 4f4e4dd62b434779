import { storedIn } from "../../core/kept.ts";
import type { Reader } from "../../store/port.ts";
import { keptSettings } from "./kept.ts";

/** What the application's settings say about users who do nothing. */
export interface Dormancy {
  /** Whether they are deactivated by themselves. */
  readonly isSwept: boolean;
  /** After so many days. */
  readonly days: number;
}

/** When users count as dormant. */
export async function dormancy(db: Reader): Promise<Dormancy> {
  const settings = keptSettings.read(await storedIn(db, "application_settings", 1));
  return {
    isSwept: settings.deactivate_dormant_users === true,
    // Stored zeros are from when any number was kept.
    days: Math.max(1, Number(settings.deactivate_dormant_users_period)),
  };
}
