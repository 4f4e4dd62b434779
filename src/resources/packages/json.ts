import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";

/** A name for a version of a package. */
export const packageTag = presenter({
  id: field.integer("pt.id"),
  package_id: field.integer("pt.package_id"),
  name: field.text("pt.name"),
  created_at: field.instant("pt.created_at"),
  updated_at: field.instant("pt.updated_at"),
});

/** A package, with its project `p`. */
const packageFields = {
  id: field.integer("pk.id"),
  name: field.text("pk.name"),
  version: field.text("nullif(pk.version, '')"),
  package_type: field.text("pk.package_type"),
  status: field.text("pk.status"),
  _links: field.nested({
    web_path: field.derived(
      ["p.full_path", "pk.id"],
      "string",
      ([path, id]) => `/${path}/-/packages/${id}`,
    ),
  }),
  created_at: field.instant("pk.created_at"),
  tags: field.embedded("tags_json", "array", "[]", { items: packageTag.fields }),
};

/** A package of a project. */
export const projectPackage = presenter(packageFields);

/** A package in the list of a group. */
export const groupPackage = presenter({
  ...packageFields,
  project_id: field.integer("p.id"),
  project_path: field.text("p.full_path"),
});

/** A file of a package. */
export const packageFile = presenter({
  id: field.integer("pf.id"),
  package_id: field.integer("pf.package_id"),
  created_at: field.instant("pf.created_at"),
  file_name: field.text("pf.file_name"),
  size: field.integer("pf.size"),
  file_md5: field.text("pf.md5"),
  file_sha1: field.text("pf.sha1"),
  file_sha256: field.text("pf.sha256"),
  pipelines: field.constant([]),
});

/** A file that was just uploaded, with where it is downloaded from. */
export const uploadedFile = presenter({
  id: field.integer("pf.id"),
  package_id: field.integer("pf.package_id"),
  created_at: field.instant("pf.created_at"),
  updated_at: field.instant("pf.created_at"),
  size: field.integer("pf.size"),
  file_store: field.constant(1),
  file_md5: field.text("pf.md5"),
  file_sha1: field.text("pf.sha1"),
  file_sha256: field.text("pf.sha256"),
  file_name: field.text("pf.file_name"),
  file: field.nested({
    url: field.derived(
      ["pk.project_id", "pk.name", "pk.version", "pf.file_name"],
      "string",
      ([project, ...parts], view) =>
        `${view.base}/api/v4/projects/${project}/packages/generic/${parts.map((part) => encodeURIComponent(String(part))).join("/")}`,
    ),
  }),
});
