import type { Kind } from "./kinds.ts";

type Json = Record<string, unknown>;

/** Attributes of any record that say when, how often or where, or again what others say. */
const NOISE = new Set([
  ...[
    "_links",
    "references",
    "web_url",
    "raw_url",
    "statistics",
    "subscribed",
    "upvotes",
    "downvotes",
  ],
  ...["path_with_namespace", "name_with_namespace", "full_path", "full_name", "ssh_url_to_repo"],
  ...["http_url_to_repo", "readme_url", "last_activity_on", "imported", "imported_from", "expired"],
  ...[
    "authored_date",
    "committed_date",
    "short_id",
    "extended_trailers",
    "trailers",
    "commit_path",
  ],
  ...["runners_token", "token", "secret", "changes_count", "total_time_spent"],
]);
/** Times and counts that clients set. */
const SET = new Set(["expires_at", "starts_at", "ends_at", "released_at", "clear_status_at"]);

/** Whether an attribute is left out unless everything is asked for. */
export function isNoise(name: string, kind?: Pick<Kind, "noise">): boolean {
  if (SET.has(name)) return false;
  if (/(^|_)(at|count|counts)$|^human_/.test(name)) return true;
  return NOISE.has(name) || (kind?.noise?.includes(name) ?? false);
}

/** A record, or any value in it, without noise. */
export function withoutNoise<T>(value: T, kind?: Pick<Kind, "noise">): T {
  if (Array.isArray(value)) return value.map((one) => withoutNoise(one, kind)) as T;
  if (typeof value !== "object" || value === null) return value;
  const left = Object.entries(value).filter(([name]) => !isNoise(name, kind));
  return Object.fromEntries(left.map(([name, own]) => [name, withoutNoise(own, EMBEDDED)])) as T;
}

/** The picture of somebody who is named by a record is no attribute of it. */
export const EMBEDDED: Pick<Kind, "noise"> = { noise: ["avatar_url"] };

/** A value for comparisons: records that it refers to are the same if they have the same id; texts have no order. */
export function normal(value: unknown): unknown {
  if (Array.isArray(value)) {
    const all = value.map(normal);
    return all.every((one) => typeof one === "string" || typeof one === "number")
      ? all.sort()
      : all;
  }
  if (typeof value !== "object" || value === null) return value;
  const { id } = value as Json;
  if (id !== undefined) return { id };
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !isNoise(name))
      .map(([name, own]) => [name, normal(own)]),
  );
}
