import type { SealedColumn } from "../../core/sealed.ts";
import type { Migration } from "../../store/migrate.ts";

/** Tokens that start pipelines. They are found by their digest; their owner sees them again, so they are encrypted, too. */
export const migrations: Migration[] = [
  {
    id: "20261123-08-40-pipeline-triggers",
    sql: `
create table pipeline_triggers (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  owner_id $int not null references users (id) on delete cascade,
  description $text not null,
  token $text not null,
  digest $text not null,
  last_used_at $int,
  expires_at $int,
  created_at $int not null,
  updated_at $int not null
);
create unique index pipeline_triggers_digest on pipeline_triggers (digest);
create index pipeline_triggers_of_project on pipeline_triggers (project_id, id);
create index pipeline_triggers_of_owner on pipeline_triggers (owner_id, id);
`,
  },
];

/**
 * What a token is encrypted for, as an SQL expression.
 *
 * @param tr the beginning of the names of the columns, such as `tr.`
 */
export const purposeOf = (tr: string) => `'trigger ' || ${tr}digest`;

/** Where the tokens are. */
export const TRIGGER_TOKENS: SealedColumn = {
  table: "pipeline_triggers",
  id: "id",
  column: "token",
  purpose: purposeOf(""),
};
