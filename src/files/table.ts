import type { Migration } from "../store/migrate.ts";

/**
 * Files that were uploaded or made, in pieces, and their digests (`sha256` in hex, once they are complete). A file
 * belongs to the one record that refers to it, by a column that {@link owning} declares. One that belongs to none has
 * been unused since it was received; 0 if its record was deleted.
 */
export const migrations: Migration[] = [
  {
    id: "20261123-06-stored-files",
    sql: `
create table stored_files (
  id $id,
  size $int not null default 0,
  sha256 $text,
  unused_since $int
);
create index stored_files_unused on stored_files (unused_since) where unused_since is not null;
create table stored_file_pieces (
  file_id $int not null references stored_files (id) on delete cascade,
  number $int not null,
  bytes $bytes not null,
  primary key (file_id, number)
);
delete from wiki_blobs where sha256 is null;
`,
  },
];

/**
 * Statements of a migration that make a column own stored files: triggers mark files as used when a row refers to them,
 * and as unused when it no longer does, also if it is deleted with something else. The sweep then deletes them.
 *
 * @param table exists already
 * @param column `$int references stored_files (id)`, without `on delete`; may be null
 */
export function owning(table: string, column: string): string {
  const name = `${table}_${column}`;
  const use = `update stored_files set unused_since = null where id = new.${column} and unused_since is not null;`;
  const free = `update stored_files set unused_since = 0 where id = old.${column};`;
  const sqlite = (event: string, when: string, statement: string) =>
    `$sqlite create trigger ${name}_${event} after ${when} begin ${statement} end;\n`;
  const postgres = (event: string, when: string, statement: string) =>
    `$postgres create function ${name}_${event}() returns trigger language plpgsql as $do$ begin ${statement} return null; end $do$;
$postgres create trigger ${name}_${event} after ${when} execute function ${name}_${event}();\n`;
  const changed = `update of ${column} on ${table}`;
  return `create unique index ${name} on ${table} (${column}) where ${column} is not null;
${sqlite("used", `insert on ${table}`, use)}${sqlite("freed", `delete on ${table}`, free)}${sqlite(
  "changed",
  `${changed} when new.${column} is not old.${column}`,
  `${free} ${use}`,
)}${postgres("used", `insert on ${table} for each row`, use)}${postgres(
  "freed",
  `delete on ${table} for each row`,
  free,
)}${postgres(
  "changed",
  `${changed} for each row when (new.${column} is distinct from old.${column})`,
  `${free} ${use}`,
)}`;
}
