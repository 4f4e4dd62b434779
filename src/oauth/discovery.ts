import { publicKeys } from "../auth/signing-keys.ts";
import * as param from "../core/input.ts";
import { Json, RawReply, type Resource, routes } from "../core/resource.ts";
import { APPLICATION_SCOPES } from "../core/scopes.ts";
import { PROMPTS } from "./asking.ts";
import { CLAIMS } from "./claims.ts";
import { CHALLENGE_METHODS } from "./pkce.ts";
import { DEVICE_GRANT, type Flows } from "./rules.ts";

const { get } = routes();

const SECRET_METHODS = ["client_secret_basic", "client_secret_post"];

/** What clients learn of the server from its address alone: endpoints, options and keys. */
export function discovery(flows: Flows): Resource {
  const described = (base: string) => ({
    issuer: base,
    authorization_endpoint: `${base}/oauth/authorize`,
    token_endpoint: `${base}/oauth/token`,
    device_authorization_endpoint: `${base}/oauth/authorize_device`,
    revocation_endpoint: `${base}/oauth/revoke`,
    introspection_endpoint: `${base}/oauth/introspect`,
    userinfo_endpoint: `${base}/oauth/userinfo`,
    jwks_uri: `${base}/oauth/discovery/keys`,
    scopes_supported: Object.keys(APPLICATION_SCOPES),
    response_types_supported: ["code", ...(flows.implicit ? ["token"] : [])],
    response_modes_supported: ["query", "fragment"],
    grant_types_supported: [
      "authorization_code",
      "refresh_token",
      DEVICE_GRANT,
      ...(flows.implicit ? ["implicit"] : []),
      ...(flows.password ? ["password"] : []),
    ],
    token_endpoint_auth_methods_supported: [...SECRET_METHODS, "none"],
    revocation_endpoint_auth_methods_supported: [...SECRET_METHODS, "none"],
    introspection_endpoint_auth_methods_supported: SECRET_METHODS,
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
    claim_types_supported: ["normal"],
    claims_supported: CLAIMS,
    code_challenge_methods_supported: CHALLENGE_METHODS,
    prompt_values_supported: PROMPTS,
    // Unless this is said, clients may send one (OpenID Connect Discovery 1.0 §3).
    request_uri_parameter_supported: false,
    authorization_response_iss_parameter_supported: true,
  });
  const metadata = {
    access: "anyone",
    examples: [described("https://pm.example.com")],
    handle: ({ view: { base } }: { view: { base: string } }) => new Json(described(base)),
  } as const;
  return {
    name: "OAuth2 metadata",
    migrations: [],
    routes: [
      get("/.well-known/oauth-authorization-server", {
        summary: "Get the OAuth2 provider's metadata (RFC 8414)",
        ...metadata,
      }),
      get("/.well-known/openid-configuration", {
        summary: "Get the provider's metadata (OpenID Connect Discovery 1.0)",
        ...metadata,
      }),
      get("/.well-known/webfinger", {
        summary: "Get the issuer of an account's sign-ins (RFC 7033)",
        access: "anyone",
        input: { resource: param.anyText({ max: 4096 }) },
        answersWith: "application/jrd+json",
        handle: ({ input: { resource }, view: { base } }) => {
          const links = [{ rel: "http://openid.net/specs/connect/1.0/issuer", href: base }];
          const body = JSON.stringify({ subject: resource, links });
          return new RawReply(200, { "content-type": "application/jrd+json" }, body);
        },
      }),
      get("/oauth/discovery/keys", {
        summary: "Get the keys that verify tokens of OpenID Connect and of CI jobs (RFC 7517)",
        access: "anyone",
        examples: [
          { keys: [{ kty: "RSA", kid: "s1Wp…", e: "AQAB", n: "v5Ui…", use: "sig", alg: "RS256" }] },
        ],
        // A reading route can't write, and the first key is made when it is first asked for.
        prepare: (_, preparing) => publicKeys(preparing),
        handle: ({ prepared: keys }) => new RawReply(200, CACHED, JSON.stringify({ keys })),
      }),
    ],
  };
}

/** As long as a new key is published before it signs. */
const CACHED = {
  "content-type": "application/json",
  "cache-control": "public, max-age=86400, must-revalidate, no-transform",
};
