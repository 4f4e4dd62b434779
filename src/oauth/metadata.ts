import { Json, type Resource, routes } from "../core/resource.ts";
import { APPLICATION_SCOPES } from "../core/scopes.ts";
import { CHALLENGE_METHODS } from "./pkce.ts";
import type { Flows } from "./rules.ts";

const { get } = routes();

/** Authorization server metadata (RFC 8414), from which clients configure themselves. */
export function metadata(flows: Flows): Resource {
  const described = (base: string) => ({
    issuer: base,
    authorization_endpoint: `${base}/oauth/authorize`,
    token_endpoint: `${base}/oauth/token`,
    revocation_endpoint: `${base}/oauth/revoke`,
    introspection_endpoint: `${base}/oauth/introspect`,
    scopes_supported: Object.keys(APPLICATION_SCOPES),
    response_types_supported: ["code", ...(flows.implicit ? ["token"] : [])],
    grant_types_supported: [
      "authorization_code",
      "refresh_token",
      ...(flows.implicit ? ["implicit"] : []),
      ...(flows.password ? ["password"] : []),
    ],
    token_endpoint_auth_methods_supported: [...SECRET_METHODS, "none"],
    revocation_endpoint_auth_methods_supported: [...SECRET_METHODS, "none"],
    introspection_endpoint_auth_methods_supported: SECRET_METHODS,
    code_challenge_methods_supported: CHALLENGE_METHODS,
    authorization_response_iss_parameter_supported: true,
  });
  return {
    name: "OAuth2 metadata",
    migrations: [],
    routes: [
      get("/.well-known/oauth-authorization-server", {
        summary: "Get the OAuth2 provider's metadata (RFC 8414)",
        access: "anyone",
        examples: [described("https://pm.example.com")],
        handle: ({ view: { base } }) => new Json(described(base)),
      }),
    ],
  };
}

const SECRET_METHODS = ["client_secret_basic", "client_secret_post"];
