import { accessToken } from "../../auth/authenticators/oauth.ts";
import { personalToken } from "../../auth/authenticators/personal.ts";
import { notFound } from "../../core/errors.ts";
import type { Authenticator } from "../../core/http/authenticator.ts";
import type { Mount } from "../../core/http/mount.ts";
import { emptyParameters } from "../../core/http/parameters.ts";
import * as param from "../../core/input.ts";
import { type PrepareContext, RawReply, type Route, routes } from "../../core/resource.ts";
import { HOSTS_PATH, hostOf, isOfSites } from "./hosts.ts";
import { BY_PATH, domainOf, SITES_PATH, urlOfSite } from "./place.ts";
import { type FoundSite, siteAt, siteOfDomain, siteOfLabel } from "./queries.ts";
import { answerSite, pathAfter, type Showing, unknownPage } from "./serve.ts";

const { get } = routes();

const rest = { rest: param.anyText() };
const html = { answersWith: "text/html", access: "anyone" } as const;

/** Browsers treat what is shown as if it came from nowhere: scripts run, without any right on the server's address. */
const SANDBOX = {
  "content-security-policy":
    "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts",
};

/** What addresses of sites are answered with. */
type Preparing = Pick<PrepareContext, "db" | "store" | "request" | "viewer" | "now" | "edition">;

const BELOW: Showing = { before: "", headers: SANDBOX };

/** Answers a site below the server's own address. @throws ApiError 404 */
async function ofPath(preparing: Preparing): Promise<RawReply> {
  const { db, request, edition } = preparing;
  const path = edition.sites === BY_PATH ? pathAfter(request.path, SITES_PATH) : undefined;
  const found = path && (await siteAt(db, path.names, undefined));
  if (!path || !found) throw notFound();
  // As on a host of the group: rules of redirects have the paths that they have there.
  const root = new URL(request.base as string).pathname.replace(/\/$/, "");
  const before = `${root}${SITES_PATH}/${encodeURIComponent(path.names[0] as string)}`;
  const within = { ...path, names: path.names.slice(1), raw: path.raw.replace(/^\/+[^/]*/, "") };
  const reply = await answerSite(asking(preparing), found, within, { ...BELOW, before });
  if (!reply) throw notFound();
  return reply;
}

const asking = ({ db, store, request, viewer, now }: Preparing) => ({
  db,
  store,
  request,
  viewer,
  now,
});

/** Answers a host of sites, or the domain of one. */
async function ofHost(preparing: Preparing): Promise<RawReply> {
  const { db, request, edition } = preparing;
  const host = hostOf(request.base);
  const domain = edition.sites && domainOf(edition.sites);
  const path = pathAfter(request.path, HOSTS_PATH);
  if (host === undefined || !edition.sites || !domain || !path) return unknownPage({});
  const sites = edition.sites;
  const isOurs = isOfSites(host, domain);
  const label = isOurs ? host.slice(0, -domain.length - 1) : "";
  const own = isOurs ? await siteOfLabel(db, label) : await siteOfDomain(db, host);
  const found = own
    ? { site: own, rest: path.names }
    : isOurs && (await siteAt(db, [label, ...path.names], domain));
  if (!found) return unknownPage({});
  const protocol = (request.base as string).split(":", 1)[0] as string;
  const elsewhere = ({ site }: FoundSite, beside: { readonly path_prefix: string } | undefined) => {
    const prefix = beside?.path_prefix ?? "";
    const end = prefix === "" ? "" : `/${prefix}`;
    const { primary_domain: primary, unique_domain: isUnique, https_only: isSecure } = site;
    if (primary !== null && host !== primary)
      return `${isSecure ? "https" : protocol}://${primary}${end}`;
    if (!own && isUnique === 1) return urlOfSite(sites, "", site, prefix);
    const secure = (request.base as string).replace(/^http:/, "https:");
    const above = own ? "" : path.names.slice(0, path.names.length - found.rest.length).join("/");
    if (isSecure === 1 && protocol === "http") return `${secure}${above && `/${above}`}${end}`;
    return undefined;
  };
  const reply = await answerSite(asking(preparing), found, path, {
    before: "",
    headers: {},
    elsewhere,
  });
  return reply ?? unknownPage({});
}

/** A GET of a path and everything below it. */
const everythingBelow = (
  path: string,
  summary: string,
  answer: (preparing: Preparing) => Promise<RawReply>,
): Route[] => [
  get(`${path}/:rest*`, {
    summary,
    ...html,
    input: rest,
    prepare: (_, preparing) => answer(preparing),
    handle: ({ prepared }) => prepared,
  }),
];

/** Sites below the server's own address. */
export const siteAddresses: readonly Route[] = everythingBelow(
  SITES_PATH,
  "Get a file of the site of a project, below the server's own address",
  ofPath,
);

/** Authenticators of tokens in headers only: addresses of sites are shared. */
const inHeader = (one: Authenticator): Authenticator => ({
  ...one,
  credential: (sent, settings) =>
    one.credential({ ...sent, parameters: emptyParameters() }, settings),
});

/** The hosts of sites. Cookies are neither read nor set: what is shown there is anybody's. */
export const SITE_HOSTS: Mount = {
  name: "Hosts of sites",
  base: HOSTS_PATH,
  authenticators: [personalToken, accessToken].map(inHeader),
  countsRequests: true,
  showError: ({ status, headers }) =>
    new RawReply(
      status,
      { ...headers, "content-type": "text/plain; charset=utf-8" },
      `${status}\n`,
    ),
  resources: [
    {
      name: "Hosts of sites",
      migrations: [],
      routes: [
        get("", {
          summary: "Get the first page of the site that a host has",
          ...html,
          prepare: (_, preparing) => ofHost(preparing),
          handle: ({ prepared }) => prepared,
        }),
        ...everythingBelow("", "Get a file of the site that a host has", ofHost),
      ],
    },
  ],
};
