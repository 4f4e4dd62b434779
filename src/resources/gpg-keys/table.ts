import type { Migration } from "../../store/migrate.ts";

/**
 * GPG keys of users. A removed key stays, since what it had signed until then stays verified; a revoked one does not. The parts
 * are the keys in it that sign: `packet` is the public key as OpenPGP has it, in base64.
 */
export const migrations: Migration[] = [
  {
    id: "20261206-31-gpg-keys",
    sql: `
create table gpg_keys (
  id $id,
  user_id $int not null references users (id) on delete cascade,
  key $text not null,
  fingerprint $text not null,
  primary_keyid $text not null,
  user_ids $text not null,
  created_at $int not null,
  updated_at $int not null,
  removed_at $int
);
create unique index gpg_keys_by_fingerprint on gpg_keys (fingerprint) where removed_at is null;
create index gpg_keys_of_user on gpg_keys (user_id, id) where removed_at is null;
create index gpg_keys_removed on gpg_keys (user_id, removed_at, id);
create table gpg_key_parts (
  id $id,
  gpg_key_id $int not null references gpg_keys (id) on delete cascade,
  keyid $text not null,
  packet $text not null,
  is_primary $int not null,
  is_revoked $int not null,
  expires_at $int
);
create index gpg_key_parts_by_keyid on gpg_key_parts (keyid, id);
create index gpg_key_parts_of_key on gpg_key_parts (gpg_key_id, id);
`,
  },
];
