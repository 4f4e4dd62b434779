import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";

/** An address that requests must not go to. The message says which kind it is. */
export class ForbiddenAddress extends Error {
  override get name() {
    return "ForbiddenAddress" as const;
  }
}

/** A name has no address, or the resolver does not answer. */
export class UnknownHost extends Error {
  override get name() {
    return "UnknownHost" as const;
  }
}

/** Where to connect. */
export interface Target {
  readonly address: string;
  readonly family: number;
}

/** What ranges of addresses are called in errors; all that have another name than `unicast` are refused. */
const REFUSED: Readonly<Record<string, string>> = {
  loopback: "localhost",
  unspecified: "localhost",
  private: "the local network",
  carrierGradeNat: "the local network",
  uniqueLocal: "the local network",
  deprecatedSiteLocal: "the local network",
  linkLocal: "link-local addresses",
};

/** Names of this machine, which need no resolver. */
const LOCAL_NAME = /(^|\.)(localhost|localdomain)$/i;

/**
 * The addresses of a URL's host that a request may go to.
 *
 * @param allowLocal whether this machine and its networks may be reached
 * @throws ForbiddenAddress if one of them must not be reached, UnknownHost if there is none
 */
export async function addressesOf(url: URL, allowLocal: boolean): Promise<readonly Target[]> {
  // The URL's parser has made decimal, octal and hexadecimal forms of IPv4 addresses one of four numbers.
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  const family = isIP(host);
  if (!allowLocal && LOCAL_NAME.test(host)) throw forbidden("localhost");
  let found: readonly Target[];
  try {
    found = family > 0 ? [{ address: host, family }] : await lookup(host, { all: true });
  } catch (cause) {
    throw new UnknownHost(`the host ${host} can't be resolved`, { cause });
  }
  if (found.length === 0) throw new UnknownHost(`the host ${host} has no address`);
  if (!allowLocal) for (const { address } of found) requirePublic(address);
  return found;
}

const forbidden = (what: string) => new ForbiddenAddress(`Requests to ${what} are not allowed`);

/** @throws ForbiddenAddress unless an address is a public one of another machine */
function requirePublic(text: string): void {
  const address = read(text);
  const range = address.range();
  if (range !== "unicast") throw forbidden(REFUSED[range] ?? "multicast or reserved addresses");
  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  if (own.some((one) => read(one.address).toString() === address.toString())) {
    throw forbidden("localhost");
  }
}

type Address = ReturnType<typeof ipaddr.parse>;

/** The part at which an IPv6 address of a range has the IPv4 address that it stands for. */
const EMBEDDED: Readonly<Record<string, number>> = {
  ipv4Mapped: 6,
  rfc6145: 6,
  rfc6052: 6,
  "6to4": 1,
};

/** An address, or the IPv4 address that it stands for. */
function read(text: string): Address {
  const address = ipaddr.parse(text);
  if (!(address instanceof ipaddr.IPv6)) return address;
  const { parts } = address;
  // RFC 4291 has the compatible ones, which no range is named after.
  const isCompatible = parts.slice(0, 6).every((part) => part === 0);
  // What NAT64's prefix for local use (RFC 8215) leads to is only known to the network.
  const isLocal = parts[0] === 0x64 && parts[2] !== 0;
  const at = isLocal ? undefined : (EMBEDDED[address.range()] ?? (isCompatible ? 6 : undefined));
  if (at === undefined) return address;
  const octets = parts.slice(at, at + 2).flatMap((part) => [part >> 8, part & 255]);
  return new ipaddr.IPv4(octets);
}
