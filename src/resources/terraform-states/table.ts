import type { SealedColumn } from "../../core/sealed.ts";
import type { Migration } from "../../store/migrate.ts";

/**
 * States of Terraform and OpenTofu, with all their versions. `lock_info` is JSON: what the program that has locked a state
 * said of it. The content is encrypted, since states have the secrets of what they describe.
 */
export const migrations: Migration[] = [
  {
    id: "20261206-72-terraform-states",
    sql: `
create table terraform_states (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  name $text not null,
  lock_id $text,
  lock_info $text,
  locked_by $text,
  locked_at $int,
  created_at $int not null,
  updated_at $int not null,
  unique (project_id, name)
);
create table terraform_state_versions (
  id $id,
  state_id $int not null references terraform_states (id) on delete cascade,
  serial $int not null,
  content $text not null,
  created_at $int not null,
  unique (state_id, serial)
);
`,
  },
];

/** What a version is encrypted for. */
export const purposeOf = (stateId: number, serial: number) =>
  `terraform state ${stateId} ${serial}`;

/** Where the versions are. They are large. */
export const STATE_VERSIONS: SealedColumn = {
  table: "terraform_state_versions",
  id: "id",
  column: "content",
  purpose: "'terraform state ' || state_id || ' ' || serial",
  batch: 4,
};
