import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";

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

/** An address to connect to. */
export interface Address {
  readonly address: string;
  readonly family: number;
}

/** What no request of a server should reach, since clients can't: see the IANA registries of special-purpose addresses. */
const SPECIAL = {
  localhost: ["127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128"],
  "the local network": [
    "10.0.0.0/8",
    "100.64.0.0/10",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "fc00::/7",
    "fec0::/10",
  ],
  "link-local addresses": ["169.254.0.0/16", "fe80::/10"],
  "multicast or reserved addresses": ["224.0.0.0/4", "240.0.0.0/4", "ff00::/8"],
} as const;

/** A range of addresses, by the bits it begins with. */
interface Range {
  readonly what: string;
  readonly net: string;
  readonly isLong: boolean;
}

const readSpecial = (): Range[] =>
  Object.entries(SPECIAL).flatMap(([what, ranges]) =>
    ranges.map((range) => {
      const [net, prefix] = range.split("/") as [string, string];
      const bits = bitsOf(bytesOf(net)).slice(0, Number(prefix));
      return { what, net: bits, isLong: net.includes(":") };
    }),
  );

/** The ranges of {@link SPECIAL}. Reading them takes longer than it should at the start of a process. */
let special: readonly Range[] | undefined;

/** Names of this machine, which need no resolver. */
const LOCAL_NAME = /(^|\.)(localhost|localdomain)$/i;

/**
 * The addresses of a URL's host that a request may go to.
 *
 * @param allowLocal whether this machine and its networks may be reached
 * @throws ForbiddenAddress if one of them must not be reached, UnknownHost if there is none
 */
export async function addressesOf(url: URL, allowLocal: boolean): Promise<readonly Address[]> {
  // The URL's parser has made decimal, octal and hexadecimal forms of IPv4 addresses one of four numbers.
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  const family = isIP(host);
  if (!allowLocal && LOCAL_NAME.test(host)) throw forbidden("localhost");
  let found: readonly Address[];
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
function requirePublic(address: string): void {
  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const ownBits = new Set(own.map((one) => bitsOf(bytesOf(one.address))));
  const bytes = bytesOf(address);
  special ??= readSpecial();
  for (const some of [bytes, ...embeddedIn(bytes)]) {
    const bits = bitsOf(some);
    const reserved = special.find(
      ({ net, isLong }) => isLong === some.length > 4 && bits.startsWith(net),
    );
    if (reserved) throw forbidden(reserved.what);
    if (ownBits.has(bits)) throw forbidden("localhost");
  }
}

/** The IPv4 addresses that an IPv6 address stands for: mapped, compatible, NAT64 (RFC 6052), 6to4. Teredo is refused. */
function embeddedIn(bytes: readonly number[]): (readonly number[])[] {
  if (bytes.length === 4) return [];
  const begins = (...start: number[]) => start.every((byte, at) => bytes[at] === byte);
  // Also those that are translated to IPv4 (RFC 2765), and NAT64's prefix for local use (RFC 8215).
  if (begins(0, 0, 0, 0, 0, 0, 0, 0) || begins(0, 0x64, 0xff, 0x9b)) return [bytes.slice(12)];
  if (begins(0x20, 0x02)) return [bytes.slice(2, 6)];
  return begins(0x20, 0x01, 0, 0) ? [[0, 0, 0, 0]] : [];
}

/** The bytes of an address. */
function bytesOf(address: string): number[] {
  if (isIP(address) === 4) return address.split(".").map(Number);
  // Without a zone; the URL's parser writes an IPv4 address at the end as two groups.
  const [plain = ""] = address.split("%");
  const canonical = new URL(`http://[${plain}]`).hostname.slice(1, -1);
  const [head = "", tail] = canonical.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const [before, after] = [groups(head), groups(tail ?? "")];
  const between = Array<string>(8 - before.length - after.length).fill("0");
  return [...before, ...between, ...after].flatMap((group) => {
    const number = Number.parseInt(group, 16);
    return [number >> 8, number & 255];
  });
}

/** Bytes as a text of zeros and ones, of which a network's is the beginning. */
function bitsOf(bytes: readonly number[]): string {
  return bytes.map((byte) => byte.toString(2).padStart(8, "0")).join("");
}
