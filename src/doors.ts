import { accountsResource } from "./accounts/index.ts";
import type { Resource } from "./core/resource.ts";
import { resources } from "./resources/index.ts";
import { pages } from "./web/index.ts";

/** All that has routes or tables: the API's resources, and the doors beside it. */
export const everything: readonly Resource[] = [...resources, accountsResource, ...pages];
