import type { Resource } from "../core/resource.ts";
import { applicationApi } from "./api.ts";
import { migrations } from "./table.ts";

/** The OAuth2 provider (contract §5). */
export const oauth: readonly Resource[] = [
  { name: "OAuth2", migrations, routes: [] },
  applicationApi,
];
