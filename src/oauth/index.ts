import type { Resource } from "../core/resource.ts";
import { applicationApi } from "./api.ts";
import { authorizationEndpoint } from "./authorize.ts";
import { tokenInspection } from "./inspect.ts";
import { metadata } from "./metadata.ts";
import type { Flows } from "./rules.ts";
import { migrations } from "./table.ts";
import { tokenEndpoint } from "./token.ts";

/** The OAuth2 provider (docs/oauth.md), with the enabled flows. */
export function oauth(flows: Flows): readonly Resource[] {
  return [
    { name: "OAuth2", migrations, routes: [] },
    authorizationEndpoint(flows),
    tokenEndpoint(flows),
    tokenInspection,
    metadata(flows),
    applicationApi,
  ];
}
