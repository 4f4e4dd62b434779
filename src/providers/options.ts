import * as v from "valibot";
import {
  flagOption,
  type OptionSchemas,
  optionsOf,
  textOption,
  wordOption,
} from "../core/options.ts";

/** A provider of OpenID Connect with which people sign in (docs/sign-in.md). */
export interface OpenIdOptions {
  /** Its name in addresses and in identities, such as `openid_connect`: small letters, digits and underscores. */
  name: string;
  /** What its button says. Default: its name. */
  label?: string;
  /** What it calls itself, as in its id_tokens: `https:`, or `http:` on this machine. */
  issuer: string;
  clientId: string;
  /** Default: none, as of a public client. */
  clientSecret?: string;
  /** A file with that secret alone. */
  clientSecretFile?: string;
  /** How the secret is sent. Default `"basic"` if there is one. */
  clientAuthMethod?: "basic" | "post" | "none";
  /** Default `["openid", "profile", "email"]`. */
  scope?: readonly string[];
  /** The claim of the id_token that says who somebody is, for good. Default `"sub"`. */
  uidField?: string;
  /** Whether codes are bound to the browser that asked for them (RFC 7636). Default true. */
  pkce?: boolean;
  /** Whether an account is found by an e-mail address that the provider has verified. Default false. */
  autoLinkUser?: boolean;
  /** Whether who has no account gets one. Default false. */
  allowSingleSignOn?: boolean;
  /** Whether such an account waits for an administrator. Default true. */
  blockAutoCreatedUsers?: boolean;
  /** Whether such an account is external. Default false. */
  external?: boolean;
  /** The claim that says whether the e-mail address was verified. Default `"email_verified"`. */
  emailVerifiedClaim?: string;
  /** The claim with the groups of somebody at the provider. Default `"groups"`. */
  groupsClaim?: string;
  /** Only who is in one of these groups may sign in. */
  requiredGroups?: readonly string[];
  /** Who is in one of these groups is an administrator; who is in none of them is not. */
  adminGroups?: readonly string[];
  /** Who is in one of these groups is external; who is in none of them is not. */
  externalGroups?: readonly string[];
  /** Whether the provider's own second factor is enough. Default false. */
  allowBypassTwoFactor?: boolean;
  /** The path of a group: its accounts of SCIM are found by their `externalId`. */
  scimGroup?: string;
}

/** With what people sign in, besides passwords of this server. */
export interface SignInOptions {
  /** Providers of OpenID Connect. */
  providers?: readonly OpenIdOptions[];
}

const texts = v.optional(v.array(textOption, "must be a list of texts"));

/** Whether a URL is one that tokens may be fetched from: without TLS only on this machine. */
function isIssuer(given: unknown): boolean {
  if (typeof given !== "string" || !URL.canParse(given) || /[?#]/.test(given)) return false;
  const { protocol, hostname, username } = new URL(given);
  const isHere = /^(localhost|[\w.-]+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  return username === "" && (protocol === "https:" || (protocol === "http:" && isHere));
}

/** What LDAP servers are called. */
const isProviderName = (given: string) => /^[a-z][a-z0-9_]{0,62}$/.test(given);

const provider = v.pipe(
  optionsOf({
    name: v.pipe(
      textOption,
      v.check(
        isProviderName,
        "must be small letters, digits and underscores, such as openid_connect",
      ),
      v.check((given) => !given.startsWith("ldap"), "must not begin with ldap"),
    ),
    label: v.optional(textOption),
    issuer: v.custom<string>(
      isIssuer,
      "must be a URL with https, such as https://id.example.com/realms/people; http is for this machine alone",
    ),
    clientId: textOption,
    clientSecret: v.optional(textOption),
    clientSecretFile: v.optional(textOption),
    clientAuthMethod: v.optional(wordOption(["basic", "post", "none"])),
    scope: texts,
    uidField: v.optional(textOption),
    pkce: flagOption,
    autoLinkUser: flagOption,
    allowSingleSignOn: flagOption,
    blockAutoCreatedUsers: flagOption,
    external: flagOption,
    emailVerifiedClaim: v.optional(textOption),
    groupsClaim: v.optional(textOption),
    requiredGroups: texts,
    adminGroups: texts,
    externalGroups: texts,
    allowBypassTwoFactor: flagOption,
    scimGroup: v.optional(textOption),
  } satisfies OptionSchemas<OpenIdOptions>),
  v.check(
    ({ clientSecret, clientSecretFile }) =>
      clientSecret === undefined || clientSecretFile === undefined,
    "must have clientSecret or clientSecretFile, not both",
  ),
  v.check(
    ({ clientAuthMethod: method, clientSecret, clientSecretFile }) =>
      method === undefined || method === "none" || Boolean(clientSecret ?? clientSecretFile),
    "must have clientSecret or clientSecretFile, or the clientAuthMethod none",
  ),
);

/** The schema of {@link SignInOptions}. */
export const signInOption = v.pipe(
  optionsOf({
    providers: v.optional(v.array(provider, "must be a list of providers")),
  } satisfies OptionSchemas<SignInOptions>),
  v.check(
    ({ providers = [] }) => new Set(providers.map(({ name }) => name)).size === providers.length,
    "must not have two providers of the same name",
  ),
);
