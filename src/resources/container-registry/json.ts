import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { nameOf } from "./names.ts";

/** The address of a repository for clients of images: it begins with the host, as `docker pull` takes it. */
const locationOf = (base: string, fullPath: string, own: string): string =>
  `${new URL(base).host}/${nameOf(fullPath, own)}`;

const PATH = ["p.full_path", "cr.name"] as const;
/** The same with a tag. */
const TAG = [...PATH, "ct.name"] as const;

const tagFields = {
  name: field.text("ct.name"),
  path: field.derived(
    TAG,
    "string",
    ([path, own, tag]) => `${nameOf(String(path), String(own))}:${tag}`,
  ),
  location: field.derived(
    TAG,
    "string",
    ([path, own, tag], { base }) => `${locationOf(base, String(path), String(own))}:${tag}`,
  ),
};

/** A tag in a list. */
export const tag = presenter(tagFields);

const withoutAlgorithm = (digest: unknown) => String(digest).replace(/^\w+:/, "");

/** A tag, with its manifest `m`. */
export const tagDetails = presenter({
  ...tagFields,
  revision: field.derived(["cm.config_digest"], "string or null", ([config]) =>
    config === null ? null : withoutAlgorithm(config),
  ),
  short_revision: field.derived(["cm.config_digest"], "string or null", ([config]) =>
    config === null ? null : withoutAlgorithm(config).slice(0, 9),
  ),
  digest: field.text("cm.digest"),
  created_at: field.instant("ct.pushed_at"),
  total_size: field.integer("cm.total_size"),
});

/** A repository. What is asked besides is put into it by a handler. */
export const repository = presenter({
  id: field.integer("cr.id"),
  name: field.text("cr.name"),
  path: field.derived(PATH, "string", ([path, own]) => nameOf(String(path), String(own))),
  project_id: field.integer("cr.project_id"),
  location: field.derived(PATH, "string", ([path, own], { base }) =>
    locationOf(base, String(path), String(own)),
  ),
  created_at: field.instant("cr.created_at"),
  // Repositories are deleted at once, and no policy cleans them up.
  cleanup_policy_started_at: field.constant(null),
  status: field.constant(null),
  tags_count: field.omittedIfNull(field.embedded("tags_count", "integer", "null")),
  tags: field.omittedIfNull(field.embedded("tags", "array", "null", { items: tag.fields })),
  size: field.omittedIfNull(field.embedded("size", "integer", "null")),
});

/** What is asked of repositories besides. */
export interface Asked {
  readonly tags?: boolean | undefined;
  readonly tags_count?: boolean | undefined;
  readonly size?: boolean | undefined;
}
