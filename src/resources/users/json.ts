import * as show from "../../core/present.ts";

/** The summary of a user, for a query with this alias of `users`. */
export const userFields = (alias: string) => ({
  id: show.integer(`${alias}.id`),
  name: show.text(`${alias}.name`),
  username: show.text(`${alias}.username`),
  state: show.text(`case when ${alias}.state = 'blocked' then 'blocked' else 'active' end`),
  avatar_url: show.derived(
    [`${alias}.avatar_url`, `${alias}.username`],
    "URL",
    ([avatar, username], view) =>
      avatar === null ? `${view.base}/-/avatars/${avatarName(String(username))}` : avatar,
  ),
  web_url: show.url(`${alias}.username`, (username) => `/${username}`),
});

/** The summary of a user with the alias `u`. */
export const userSummaryFields = userFields("u");

/** The file name of the generated avatar of a user without a picture: their initial and a hue. */
function avatarName(username: string): string {
  let hue = 0;
  for (let index = 0; index < username.length; index += 1) {
    hue = (hue * 31 + username.charCodeAt(index)) % 360;
  }
  return `${/[a-z0-9]/i.exec(username)?.[0]?.toLowerCase() ?? "x"}-${hue}.svg`;
}

const profile = {
  bio: show.text("u.bio"),
  location: show.text("u.location"),
  public_email: show.text("coalesce(u.public_email, '')"),
  skype: show.text("coalesce(u.skype, '')"),
  linkedin: show.text("coalesce(u.linkedin, '')"),
  twitter: show.text("coalesce(u.twitter, '')"),
  website_url: show.text("coalesce(u.website_url, '')"),
  organization: show.text("u.organization"),
};

/** A user's public profile; private profiles hide when they were created. */
export const publicUser = show.shape({
  ...userSummaryFields,
  created_at: show.instant("case when u.private_profile = 0 then u.created_at end"),
  ...profile,
});

/** A user as they see their own public profile. */
export const ownProfile = show.shape({
  ...userSummaryFields,
  created_at: show.instant("u.created_at"),
  ...profile,
});

const account = {
  ...userSummaryFields,
  created_at: show.instant("u.created_at"),
  ...profile,
  last_sign_in_at: show.instant("u.last_sign_in_at"),
  confirmed_at: show.instant("u.created_at"),
  last_activity_on: show.date("u.last_activity_on"),
  email: show.text("u.email"),
  theme_id: show.constant(1),
  color_scheme_id: show.constant(1),
  projects_limit: show.integer("u.projects_limit"),
  current_sign_in_at: show.instant("u.current_sign_in_at"),
  identities: show.constant([]),
  can_create_group: show.flag("u.can_create_group"),
  can_create_project: show.flag("case when u.projects_limit > 0 then 1 else 0 end"),
  two_factor_enabled: show.flag(
    `case when exists (select 1 from two_factor t where t.user_id = u.id and t.enabled_at is not null)
      then 1 else 0 end`,
  ),
  external: show.flag("u.external"),
  private_profile: show.flag("u.private_profile"),
};

/** A user as they see themselves. */
export const ownUser = show.shape(account);

/** A user as administrators see them. */
export const adminUser = show.shape({ ...account, is_admin: show.flag("u.admin") });

/** A user in a list. */
export const userSummary = show.shape(userSummaryFields);
