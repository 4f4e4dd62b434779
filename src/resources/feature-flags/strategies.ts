import { ApiError, notFound } from "../../core/errors.ts";
import * as param from "../../core/input.ts";

/** A scope of a strategy: the environments, perhaps with `*`, in which it counts. */
interface Scope {
  readonly id: number;
  readonly environment_scope: string;
}

/** For whom a flag is on. */
export interface Strategy {
  readonly id: number;
  readonly name: StrategyName;
  readonly parameters: Readonly<Record<string, string>>;
  /** The list of users of `gitlabUserList`; null for others. */
  readonly user_list_id: number | null;
  readonly scopes: readonly Scope[];
}

const NAMES = [
  "default",
  "gradualRolloutUserId",
  "userWithId",
  "gitlabUserList",
  "flexibleRollout",
] as const;
type StrategyName = (typeof NAMES)[number];

/** Strategies of a flag, and scopes of a strategy. */
const MOST_STRATEGIES = 20;
const MOST_SCOPES = 20;
/** Characters that the strategies of a flag have together, as JSON: programs ask for all flags at once. */
const MOST_CHARACTERS = 16_384;
/** Characters of each of a comma-separated list of users' ids. */
const LONGEST_XID = 256;

const optionalId = param.clearable(param.integer());
const destroy = { _destroy: param.optional(param.boolean()) };

/** The strategies of a flag, as requests have them: new ones, or with the `id` of one that is changed or removed. */
export const strategiesInput = param.optional(
  param.arrayOf(
    param.object({
      id: optionalId,
      name: param.optional(param.text()),
      parameters: param.optional(param.json("an object of texts")),
      user_list_id: optionalId,
      scopes: param.optional(
        param.arrayOf(
          param.object({
            id: optionalId,
            environment_scope: param.optional(param.text()),
            ...destroy,
          }),
          { max: MOST_SCOPES },
        ),
      ),
      ...destroy,
    }),
    { max: MOST_STRATEGIES },
  ),
);

type Sent = NonNullable<
  typeof strategiesInput extends param.Attribute<infer T> ? T : never
>[number];

/** What GitLab refuses of feature flags: a list of sentences. */
export const refusal = (...message: string[]) => new ApiError(400, { message });

/** Strategies after a change, and the next id. */
interface Merged {
  readonly strategies: readonly Strategy[];
  readonly nextId: number;
}

/**
 * Changes the strategies of a flag as a request asks for.
 *
 * @param isList whether a project has a list of users, by its id
 * @throws ApiError 400, 404 for the id of a strategy or scope that there is not
 */
export function merge(
  { strategies, nextId }: Merged,
  sent: readonly Sent[],
  isList: (id: number) => boolean,
): Merged {
  const merged = new Map(strategies.map((one) => [one.id, one]));
  let next = nextId;
  const newId = () => {
    next += 1;
    return next - 1;
  };
  for (const one of sent) {
    const before = one.id == null ? undefined : merged.get(one.id);
    if (one.id != null && !before) throw notFound();
    if (one._destroy) {
      if (before) merged.delete(before.id);
      continue;
    }
    const changed: Strategy = {
      id: before?.id ?? newId(),
      name: requireName(one.name ?? before?.name),
      parameters: parametersOf(one.parameters ?? before?.parameters),
      user_list_id:
        one.user_list_id === undefined ? (before?.user_list_id ?? null) : one.user_list_id,
      scopes: scopesOf(before?.scopes ?? [], one.scopes ?? [], newId),
    };
    requireParameters(changed, isList);
    merged.set(changed.id, changed);
  }
  const all = [...merged.values()];
  if (all.length > MOST_STRATEGIES) {
    throw refusal(`Strategies can't be more than ${MOST_STRATEGIES}`);
  }
  if (JSON.stringify(all).length > MOST_CHARACTERS) {
    throw refusal(`Strategies are too long (maximum is ${MOST_CHARACTERS} characters)`);
  }
  return { strategies: all, nextId: next };
}

function requireName(name: string | undefined): StrategyName {
  const known = NAMES.find((one) => one === name);
  if (!known) throw refusal("Strategies name strategy name is invalid");
  return known;
}

