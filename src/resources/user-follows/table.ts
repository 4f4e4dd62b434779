import type { Migration } from "../../store/migrate.ts";

/** Who follows whom. */
export const migrations: Migration[] = [
  {
    id: "20261124-05-user-follows",
    sql: `
create table user_follows (
  id $id,
  follower_id $int not null references users (id) on delete cascade,
  followed_id $int not null references users (id) on delete cascade,
  created_at $int not null
);
create unique index user_follows_by_follower on user_follows (follower_id, followed_id);
create index user_follows_of_follower on user_follows (follower_id, id);
create index user_follows_of_followed on user_follows (followed_id, id);
`,
  },
];
