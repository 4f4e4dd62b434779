import { accountsResource } from "./accounts/index.ts";
import type { Resource } from "./core/resource.ts";
import { oauth } from "./oauth/index.ts";
import type { Flows } from "./oauth/rules.ts";
import { resources } from "./resources/index.ts";
import { PAGE_NAMES, type PageName, pages } from "./web/index.ts";

/** What there is of all that can be switched off. */
export interface Chosen {
  flows: Flows;
  pages: readonly PageName[];
}

/** All that has routes or tables: the API's resources, and the doors beside it. Tables are there whatever is chosen. */
export function doors(chosen: Chosen): readonly Resource[] {
  return [...resources, accountsResource, ...oauth(chosen.flows), ...pages(chosen.pages)];
}

/** The same with all that can be switched off. */
export const everything: readonly Resource[] = doors({
  flows: { implicit: true, password: true },
  pages: PAGE_NAMES,
});
