import type { Migration } from "../store/migrate.ts";

/**
 * Git repositories: sets of references and of packs, which never change. `version` grows whenever the set of packs does;
 * `repacked` is the version that last dropped objects; `has_garbage` says that references were deleted or replaced since.
 * A pack's pieces have its entries as they were pushed; its index says what they are. A pack of no repository is being
 * received, or was left behind by a push that failed or by packing again: it is deleted some time after `unused_since`.
 */
export const migrations: Migration[] = [
  {
    id: "20261122-86-git",
    sql: `
create table git_repositories (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  kind $text not null,
  version $int not null default 0,
  repacked $int not null default 0,
  has_garbage $int not null default 0
);
create unique index git_repositories_of_project on git_repositories (project_id, kind);
create table git_refs (
  repository_id $int not null references git_repositories (id) on delete cascade,
  name $text not null,
  oid $text not null,
  peeled $text,
  primary key (repository_id, name)
);
create table git_packs (
  id $id,
  objects $int not null default 0,
  bytes $int not null default 0,
  unused_since $int not null
);
create table git_repository_packs (
  repository_id $int not null references git_repositories (id) on delete cascade,
  pack_id $int not null references git_packs (id),
  primary key (repository_id, pack_id)
);
create index git_repository_packs_by_pack on git_repository_packs (pack_id);
create table git_pack_pieces (
  pack_id $int not null references git_packs (id) on delete cascade,
  number $int not null,
  bytes $bytes not null,
  primary key (pack_id, number)
);
create table git_pack_indexes (
  pack_id $int not null references git_packs (id) on delete cascade,
  number $int not null,
  bytes $bytes not null,
  primary key (pack_id, number)
);
`,
  },
  {
    // How many commits the default branch has, for the statistics of projects.
    id: "20261122-87-git-commit-counts",
    sql: "alter table git_repositories add column commit_count $int not null default 0;",
  },
  {
    // The path of the default branch's README, for lists of projects.
    id: "20261122-88-readme",
    sql: "alter table git_repositories add column readme $text;",
  },
  {
    // The two columns above are still to be filled in where older versions have received the pushes: by the next sweep.
    id: "20261123-04-git-facts-of-old-pushes",
    sql: `
alter table git_repositories add column is_noted $int not null default 1;
update git_repositories set is_noted = 0 where kind = 'code' and (commit_count = 0 or readme is null);
delete from jobs where name = 'sweep';
`,
  },
  {
    // When somebody last asked for packing a repository again, in epoch milliseconds.
    id: "20261124-01-git-housekeeping",
    sql: "alter table git_repositories add column packed_at $int;",
  },
  {
    // Grows with every change of the references: what they reach is remembered by it. Objects are looked up by their names.
    id: "20261128-31-what-references-reach",
    sql: `
alter table git_repositories add column refs_version $int not null default 0;
create index git_refs_by_oid on git_refs (repository_id, oid);
`,
  },
  {
    // When tags were made, in seconds of the epoch: the newest one is in badges. Of old ones, the next sweep notes it.
    id: "20261129-21-dates-of-tags",
    sql: `
alter table git_refs add column tagged_at $int;
create index git_refs_by_age_of_tags on git_refs (repository_id, tagged_at) where tagged_at is not null;
update git_repositories set is_noted = 0 where kind = 'code' and exists (select 1 from git_refs r
  where r.repository_id = git_repositories.id and r.name > 'refs/tags/' and r.name < 'refs/tags0');
delete from jobs where name = 'sweep';
`,
  },
  {
    // The languages of the default branch, as JSON, and the commit that has them.
    id: "20261204-01-languages",
    sql: `
alter table git_repositories add column languages $text;
alter table git_repositories add column languages_oid $text;
`,
  },
];
