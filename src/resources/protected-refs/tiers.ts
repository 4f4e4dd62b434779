import type { Tier } from "../../core/resource.ts";

/** Whether rules about branches can ask for approvals of code owners. */
export const hasCodeOwners = (tier: Tier): boolean => tier === "ultimate";
