import { accountsResource } from "./accounts/index.ts";
import type { Resource } from "./core/resource.ts";
import { oauth } from "./oauth/index.ts";
import type { Flows } from "./oauth/rules.ts";
import { resources } from "./resources/index.ts";
import { pages } from "./web/index.ts";

/** All that has routes or tables: the API's resources, and the doors beside it. */
export function doors(flows: Flows): readonly Resource[] {
  return [...resources, accountsResource, ...oauth(flows), ...pages];
}

/** The same with all that can be switched off. */
export const everything: readonly Resource[] = doors({ implicit: true, password: true });
