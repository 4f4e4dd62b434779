import { ownOr } from "../../core/access/abilities.ts";

/** Whether the caller may remove time spent: their own, or any as a maintainer. */
export const mayRemoveTime = ownOr("maintainer");
