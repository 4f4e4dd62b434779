import type { SealedColumn } from "../../core/sealed.ts";
import type { Migration } from "../../store/migrate.ts";

/**
 * Repositories that the pushes of a project are pushed on to. `url` is as callers see it, with stars in the place of its
 * user and password, which are encrypted in `credentials`, as in a URL.
 */
export const migrations: Migration[] = [
  {
    id: "20261206-70-remote-mirrors",
    sql: `
create table remote_mirrors (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  enabled $int not null,
  url $text not null,
  credentials $text,
  only_protected_branches $int not null default 0,
  keep_divergent_refs $int not null default 0,
  mirror_branch_regex $text,
  update_status $text not null default 'none',
  last_update_at $int,
  last_update_started_at $int,
  last_successful_update_at $int,
  last_error $text,
  created_at $int not null,
  updated_at $int not null
);
create index remote_mirrors_of_project on remote_mirrors (project_id, id);
`,
  },
  {
    id: "20270121-03-large-files-of-push-mirrors",
    // The object of Git LFS of the project up to which all were sent.
    sql: "alter table remote_mirrors add column large_files_until $int not null default 0;",
  },
];

/** What the credentials of a mirror are encrypted for. */
export const purposeOf = (id: number) => `remote mirror ${id}`;

/** Where these are. */
export const MIRROR_CREDENTIALS: SealedColumn = {
  table: "remote_mirrors",
  id: "id",
  column: "credentials",
  purpose: "'remote mirror ' || id",
};
