import { avatarUrl } from "../../core/avatars.ts";
import * as field from "../../core/field.ts";
import { presenter } from "../../core/presenter.ts";

/** The summary of a user, for a query with this alias of `users`. */
export const userFields = (alias: string) => ({
  id: field.integer(`${alias}.id`),
  name: field.text(`${alias}.name`),
  username: field.text(`${alias}.username`),
  state: field.text(`case when ${alias}.state = 'blocked' then 'blocked' else 'active' end`),
  avatar_url: avatarUrl(alias),
  web_url: field.url(`${alias}.username`, (username) => `/${username}`),
});

/** The summary of a user with the alias `u`. */
export const userSummaryFields = userFields("u");

const profile = {
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
};

/** A user's public profile; private profiles hide when they were created. */
export const publicUser = presenter({
  ...userSummaryFields,
  created_at: field.instant("case when u.private_profile = 0 then u.created_at end"),
  ...profile,
});

/** A user as they see their own public profile. */
export const ownProfile = presenter({
  ...userSummaryFields,
  created_at: field.instant("u.created_at"),
  ...profile,
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
  identities: field.constant([]),
  can_create_group: field.flag("u.can_create_group"),
  can_create_project: field.flag("case when u.projects_limit > 0 then 1 else 0 end"),
  two_factor_enabled: field.flag(
    `case when exists (select 1 from two_factor t where t.user_id = u.id and t.enabled_at is not null)
      then 1 else 0 end`,
  ),
  external: field.flag("u.external"),
  private_profile: field.flag("u.private_profile"),
};

/** A user as they see themselves. */
export const ownUser = presenter(account);

/** A user as administrators see them. */
export const adminUser = presenter({ ...account, is_admin: field.flag("u.admin") });

/** A user in a list. */
export const userSummary = presenter(userSummaryFields);

/** When a user was active last: `last_activity_at` is the older name. */
export const activity = presenter({
  username: field.text("u.username"),
  last_activity_on: field.date("u.last_activity_on"),
  last_activity_at: field.date("u.last_activity_on"),
});
