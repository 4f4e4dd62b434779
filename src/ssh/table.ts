import type { Migration } from "../store/migrate.ts";

/** The keys by which clients of SSH know the server. */
export const migrations: Migration[] = [
  {
    id: "20261224-02-ssh-host-keys",
    sql: `
create table ssh_host_keys (
  id $id,
  public_key $text not null,
  fingerprint $text not null,
  private_key $text not null,
  created_at $int not null
);
create unique index ssh_host_keys_by_fingerprint on ssh_host_keys (fingerprint);
`,
  },
];
