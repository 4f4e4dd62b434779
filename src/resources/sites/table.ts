import type { SealedColumn } from "../../core/sealed.ts";
import { owning } from "../../files/table.ts";
import type { Migration } from "../../store/migrate.ts";

/**
 * The sites of projects. A deployment is `new` while its files are recorded, then `live`, and `dead` once another has
 * replaced it. Its stored file has the contents of its files one after the other, packed as they were in the job's archive.
 */
export const migrations: Migration[] = [
  {
    id: "20261219-01-sites",
    sql: `
create table site_settings (
  project_id $int primary key references projects (id) on delete cascade,
  unique_domain $int not null,
  https_only $int not null,
  primary_domain $text
);
create table site_deployments (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  job_id $int not null,
  path_prefix $text not null,
  root_directory $text not null,
  file_id $int references stored_files (id),
  redirects $text,
  state $text not null,
  expires_at $int,
  created_at $int not null
);
create index site_deployments_of_project on site_deployments (project_id, state, path_prefix, id);
create unique index site_deployments_live on site_deployments (project_id, path_prefix) where state = 'live';
create index site_deployments_dead on site_deployments (created_at) where state <> 'live';
create index site_deployments_expiring on site_deployments (expires_at) where expires_at is not null;
${owning("site_deployments", "file_id")}create table site_files (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  deployment_id $int not null references site_deployments (id) on delete cascade,
  path $text not null,
  begins_at $int not null,
  packed $int not null,
  length $int not null,
  deflated $int not null,
  unique (deployment_id, path)
);
create index site_files_of_project on site_files (project_id, id);
create table site_domains (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  domain $text not null unique,
  auto_ssl_enabled $int not null,
  certificate $text,
  private_key $text,
  verification_code $text not null,
  verified_at $int,
  created_at $int not null,
  updated_at $int not null
);
create index site_domains_of_project on site_domains (project_id, domain);
`,
  },
];

/** What the key of a domain's certificate is encrypted for. */
export const purposeOf = (domain: string) => `key of domain ${domain}`;

/** Where the keys of domains' certificates are. */
export const DOMAIN_KEYS: SealedColumn = {
  table: "site_domains",
  id: "id",
  column: "private_key",
  purpose: "'key of domain ' || domain",
};
