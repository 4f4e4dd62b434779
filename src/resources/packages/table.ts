import { owning } from "../../files/table.ts";
import type { Migration } from "../../store/migrate.ts";

/** Packages of projects, and their files, which are stored files. */
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
];
