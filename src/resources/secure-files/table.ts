import type { SealedColumn } from "../../core/sealed.ts";
import type { Migration } from "../../store/migrate.ts";

/** Files that jobs need and nobody else should see, such as keys. `content` is in base64, and encrypted. */
export const migrations: Migration[] = [
  {
    id: "20261212-34-secure-files",
    sql: `
create table secure_files (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  name $text not null,
  checksum $text not null,
  content $text not null,
  created_at $int not null,
  unique (project_id, name)
);
create index secure_files_of_project on secure_files (project_id, id);
`,
  },
];

/** What a file is encrypted for. */
export const purposeOf = (projectId: number, name: string) => `secure file ${projectId} ${name}`;

/** Where the files are. They are large. */
export const SECURE_FILES: SealedColumn = {
  table: "secure_files",
  id: "id",
  column: "content",
  purpose: "'secure file ' || project_id || ' ' || name",
  batch: 4,
};
