import { VISIBILITY_WORDS } from "../../core/access/visibility.ts";
import { ownAvatar } from "../../core/avatars.ts";
import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { DEFAULT_PROTECTION } from "../application-settings/protection.ts";
import { customAttributes } from "../custom-attributes/json.ts";
import { sharedWithGroups } from "../group-links/json.ts";
import { groupSettings } from "../namespaces/kept.ts";
import { dayOf } from "../namespaces/marked.ts";
import { project } from "../projects/json.ts";

const identity = {
  id: field.integer("n.id"),
  web_url: field.url("n.full_path", (path) => `/groups/${path}`),
  name: field.text("n.name"),
  avatar_url: ownAvatar("n.avatar_url"),
  full_name: field.text("n.full_name"),
  full_path: field.text("n.full_path"),
};

/** A group as others refer to it. */
export const groupIdentity = presenter(identity);

const fields = {
  id: identity.id,
  web_url: identity.web_url,
  name: identity.name,
  path: field.text("n.path"),
  description: field.text("n.description"),
  visibility: field.word("n.visibility", VISIBILITY_WORDS),
  lfs_enabled: field.flag("n.lfs_enabled"),
  avatar_url: identity.avatar_url,
  request_access_enabled: field.flag("n.request_access_enabled"),
  full_name: identity.full_name,
  full_path: identity.full_path,
  created_at: field.instant("n.created_at"),
  parent_id: field.integer("n.parent_id"),
  emails_enabled: field.flag("1 - n.emails_disabled"),
  emails_disabled: field.flag("n.emails_disabled"),
  ...groupSettings.fields,
  file_template_project_id: field.omittedIfNull(groupSettings.fields.file_template_project_id),
  archived: field.flag("n.archived"),
  default_branch_protection_defaults: field.constant(DEFAULT_PROTECTION),
  organization_id: field.constant(1),
  marked_for_deletion_on: dayOf("n.marked_for_deletion_at"),
  ...customAttributes,
  ldap_cn: field.constant(null),
  ldap_access: field.constant(null),
  repository_storage: field.constant("default"),
};

/** A group in lists. */
export const group = presenter(fields);

const details = {
  ...fields,
  shared_with_groups: sharedWithGroups("namespace_id", "n.id"),
  runners_token: field.constant(null),
};

/** A single group without its projects. */
export const groupAlone = presenter(details);

/** A single group with its projects. */
export const groupWithProjects = presenter({
  ...details,
  projects: field.embedded("projects", "array of Project", "[]", { items: project.fields }),
  shared_projects: field.json(
    `case when exists (select 1 from group_links l where l.group_id = n.id and l.project_id is not null)
      then null else '[]' end`,
    "array of Project",
    { items: project.fields },
  ),
});
