import { OPERATOR } from "../audit/log.ts";
import { ROLE_NAMES, ROLES, type Role, roleOf } from "../core/access/roles.ts";
import type { Source } from "../core/access/source.ts";
import { notFound } from "../core/errors.ts";
import * as param from "../core/input.ts";
import { inputOf, OptionError, readOptions } from "../core/options.ts";
import { dayOf } from "../core/time.ts";
import * as changes from "../resources/members/changes.ts";
import * as members from "../resources/members/queries.ts";
import type { Database, Reader } from "../store/port.ts";
import { type AdminContext, findAny, findUser } from "./context.ts";

/** The group or project of a membership, by full path or id. */
export type MemberSource =
  | { group: string; project?: undefined }
  | { project: string; group?: undefined };

/** A direct membership as operators see it. */
export interface MemberRecord {
  username: string;
  name: string;
  role: Role;
  /** GitLab's number for the role. */
  access_level: number;
  /** `YYYY-MM-DD`; expired from the start of that day (UTC) on. `null` for never. */
  expires_at: string | null;
}

/** Direct members of groups and projects; users are given by user name. */
export interface MemberAdmin {
  /** The direct members of a group or project, in the order they were added. @throws ApiError 404 */
  list(of: MemberSource): Promise<MemberRecord[]>;
  /**
   * Adds a member.
   *
   * @throws ApiError 404, 409 if they are a member already, 400 for an invalid role: projects have no owners, and a
   *   role can't be lower than the one in a group above
   */
  add(
    member: MemberSource & {
      user: string;
      role: Role;
      /** `YYYY-MM-DD`; default: never. */
      expires_at?: string;
    },
  ): Promise<MemberRecord>;
  /**
   * Changes a member's role or expiry date; omitted properties stay.
   *
   * @param member `expires_at`: `null` for never
   * @throws ApiError 404, 403 for the last owner of a group, 400 for an invalid role
   */
  update(
    member: MemberSource & { user: string; role?: Role; expires_at?: string | null },
  ): Promise<MemberRecord>;
  /** Removes a member. @throws ApiError 404, 403 for the last owner of a group */
  remove(member: MemberSource & { user: string }): Promise<MemberRecord>;
}

const source = { group: param.optional(param.text()), project: param.optional(param.text()) };
const user = { ...source, user: param.text() };
const role = param.choice(ROLE_NAMES);
const SOURCE = inputOf(source);
const NEW_MEMBER = inputOf({ ...user, role, expires_at: param.optional(param.date()) });
const CHANGE = inputOf({
  ...user,
  role: param.optional(role),
  expires_at: param.clearable(param.date()),
});
const MEMBER = inputOf(user);

/** Creates {@link MemberAdmin}. */
export function memberAdmin({ store, now }: AdminContext): MemberAdmin {
  const find = (
    where: string,
    db: Reader,
    { group, project }: { group?: string | undefined; project?: string | undefined },
  ): Promise<Source> => {
    if ((group === undefined) === (project === undefined)) {
      throw new OptionError(where, "", "give either group or project, as a full path or an id");
    }
    return group === undefined
      ? findAny(db, "project", project as string, now())
      : findAny(db, "group", group, now());
  };
  const changeOf = (db: Database, of: Source): changes.MemberChange => {
    const today = dayOf(now());
    return { db, source: of, by: OPERATOR, now: now(), today };
  };
  const findMember = async (db: Reader, of: Source, username: string) => {
    const { id } = await findUser(db, username);
    const found = await members.find(db, of, id);
    if (!found) throw notFound("Member");
    return found;
  };
  const recordOf = async (db: Reader, of: Source, userId: number): Promise<MemberRecord> => {
    const [found] = await members.listDetails(db, of, userId);
    return memberRecord(found as members.MemberDetails);
  };

  return {
    async list(given) {
      const of = await find("members.list", store, readOptions("members.list", SOURCE, given));
      return (await members.listDetails(store, of)).map(memberRecord);
    },
    async add(given) {
      const input = readOptions("members.add", NEW_MEMBER, given);
      return store.transaction(async (db) => {
        const of = await find("members.add", db, input);
        const { id } = await findUser(db, input.user);
        const membership = { access_level: ROLES[input.role], expires_at: input.expires_at };
        await changes.addMember(changeOf(db, of), id, membership);
        return recordOf(db, of, id);
      });
    },
    async update(given) {
      const input = readOptions("members.update", CHANGE, given);
      return store.transaction(async (db) => {
        const of = await find("members.update", db, input);
        const found = await findMember(db, of, input.user);
        const access_level = input.role === undefined ? found.access_level : ROLES[input.role];
        const { expires_at } = input;
        await changes.changeMember(changeOf(db, of), found, { access_level, expires_at });
        return recordOf(db, of, found.user_id);
      });
    },
    async remove(given) {
      const input = readOptions("members.remove", MEMBER, given);
      return store.transaction(async (db) => {
        const of = await find("members.remove", db, input);
        const found = await findMember(db, of, input.user);
        const removed = await recordOf(db, of, found.user_id);
        await changes.removeMember(changeOf(db, of), found);
        return removed;
      });
    },
  };
}

function memberRecord(found: members.MemberDetails): MemberRecord {
  const { username, name, access_level, expires_at } = found;
  return { username, name, role: roleOf(access_level) as Role, access_level, expires_at };
}
