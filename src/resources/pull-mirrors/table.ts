import type { SealedColumn } from "../../core/sealed.ts";
import type { Migration } from "../../store/migrate.ts";

/**
 * The repositories that projects are updated from, one of a project at most. `url` is as callers see it, with stars in the
 * place of its user and password, which are encrypted in `credentials`, as in a URL. The changes are of the user who has
 * set it up.
 */
export const migrations: Migration[] = [
  {
    id: "20261214-10-pull-mirrors",
    sql: `
create table pull_mirrors (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  user_id $int references users (id) on delete set null,
  enabled $int not null default 0,
  url $text not null,
  credentials $text,
  mirror_trigger_builds $int not null default 0,
  only_mirror_protected_branches $int not null default 0,
  mirror_overwrites_diverged_branches $int not null default 0,
  mirror_branch_regex $text,
  update_status $text not null default 'none',
  last_update_at $int,
  last_update_started_at $int,
  last_successful_update_at $int,
  last_error $text,
  failures $int not null default 0,
  next_update_at $int not null default 0,
  created_at $int not null,
  updated_at $int not null
);
create unique index pull_mirrors_of_project on pull_mirrors (project_id);
create index pull_mirrors_of_user on pull_mirrors (user_id);
create index pull_mirrors_due on pull_mirrors (next_update_at, id) where enabled = 1;
`,
  },
  {
    id: "20270120-01-large-files-of-mirrors",
    // The pack up to which the objects of Git LFS are here.
    sql: "alter table pull_mirrors add column large_files_until $int not null default 0;",
  },
];

/** What the credentials of a mirror are encrypted for. */
export const purposeOf = (id: number) => `pull mirror ${id}`;

/** Where these are. */
export const MIRROR_CREDENTIALS: SealedColumn = {
  table: "pull_mirrors",
  id: "id",
  column: "credentials",
  purpose: "'pull mirror ' || id",
};
