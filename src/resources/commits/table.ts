import type { Migration } from "../../store/migrate.ts";

/** Comments on commits: on the commit as a whole, or on a line of a file that it changed. */
export const migrations: Migration[] = [
  {
    id: "20261122-89-commit-comments",
    sql: `
create table commit_comments (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  commit_id $text not null,
  author_id $int references users (id) on delete set null,
  note $text not null,
  path $text,
  line $int,
  line_type $text,
  created_at $int not null
);
create index commit_comments_of_commit on commit_comments (project_id, commit_id, created_at, id);
create index commit_comments_by_author on commit_comments (author_id);
`,
  },
];
