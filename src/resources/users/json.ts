import { ROLES } from "../../core/access/roles.ts";
import { BEING_DELETED } from "../../core/access/visibility.ts";
import { avatarUrl } from "../../core/avatars.ts";
import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";
import { customAttributes } from "../custom-attributes/json.ts";

/** The summary of a user, for a query with this alias of `users`. */
export const userFields = (alias: string) => ({
  id: field.integer(`${alias}.id`),
  name: field.text(`${alias}.name`),
  username: field.text(`${alias}.username`),
  state: field.text(
    `case ${alias}.state when 'ghost' then 'active' when 'placeholder' then 'active' when 'removed' then 'active' else ${alias}.state end`,
  ),
  avatar_url: avatarUrl(alias),
  web_url: field.url(`${alias}.username`, (username) => `/${username}`),
});

/** The summary of a user with the alias `u`. */
export const userSummaryFields = userFields("u");

/** What lists of users tell besides their summary. No account is ever locked here. */
const listedFields = { ...userSummaryFields, locked: field.constant(false) };

/** Whether a user is a service account, or that of an access token of a group or project that is not being deleted. */
export const isBot = `case when exists (select 1 from resource_bots rb left join projects bp on bp.id = rb.project_id
  left join namespaces bn on bn.id = rb.namespace_id
  where rb.user_id = u.id and coalesce(bp.visibility, bn.visibility) > ${BEING_DELETED})
  or exists (select 1 from service_accounts sa left join projects sp on sp.id = sa.project_id
    left join namespaces sn on sn.id = sa.namespace_id
    where sa.user_id = u.id and coalesce(sp.visibility, sn.visibility, 0) > ${BEING_DELETED}) then 1 else 0 end`;

const profile = {
  locked: listedFields.locked,
  bio: field.text("u.bio"),
  location: field.text("u.location"),
  public_email: field.text("coalesce(u.public_email, '')"),
  skype: field.text("coalesce(u.skype, '')"),
  linkedin: field.text("coalesce(u.linkedin, '')"),
  twitter: field.text("coalesce(u.twitter, '')"),
  website_url: field.text("coalesce(u.website_url, '')"),
  organization: field.text("u.organization"),
  job_title: field.text("coalesce(u.job_title, '')"),
  pronouns: field.text("u.pronouns"),
  discord: field.text("coalesce(u.discord, '')"),
  github: field.text("coalesce(u.github, '')"),
  work_information: field.derived(["u.job_title", "u.organization"], "string", (given) => {
    const [title, organization] = given.map((one) => one || undefined);
    return title && organization ? `${title} at ${organization}` : (title ?? organization ?? null);
  }),
  bot: field.flag(isBot),
  local_time: field.constant(null),
};

/** Follows that are counted: no answer takes longer the more there are. */
const MOST_COUNTED = 10_001;

const follows = (column: string, isShown = "1 = 1") =>
  field.integer(
    `case when ${isShown} then
      (select count(*) from (select 1 from user_follows f where f.${column} = u.id limit ${MOST_COUNTED}) as f) end`,
  );

/** What only a user alone shows. `row` of queries.ts fills in whether the caller follows them. */
const alone = {
  followers: follows("followed_id"),
  following: follows("follower_id"),
  is_followed: field.embedded("is_followed", "boolean", "null"),
};

const IS_PUBLIC = "u.private_profile = 0";

/** A user's public profile within other records; private profiles hide when they were created. */
export const publicUserFields = {
  ...userSummaryFields,
  created_at: field.instant(`case when ${IS_PUBLIC} then u.created_at end`),
  ...profile,
};

/** A user's public profile; private profiles hide how many follow, too. */
export const publicUser = presenter({
  ...publicUserFields,
  ...alone,
  followers: follows("followed_id", IS_PUBLIC),
  following: follows("follower_id", IS_PUBLIC),
});

/** A user as they see their own public profile. */
export const ownProfile = presenter({
  ...userSummaryFields,
  created_at: field.instant("u.created_at"),
  ...profile,
  ...alone,
});

const account = {
  ...userSummaryFields,
  created_at: field.instant("u.created_at"),
  ...profile,
  last_sign_in_at: field.instant("u.last_sign_in_at"),
  confirmed_at: field.instant("u.created_at"),
  last_activity_on: field.date("u.last_activity_on"),
  email: field.text("u.email"),
  commit_email: field.text("coalesce(u.commit_email, u.email)"),
  theme_id: field.constant(1),
  color_scheme_id: field.constant(1),
  projects_limit: field.integer("u.projects_limit"),
  current_sign_in_at: field.instant("u.current_sign_in_at"),
  identities: field.embedded("identities", "array", "[]", {
    items: {
      provider: field.text("i.provider"),
      extern_uid: field.text("i.extern_uid"),
      saml_provider_id: field.constant(null),
    },
  }),
  can_create_group: field.flag("u.can_create_group"),
  can_create_project: field.flag("case when u.projects_limit > 0 then 1 else 0 end"),
  two_factor_enabled: field.flag(
    `case when exists (select 1 from two_factor t where t.user_id = u.id and t.enabled_at is not null)
      then 1 else 0 end`,
  ),
  external: field.flag("u.external"),
  private_profile: field.flag("u.private_profile"),
  preferred_language: field.constant("en"),
  shared_runners_minutes_limit: field.constant(null),
  extra_shared_runners_minutes_limit: field.constant(null),
  namespace_id: field.integer("(select n.id from namespaces n where n.owner_id = u.id)"),
};

/** A user as the owners of the group that has provisioned them see them. */
export const provisionedUser = presenter(account);

/** A user as they see themselves. */
export const ownUser = presenter({ ...account, ...alone });

const administered = {
  ...account,
  ...customAttributes,
  is_admin: field.flag("u.admin"),
  note: field.text("u.note"),
  created_by: field.constant(null),
  email_reset_offered_at: field.constant(null),
  is_auditor: field.constant(false),
  using_license_seat: field.flag(`case when u.state = 'active' and exists
    (select 1 from members m where m.user_id = u.id and m.access_level > ${ROLES.guest}) then 1 else 0 end`),
};

/** A user as administrators see them in lists. */
export const listedForAdmins = presenter(administered);

/** A user as administrators see them. */
export const adminUser = presenter({
  ...administered,
  ...alone,
  highest_role: field.integer(
    "coalesce((select max(m.access_level) from members m where m.user_id = u.id), 0)",
  ),
  // Where from somebody signs in is not kept.
  current_sign_in_ip: field.constant(null),
  last_sign_in_ip: field.constant(null),
});

/** A user in other records and in their lists. */
export const userSummary = presenter(userSummaryFields);

/** A user in a list of users. */
export const listedUser = presenter({
  ...listedFields,
  public_email: profile.public_email,
});

/** When a user was active last: `last_activity_at` is the older name. */
export const activity = presenter({
  username: field.text("u.username"),
  last_activity_on: field.date("u.last_activity_on"),
  last_activity_at: field.date("u.last_activity_on"),
});
