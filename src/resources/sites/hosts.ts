import type { Incoming } from "../../core/http/incoming.ts";
import type { Awaitable, Reader } from "../../store/port.ts";
import { domainOf } from "./place.ts";
import { siteOfDomain } from "./queries.ts";

/** What the paths of requests to hosts of sites begin with on their way through the server. No client can ask for it. */
export const HOSTS_PATH = "/-/site-hosts";

/** The host that a request is for: in lower case, without a port or the dot of the root. */
export function hostOf(base: string | undefined): string | undefined {
  return base === undefined ? undefined : new URL(base).hostname.replace(/\.$/, "");
}

/** Whether a host is the one of sites, or below it. */
export const isOfSites = (host: string, domain: string): boolean =>
  host === domain || host.endsWith(`.${domain}`);

/**
 * Makes what tells requests for sites from others, by their hosts: only sites answer there, and nothing of the API. Hosts
 * with domains that projects have are looked for if the server knows its own.
 *
 * @param options `sites` and `url` of the application
 */
export function siteHosts(
  db: Reader,
  { sites, url }: { readonly sites?: string | undefined; readonly url?: string | undefined },
): (incoming: Incoming) => Awaitable<Incoming> {
  const domain = sites === undefined ? undefined : domainOf(sites);
  if (domain === undefined) return (incoming) => incoming;
  const own = hostOf(url);
  const toSite = (incoming: Incoming): Incoming => ({
    ...incoming,
    path: HOSTS_PATH + incoming.path,
    isLast: true,
  });
  const byDomain = async (incoming: Incoming, host: string) =>
    (await siteOfDomain(db, host)) ? toSite(incoming) : incoming;
  return (incoming) => {
    const host = hostOf(incoming.base);
    if (host === undefined || host === own) return incoming;
    if (isOfSites(host, domain)) return toSite(incoming);
    return own === undefined ? incoming : byDomain(incoming, host);
  };
}
