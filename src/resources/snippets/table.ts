import { searchMigration } from "../../core/lists/search-index.ts";
import type { Migration } from "../../store/migrate.ts";
import { SNIPPET_SEARCH } from "./search.ts";

/** Snippets of projects, and personal ones (`project_id` null). */
export const migrations: Migration[] = [
  {
    id: "20261121-71-snippets",
    sql: `
create table snippets (
  id $id,
  project_id $int references projects (id) on delete cascade,
  author_id $int not null references users (id) on delete cascade,
  title $text not null,
  file_name $text not null,
  description $text,
  content $text not null,
  visibility $int not null,
  created_at $int not null,
  updated_at $int not null
);
create index snippets_by_project on snippets (project_id, id);
create index snippets_by_author on snippets (author_id, id);
create index snippets_by_visibility on snippets (visibility, id) where project_id is null;
`,
  },
  searchMigration("20261123-11-snippet-search", SNIPPET_SEARCH),
  {
    // The files of a snippet after its first one.
    id: "20261130-10-files-of-snippets",
    sql: `
create table snippet_files (
  id $id,
  snippet_id $int not null references snippets (id) on delete cascade,
  path $text not null,
  content $text not null
);
create unique index snippet_files_of_snippet on snippet_files (snippet_id, path);
`,
  },
  {
    // Where lists start that are filtered by when snippets were created.
    id: "20261201-31-snippets-by-age",
    sql: "create index snippets_by_age on snippets (created_at, id);",
  },
];
