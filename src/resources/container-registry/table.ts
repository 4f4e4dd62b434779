import type { SealedColumn } from "../../core/sealed.ts";
import { owning } from "../../files/table.ts";
import type { Migration } from "../../store/migrate.ts";

/**
 * Images of containers. The name of a repository is what follows the path of its project, `""` for the project's own.
 * Blobs are stored once, whichever repositories have them; a repository has those that it has a row for. What nothing needs
 * any more is noted in `unused_since`, and removed by a later sweep. A file that is being uploaded belongs to nothing yet:
 * with it, its upload ends.
 */
export const migrations: Migration[] = [
  {
    id: "20261216-01-container-registry",
    sql: `
create table container_registry_keys (
  id $int not null primary key check (id = 1),
  private_key $text not null,
  created_at $int not null
);
create table container_repositories (
  id $id,
  project_id $int not null references projects (id) on delete cascade,
  name $text not null,
  cleaned_at $int,
  created_at $int not null,
  updated_at $int not null,
  unique (project_id, name)
);
create index container_repositories_of_project on container_repositories (project_id, id);
create table container_blobs (
  id $id,
  digest $text not null unique,
  file_id $int not null references stored_files (id),
  size $int not null
);
${owning("container_blobs", "file_id")}create table container_repository_blobs (
  id $id,
  repository_id $int not null references container_repositories (id) on delete cascade,
  project_id $int not null references projects (id) on delete cascade,
  blob_id $int not null references container_blobs (id),
  unused_since $int,
  created_at $int not null,
  unique (repository_id, blob_id)
);
create index container_repository_blobs_of_project on container_repository_blobs (project_id, blob_id);
create index container_repository_blobs_of_blob on container_repository_blobs (blob_id);
create index container_repository_blobs_unused on container_repository_blobs (unused_since) where unused_since is not null;
create table container_manifests (
  id $id,
  repository_id $int not null references container_repositories (id) on delete cascade,
  project_id $int not null references projects (id) on delete cascade,
  digest $text not null,
  media_type $text not null,
  artifact_type $text,
  subject $text,
  annotations $text,
  config_digest $text,
  content $bytes not null,
  size $int not null,
  total_size $int not null,
  unused_since $int,
  created_at $int not null,
  unique (repository_id, digest)
);
create index container_manifests_of_project on container_manifests (project_id, id);
create index container_manifests_by_subject on container_manifests (repository_id, subject, id) where subject is not null;
create index container_manifests_unused on container_manifests (unused_since) where unused_since is not null;
create table container_manifest_blobs (
  manifest_id $int not null references container_manifests (id) on delete cascade,
  link_id $int not null references container_repository_blobs (id) on delete cascade,
  primary key (manifest_id, link_id)
);
create index container_manifest_blobs_of_link on container_manifest_blobs (link_id);
create table container_manifest_children (
  manifest_id $int not null references container_manifests (id) on delete cascade,
  child_id $int not null references container_manifests (id) on delete cascade,
  primary key (manifest_id, child_id)
);
create index container_manifest_children_of_child on container_manifest_children (child_id);
create table container_tags (
  id $id,
  repository_id $int not null references container_repositories (id) on delete cascade,
  manifest_id $int not null references container_manifests (id) on delete cascade,
  name $text not null,
  pushed_at $int not null,
  unique (repository_id, name)
);
create index container_tags_of_manifest on container_tags (manifest_id);
create index container_tags_by_push on container_tags (repository_id, pushed_at, id);
create table container_uploads (
  id $id,
  uuid $text not null unique,
  repository_id $int not null references container_repositories (id) on delete cascade,
  person $text not null,
  file_id $int not null references stored_files (id) on delete cascade,
  size $int not null,
  started_at $int not null
);
create index container_uploads_of_repository on container_uploads (repository_id);
create index container_uploads_of_person on container_uploads (person, started_at);
create unique index container_uploads_of_file on container_uploads (file_id);
`,
  },
];

/** What the key is encrypted for that signs the tokens of the registry. */
export const KEY_PURPOSE = "container registry key";

/** Where the key is that signs the tokens of the registry. */
export const REGISTRY_KEYS: SealedColumn = {
  table: "container_registry_keys",
  id: "id",
  column: "private_key",
  purpose: `'${KEY_PURPOSE}'`,
};
