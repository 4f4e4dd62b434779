/** How many bytes the packs of a project's repositories of a kind have. */
const packed = (kind: "code" | "wiki") => `(select coalesce(sum(k.bytes), 0) from git_repositories r
  join git_repository_packs rk on rk.repository_id = r.id join git_packs k on k.id = rk.pack_id
  where r.project_id = p.id and r.kind = '${kind}')`;

/** What a project `p` stores, in bytes, without its images of containers. */
const COUNTED = {
  repository_size: packed("code"),
  wiki_size: packed("wiki"),
  lfs_objects_size: `(select coalesce(sum(o.size), 0) from lfs_object_projects l join lfs_objects o on o.id = l.object_id
    where l.project_id = p.id)`,
  packages_size: `(select coalesce(sum(f.size), 0) from packages g join package_files f on f.package_id = g.id
    where g.project_id = p.id)`,
  uploads_size: `(select coalesce(sum(f.size), 0) from project_uploads f where f.project_id = p.id)`,
  job_artifacts_size: `(select coalesce(sum(f.size), 0) from job_artifacts a join stored_files f on f.id = a.file_id
    where a.project_id = p.id)`,
} as const;

/** What a project `p` stores, in bytes: of its images each blob once. As in GitLab, these are no part of `storage_size`. */
export const SIZES = {
  ...COUNTED,
  container_registry_size: `(select coalesce(sum(b.size), 0) from container_blobs b where b.id in
    (select l.blob_id from container_repository_blobs l where l.project_id = p.id))`,
} as const;

/** Whether a size is a part of `storage_size`. */
export const isCounted = (name: string): boolean => name in COUNTED;

/** How many commits the default branch of a project `p` has. */
export const COMMIT_COUNT = `(select coalesce(max(r.commit_count), 0) from git_repositories r
  where r.project_id = p.id and r.kind = 'code')`;

/** The orders by what projects store, which are for administrators, as SQL. */
export const SIZE_ORDERS = {
  repository_size: COUNTED.repository_size,
  wiki_size: COUNTED.wiki_size,
  packages_size: COUNTED.packages_size,
  storage_size: Object.values(COUNTED).join(" + "),
} as const;

/** An order by what projects store. */
export type SizeOrder = keyof typeof SIZE_ORDERS;
