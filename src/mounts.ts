import { migrations } from "./auth/table.ts";
import type { Resource } from "./core/resource.ts";
import { oauth } from "./oauth/index.ts";
import type { Flows } from "./oauth/rules.ts";
import { resources } from "./resources/index.ts";
import { PAGE_NAMES, type PageName, pages } from "./web/index.ts";

/** Which optional pages and OAuth flows are enabled. */
export interface MountOptions {
  flows: Flows;
  pages: readonly PageName[];
}

/** Everything with routes or tables: the API's resources and the other mounts. Tables exist whatever is chosen. */
export function mounts(chosen: MountOptions): readonly Resource[] {
  const auth: Resource = { name: "Authentication", migrations, routes: [] };
  return [...resources, auth, ...oauth(chosen.flows), ...pages(chosen.pages)];
}

/** {@link mounts} with all optional parts enabled. */
export const allMounts: readonly Resource[] = mounts({
  flows: { implicit: true, password: true },
  pages: PAGE_NAMES,
});
