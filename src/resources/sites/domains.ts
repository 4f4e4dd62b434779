import { randomBytes } from "node:crypto";
import type { Source } from "../../core/access/source.ts";
import { type AttributeErrors, badRequest, invalid, notFound } from "../../core/errors.ts";
import { storedIn } from "../../core/kept.ts";
import { sealerFor } from "../../core/sealed.ts";
import type { Secrets } from "../../core/secrets.ts";
import { insertRow } from "../../store/insert.ts";
import type { Database, Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { keptSettings } from "../application-settings/kept.ts";
import { certificateErrors } from "./certificates.ts";
import { isOfSites } from "./hosts.ts";
import { domainOf } from "./place.ts";
import { purposeOf } from "./table.ts";

/** Domains of a project. */
const MOST_DOMAINS = 100;
const NAME =
  /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;

/** A domain of a project, as stored. */
interface Domain {
  readonly id: number;
  readonly domain: string;
  readonly certificate: string | null;
  readonly private_key: string | null;
  readonly updated_at: number;
}

/** A domain of a project. @throws ApiError 404 */
export async function findDomain(db: Reader, { id }: Source, name: string): Promise<Domain> {
  const found = await db.one<Domain>(
    "select id, domain, certificate, private_key, updated_at from site_domains where project_id = ? and domain = ?",
    [id, name.toLowerCase()],
  );
  if (!found) throw notFound();
  return found;
}

/** What is sent of a domain. */
export interface SentDomain {
  readonly auto_ssl_enabled?: boolean | undefined;
  readonly certificate?: string | null | undefined;
  readonly key?: string | null | undefined;
}

/** Whether domains count as verified at once: administrators can turn that off. */
async function isTrusting(db: Reader): Promise<boolean> {
  const stored = await storedIn(db, "application_settings", 1);
  return keptSettings.read(stored).pages_domain_verification_enabled === false;
}

type Changing = {
  readonly db: Database;
  readonly source: Source;
  readonly secrets: Secrets;
  readonly now: number;
};

/** Which hosts are the server's own: its sites', and that of the request. */
export interface OwnHosts {
  readonly sites: string;
  readonly host: string;
}

/** Adds a domain. @returns its id. @throws ApiError 400 */
export async function addDomain(
  { db, source, secrets, now }: Changing,
  name: string,
  sent: SentDomain,
  own: OwnHosts,
): Promise<number> {
  const domain = name.toLowerCase();
  const errors = await nameErrors(db, source, domain, own);
  if (errors.length > 0) throw invalid({ domain: errors });
  const certified = await certifiedColumns(db, secrets, { domain }, sent);
  return insertRow(db, "site_domains", {
    project_id: source.id,
    domain,
    auto_ssl_enabled: Number(sent.auto_ssl_enabled ?? false),
    certificate: null,
    private_key: null,
    ...certified,
    verification_code: randomBytes(16).toString("hex"),
    verified_at: (await isTrusting(db)) ? now : null,
    created_at: now,
    updated_at: now,
  });
}

async function nameErrors(
  db: Reader,
  { id }: Source,
  domain: string,
  { sites, host }: OwnHosts,
): Promise<string[]> {
  if (!NAME.test(domain)) return ["is invalid"];
  const ours = domainOf(sites);
  if (domain === host || (ours !== undefined && isOfSites(domain, ours))) return ["is reserved"];
  const taken = await db.rows("select 1 from site_domains where domain = ?", [domain]);
  if (taken.length > 0) return ["has already been taken"];
  const [counted] = await db.rows("select count(*) from site_domains where project_id = ?", [id]);
  return (counted?.[0] as number) < MOST_DOMAINS
    ? []
    : [`can't be more than ${MOST_DOMAINS} of a project`];
}

/** Changes a domain. @throws ApiError 400 */
export async function changeDomain(
  { db, secrets, now }: Changing,
  found: Domain,
  sent: SentDomain,
): Promise<void> {
  const flag = sent.auto_ssl_enabled;
  const columns = {
    auto_ssl_enabled: flag === undefined ? undefined : Number(flag),
    ...(await certifiedColumns(db, secrets, found, sent)),
  };
  await updateRow(db, "site_domains", found.id, columns, now);
}

/** The columns of what is sent of a certificate; none if nothing is. @throws ApiError 400 */
async function certifiedColumns(
  db: Database,
  secrets: Secrets,
  found: Pick<Domain, "domain"> & Partial<Domain>,
  { certificate, key }: SentDomain,
) {
  if (certificate === undefined && key === undefined) return {};
  const purpose = purposeOf(found.domain);
  const kept = found.private_key
    ? () => secrets.open(found.private_key as string, purpose)
    : () => null;
  const [newCertificate, newKey] = [
    certificate === undefined ? found.certificate : certificate,
    key === undefined ? kept() : key,
  ];
  if (!newCertificate && !newKey) return { certificate: null, private_key: null };
  const missing: AttributeErrors = {
    ...(!newCertificate && { certificate: ["can't be blank"] }),
    ...(!newKey && { key: ["can't be blank"] }),
  };
  const errors = newCertificate && newKey ? certificateErrors(newCertificate, newKey) : missing;
  if (Object.keys(errors).length > 0) throw invalid(errors);
  const seal = await sealerFor(db, secrets);
  return { certificate: newCertificate as string, private_key: seal(newKey as string, purpose) };
}

/** Verifies a domain: only where nothing has to be proved, since no name server is asked. @throws ApiError 400 */
export async function verifyDomain({ db, now }: Changing, { id, domain }: Domain): Promise<void> {
  if (!(await isTrusting(db))) throw badRequest(`Couldn't verify the ownership of ${domain}`);
  await updateRow(db, "site_domains", id, { verified_at: now }, now);
}
