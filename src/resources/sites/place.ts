/** The value of the option `sites` for sites below the server's own address. */
export const BY_PATH = "path";

/** What sites below the server's own address begin with. */
export const SITES_PATH = "/-/sites";

/** A project, as far as the address of its site depends on it. */
export interface SiteOwner {
  readonly id: number;
  readonly full_path: string;
  /** Whether its site has a host of its own; 1 or 0. */
  readonly unique_domain: number;
}

/** SQL of {@link SiteOwner.unique_domain} of a project `p` with its `site_settings` as `si`. */
export const UNIQUE_DOMAIN = "coalesce(si.unique_domain, 1)";

/** The host names of sites, without a port; `undefined` for sites that have none. */
export const domainOf = (sites: string): string | undefined =>
  sites === BY_PATH ? undefined : new URL(sites).hostname;

/** Characters of a label of a host name, and of the number at the end of one. */
const LABEL = 63;
const NUMBER = 6;

/** The first label of the host of a project's own: its name, and its id, which no other has. */
export function uniqueLabel({ id, full_path: path }: SiteOwner): string {
  const number = id.toString(36).padStart(NUMBER, "0");
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const slug = name.replace(/[^a-z0-9]+/g, "-").slice(0, LABEL - number.length - 1);
  return `${slug.replace(/^-+|-+$/g, "")}-${number}`;
}

/** The id of the project that the first label of a host may be of, by {@link uniqueLabel}. */
export function idInLabel(label: string): number | undefined {
  const number = /-([0-9a-z]{6,10})$/.exec(label)?.[1];
  return number === undefined ? undefined : Number.parseInt(number, 36);
}

/**
 * Where the site of a project is, without a trailing slash.
 *
 * @param sites the option
 * @param base the public address of the server
 * @param prefix of the deployment; empty for the main one
 */
export function urlOfSite(sites: string, base: string, owner: SiteOwner, prefix = ""): string {
  const end = prefix === "" ? "" : `/${prefix}`;
  if (sites === BY_PATH) return `${base}${SITES_PATH}/${owner.full_path}${end}`;
  const { protocol, host, hostname } = new URL(sites);
  if (owner.unique_domain === 1) return `${protocol}//${uniqueLabel(owner)}.${host}${end}`;
  const [root = "", ...rest] = owner.full_path.split("/");
  const isRoot = rest.join("/").toLowerCase() === `${root}.${hostname}`.toLowerCase();
  return `${protocol}//${root.toLowerCase()}.${host}${isRoot ? "" : `/${rest.join("/")}`}${end}`;
}

/** A deployment's prefix of paths, as GitLab makes it of what a configuration says. */
export const prefixOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9-]/g, "-")
    .slice(0, LABEL)
    .replace(/^-+|-+$/g, "");
