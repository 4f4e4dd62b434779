import * as audit from "../../audit/log.ts";
import type { Source } from "../../core/access/source.ts";
import { forbidden, invalid, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { withoutEffect } from "../../core/kept.ts";
import { paginate } from "../../core/pagination.ts";
import { type Context, Json, type Resource, routes } from "../../core/resource.ts";
import { isoInstant } from "../../core/time.ts";
import type { Reader, Value } from "../../store/port.ts";
import { maySeeSite } from "./abilities.ts";
import { addDomain, changeDomain, findDomain, type OwnHosts, verifyDomain } from "./domains.ts";
import { hostOf } from "./hosts.ts";
import { domainPresenter, listedDomain, sitePresenter, siteRow } from "./json.ts";
import { BY_PATH, urlOfSite } from "./place.ts";
import { siteOf } from "./queries.ts";
import { DOMAIN_KEYS, migrations } from "./table.ts";

type Asked = Pick<Context, "edition" | "view" | "now"> & {
  readonly db: Reader;
  readonly source: Source;
};

/** Where sites are served. @throws ApiError 404 if nowhere */
function requireSites({ edition }: Pick<Context, "edition">): string {
  if (!edition.sites) throw notFound();
  return edition.sites;
}

const before = (context: Pick<Context, "edition">): void => void requireSites(context);

/** What is published of a project, as a row of its presenter. */
async function rowOfSite({ db, source, edition, view, now }: Asked): Promise<Value[]> {
  const sites = requireSites({ edition });
  const site = await siteOf(db, source.id);
  if (!site) throw notFound();
  const rows = await db.rows(
    `select created_at, path_prefix, root_directory from site_deployments
     where project_id = ? and state = 'live' and (expires_at is null or expires_at > ?) order by path_prefix`,
    [source.id, now],
  );
  const urlOf = (prefix = "") => urlOfSite(sites, view.base, site, prefix);
  const deployments = rows.map(([at, prefix, folder]) => ({
    created_at: isoInstant(at as number),
    url: urlOf(prefix as string),
    path_prefix: prefix,
    root_directory: folder,
  }));
  return siteRow({
    url: urlOf(),
    is_unique_domain_enabled: site.unique_domain,
    force_https: site.https_only,
    deployments: JSON.stringify(deployments),
    primary_domain: site.primary_domain,
  });
}

async function rowOfDomain(db: Reader, { id }: Source, domain: string): Promise<Value[]> {
  const [row] = await db.rows(
    `select ${domainPresenter.columns} from site_domains sd where sd.project_id = ? and sd.domain = ?`,
    [id, domain.toLowerCase()],
  );
  if (!row) throw notFound();
  return row;
}

/** Of what only a host of sites can do. @throws ApiError 400 */
function requireHosts(sites: string, name: string, wanted: boolean | undefined): void {
  if (wanted && sites === BY_PATH) throw invalid({ [name]: ["needs a domain of sites"] });
}

const ownHosts = ({ edition, view }: Pick<Context, "edition" | "view">): OwnHosts => ({
  sites: requireSites({ edition }),
  host: hostOf(view.base) as string,
});

const targetOf = ({ fullPath }: Source, domain: string) => ({ target: `${domain} of ${fullPath}` });

const { del, get, patch } = routes({ source: "project", path: "/pages" });
const access = routes({ source: "project", path: "/pages_access" });
const domains = routes({ source: "project", path: "/pages/domains" });
const everywhere = routes({ path: "/pages/domains" });

const maintaining = { role: "maintainer", before } as const;
const one = { domain: param.anyText({ max: 255 }) };
const pem = param.clearable(param.anyText({ max: 65_536 }));
const certified = {
  auto_ssl_enabled: withoutEffect(param.optional(param.boolean())),
  certificate: pem,
  key: pem,
};

/** Sites that jobs of projects publish, which GitLab calls Pages, and their domains. */
export const siteResource: Resource = {
  name: "Sites",
  migrations,
  sealed: [DOMAIN_KEYS],
  routes: [
    get("", {
      summary: "Get what is published of a project, and where",
      ...maintaining,
      presenter: sitePresenter,
      handle: rowOfSite,
    }),
    patch("", {
      summary: "Change how the site of a project is served",
      ...maintaining,
      input: {
        pages_unique_domain_enabled: param.optional(param.boolean()),
        pages_https_only: param.optional(param.boolean()),
        pages_primary_domain: param.clearable(param.anyText({ max: 255 })),
      },
      presenter: sitePresenter,
      handle: async (context) => {
        const { db, source, input } = context;
        const sites = requireSites(context);
        const { pages_unique_domain_enabled: unique, pages_https_only: secure } = input;
        requireHosts(sites, "pages_https_only", secure);
        const site = await siteOf(db, source.id);
        const sent = input.pages_primary_domain;
        const primary = sent && (await findDomain(db, source, sent).catch(() => undefined))?.domain;
        if (sent && primary === undefined) {
          throw invalid({ pages_primary_domain: ["is no domain of the project"] });
        }
        const columns: Value[] = [
          Number(unique ?? site?.unique_domain === 1),
          Number(secure ?? site?.https_only === 1),
          sent === undefined ? (site?.primary_domain ?? null) : primary || null,
        ];
        await db.run(
          `insert into site_settings (project_id, unique_domain, https_only, primary_domain) values (?, ?, ?, ?)
           on conflict (project_id) do update set unique_domain = ?, https_only = ?, primary_domain = ?`,
          [source.id, ...columns, ...columns],
        );
        return rowOfSite(context);
      },
    }),
    del("", {
      summary: "Take the site of a project away, with all its deployments",
      ...maintaining,
      handle: async (context) => {
        const { db, source } = context;
        // Their files are removed later: there may be many.
        await db.run(
          "update site_deployments set state = 'dead' where project_id = ? and state = 'live'",
          [source.id],
        );
        await audit.log(context, "site removed", { target: source.fullPath });
        return undefined;
      },
    }),
    access.get("", {
      summary: "Find out whether the caller may see the site of a project",
      access: "anyone",
      before,
      examples: [{}],
      handle: async ({ db, source, viewer }) => {
        const site = await siteOf(db, source.id);
        if (!site || !(await maySeeSite(db, site, viewer))) throw forbidden();
        return new Json({});
      },
    }),
    everywhere.list("", {
      summary: "List the domains of all sites",
      access: "admin",
      before,
      presenter: listedDomain,
      handle: ({ db, presenter: shown, page }) =>
        paginate(db, shown, page, {
          from: "site_domains sd join projects p on p.id = sd.project_id and p.visibility > -1",
          values: [],
          order: "sd.domain",
        }),
    }),
    domains.list("", {
      summary: "List the domains of the site of a project",
      ...maintaining,
      presenter: domainPresenter,
      handle: ({ db, presenter: shown, page, source }) =>
        paginate(db, shown, page, {
          from: "site_domains sd where sd.project_id = ?",
          values: [source.id],
          order: "sd.domain",
        }),
    }),
    domains.get("/:domain", {
      summary: "Get a domain of the site of a project",
      ...maintaining,
      input: one,
      presenter: domainPresenter,
      handle: ({ db, source, input }) => rowOfDomain(db, source, input.domain),
    }),
    domains.post("", {
      summary: "Give the site of a project a domain",
      ...maintaining,
      whenArchived: "refuse",
      input: { ...one, ...certified },
      presenter: domainPresenter,
      handle: async (context) => {
        const { db, source, input } = context;
        await addDomain(context, input.domain, input, ownHosts(context));
        await audit.log(context, "site domain added", targetOf(source, input.domain));
        return rowOfDomain(db, source, input.domain);
      },
    }),
    domains.put("/:domain", {
      summary: "Change a domain of the site of a project, or its certificate",
      ...maintaining,
      whenArchived: "refuse",
      input: { ...one, ...certified },
      presenter: domainPresenter,
      handle: async (context) => {
        const { db, source, input } = context;
        const found = await findDomain(db, source, input.domain);
        await changeDomain(context, found, input);
        await audit.log(context, "site domain changed", targetOf(source, found.domain));
        return rowOfDomain(db, source, found.domain);
      },
    }),
    domains.put("/:domain/verify", {
      summary: "Verify a domain of the site of a project",
      ...maintaining,
      whenArchived: "refuse",
      input: one,
      presenter: domainPresenter,
      handle: async (context) => {
        const { db, source, input } = context;
        const found = await findDomain(db, source, input.domain);
        await verifyDomain(context, found);
        return rowOfDomain(db, source, found.domain);
      },
    }),
    domains.del("/:domain", {
      summary: "Remove a domain of the site of a project",
      ...maintaining,
      whenArchived: "refuse",
      input: one,
      handle: async (context) => {
        const { db, source, input, requireUnmodified } = context;
        const found = await findDomain(db, source, input.domain);
        requireUnmodified(found.updated_at);
        await db.run("delete from site_domains where id = ?", [found.id]);
        await db.run(
          "update site_settings set primary_domain = null where project_id = ? and primary_domain = ?",
          [source.id, found.domain],
        );
        await audit.log(context, "site domain removed", targetOf(source, found.domain));
        return undefined;
      },
    }),
  ],
};
