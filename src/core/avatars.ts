import * as field from "./field.ts";

/** The URL of the picture of a user: their own, or one that is generated from their name. */
export const avatarOf = (
  own: unknown,
  username: unknown,
  { base }: Pick<field.View, "base">,
): unknown =>
  own === null ? `${base}/-/avatars/${avatarName(String(username))}` : `${base}${own}`;

/** The URL of the picture of a group or project; `null` without one. @param column its path */
export const ownAvatar = (column: string): field.Field => field.url(column, (path) => path);

/** {@link avatarOf} the row `alias` of users. */
export const avatarUrl = (alias: string): field.Field =>
  field.derived([`${alias}.avatar_url`, `${alias}.username`], "URL", ([own, username], view) =>
    avatarOf(own, username, view),
  );

const avatarNames = new Map<string, string>();
/** Maximum remembered file names. */
const MAX_NAMES = 1000;

/** The file name of the generated avatar of a user without a picture: their initial and a hue. */
function avatarName(username: string): string {
  const known = avatarNames.get(username);
  if (known !== undefined) return known;
  if (avatarNames.size >= MAX_NAMES) avatarNames.clear();
  const name = nameOf(username);
  avatarNames.set(username, name);
  return name;
}

function nameOf(username: string): string {
  let hue = 0;
  for (let index = 0; index < username.length; index += 1) {
    hue = (hue * 31 + username.charCodeAt(index)) % 360;
  }
  return `${/[a-z0-9]/i.exec(username)?.[0]?.toLowerCase() ?? "x"}-${hue}.svg`;
}
