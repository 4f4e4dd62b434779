const SETTING = '"container_registry_access_level":';

/** SQL of whether a project `p` lets some use its images: `container_registry_access_level` is in its kept settings. */
export const isRegistry = (level: "disabled" | "private"): string =>
  `instr(coalesce(p.kept_settings, ''), '${SETTING}"${level}"') > 0`;
