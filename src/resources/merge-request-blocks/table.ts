import type { Migration } from "../../store/migrate.ts";

/** Which merge requests are to be merged before others, also across projects. */
export const migrations: Migration[] = [
  {
    id: "20261212-22-merge-request-blocks",
    sql: `
create table merge_request_blocks (
  id $id,
  blocking_id $int not null references merge_requests (id) on delete cascade,
  blocked_id $int not null references merge_requests (id) on delete cascade,
  created_at $int not null
);
create unique index merge_request_blocks_of_blocked on merge_request_blocks (blocked_id, blocking_id);
create index merge_request_blocks_of_blocking on merge_request_blocks (blocking_id, id);
`,
  },
];
