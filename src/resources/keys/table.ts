import type { Migration } from "../../store/migrate.ts";

/**
 * SSH keys of users, and deploy keys (`user_id` is null), which belong to projects. `is_public` keys can be used by any
 * project.
 */
export const migrations: Migration[] = [
  {
    id: "20261122-87-ssh-keys",
    sql: `
create table ssh_keys (
  id $id,
  user_id $int references users (id) on delete cascade,
  title $text not null,
  key $text not null,
  fingerprint $text not null,
  fingerprint_sha256 $text not null,
  usage_type $text not null default 'auth_and_signing',
  is_public $int not null default 0,
  created_at $int not null,
  updated_at $int not null,
  expires_at $int
);
create unique index ssh_keys_by_fingerprint on ssh_keys (fingerprint_sha256);
create index ssh_keys_of_user on ssh_keys (user_id, id);
create index public_deploy_keys on ssh_keys (is_public, id) where user_id is null;
create table deploy_keys (
  project_id $int not null references projects (id) on delete cascade,
  key_id $int not null references ssh_keys (id) on delete cascade,
  can_push $int not null,
  primary key (project_id, key_id)
);
create index deploy_keys_by_key on deploy_keys (key_id);
`,
  },
  {
    // Administrators look keys up by either fingerprint.
    id: "20261202-02-keys-by-md5",
    sql: "create index ssh_keys_by_md5 on ssh_keys (fingerprint);\n",
  },
  {
    // Keys sign in over SSH; what a deploy key pushes is of the user who has added it.
    id: "20261224-01-keys-that-sign-in",
    sql: `
alter table ssh_keys add column last_used_at $int;
alter table ssh_keys add column creator_id $int references users (id) on delete set null;
create index deploy_keys_by_creator on ssh_keys (creator_id) where creator_id is not null;
`,
  },
];
