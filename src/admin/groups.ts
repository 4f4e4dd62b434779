import { OPERATOR } from "../audit/log.ts";
import { VISIBILITY_WORDS, type Visibility } from "../core/access/visibility.ts";
import * as param from "../core/input.ts";
import { inputOf, readArgument, readOptions } from "../core/options.ts";
import * as changes from "../resources/groups/changes.ts";
import * as removal from "../resources/groups/removal.ts";
import * as namespaces from "../resources/namespaces/queries.ts";
import type { Reader } from "../store/port.ts";
import { type AdminContext, findAny, findUser, reference } from "./context.ts";

/** A group as operators see it. */
export interface GroupRecord {
  id: number;
  name: string;
  /** The last part of `full_path`. */
  path: string;
  /** Includes the groups it is in: `acme/team`. */
  full_path: string;
  visibility: Visibility;
  /** The group it is in; `null` for a top-level group. */
  parent_id: number | null;
}

/** Changes to a group; omitted properties stay. */
export interface GroupChange {
  name?: string;
  /** The last part of its full path; the paths of everything in it change too. */
  path?: string;
  description?: string;
  visibility?: Visibility;
}

/** Groups, named by their full path or id. */
export interface GroupAdmin {
  /** Returns a group. @throws ApiError 404 */
  get(group: string): Promise<GroupRecord>;
  /** All groups, ordered by full path. */
  list(): Promise<GroupRecord[]>;
  /**
   * Creates a group.
   *
   * @throws OptionError if something is missing or of the wrong type
   * @throws ApiError 400 or 409 if the path or visibility is invalid or taken; 404 for an unknown parent or owner
   */
  create(group: {
    name: string;
    path: string;
    /** The group it is in, by full path or id. Default: none. */
    parent?: string;
    /** The user name of its first owner. Default: only administrators can manage it. */
    owner?: string;
    description?: string;
    /** Default `"private"`. */
    visibility?: Visibility;
  }): Promise<GroupRecord>;
  /** Changes a group. @throws ApiError 404; 400 or 409 if the path or visibility is invalid or taken */
  update(group: string, change: GroupChange): Promise<GroupRecord>;
  /** Deletes a group with everything in it. @throws ApiError 404 */
  delete(group: string): Promise<GroupRecord>;
}

const NEW_GROUP = inputOf({
  ...changes.newGroupInput,
  parent: param.optional(param.text()),
  owner: param.optional(param.text()),
});
const CHANGE = inputOf(changes.groupInput);

/** Creates {@link GroupAdmin}. */
export function groupAdmin({ store, now }: AdminContext): GroupAdmin {
  const named = (where: string, group: string) => readArgument(where, "group", reference, group);
  const find = async (db: Reader, group: string) => {
    const { id } = await findAny(db, "group", group, now());
    return (await namespaces.find(db, id)) as namespaces.Namespace;
  };
  return {
    get: async (group) => groupRecord(await find(store, named("groups.get", group))),
    list: async () => (await namespaces.allGroups(store)).map(groupRecord),
    async create(given) {
      const input = readOptions("groups.create", NEW_GROUP, given);
      return store.transaction(async (db) => {
        const parent = input.parent === undefined ? undefined : await find(db, input.parent);
        const ownerId =
          input.owner === undefined ? undefined : (await findUser(db, input.owner)).id;
        const id = await changes.createGroup(db, OPERATOR, { ...input, parent, ownerId }, now());
        return groupRecord((await namespaces.find(db, id)) as namespaces.Namespace);
      });
    },
    async update(group, given) {
      const name = named("groups.update", group);
      const input = readOptions("groups.update", CHANGE, given);
      return store.transaction(async (db) => {
        const found = await find(db, name);
        await changes.changeGroup(db, found, input, now());
        return groupRecord((await namespaces.find(db, found.id)) as namespaces.Namespace);
      });
    },
    async delete(group) {
      const name = named("groups.delete", group);
      const { found, isDone } = await store.transaction(async (db) => {
        const group = await find(db, name);
        return { found: group, isDone: await removal.remove(db, group.id, now()) };
      });
      if (!isDone) await removal.removeGroup(store, found.id);
      return groupRecord(found);
    },
  };
}

function groupRecord(found: namespaces.Namespace): GroupRecord {
  const { id, name, path, full_path, visibility, parent_id } = found;
  return {
    id,
    name,
    path,
    full_path,
    visibility: VISIBILITY_WORDS[visibility] as Visibility,
    parent_id,
  };
}
