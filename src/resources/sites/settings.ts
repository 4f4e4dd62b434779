import * as param from "../../core/input.ts";
import { effective, kept, keptIn } from "../../core/kept.ts";
import type { Value } from "../../store/port.ts";

/** Who sees the site of a project: nobody, its members, whoever sees the project, or everybody. */
const LEVELS = ["disabled", "private", "enabled", "public"] as const;

/** The setting of projects about who sees their sites. */
export const SITE_SETTINGS = {
  pages_access_level: effective(kept(param.choice(LEVELS), "enabled")),
};

/** What a project's kept settings say about who sees its site. */
export const siteLevelIn = (stored: Value | undefined) =>
  keptIn("p.kept_settings", SITE_SETTINGS).read(stored).pages_access_level;
