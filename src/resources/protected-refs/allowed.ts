import { ROLES } from "../../core/access/roles.ts";
import { invalid } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Action, type Grant, SUBJECTS, type Subject } from "./grants.ts";

const { developer, maintainer } = ROLES;
/** The access level of administrators. */
const ADMINS = 60;

/** An access level that is let; 0 stands for nobody. */
const level = param.optional(param.oneOf([0, developer, maintainer, ADMINS]));
/** Somebody can always unprotect. */
const someLevel = param.optional(param.oneOf([developer, maintainer, ADMINS]));

const id = param.optional(param.clearable(param.integer()));

/** Who is to be let, as GitLab's lists have it: entries that are added, changed by their `id`, or removed. */
const list = (access_level: typeof level | typeof someLevel) =>
  param.optional(
    param.arrayOf(
      param.object({
        id,
        access_level,
        user_id: id,
        group_id: id,
        deploy_key_id: id,
        _destroy: param.optional(param.boolean()),
      }),
    ),
  );

/** The attributes that say who may do what with branches. */
export const branchAttributes = {
  push_access_level: level,
  merge_access_level: level,
  unprotect_access_level: someLevel,
  allowed_to_push: list(level),
  allowed_to_merge: list(level),
  allowed_to_unprotect: list(someLevel),
};

/** The attribute that says who may create tags. */
export const tagAttributes = { create_access_level: level, allowed_to_create: list(level) };

type Entries = NonNullable<param.Input<typeof branchAttributes>["allowed_to_push"]>;

/** What a request says about one right. */
export interface Wanted {
  readonly action: Action;
  readonly entries: readonly Entries[number][];
  /** The level that the request names by itself. */
  readonly level: number | undefined;
}

/** What a request says about some rights. */
export function wantedIn(
  actions: readonly Action[],
  input: Partial<param.Input<typeof branchAttributes & typeof tagAttributes>>,
): Wanted[] {
  return actions.map((action) => ({
    action,
    entries: (input[`allowed_to_${action}`] ?? []) as Entries,
    level: input[`${action}_access_level`],
  }));
}

/** How the grants of one right become what a request asks for. */
export interface Plan {
  readonly action: Action;
  readonly removed: readonly number[];
  readonly changed: readonly Grant[];
  readonly added: readonly Subject[];
  /** Who holds the right then. */
  readonly all: readonly Subject[];
}

/** A rule can have this many grants of each right. */
const MAX_GRANTS = 100;

/**
 * Works out what a request asks for. A level that it names by itself replaces all grants of the right, as in GitLab's older
 * routes; the entries of a list are added to those there are, change them or remove them.
 *
 * @param now the grants that there are
 * @throws ApiError 400 for entries that can't be understood, and for too many
 */
export function planOf(now: readonly Grant[], { action, entries, level }: Wanted): Plan {
  const refuse = (text: string) => invalid({ [`allowed_to_${action}`]: [text] });
  const known = new Map(now.map((grant) => [grant.id, grant]));
  const kept = new Map(level === undefined ? known : []);
  const added = new Map<string, Subject>();
  const add = (subject: Subject) => added.set(`${subject.column} ${subject.value}`, subject);
  if (level !== undefined) add({ column: "access_level", value: level });
  for (const entry of entries) {
    const subject = subjectOf(action, entry, refuse);
    const grant = entry.id == null ? undefined : known.get(entry.id);
    if (entry.id != null && !grant) throw refuse(`has no entry with the id ${entry.id}`);
    if (grant && entry._destroy) kept.delete(grant.id);
    else if (grant) kept.set(grant.id, { ...grant, ...subject });
    else if (subject && !entry._destroy) add(subject);
    else {
      throw refuse("needs an access level, a user, a group or a deploy key in each new entry");
    }
  }
  const all = [...kept.values(), ...added.values()];
  if (all.length > MAX_GRANTS) throw refuse(`has too many entries (maximum is ${MAX_GRANTS})`);
  return {
    action,
    removed: now.map((grant) => grant.id).filter((grantId) => !kept.has(grantId)),
    changed: [...kept.values()].filter((grant) => grant !== known.get(grant.id)),
    added: [...added.values()],
    all,
  };
}

/** Whom an entry names. Next to somebody else, the level 40 says nothing: answers have it so. */
function subjectOf(
  action: Action,
  entry: Entries[number],
  refuse: (text: string) => Error,
): Subject | undefined {
  const named = SUBJECTS.flatMap((column) => {
    const value = entry[column];
    return value === undefined || value === null ? [] : [{ column, value }];
  });
  const [first, second] = named;
  const isEcho = first?.column === "access_level" && first.value === maintainer && second;
  const subjects = isEcho ? named.slice(1) : named;
  if (subjects.length > 1) {
    throw refuse("can have only one of access level, user, group and deploy key in each entry");
  }
  const [subject] = subjects;
  if (subject?.column === "deploy_key_id" && action !== "push" && action !== "create") {
    throw refuse("can't have deploy keys");
  }
  return subject;
}
