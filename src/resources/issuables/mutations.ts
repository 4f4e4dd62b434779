import type { Resource } from "../../core/resource.ts";
import {
  type Args,
  arg,
  enumeration,
  type Mutation,
  type MutationContext,
  mutation,
  property,
  routeOf,
  type Values,
} from "../../graphql/declare.ts";
import { among } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import type { IssuableType } from "./type.ts";

/** How a mutation changes a list. */
export const OPERATION = enumeration("MutationOperationMode", "How a list is changed.", [
  "REPLACE",
  "APPEND",
  "REMOVE",
]);

const place = {
  projectPath: arg.about("The full path of its project.", arg.required(arg.id)),
  iid: arg.about("Its number in the project.", arg.required(arg.string)),
} satisfies Args;

/** Where an issuable is. */
type Place = Values<typeof place>;

/** A number in a project; one that nothing has for any other text. */
export const numberOf = (iid: string) => (/^\d{1,15}$/.test(iid) ? Number(iid) : 0);

/** What GraphQL's mutations of issues and those of merge requests share. */
export interface IssuableMutations {
  /** The arguments that say which one. */
  readonly place: typeof place;
  readonly payload: Mutation["payload"];
  /** Path parameters of its routes. */
  at(where: Place): Record<string, string>;
  /** The payload for what a route answers, or for a stored one. */
  given(shown: { readonly id?: unknown } | undefined): object;
  /** The one at a place, to compute a change from: the route that makes it checks what the caller may see. */
  storedAt(db: Reader, where: Place): Promise<{ id: number; title: string } | undefined>;
  /**
   * The ids of the users that one is to have.
   *
   * @param table with those it has
   */
  peopleOf(
    db: Reader,
    table: string,
    where: Place,
    usernames: readonly string[],
    mode: string,
  ): Promise<number[]>;
  /** Declares a mutation that performs the route for changes. */
  setter<const A extends Args>(
    about: string,
    input: A,
    changes: (input: Values<A> & Place, context: MutationContext) => object | Promise<object>,
  ): Mutation;
  /** Those that both types have. */
  readonly shared: Readonly<Record<string, Mutation>>;
}

/**
 * The mutations of a type.
 *
 * @param resource the one with its routes
 */
export function issuableMutations(type: IssuableType, resource: Resource): IssuableMutations {
  const { className, parameter, path, one, table, prefix, column } = type;
  const member = `${className[0]?.toLowerCase()}${className.slice(1)}`;
  const route = (method: string, action = "") =>
    routeOf(resource, `${method} /projects/:id/${path}/:${parameter}${action}`);
  const change = route("PUT");
  const subscriptions = { true: route("POST", "/subscribe"), false: route("POST", "/unsubscribe") };
  const payload = { [member]: property(className) };

  const at = ({ projectPath, iid }: Place) => ({ id: projectPath, [parameter]: iid });
  const given = (shown: { readonly id?: unknown } | undefined) => ({ [member]: shown?.id ?? null });
  const storedAt: IssuableMutations["storedAt"] = async (db, { projectPath, iid }) =>
    db.one<{ id: number; title: string }>(
      `select t.id, t.title from ${table} t join projects p on p.id = t.project_id
       where lower(p.full_path) = lower(?) and t.iid = ?`,
      [projectPath, numberOf(iid)],
    );
  const setter: IssuableMutations["setter"] = (about, input, changes) =>
    mutation({
      about,
      input: { ...place, ...input },
      payload,
      run: async (sent, context) => {
        const read = sent as unknown as Parameters<typeof changes>[0];
        return given(
          await context.call(change, { ...at(read), ...(await changes(read, context)) }),
        );
      },
    });

  const peopleOf: IssuableMutations["peopleOf"] = async (db, people, where, usernames, mode) => {
    const named = await idsNamed(db, usernames);
    if (mode === "REPLACE") return named;
    const stored = await storedAt(db, where);
    const known = await db.rows(`select user_id from ${people} where ${column} = ?`, [
      stored?.id ?? 0,
    ]);
    const before = known.map(([id]) => id as number);
    return mode === "APPEND"
      ? [...new Set([...before, ...named])]
      : before.filter((id) => !named.includes(id));
  };

  const shared = {
    [`${member}SetAssignees`]: setter(
      "Set, add or remove assignees.",
      {
        assigneeUsernames: arg.required(arg.list(arg.string)),
        operationMode: arg.withDefault(arg.choice(OPERATION), "REPLACE"),
      },
      async ({ assigneeUsernames, operationMode, ...where }, { db }) => {
        const people = `${prefix}_assignees`;
        const ids = await peopleOf(db, people, where, assigneeUsernames, operationMode);
        return { assignee_ids: ids.length > 0 ? ids : [0] };
      },
    ),
    [`${member}SetLocked`]: setter(
      "Lock or unlock the discussion.",
      { locked: arg.required(arg.boolean) },
      ({ locked }) => ({ discussion_locked: locked }),
    ),
    [`${member}SetSubscription`]: mutation({
      about: `Subscribe to ${one}, or unsubscribe.`,
      input: { ...place, subscribedState: arg.required(arg.boolean) },
      payload,
      run: async (input, { call, db }) => {
        await call(subscriptions[`${input.subscribedState}`], at(input));
        return given(await storedAt(db, input));
      },
    }),
  };
  return { place, payload, at, given, storedAt, peopleOf, setter, shared };
}

async function idsNamed(db: Reader, usernames: readonly string[]): Promise<number[]> {
  const named = among(
    "lower(username)",
    usernames.map((name) => name.toLowerCase()),
  );
  const found = await db.rows(`select id from users where ${named.sql}`, named.values);
  return found.map(([id]) => id as number);
}
