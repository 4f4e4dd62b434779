import { accountsResource } from "./audit/index.ts";
import type { Resource } from "./core/resource.ts";
import { metricsResource, type ReadMetrics } from "./metrics/index.ts";
import { oauth } from "./oauth/index.ts";
import type { Flows } from "./oauth/rules.ts";
import { resources } from "./resources/index.ts";
import { PAGE_NAMES, type PageName, pages } from "./web/index.ts";

/** Which optional pages and OAuth flows are enabled, and where metrics come from. */
export interface MountOptions {
  flows: Flows;
  pages: readonly PageName[];
  metrics: ReadMetrics;
}

/** Everything with routes or tables: the API's resources and the other mounts. Tables exist whatever is chosen. */
export function mounts(chosen: MountOptions): readonly Resource[] {
  return [
    ...resources,
    metricsResource(chosen.metrics),
    accountsResource,
    ...oauth(chosen.flows),
    ...pages(chosen.pages),
  ];
}

/** {@link mounts} with all optional parts enabled. */
export const allMounts: readonly Resource[] = mounts({
  flows: { implicit: true, password: true },
  pages: PAGE_NAMES,
  metrics: async () => "",
});
