import type { NamedProvider, Providers } from "../core/providers.ts";
import { ldapDirectory } from "./ldap.ts";
import { openIdProvider } from "./openid.ts";
import type { SignInOptions } from "./options.ts";

/**
 * The providers by which people sign in. None of them is asked anything yet.
 *
 * @param allowLocal whether any address on this machine and in its networks may be called: those of issuers may
 * @throws TypeError if there are providers of OpenID Connect and this Node can't load their library; the system's error if the
 *   file of a secret can't be read
 */
export function createProviders(
  { providers = [], ldap = [] }: SignInOptions,
  environment: { readonly allowLocal: boolean; readonly now: () => number },
): Providers {
  if (providers.length > 0 && !loadsModules()) {
    throw new TypeError("signIn.providers needs Node 20.19 or newer, or 22.12 or newer");
  }
  return {
    openId: providers.map((one) => openIdProvider(one, environment)),
    directories: ldap.map((one) => ldapDirectory(one, environment.now)),
  };
}

/** Whether CommonJS, which the package is, can load ES modules, which openid-client is: Node before 20.19 and 22.12 can't. */
function loadsModules(): boolean {
  const { versions, features } = process;
  const isNode = versions["bun"] === undefined && versions["deno"] === undefined;
  return !isNode || (features as { require_module?: boolean }).require_module === true;
}

/** The providers that pages name, in order. */
export function providersNamed({
  providers = [],
  ldap = [],
}: SignInOptions): readonly NamedProvider[] {
  return [
    ...ldap.map(({ name, label = "LDAP" }) => ({ name, label, kind: "ldap" as const })),
    ...providers.map(({ name, label = name }) => ({ name, label, kind: "openid" as const })),
  ];
}
