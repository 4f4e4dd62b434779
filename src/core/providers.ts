/** What a provider of identities is to this server, whichever protocol it speaks. */
export interface ProviderRules {
  /** Its name in addresses and in identities, such as `openid_connect`. */
  readonly name: string;
  /** What people call it. */
  readonly label: string;
  /** Whether who has no account gets one. */
  readonly allowSingleSignOn: boolean;
  /** Whether such an account waits for an administrator. */
  readonly blockAutoCreatedUsers: boolean;
  /** Whether such an account is external. */
  readonly external: boolean;
  /** Whether an account is found by an e-mail address that the provider has verified. */
  readonly autoLinkUser: boolean;
  /** Whether no code is asked for besides. */
  readonly allowBypassTwoFactor: boolean;
  /** Groups at the provider, one of which somebody must be in. Empty: anybody is let in. */
  readonly requiredGroups: readonly string[];
  /** Groups at the provider whose people are administrators, and nobody else who comes from there. Empty: it says nothing. */
  readonly adminGroups: readonly string[];
  /** Groups at the provider whose people are external. Empty: it says nothing. */
  readonly externalGroups: readonly string[];
  /** The group whose accounts have, as `externalId` of SCIM, the id that the provider tells. */
  readonly scimGroup: string | undefined;
}

/** What a provider has told about somebody who has signed in there. */
export interface Told {
  /** Their id at the provider, which stays. */
  readonly uid: string;
  readonly username: string | undefined;
  readonly name: string | undefined;
  readonly email: string | undefined;
  /** Whether the provider has made sure that the address is theirs. */
  readonly isEmailVerified: boolean;
  /** Whether an account may be found by the address: it comes from where nobody else could have put it. */
  readonly mayLinkByEmail: boolean;
  /** Their groups at the provider; `undefined` if it could not tell them. */
  readonly groups: readonly string[] | undefined;
  /** What the provider called them before, if that is known: nobody else is called so now. */
  readonly formerUid?: string | undefined;
}

/** A provider can't be reached, or what it has answered is not acceptable. The message is for operators. */
export class ProviderError extends Error {
  override get name() {
    return "ProviderError" as const;
  }
  /** @param isAway whether it does not answer, so that trying again may help */
  constructor(
    message: string,
    readonly isAway: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** One sign-in at a provider of OpenID Connect, as it was begun and as it ends. */
export interface OpenIdAttempt {
  /** Where the provider sends the browser back to. */
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  /** The verifier of PKCE (RFC 7636). */
  readonly verifier: string;
}

/** A provider that speaks OpenID Connect. */
export interface OpenIdProvider extends ProviderRules {
  readonly kind: "openid";
  /** Whether the id that it tells is what LDAP servers know somebody by, so that both lead to one account. */
  readonly autoLinkLdapUser: boolean;
  /** The address where the browser signs in. @throws ProviderError */
  begin(attempt: OpenIdAttempt): Promise<string>;
  /**
   * Redeems what the browser has come back with, and verifies all of it.
   *
   * @param query of the address that the browser has come back to
   * @throws ProviderError
   */
  finish(attempt: OpenIdAttempt, query: string): Promise<Told>;
}

/** An LDAP server. */
export interface Directory extends ProviderRules {
  readonly kind: "ldap";
  /**
   * Checks a name and a password.
   *
   * @returns who it is; `undefined` if they do not fit, or belong to nobody who may sign in
   * @throws ProviderError if the server can't be asked
   */
  signIn(login: string, password: string): Promise<Told | undefined>;
  /** Like `signIn`, for programs that send the same password with each request: it is asked for once a minute. */
  signInAgain(login: string, password: string): Promise<Told | undefined>;
  /**
   * Somebody whom another provider has told about, by their name here, their e-mail address or their distinguished name, in this
   * order.
   *
   * @returns `undefined` if there is nobody, or nobody who may sign in
   * @throws ProviderError if the server can't be asked
   */
  find(uid: string): Promise<Told | undefined>;
  /**
   * Whether somebody is still in the directory, and not disabled.
   *
   * @param uid as it was told
   * @throws ProviderError if the server can't be asked
   */
  isThere(uid: string): Promise<boolean>;
}

/** The providers by which people sign in, besides passwords of this server. */
export interface Providers {
  readonly openId: readonly OpenIdProvider[];
  readonly directories: readonly Directory[];
}

/** Somebody in a directory. */
export interface DirectoryEntry {
  readonly directory: Directory;
  readonly told: Told;
}

/** A provider as pages name it. */
export type NamedProvider = Pick<ProviderRules, "name" | "label"> & {
  readonly kind: "openid" | "ldap";
};
