import type { Migration } from "../../store/migrate.ts";

/** Releases of projects, each of a tag; and what belongs to them: links to assets, and milestones. */
export const migrations: Migration[] = [
  {
    id: "20261123-10-releases",
    sql: `
create table releases (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  tag $text not null,
  name $text,
  description $text,
  sha $text,
  author_id $int references users (id) on delete set null,
  created_at $int not null,
  updated_at $int not null,
  released_at $int not null
);
create unique index releases_by_tag on releases (project_id, tag);
create index releases_by_release on releases (project_id, released_at, id);
create index releases_by_creation on releases (project_id, created_at, id);
create index releases_by_author on releases (author_id);
create table release_links (
  id $id,
  release_id $int not null references releases (id) on delete cascade,
  name $text not null,
  url $text not null,
  filepath $text,
  link_type $text not null,
  updated_at $int not null
);
create unique index release_links_by_name on release_links (release_id, name);
create unique index release_links_by_url on release_links (release_id, url);
create unique index release_links_by_path on release_links (release_id, filepath) where filepath is not null;
create table release_milestones (
  release_id $int not null references releases (id) on delete cascade,
  milestone_id $int not null references milestones (id) on delete cascade,
  primary key (release_id, milestone_id)
);
create index release_milestones_by_milestone on release_milestones (milestone_id);
`,
  },
  {
    // What a release was when somebody collected it as evidence, as JSON, and the digest of that.
    id: "20261219-02-release-evidences",
    sql: `
create table release_evidences (
  id $id,
  release_id $int not null references releases (id) on delete cascade,
  sha $text not null,
  summary $text not null,
  collected_at $int not null
);
create index release_evidences_of_release on release_evidences (release_id, id);
`,
  },
];
