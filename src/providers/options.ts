import * as v from "valibot";
import {
  flagOption,
  NOT_TEXT,
  type OptionSchemas,
  optionsOf,
  textOption,
  wholeOption,
  wordOption,
} from "../core/options.ts";
import { isLdap } from "./dn.ts";

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
  /**
   * Whether somebody whose id at the provider an LDAP server has, too, as name, e-mail address or distinguished name, gets one account
   * for both. Default false.
   */
  autoLinkLdapUser?: boolean;
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
  /** Members of one of these groups are administrators; members of none of them are not. */
  adminGroups?: readonly string[];
  /** Members of one of these groups are external; members of none of them are not. */
  externalGroups?: readonly string[];
  /** Whether the provider's own second factor is enough. Default false. */
  allowBypassTwoFactor?: boolean;
  /** The path of a group: its accounts of SCIM are found by their `externalId`. */
  scimGroup?: string;
}

/** An LDAP server by which people sign in (docs/sign-in.md). */
export interface LdapOptions {
  /** Its name in addresses and in identities: it begins with `ldap`, such as `ldapmain`. */
  name: string;
  /** What its form says. Default `"LDAP"`. */
  label?: string;
  host: string;
  /** Default 636 with `simple_tls`, otherwise 389. */
  port?: number;
  /** Default `"simple_tls"`: TLS from the start. */
  encryption?: "plain" | "start_tls" | "simple_tls";
  /** Whether its certificate must be valid. Default true. */
  verifyCertificates?: boolean;
  /** A file with the certificates of those who may have signed its own. Default: those that the runtime knows. */
  caFile?: string;
  /** Whose rights its entries are looked for with. Default: nobody's. */
  bindDn?: string;
  password?: string;
  /** A file with that password alone. */
  passwordFile?: string;
  /** Below which entry people are. */
  base: string;
  /** The attribute with the name that people type. Default `"uid"`; Active Directory has `sAMAccountName`. */
  uid?: string;
  /** Which of them may sign in, such as `(memberOf=cn=staff,ou=groups,dc=example,dc=com)`. */
  userFilter?: string;
  /** What an account gets from which attribute; of several, the first that there is. */
  attributes?: {
    username?: string | readonly string[];
    email?: string | readonly string[];
    name?: string;
    firstName?: string;
    lastName?: string;
  };
  /** Whether user names are made in small letters. Default false. */
  lowercaseUsernames?: boolean;
  /** Whether what follows an `@` in the typed name is ignored. Default false. */
  allowUsernameOrEmailLogin?: boolean;
  /** Whether an account is found by the e-mail address in the directory. Default false. */
  autoLinkUser?: boolean;
  /** Whether a new account waits for an administrator. Default false. */
  blockAutoCreatedUsers?: boolean;
  /** Whether a new account is external. Default false. */
  external?: boolean;
  /** Whether no code of a second factor is asked for. Default false. */
  allowBypassTwoFactor?: boolean;
}

/** With what people sign in, besides passwords of this server. */
export interface SignInOptions {
  /** Providers of OpenID Connect. */
  providers?: readonly OpenIdOptions[];
  /** LDAP servers. */
  ldap?: readonly LdapOptions[];
}

const texts = v.optional(v.array(textOption, "must be a list of texts"));

/** Whether a URL is one that tokens may be fetched from: without TLS only on this machine. */
function isIssuer(given: unknown): boolean {
  if (typeof given !== "string" || !URL.canParse(given) || /[?#]/.test(given)) return false;
  const { protocol, hostname, username } = new URL(given);
  const isHere = /^(localhost|[\w.-]+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  return username === "" && (protocol === "https:" || (protocol === "http:" && isHere));
}

const isProviderName = (given: string) => /^[a-z][a-z0-9_]{0,62}$/.test(given);

const provider = v.pipe(
  optionsOf({
    name: v.pipe(
      textOption,
      v.check(
        isProviderName,
        "must be small letters, digits and underscores, such as openid_connect",
      ),
      v.check((given) => !isLdap(given), "must not begin with ldap"),
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
    autoLinkLdapUser: flagOption,
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

const names = v.optional(
  v.union([textOption, v.array(textOption)], "must be the name of an attribute, or a list of them"),
);

const ldap = v.pipe(
  optionsOf({
    name: v.pipe(
      textOption,
      v.check(
        (given) => isProviderName(given) && isLdap(given),
        "must begin with ldap and have small letters, digits and underscores, such as ldapmain",
      ),
    ),
    label: v.optional(textOption),
    host: v.pipe(
      textOption,
      v.check((given) => !/[/@\s]/.test(given), "must be a host alone, such as ldap.example.com"),
    ),
    port: v.optional(wholeOption(1, 65_535)),
    encryption: v.optional(wordOption(["plain", "start_tls", "simple_tls"])),
    verifyCertificates: flagOption,
    caFile: v.optional(textOption),
    bindDn: v.optional(textOption),
    password: v.optional(textOption),
    passwordFile: v.optional(textOption),
    base: v.string(NOT_TEXT),
    uid: v.optional(textOption),
    userFilter: v.optional(
      v.pipe(
        textOption,
        v.check(
          (given) => /^\(.+\)$/s.test(given),
          "must be a filter, such as (employeeType=staff)",
        ),
      ),
    ),
    attributes: v.optional(
      optionsOf({
        username: names,
        email: names,
        name: v.optional(textOption),
        firstName: v.optional(textOption),
        lastName: v.optional(textOption),
      } satisfies OptionSchemas<NonNullable<LdapOptions["attributes"]>>),
    ),
    lowercaseUsernames: flagOption,
    allowUsernameOrEmailLogin: flagOption,
    autoLinkUser: flagOption,
    blockAutoCreatedUsers: flagOption,
    external: flagOption,
    allowBypassTwoFactor: flagOption,
  } satisfies OptionSchemas<LdapOptions>),
  v.check(
    ({ password, passwordFile }) => password === undefined || passwordFile === undefined,
    "must have password or passwordFile, not both",
  ),
  v.check(
    ({ bindDn, password, passwordFile }) =>
      bindDn === undefined || Boolean(password ?? passwordFile),
    "must have password or passwordFile, since it has bindDn",
  ),
);

/** The schema of {@link SignInOptions}. */
export const signInOption = v.pipe(
  optionsOf({
    providers: v.optional(v.array(provider, "must be a list of providers")),
    ldap: v.optional(v.array(ldap, "must be a list of servers")),
  } satisfies OptionSchemas<SignInOptions>),
  v.check(
    ({ providers = [], ldap: servers = [] }) =>
      servers.length > 0 || !providers.some(({ autoLinkLdapUser }) => autoLinkLdapUser),
    "must have an LDAP server, since a provider has autoLinkLdapUser",
  ),
  v.check(({ providers = [], ldap: servers = [] }) => {
    const all = [...providers, ...servers].map(({ name }) => name);
    return new Set(all).size === all.length;
  }, "must not have two providers of the same name"),
);
