import type { Resource } from "../core/resource.ts";
import { deviceAuthorization } from "./device.ts";
import { tokenInspection } from "./inspect.ts";
import type { Flows } from "./rules.ts";
import { migrations } from "./table.ts";
import { tokenEndpoint } from "./token.ts";
import { userInfoEndpoint } from "./userinfo.ts";

/** What applications call without a user, and the OAuth2 provider's tables (docs/oauth.md). */
export function oauthResources(flows: Flows): readonly Resource[] {
  return [
    { name: "OAuth2", migrations, routes: [] },
    tokenEndpoint(flows),
    deviceAuthorization,
    tokenInspection,
    userInfoEndpoint,
  ];
}
