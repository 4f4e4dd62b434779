import { readFileSync } from "node:fs";
import {
  type OpenIdAttempt,
  type OpenIdProvider,
  ProviderError,
  type ProviderRules,
  type Told,
} from "../core/providers.ts";
import { fetchWithin } from "../outgoing/fetch.ts";
import { toldBy } from "./claims.ts";
import type { OpenIdOptions } from "./options.ts";

type Library = typeof import("openid-client");
type Configuration = import("openid-client").Configuration;
type CustomFetch = import("openid-client").CustomFetch;

/** What a provider says of itself is asked for again after so long. */
const KEPT_MILLISECONDS = 60 * 60_000;
const TIMEOUT_MILLISECONDS = 10_000;
/** A longer answer is none of a provider's. */
const MOST_BYTES = 1024 * 1024;

/** What is asked of the application. */
interface Environment {
  /** Whether any address on this machine and in its networks may be called: those of issuers may. */
  readonly allowLocal: boolean;
  readonly now: () => number;
}

/**
 * A provider of OpenID Connect. Nothing is asked of it before somebody signs in.
 *
 * @throws the system's error if the file of its secret can't be read
 */
export function openIdProvider(
  options: OpenIdOptions,
  { allowLocal, now }: Environment,
): OpenIdProvider {
  const { issuer, clientId, scope = ["openid", "profile", "email"], pkce = true } = options;
  const secret = secretOf(options);
  const { origin } = new URL(issuer);
  const fetching = fetchWithin({
    allowsLocal: (url) => allowLocal || url.origin === origin,
    ...{ mostBytes: MOST_BYTES, timeout: TIMEOUT_MILLISECONDS },
  });

  const discover = async (library: Library): Promise<Configuration> => {
    const { clientAuthMethod = secret === undefined ? "none" : "basic" } = options;
    const authentication =
      secret === undefined || clientAuthMethod === "none"
        ? library.None()
        : clientAuthMethod === "post"
          ? library.ClientSecretPost(secret)
          : library.ClientSecretBasic(secret);
    return library.discovery(new URL(issuer), clientId, undefined, authentication, {
      [library.customFetch]: fetching as CustomFetch,
      timeout: TIMEOUT_MILLISECONDS / 1000,
      execute: [
        // The signature counts, too, not only that the answer came over TLS.
        library.enableNonRepudiationChecks,
        ...(issuer.startsWith("http:") ? [library.allowInsecureRequests] : []),
      ],
    });
  };
  let kept: { readonly configuration: Promise<Configuration>; readonly until: number } | undefined;
  const configured = (library: Library): Promise<Configuration> => {
    if (!kept || kept.until <= now()) {
      const configuration = discover(library);
      const made = { configuration, until: now() + KEPT_MILLISECONDS };
      kept = made;
      configuration.catch(() => {
        if (kept === made) kept = undefined;
      });
    }
    return kept.configuration;
  };

  return {
    ...rulesOf(options),
    kind: "openid",
    autoLinkLdapUser: options.autoLinkLdapUser ?? false,
    begin: (attempt) =>
      asked(options.name, async (library) => {
        const configuration = await configured(library);
        const url = library.buildAuthorizationUrl(configuration, {
          redirect_uri: attempt.redirectUri,
          scope: [...new Set(["openid", ...scope])].join(" "),
          state: attempt.state,
          nonce: attempt.nonce,
          ...(pkce && {
            code_challenge: await library.calculatePKCECodeChallenge(attempt.verifier),
            code_challenge_method: "S256",
          }),
        });
        return url.href;
      }),
    finish: (attempt, query) =>
      asked(options.name, async (library) => {
        const configuration = await configured(library);
        return redeem(library, configuration, options, { ...attempt, pkce }, query);
      }),
  };
}

async function redeem(
  library: Library,
  configuration: Configuration,
  options: OpenIdOptions,
  { redirectUri, state, nonce, verifier, pkce }: OpenIdAttempt & { pkce: boolean },
  query: string,
): Promise<Told> {
  const tokens = await library.authorizationCodeGrant(
    configuration,
    new URL(`${redirectUri}?${query}`),
    {
      ...{ expectedState: state, expectedNonce: nonce, idTokenExpected: true },
      ...(pkce && { pkceCodeVerifier: verifier }),
    },
  );
  const claims = tokens.claims();
  if (!claims) throw new ProviderError("there is no id_token", false);
  const more = async () => {
    if (!configuration.serverMetadata().userinfo_endpoint) return {};
    return library.fetchUserInfo(configuration, tokens.access_token, claims.sub);
  };
  return toldBy(options, claims, more);
}

/** Asks the provider through the library, which is loaded for the first of them. */
async function asked<T>(name: string, ask: (library: Library) => Promise<T>): Promise<T> {
  try {
    return await ask(await import("openid-client"));
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    const { code, message } = error as { code?: unknown; message?: unknown };
    // What the provider writes itself is in the cause: here is what the library calls it.
    const said = typeof code === "string" ? code : String(message).slice(0, 100);
    throw new ProviderError(`${name}: ${said}`, !isRefusal(code), { cause: error });
  }
}

/** Whether an error is about what a provider has answered, not about whether it answers. */
const isRefusal = (code: unknown) =>
  typeof code === "string" && code.startsWith("OAUTH_") && code !== "OAUTH_TIMEOUT";

/** @throws the system's error if the file can't be read */
function secretOf({ clientSecret, clientSecretFile }: OpenIdOptions): string | undefined {
  if (clientSecretFile === undefined) return clientSecret;
  return readFileSync(clientSecretFile, "utf8").trim();
}

function rulesOf(options: OpenIdOptions): ProviderRules {
  const { name, label = name } = options;
  return {
    ...{ name, label },
    allowSingleSignOn: options.allowSingleSignOn ?? false,
    blockAutoCreatedUsers: options.blockAutoCreatedUsers ?? true,
    external: options.external ?? false,
    autoLinkUser: options.autoLinkUser ?? false,
    allowBypassTwoFactor: options.allowBypassTwoFactor ?? false,
    requiredGroups: options.requiredGroups ?? [],
    adminGroups: options.adminGroups ?? [],
    externalGroups: options.externalGroups ?? [],
    scimGroup: options.scimGroup,
  };
}
