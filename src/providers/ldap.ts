import { createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import type { Client, Entry } from "ldapts";
import { type Directory, ProviderError, type Told } from "../core/providers.ts";
import { normalizeDn } from "./dn.ts";
import type { LdapOptions } from "./options.ts";

type Library = typeof import("ldapts");

const TIMEOUT_MILLISECONDS = 10_000;
/** For so long a right password is not asked for again: Git sends it with each of its requests. */
const KEPT_MILLISECONDS = 60_000;
const MOST_KEPT = 1000;
/** Characters of a name; longer ones are nobody's. */
const MOST_LOGIN = 255;

/** The flag of Active Directory by which an account is disabled. */
const DISABLED = 2;

/**
 * An LDAP server. Nothing is asked of it before somebody signs in.
 *
 * @throws the system's error if the file of a secret or certificate can't be read
 */
export function ldapDirectory(options: LdapOptions, now: () => number): Directory {
  const { name, label = "LDAP", encryption = "simple_tls", host } = options;
  const { uid = "uid", userFilter, base, attributes = {} } = options;
  const password = options.passwordFile
    ? readFileSync(options.passwordFile, "utf8").trim()
    : options.password;
  const tls = {
    rejectUnauthorized: options.verifyCertificates ?? true,
    ...(options.caFile !== undefined && { ca: readFileSync(options.caFile, "utf8") }),
    ...(isIP(host) === 0 && { servername: host }),
  };
  const isTls = encryption === "simple_tls";
  const port = options.port ?? (isTls ? 636 : 389);
  const url = `${isTls ? "ldaps" : "ldap"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const named = {
    username: [attributes.username ?? [uid, "uid", "sAMAccountName", "userid"]].flat(),
    email: [attributes.email ?? ["mail", "email", "userPrincipalName"]].flat(),
    name: attributes.name ?? "cn",
    firstName: attributes.firstName ?? "givenName",
    lastName: attributes.lastName ?? "sn",
  };
  const asked = [...Object.values(named).flat(), "userAccountControl"];

  /** Runs work with a connection of its own. @throws ProviderError unless it fails as `expected` says */
  const connected = async <T>(
    work: (client: Client, library: Library) => Promise<T>,
  ): Promise<T> => {
    const library = await import("ldapts");
    const client = new library.Client({
      ...{ url, timeout: TIMEOUT_MILLISECONDS, connectTimeout: TIMEOUT_MILLISECONDS },
      ...{ strictDN: false, ...(isTls && { tlsOptions: tls }) },
    });
    try {
      if (encryption === "start_tls") await client.startTLS(tls);
      return await work(client, library);
    } catch (error) {
      if (error instanceof ProviderError) throw error;
      const { code, name: kind } = error as NodeJS.ErrnoException;
      const said = typeof code === "string" ? code : kind;
      throw new ProviderError(`${name}: ${said}`, true, { cause: error });
    } finally {
      await client.unbind().catch(() => undefined);
    }
  };
  const searching = <T>(work: (client: Client, library: Library) => Promise<T>): Promise<T> =>
    connected(async (client, library) => {
      if (options.bindDn !== undefined) await client.bind(options.bindDn, password ?? "");
      return work(client, library);
    });
  const filterOf = (
    { AndFilter, EqualityFilter, FilterParser, OrFilter }: Library,
    value?: string,
    names: readonly string[] = [uid],
  ) => {
    // As values and not as a text: nothing in them is syntax.
    const filters = names.map((attribute) => new EqualityFilter({ attribute, value: value ?? "" }));
    const own = value === undefined ? [] : [new OrFilter({ filters })];
    const given = FilterParser.parseString(userFilter ?? "(objectClass=*)");
    return new AndFilter({ filters: [...own, given] });
  };

  const find = (value: string, names?: readonly string[]): Promise<Entry | undefined> =>
    searching(async (client, library) => {
      try {
        const filter = filterOf(library, value, names);
        const { searchEntries: found } = await client.search(base, {
          ...{ scope: "sub", filter, attributes: asked, sizeLimit: 2 },
        });
        return found.length === 1 ? found[0] : undefined;
      } catch (error) {
        // Several have the name: nobody knows which of them it is.
        if (error instanceof library.SizeLimitExceededError) return undefined;
        throw error;
      }
    });
  /** The entry of a distinguished name. */
  const entryAt = (dn: string): Promise<Entry | undefined> =>
    searching(async (client, library) => {
      try {
        const { searchEntries: found } = await client.search(dn, {
          ...{ scope: "base", filter: filterOf(library), attributes: asked },
        });
        return found[0];
      } catch (error) {
        const isUnknown =
          error instanceof library.NoSuchObjectError ||
          error instanceof library.InvalidDNSyntaxError;
        if (isUnknown) return undefined;
        throw error;
      }
    });
  const knows = (dn: string, secret: string): Promise<boolean> =>
    connected(async (client, library) => {
      try {
        await client.bind(dn, secret);
        return true;
      } catch (error) {
        const isWrong =
          error instanceof library.InvalidCredentialsError ||
          error instanceof library.InappropriateAuthError ||
          error instanceof library.UnwillingToPerformError;
        if (isWrong) return false;
        throw error;
      }
    });

  const toldOf = (entry: Entry, login: string): Told | undefined => {
    const dn = normalizeDn(entry.dn);
    if (dn === undefined || dn.length > 4096) return undefined;
    const first = (names: readonly string[]) => names.flatMap((one) => textOf(entry, one) ?? [])[0];
    const parts = [textOf(entry, named.firstName), textOf(entry, named.lastName)];
    const username = first(named.username) ?? login;
    return {
      uid: dn,
      username: options.lowercaseUsernames ? username.toLowerCase() : username,
      name: textOf(entry, named.name) ?? (parts.filter(Boolean).join(" ") || undefined),
      email: first(named.email),
      // The directory is the operator's: what is in it counts.
      ...{ isEmailVerified: true, mayLinkByEmail: true, groups: [] },
    };
  };

  const signIn: Directory["signIn"] = async (given, secret) => {
    const login = options.allowUsernameOrEmailLogin ? (given.split("@")[0] as string) : given;
    // A bind without a password is one as nobody, which servers accept.
    if (secret === "" || login === "" || login.length > MOST_LOGIN) return undefined;
    if (login.includes("\0") || secret.includes("\0")) return undefined;
    const entry = await find(login);
    if (!entry || isDisabled(entry) || !(await knows(entry.dn, secret))) return undefined;
    return toldOf(entry, login);
  };

  const key = randomBytes(32);
  const kept = new Map<string, { readonly told: Told; readonly until: number }>();
  return {
    ...{ kind: "ldap", name, label },
    ...{ allowSingleSignOn: true, blockAutoCreatedUsers: options.blockAutoCreatedUsers ?? false },
    ...{ external: options.external ?? false, autoLinkUser: options.autoLinkUser ?? false },
    allowBypassTwoFactor: options.allowBypassTwoFactor ?? false,
    ...{ requiredGroups: [], adminGroups: [], externalGroups: [], scimGroup: undefined },
    signIn,
    signInAgain: async (login, secret) => {
      const id = createHmac("sha256", key).update(`${login}\0${secret}`).digest("base64");
      const known = kept.get(id);
      if (known && known.until > now()) return known.told;
      kept.delete(id);
      const told = await signIn(login, secret);
      if (!told) return undefined;
      kept.set(id, { told, until: now() + KEPT_MILLISECONDS });
      const oldest = kept.size > MOST_KEPT ? kept.keys().next().value : undefined;
      if (oldest !== undefined) kept.delete(oldest);
      return told;
    },
    find: async (name) => {
      if (name.length > MOST_LOGIN || name.includes("\0")) return undefined;
      const [dn, above] = [normalizeDn(name), normalizeDn(base)];
      const isBelow = dn !== undefined && above !== undefined && `,${dn}`.endsWith(`,${above}`);
      const entry =
        (await find(name)) ??
        (await find(name, named.email)) ??
        (isBelow ? await entryAt(name) : undefined);
      return entry && !isDisabled(entry) ? toldOf(entry, name) : undefined;
    },
    isThere: async (dn) => {
      const entry = await entryAt(dn);
      return entry !== undefined && !isDisabled(entry);
    },
  };
}

/** The first value of an attribute, whose name servers may write in other letters. */
function textOf(entry: Entry, name: string): string | undefined {
  const found = Object.entries(entry).find(([one]) => one.toLowerCase() === name.toLowerCase());
  const value = [found?.[1] ?? []].flat()[0];
  const text = Buffer.isBuffer(value) ? value.toString("utf8") : value;
  return text === undefined || text.includes("\0") ? undefined : text.trim() || undefined;
}

const isDisabled = (entry: Entry) =>
  (Number(textOf(entry, "userAccountControl") ?? 0) & DISABLED) !== 0;
