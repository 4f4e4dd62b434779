import * as audit from "../audit/log.ts";
import { ROLE_NAMES, ROLES, type Role, roleOf } from "../core/access/roles.ts";
import type { Source } from "../core/access/source.ts";
import { notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { inputOf, readOptions } from "../core/options.ts";
import { dayOf } from "../core/time.ts";
import * as changes from "../resources/scim/changes.ts";
import { scimPath } from "../resources/scim/mount.ts";
import * as scim from "../resources/scim/queries.ts";
import type { Reader } from "../store/port.ts";
import { type AdminContext, findAny, reference } from "./context.ts";

/** A token of a group's identity provider. */
export interface ScimTokenRecord {
  id: number;
  /** The full path of the group. */
  group: string;
  name: string;
  /** The role of the people it adds. */
  role: Role;
  /** `YYYY-MM-DD`; refused from the start of that day (UTC) on. */
  expires_at: string | null;
  /** An ISO 8601 instant, precise to a minute; `null` for never. */
  last_used_at: string | null;
  revoked: boolean;
  /** Whether it is neither revoked nor expired. */
  active: boolean;
  /** The path of the group's SCIM API below the server's address. */
  path: string;
  /** The complete address; `null` if the application has no `url`. */
  scim_url: string | null;
}

/** SCIM tokens of groups, given by full path or id. */
export interface ScimAdmin {
  /**
   * Issues a token for a group's identity provider (docs/scim.md).
   *
   * @param token `role`: of the people it adds, default `"guest"`
   * @returns the record with `token`, the secret, of which only a digest is stored
   * @throws OptionError for an invalid day or role; ApiError 404 for an unknown group
   */
  create(token: {
    group: string;
    name: string;
    role?: Role;
    /** `YYYY-MM-DD`; it is refused from the start of that day (UTC) on. Default: never. */
    expires_at?: string;
  }): Promise<ScimTokenRecord & { token: string }>;
  /** All SCIM tokens of a group, oldest first. @throws ApiError 404 */
  list(of: { group: string }): Promise<ScimTokenRecord[]>;
  /** Revokes a SCIM token of a group for good. @throws ApiError 404 */
  revoke(token: { group: string; id: number }): Promise<ScimTokenRecord>;
}

const GROUP = inputOf({ group: reference });
const TOKEN = inputOf({ group: reference, id: param.integer() });
const NEW_TOKEN = inputOf({
  group: reference,
  name: param.text(),
  role: param.optional(param.choice(ROLE_NAMES)),
  expires_at: param.optional(param.date()),
});

/** Creates {@link ScimAdmin}. */
export function scimAdmin({ store, now, url }: AdminContext): ScimAdmin {
  const recordOf = (group: Source, row: scim.ScimToken): ScimTokenRecord => {
    const { id, name, expires_at, last_used_at } = row;
    const revoked = row.revoked === 1;
    const path = scimPath(group.fullPath);
    return {
      id,
      group: group.fullPath,
      name,
      role: roleOf(row.access_level) as Role,
      expires_at,
      last_used_at: last_used_at === null ? null : new Date(last_used_at).toISOString(),
      revoked,
      active: !revoked && (expires_at === null || expires_at > dayOf(now())),
      path,
      scim_url: url === undefined ? null : url.replace(/\/$/, "") + path,
    };
  };
  const find = async (db: Reader, group: Source, id: number) => {
    const found = await scim.findToken(db, group.id, id);
    if (!found) throw notFound("SCIM token");
    return found;
  };

  return {
    async create(given) {
      const input = readOptions("scimTokens.create", NEW_TOKEN, given);
      const { name, role = "guest", expires_at } = input;
      return store.transaction(async (db) => {
        const group = await findAny(db, "group", input.group, now());
        const context = { db, by: audit.OPERATOR, now: now() };
        const values = { name, access_level: ROLES[role], expires_at };
        const { id, secret } = await changes.createToken(context, group, values);
        return { ...recordOf(group, await find(db, group, id)), token: secret };
      });
    },
    async list(given) {
      const input = readOptions("scimTokens.list", GROUP, given);
      const group = await findAny(store, "group", input.group, now());
      return (await scim.allTokens(store, group.id)).map((row) => recordOf(group, row));
    },
    async revoke(given) {
      const input = readOptions("scimTokens.revoke", TOKEN, given);
      return store.transaction(async (db) => {
        const group = await findAny(db, "group", input.group, now());
        const found = await find(db, group, input.id);
        await changes.revokeToken({ db, by: audit.OPERATOR, now: now() }, group, found);
        return recordOf(group, await find(db, group, input.id));
      });
    },
  };
}