function parametersOf(sent: unknown): Strategy["parameters"] {
  const isObject = typeof sent === "object" && sent !== null && !Array.isArray(sent);
  const parameters = isObject ? Object.entries(sent) : sent === undefined ? [] : undefined;
  if (!parameters?.every(([, value]) => typeof value === "string")) {
    throw refusal("Strategies parameters must be an object of texts");
  }
  return Object.fromEntries(parameters);
}

function scopesOf(
  before: readonly Scope[],
  sent: NonNullable<Sent["scopes"]>,
  newId: () => number,
): Scope[] {
  const scopes = new Map(before.map((one) => [one.id, one]));
  for (const { id, environment_scope: scope, _destroy } of sent) {
    const known = id == null ? undefined : scopes.get(id);
    if (id != null && !known) throw notFound();
    if (_destroy) {
      if (known) scopes.delete(known.id);
      continue;
    }
    const environment_scope = scope ?? known?.environment_scope;
    if (environment_scope === undefined) {
      throw refusal("Strategies scopes environment scope can't be blank");
    }
    const changed = { id: known?.id ?? newId(), environment_scope };
    scopes.set(changed.id, changed);
  }
  const all = [...scopes.values()];
  if (new Set(all.map((one) => one.environment_scope)).size < all.length) {
    throw refusal("Strategies scopes environment scope has already been taken");
  }
  if (all.length > MOST_SCOPES)
    throw refusal(`Strategies scopes can't be more than ${MOST_SCOPES}`);
  return all;
}

const PERCENT = /^(?:100|[1-9]?\d)$/;
const GROUP = /^[a-z]{1,32}$/;
const STICKINESS = ["default", "userId", "sessionId", "random"];

/** Whether a text is a comma-separated list of users' ids. */
export function isXids(text: string): boolean {
  const ids = text.split(",");
  return (
    new Set(ids).size === ids.length &&
    ids.every((id) => id !== "" && id.length <= LONGEST_XID && id.trim() === id)
  );
}

/** The names of the parameters that each strategy takes. */
const PARAMETERS: Readonly<Record<StrategyName, readonly string[]>> = {
  default: [],
  gitlabUserList: [],
  gradualRolloutUserId: ["groupId", "percentage"],
  userWithId: ["userIds"],
  flexibleRollout: ["groupId", "rollout", "stickiness"],
};

/** What else its parameters must be. */
const RULES: Readonly<Record<string, readonly [(value: string) => boolean, string]>> = {
  groupId: [(value) => GROUP.test(value), "groupId parameter is invalid"],
  percentage: [
    (value) => PERCENT.test(value),
    "percentage must be a string between 0 and 100 inclusive",
  ],
  rollout: [(value) => PERCENT.test(value), "rollout must be a string between 0 and 100 inclusive"],
  stickiness: [
    (value) => STICKINESS.includes(value),
    "stickiness parameter must be default, userId, sessionId, or random",
  ],
  userIds: [
    isXids,
    `userIds must be a string of unique comma separated values each ${LONGEST_XID} characters or less`,
  ],
};

/** @throws ApiError 400 unless a strategy has the parameters of its kind, and a list of users if it needs one */
function requireParameters(
  { name, parameters, user_list_id: list }: Strategy,
  isList: (id: number) => boolean,
): void {
  const wanted = PARAMETERS[name];
  const names = Object.keys(parameters);
  if (names.length !== wanted.length || !wanted.every((one) => one in parameters)) {
    const problem = wanted.length === 0 ? "must be empty" : "parameters are invalid";
    throw refusal(`Strategies parameters ${problem}`);
  }
  for (const [parameter, value] of Object.entries(parameters)) {
    const [isFit, problem] = RULES[parameter] as (typeof RULES)[string];
    if (!isFit(value)) throw refusal(`Strategies parameters ${problem}`);
  }
  if ((name === "gitlabUserList") !== (list !== null)) {
    throw refusal(`Strategies user list ${list === null ? "can't be blank" : "must be blank"}`);
  }
  if (list !== null && !isList(list))
    throw refusal("Strategies user list must belong to the same project");
}
