import type { Migration } from "../../store/migrate.ts";

/** The worker that makes wikis from before repositories. */
export const CONVERTER = "wiki-converter";

/**
 * The pages of wikis' default branches, which follow from their repositories, and who subscribed to them. `content`
 * comes last, so that listing pages does not read it.
 *
 * Before wikis were repositories, `wiki_page_versions` and `wiki_attachments` had their history and their files (in
 * `wiki_blobs`). A worker, or whoever needs the repository first, makes one of them; then the worker deletes these rows.
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
  {
    // The default branch of a wiki, if it is not `master`; and a task for each wiki that is to become a repository.
    id: "20261122-99-wiki-repositories",
    sql: `
alter table git_repositories add column head $text;
insert into outbox (worker, payload, due_at, created_at)
  select 'wiki-converter', '{"project":' || id || '}', 0, (select max(applied_at) from schema_migrations)
  from projects p where exists (select 1 from wiki_pages w where w.project_id = p.id)
    or exists (select 1 from wiki_page_versions v where v.project_id = p.id)
    or exists (select 1 from wiki_attachments a where a.project_id = p.id)
  order by id;
`,
  },
];
