import type { Migration } from "../../store/migrate.ts";

/**
 * Wiki pages, who subscribed to them, and all their versions. `content` comes last, so that listing pages does not read it. Uploads are stored
 * in pieces, once per project and content (`wiki_blobs`); a blob without a `sha256` is still being uploaded.
 */
export const migrations: Migration[] = [
  {
    id: "20261121-17-wikis",
    sql: `
create table wiki_pages (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  slug $text not null,
  title $text not null,
  format $text not null,
  created_at $int not null,
  updated_at $int not null,
  content $text not null
);
create unique index wiki_pages_by_slug on wiki_pages (project_id, slug);
create index wiki_pages_by_title on wiki_pages (project_id, title, id);
create table wiki_page_versions (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  page_id $int not null,
  action $text not null,
  author_id $int references users (id) on delete set null,
  author_username $text,
  message $text not null,
  created_at $int not null,
  slug $text not null,
  title $text not null,
  format $text not null,
  content $text not null
);
create index wiki_page_versions_of_project on wiki_page_versions (project_id, id);
create index wiki_page_versions_by_author on wiki_page_versions (author_id);
create table wiki_blobs (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  sha256 $text,
  size $int not null default 0,
  created_at $int not null
);
create unique index wiki_blobs_by_content on wiki_blobs (project_id, sha256) where sha256 is not null;
create index wiki_blobs_of_project on wiki_blobs (project_id);
create index wiki_blobs_unfinished on wiki_blobs (created_at) where sha256 is null;
create table wiki_blob_pieces (
  blob_id $int not null references wiki_blobs (id) on delete cascade,
  number $int not null,
  bytes $bytes not null,
  primary key (blob_id, number)
);
create table wiki_attachments (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  blob_id $int not null references wiki_blobs (id) on delete cascade,
  secret $text not null,
  file_name $text not null,
  branch $text not null,
  author_id $int references users (id) on delete set null,
  created_at $int not null
);
create unique index wiki_attachments_by_path on wiki_attachments (project_id, secret, file_name);
create index wiki_attachments_by_blob on wiki_attachments (blob_id);
create index wiki_attachments_by_author on wiki_attachments (author_id);
`,
  },
  {
    id: "20261122-93-wiki-page-subscriptions",
    sql: `
create table wiki_page_subscriptions (
  page_id $int not null references wiki_pages (id) on delete cascade,
  user_id $int not null references users (id) on delete cascade,
  primary key (page_id, user_id)
);
create index wiki_page_subscriptions_by_user on wiki_page_subscriptions (user_id);
`,
  },
];
