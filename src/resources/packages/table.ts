import { owning } from "../../files/table.ts";
import type { Migration } from "../../store/migrate.ts";

/**
 * Packages of projects, and their files, which are stored files. A `manifest` is what a registry tells of a version, as JSON.
 * Digests are in hex. A tag is a name for one of the versions of a package. Settings are about whether a version may be published again in the
 * projects of a namespace.
 */
export const migrations: Migration[] = [
  {
    id: "20261123-10-packages",
    sql: `
create table packages (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  package_type $text not null,
  name $text not null,
  version $text not null,
  status $text not null,
  creator_id $int references users (id) on delete set null,
  created_at $int not null,
  updated_at $int not null
);
create unique index packages_by_version on packages (project_id, package_type, name, version);
create index packages_by_creation on packages (project_id, created_at, id);
create index packages_by_name on packages (project_id, name, id);
create index packages_by_number on packages (project_id, version, id);
create index packages_by_creator on packages (creator_id);
create table package_files (
  id $id,
  package_id $int not null references packages (id) on delete cascade,
  file_id $int not null references stored_files (id),
  file_name $text not null,
  size $int not null,
  sha256 $text not null,
  status $text not null,
  created_at $int not null
);
create index package_files_of_package on package_files (package_id, id);
create index package_files_by_name on package_files (package_id, file_name, id);
${owning("package_files", "file_id")}`,
  },
  {
    id: "20261222-01-npm",
    sql: `
alter table packages add column manifest $text;
create index packages_by_kind on packages (package_type, name, id);
alter table package_files add column md5 $text;
alter table package_files add column sha1 $text;
alter table package_files add column sha512 $text;
create table package_tags (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  package_type $text not null,
  package_name $text not null,
  name $text not null,
  package_id $int not null references packages (id) on delete cascade,
  created_at $int not null,
  updated_at $int not null
);
create unique index package_tags_by_name on package_tags (project_id, package_type, package_name, name);
create index package_tags_of_package on package_tags (package_id, id);`,
  },
  {
    id: "20261228-01-helm",
    sql: `
alter table package_files add column channel $text;
alter table package_files add column manifest $text;`,
  },
  {
    id: "20261228-02-nuget",
    sql: "create index packages_by_lower_name on packages (package_type, lower(name), id);",
  },
  {
    id: "20270121-01-package-settings",
    sql: `
create table package_settings (
  namespace_id $int not null primary key references namespaces (id) on delete cascade,
  maven_duplicates_allowed $int not null,
  maven_duplicate_exception_regex $text not null,
  generic_duplicates_allowed $int not null,
  generic_duplicate_exception_regex $text not null,
  nuget_duplicates_allowed $int not null,
  nuget_duplicate_exception_regex $text not null,
  terraform_module_duplicates_allowed $int not null,
  terraform_module_duplicate_exception_regex $text not null,
  created_at $int not null,
  updated_at $int not null
);`,
  },
];
