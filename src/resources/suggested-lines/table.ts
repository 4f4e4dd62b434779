import type { Migration } from "../../store/migrate.ts";

/**
 * What notes on lines of merge requests suggest instead of these lines, in the order of their text. A suggestion is for the
 * line of its note, `lines_above` lines before it and `lines_below` after it. The contents, what the lines were and what
 * they are to be, are JSON strings, so that notes show them as they are stored. `applied_sha` is the commit that applied it.
 */
export const migrations: Migration[] = [
  {
    id: "20261217-10-suggestions",
    sql: `
create table suggestions (
  id $id,
  note_id $int not null references notes (id) on delete cascade,
  place $int not null,
  lines_above $int not null,
  lines_below $int not null,
  from_content $text not null,
  to_content $text not null,
  applied_sha $text
);
create unique index suggestions_of_note on suggestions (note_id, place);
`,
  },
];
