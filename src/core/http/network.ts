import ipaddr from "ipaddr.js";

/**
 * The key under which an address is counted: an IPv6 client has at least 2^64 addresses (RFC 6177), so its /64 network
 * counts as one.
 *
 * @param ip `""` if unknown
 */
export function networkOf(ip: string): string {
  // Nearly all are plain ones of IPv4, of which nothing has to be read.
  if (!ip.includes(":") || !ipaddr.IPv6.isValid(ip)) return ip;
  const address = ipaddr.IPv6.parse(ip);
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString();
  return `${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}
