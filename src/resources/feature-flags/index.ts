import * as audit from "../../audit/log.ts";
import { digestOf, newSecret } from "../../auth/token-secrets.ts";
import { ApiError, notFound, unauthorized } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { presenter } from "../../core/presenter.ts";
import {
  type Context,
  Json,
  type RequestInfo,
  type Resource,
  type Route,
  routes,
} from "../../core/resource.ts";
import { recordHookEvent } from "../../hooks/events.ts";
import { insertRow } from "../../store/insert.ts";
import type { Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { fits } from "../protected-refs/wildcards.ts";
import * as flags from "./queries.ts";
import { isXids, merge, refusal, type Strategy, strategiesInput } from "./strategies.ts";
import { migrations } from "./table.ts";

const VERSION = "new_version_flag";
/** Flags of a project, as in GitLab, and lists of users: programs ask for all of them at once. */
const MOST_FLAGS = 200;
const MOST_LISTS = 50;
/** Strategies of a project with a list, which programs get whole for each. */
const MOST_LISTED = 50;
const LONGEST_NAME = 63;
const LONGEST_LIST = 65_536;

const flag = presenter({
  name: field.text("ff.name"),
  description: field.text("ff.description"),
  active: field.flag("ff.active"),
  version: field.constant(VERSION),
  created_at: field.instant("ff.created_at"),
  updated_at: field.instant("ff.updated_at"),
  scopes: field.constant([]),
  strategies: field.json("ff.strategies as strategies", "array of object"),
});

const userList = presenter({
  id: field.integer("fu.id"),
  iid: field.integer("fu.iid"),
  project_id: field.integer("fu.project_id"),
  name: field.text("fu.name"),
  user_xids: field.text("fu.user_xids"),
  created_at: field.instant("fu.created_at"),
  updated_at: field.instant("fu.updated_at"),
});

const named = { feature_flag_name: param.anyText() };
const listed = { iid: param.recordId() };

const attributes = {
  description: param.clearable(param.anyText()),
  active: param.optional(param.boolean()),
  strategies: strategiesInput,
};

/** @throws ApiError 404 */
async function findFlag({
  db,
  source,
  input,
}: Pick<Context, "source"> & {
  db: Reader;
  input: { feature_flag_name: string };
}): Promise<flags.Flag> {
  const found = await flags.find(db, source.id, input.feature_flag_name);
  if (!found) throw notFound();
  return found;
}

/** @throws ApiError 404 */
async function findList({
  db,
  source,
  input,
}: Pick<Context, "source"> & { db: Reader; input: { iid: number } }) {
  const found = await flags.findUserList(db, source.id, input.iid);
  if (!found) throw notFound();
  return found;
}

/** @throws ApiError 400 for a name that no flag can have, or that another flag of the project has */
async function requireFree({ db, source }: Pick<Context, "db" | "source">, name: string) {
  if (name.length > LONGEST_NAME) {
    throw refusal(`Name is too long (maximum is ${LONGEST_NAME} characters)`);
  }
  if (!/^[a-z](?:[-_a-z0-9]*[a-z0-9])?$/.test(name)) {
    throw refusal(
      "Name can contain only lowercase letters, digits, '_' and '-'. Must start with a letter, and cannot end with '-' or '_'",
    );
  }
  if (await flags.find(db, source.id, name)) throw refusal("Name has already been taken");
}

/** The strategies of a flag after a request. @throws ApiError 400, 404 */
async function mergedOf(
  { db, source, input }: Pick<Context, "db" | "source"> & { input: param.Input<typeof attributes> },
  before: Parameters<typeof merge>[0],
  ownId?: number,
) {
  const sent = input.strategies ?? [];
  const needsLists = sent.some(({ user_list_id: list }) => list != null);
  const lists = needsLists ? await flags.listsById(db, source.id) : new Map<number, unknown>();
  const merged = merge(before, sent, (id) => lists.has(id));
  if (needsLists) {
    const others = (await flags.findAll(db, source.id)).filter(({ id }) => id !== ownId);
    const all = [...others.flatMap(flags.strategiesOf), ...merged.strategies];
    if (all.filter(({ user_list_id: list }) => list !== null).length > MOST_LISTED) {
      throw refusal(`Project has too many strategies with user lists (maximum is ${MOST_LISTED})`);
    }
  }
  return merged;
}

const targetOf = ({ source }: Pick<Context, "source">, name: string) => ({
  target: `${name} of ${source.fullPath}`,
});

const { del, get, list, post, put } = routes({ source: "project", path: "/feature_flags" });

const flagRoutes: Route[] = [
  list("", {
    summary: "List the feature flags of a project",
    role: "developer",
    input: { scope: param.optional(param.choice(["enabled", "disabled"])) },
    presenter: flag,
    handle: ({ db, presenter: shown, page, source, input }) =>
      flags.list(db, shown, page, source.id, input.scope && input.scope === "enabled"),
  }),
  get("/:feature_flag_name", {
    summary: "Get a feature flag",
    role: "developer",
    input: named,
    presenter: flag,
    handle: async (context) => {
      const { db, presenter: shown, source } = context;
      return flags.row(db, shown, source.id, (await findFlag(context)).id);
    },
  }),
  post("", {
    summary: "Create a feature flag",
    role: "developer",
    input: { name: param.text(), version: param.anyText(), ...attributes },
    presenter: flag,
    handle: async (context) => {
      const { db, presenter: shown, source, input, now } = context;
      if (input.version !== VERSION) throw refusal("Version is invalid");
      await requireFree(context, input.name);
      if ((await flags.count(db, "feature_flags", source.id)) >= MOST_FLAGS) {
        throw refusal(`Project has too many feature flags (maximum is ${MOST_FLAGS})`);
      }
      const { strategies, nextId } = await mergedOf(context, { strategies: [], nextId: 1 });
      const id = await insertRow(db, "feature_flags", {
        ...{ project_id: source.id, name: input.name, description: input.description ?? null },
        ...{ active: Number(input.active ?? true), created_at: now, updated_at: now },
        ...{ strategies: JSON.stringify(strategies), next_id: nextId },
      });
      await audit.log(context, "feature flag made", targetOf(context, input.name));
      return flags.row(db, shown, source.id, id);
    },
  }),
  put("/:feature_flag_name", {
    summary: "Change a feature flag",
    role: "developer",
    input: { ...named, name: param.optional(param.text()), ...attributes },
    atLeastOne: ["name", "description", "active", "strategies"],
    presenter: flag,
    handle: async (context) => {
      const { db, presenter: shown, source, caller, input, now } = context;
      const found = await findFlag(context);
      if (input.name !== undefined && input.name !== found.name) {
        await requireFree(context, input.name);
      }
      const before = { strategies: flags.strategiesOf(found), nextId: found.next_id };
      const { strategies, nextId } = await mergedOf(context, before, found.id);
      const { name, description, active } = input;
      const changed = active === undefined ? undefined : Number(active);
      const stored = { strategies: JSON.stringify(strategies), next_id: nextId };
      const columns = { name, description, active: changed, ...stored };
      await updateRow(db, "feature_flags", found.id, columns, now);
      if (changed !== undefined && changed !== found.active) {
        const of = { project: source.id };
        const told = { kind: "feature_flag", of, userId: caller.id, id: found.id } as const;
        recordHookEvent(context, { ...told, action: "update" });
      }
      await audit.log(context, "feature flag changed", targetOf(context, name ?? found.name));
      return flags.row(db, shown, source.id, found.id);
    },
  }),
  del("/:feature_flag_name", {
    summary: "Delete a feature flag",
    role: "developer",
    input: named,
    status: 200,
    presenter: flag,
    handle: async (context) => {
      const { db, presenter: shown, source } = context;
      const found = await findFlag(context);
      context.requireUnmodified(found.updated_at);
      const row = await flags.row(db, shown, source.id, found.id);
      await db.run("delete from feature_flags where id = ?", [found.id]);
      await audit.log(context, "feature flag deleted", targetOf(context, found.name));
      return row;
    },
  }),
];

const lists = routes({ source: "project", path: "/feature_flags_user_lists" });

const xids = param.anyText({ max: LONGEST_LIST });

/** @throws ApiError 400 for what no list of users can have */
async function requireList(
  { db, source }: Pick<Context, "db" | "source">,
  { name, user_xids }: { name?: string | undefined; user_xids?: string | undefined },
  own?: number,
): Promise<void> {
  if (user_xids !== undefined && user_xids !== "" && !isXids(user_xids)) {
    throw refusal(
      "User xids must be a string of unique comma separated values each 256 characters or less",
    );
  }
  if (name === undefined) return;
  const others = await flags.listsById(db, source.id);
  for (const other of others.values()) {
    if (other.name === name && other.id !== own) throw refusal("Name has already been taken");
  }
}

const listRoutes: Route[] = [
  lists.list("", {
    summary: "List the lists of users of a project's feature flags",
    role: "developer",
    input: { search: param.optional(param.anyText()) },
    presenter: userList,
    handle: ({ db, presenter: shown, page, source, input }) =>
      flags.userLists(db, shown, page, source.id, input.search),
  }),
  lists.get("/:iid", {
    summary: "Get a list of users",
    role: "developer",
    input: listed,
    presenter: userList,
    handle: async (context) =>
      flags.userListRow(context.db, context.presenter, (await findList(context)).id),
  }),
  lists.post("", {
    summary: "Create a list of users that feature flags can be on for",
    role: "developer",
    input: { name: param.text(), user_xids: xids },
    presenter: userList,
    handle: async (context) => {
      const { db, presenter: shown, source, input, now } = context;
      await requireList(context, input);
      if ((await flags.count(db, "feature_flag_user_lists", source.id)) >= MOST_LISTS) {
        throw refusal(`Project has too many user lists (maximum is ${MOST_LISTS})`);
      }
      const id = await flags.insertUserList(db, source.id, input, now);
      return flags.userListRow(db, shown, id);
    },
  }),
  lists.put("/:iid", {
    summary: "Change a list of users",
    role: "developer",
    input: { ...listed, name: param.optional(param.text()), user_xids: param.optional(xids) },
    atLeastOne: ["name", "user_xids"],
    presenter: userList,
    handle: async (context) => {
      const { db, presenter: shown, input, now } = context;
      const found = await findList(context);
      await requireList(context, input, found.id);
      const { name, user_xids } = input;
      await updateRow(db, "feature_flag_user_lists", found.id, { name, user_xids }, now);
      return flags.userListRow(db, shown, found.id);
    },
  }),
  lists.del("/:iid", {
    summary: "Delete a list of users",
    role: "developer",
    input: listed,
    handle: async (context) => {
      const { db, source } = context;
      const found = await findList(context);
      context.requireUnmodified(found.updated_at);
      for (const one of await flags.findAll(db, source.id)) {
        if (flags.strategiesOf(one).some(({ user_list_id: list }) => list === found.id)) {
          throw new ApiError(409, { message: "User list is associated with a strategy" });
        }
      }
      await db.run("delete from feature_flag_user_lists where id = ?", [found.id]);
      return undefined;
    },
  }),
];

const { post: postClient } = routes({ source: "project", path: "/feature_flags_client" });

const tokenRoute = postClient("/reset_token", {
  summary:
    "Create the token of the programs that ask for a project's feature flags; only this response has it",
  role: "maintainer",
  examples: [{ token: "glffct-0123456789abcdef0123456789abcdef01234567" }],
  handle: async (context) => {
    const { db, source } = context;
    const { secret, digest } = newSecret("glffct");
    await flags.setClient(db, source.id, digest);
    await audit.log(context, "feature flag token made", { target: source.fullPath });
    return new Json({ token: secret });
  },
});

const unleash = routes({ path: "/feature_flags/unleash/:project_id" });
const open = { access: "anyone", ownCredentials: true } as const;
const client = {
  project_id: param.untypedId(),
  instance_id: param.optional(param.anyText()),
  app_name: param.optional(param.anyText()),
};

type ClientInput = param.Input<typeof client>;

/** Checks the token of a program that asks for flags. @throws ApiError 401 */
async function requireClient(
  db: Reader,
  request: RequestInfo,
  { project_id: projectId, instance_id: sent }: ClientInput,
): Promise<void> {
  const token = request.header("unleash-instanceid") ?? sent;
  const isClient = token !== undefined && (await flags.isClient(db, projectId, digestOf(token)));
  if (!isClient) throw unauthorized();
}

/** A strategy as Unleash's clients know it. */
function told(
  { name, parameters, user_list_id: list }: Strategy,
  known: Map<number, flags.UserList>,
) {
  if (list === null) return { name, parameters };
  return { name: "userWithId", parameters: { userIds: known.get(list)?.user_xids ?? "" } };
}

const featuresRoute = (path: "/client/features" | "/features") =>
  unleash.get(path, {
    summary: "Get the feature flags of a project as Unleash's clients read them",
    ...open,
    input: client,
    examples: [
      {
        version: 1,
        features: [
          {
            name: "new_search",
            description: "",
            enabled: true,
            strategies: [{ name: "default", parameters: {} }],
          },
        ],
      },
    ],
    handle: async ({ db, request, input }) => {
      await requireClient(db, request, input);
      const environment = request.header("unleash-appname") ?? input.app_name ?? "";
      const [all, known] = [
        await flags.findAll(db, input.project_id),
        await flags.listsById(db, input.project_id),
      ];
      const features = all.flatMap((one) => {
        const strategies = flags
          .strategiesOf(one)
          .filter(({ scopes }) =>
            scopes.some(({ environment_scope: scope }) => fits(scope, environment)),
          );
        if (strategies.length === 0) return [];
        const { name, description, active } = one;
        return {
          name,
          description: description ?? "",
          enabled: active === 1,
          strategies: strategies.map((strategy) => told(strategy, known)),
        };
      });
      return new Json({ version: 1, features });
    },
  });

const reportRoute = (path: "/client/register" | "/client/metrics") =>
  unleash.post(path, {
    summary: "Take what Unleash's clients report; nothing of it is kept",
    ...open,
    input: client,
    status: 200,
    examples: [null],
    handle: async ({ db, request, input }) => {
      await requireClient(db, request, input);
      return new Json(null);
    },
  });

/** Feature flags of projects, also as Unleash's clients read them (docs/feature-flags.md). */
export const featureFlagResource: Resource = {
  name: "Feature flags",
  migrations,
  routes: [
    ...flagRoutes,
    ...listRoutes,
    tokenRoute,
    featuresRoute("/client/features"),
    featuresRoute("/features"),
    reportRoute("/client/register"),
    reportRoute("/client/metrics"),
  ],
};
