import type { Migration } from "../../store/migrate.ts";

/** People. E-mail addresses and user names are unique whatever their case. */
export const migrations: Migration[] = [
  {
    id: "20261121-01-users",
    sql: `
create table users (
  id $id,
  username $text not null,
  name $text not null,
  email $text not null,
  password_hash $text,
  state $text not null default 'active',
  admin $int not null default 0,
  external $int not null default 0,
  private_profile $int not null default 0,
  can_create_group $int not null default 1,
  projects_limit $int not null default 100000,
  bio $text,
  location $text,
  public_email $text,
  skype $text,
  linkedin $text,
  twitter $text,
  website_url $text,
  organization $text,
  avatar_url $text,
  created_at $int not null,
  updated_at $int not null,
  last_sign_in_at $int,
  current_sign_in_at $int,
  last_activity_on $text
);
create unique index users_username on users (lower(username));
create unique index users_email on users (lower(email));
`,
  },
];
