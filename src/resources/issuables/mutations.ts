import type { Resource } from "../../core/resource.ts";
import {
  type Args,
  arg,
  enumeration,
  type MutationContext,
  mutation,
  property,
  routeOf,
  type Values,
} from "../../graphql/declare.ts";
import { among } from "../../store/conditions.ts";
import type { Reader } from "../../store/port.ts";
import { attributesOf, camelCase, KINDS } from "./attributes.ts";
import type { IssuableType } from "./type.ts";

/** How a mutation changes a list. */
export const OPERATION = enumeration("MutationOperationMode", "How a list is changed.", [
  "REPLACE",
  "APPEND",
  "REMOVE",
]);

/** The arguments that say which one. */
export const place = {
  projectPath: arg.about("The full path of its project.", arg.required(arg.id)),
  iid: arg.about("Its number in the project.", arg.required(arg.string)),
} satisfies Args;

/** Where an issuable is. */
type Place = Values<typeof place>;

/** A number in a project; one that nothing has for any other text. */
export const numberOf = (iid: string) => (/^\d{1,15}$/.test(iid) ? Number(iid) : 0);

/** The attributes of a type that mutations set, and what their arguments are called. */
const settable = (prefix: IssuableType["prefix"]) =>
  attributesOf(prefix).flatMap(([name, { kind, sets, argument = camelCase(name) }]) =>
    sets === undefined ? [] : [{ name, argument, about: sets, kind: KINDS[kind] }],
  );

/** The arguments for attributes of a mutation that sets several. */
export const attributeArguments = (prefix: IssuableType["prefix"]): Args =>
  Object.fromEntries(settable(prefix).map(({ argument, kind }) => [argument, kind.argument]));

/** The attributes that are sent to such a mutation, as routes take them. */
export const attributesIn = (
  prefix: IssuableType["prefix"],
  sent: Readonly<Record<string, unknown>>,
): object =>
  Object.fromEntries(settable(prefix).map(({ name, argument }) => [name, sent[argument]]));

/**
 * What GraphQL's mutations of issues and those of merge requests share.
 *
 * @param resource the one with the type's routes
 */
export function issuableMutations(type: IssuableType, resource: Resource) {
  const { className, parameter, path, one, table, prefix, column } = type;
  const member = `${className[0]?.toLowerCase()}${className.slice(1)}`;
  const route = (method: string, action = "") =>
    routeOf(resource, `${method} /projects/:id/${path}/:${parameter}${action}`);
  const change = route("PUT");
  const subscriptions = { true: route("POST", "/subscribe"), false: route("POST", "/unsubscribe") };
  const payload = { [member]: property(className) };

  /** Path parameters of its routes. */
  const parametersOf = ({ projectPath, iid }: Place) => ({ id: projectPath, [parameter]: iid });
  /** The payload for what a route answers, or for a stored one. */
  const payloadFor = (shown: { readonly id?: unknown } | undefined) => ({
    [member]: shown?.id ?? null,
  });
  /** The one at a place, to compute a change from: the route that makes it checks what the caller may see. */
  const storedAt = async (db: Reader, { projectPath, iid }: Place) =>
    db.one<{ id: number; title: string }>(
      `select t.id, t.title from ${table} t join projects p on p.id = t.project_id
       where lower(p.full_path) = lower(?) and t.iid = ?`,
      [projectPath, numberOf(iid)],
    );
  /** Declares a mutation that performs the route for changes. */
  const setter = <const A extends Args>(
    about: string,
    input: A,
    changes: (input: Values<A> & Place, context: MutationContext) => object | Promise<object>,
  ) =>
    mutation({
      about,
      input: { ...place, ...input },
      payload,
      run: async (sent, context) => {
        const read = sent as unknown as Values<A> & Place;
        return payloadFor(
          await context.call(change, { ...parametersOf(read), ...(await changes(read, context)) }),
        );
      },
    });

  /** The ids of the users that one is to have. @param people the table with those it has */
  const peopleOf = async (
    db: Reader,
    people: string,
    where: Place,
    usernames: readonly string[],
    mode: string,
  ) => {
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

  /** Those that both types have, and those that set one attribute. */
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
    ...Object.fromEntries(
      settable(prefix).map(({ name, about, argument, kind: { only } }) => [
        `${member}Set${argument[0]?.toUpperCase()}${argument.slice(1)}`,
        setter(about, { [argument]: only.type }, (sent) => ({
          [name]: only.read(sent[argument] as never),
        })),
      ]),
    ),
    [`${member}SetSubscription`]: mutation({
      about: `Subscribe to ${one}, or unsubscribe.`,
      input: { ...place, subscribedState: arg.required(arg.boolean) },
      payload,
      run: async (input, { call, db }) => {
        await call(subscriptions[`${input.subscribedState}`], parametersOf(input));
        return payloadFor(await storedAt(db, input));
      },
    }),
  };
  return { payload, parametersOf, payloadFor, storedAt, peopleOf, setter, shared };
}

async function idsNamed(db: Reader, usernames: readonly string[]): Promise<number[]> {
  const named = among(
    "lower(username)",
    usernames.map((name) => name.toLowerCase()),
  );
  const found = await db.rows(`select id from users where ${named.sql}`, named.values);
  return found.map(([id]) => id as number);
}
