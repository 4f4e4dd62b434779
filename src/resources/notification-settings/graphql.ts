import type { Owner } from "../../core/access/owner.ts";
import {
  type Arg,
  arg,
  computed,
  enumeration,
  GraphError,
  type GraphqlModule,
  inputType,
  loaded,
  mutation,
  type OutputFields,
  property,
  required,
  routeOf,
  valueType,
} from "../../graphql/declare.ts";
import { globalSettings, notificationSettingsResource, shown } from "./index.ts";
import { DEFAULTS, FLAGS, type Flag, findAll, LEVELS, type Level } from "./queries.ts";

const LEVEL = enumeration<Level>(
  "NotificationLevel",
  "Which events users are notified of.",
  Object.fromEntries(LEVELS.map((level) => [level.toUpperCase(), level])),
);

const camelCase = (flag: Flag) =>
  flag.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const byFlag = <T>(make: (flag: Flag) => T): Record<string, T> =>
  Object.fromEntries(FLAGS.map((flag) => [camelCase(flag), make(flag)]));

const events = valueType("NotificationEvents", "The events of the level `CUSTOM`.", {
  ...(byFlag((flag) =>
    property("Boolean", (flags: Partial<Record<Flag, boolean>>) => flags[flag]),
  ) satisfies OutputFields),
});
const EVENTS = inputType(
  "NotificationEventsInput",
  "The events of the level `CUSTOM`.",
  byFlag((): Arg<boolean | undefined> => arg.boolean),
);

const settings = valueType("NotificationSettings", "The caller's notification settings.", {
  level: {
    ...required(
      property("NotificationLevel", ({ level }: { level: Level }) => level.toUpperCase()),
    ),
    declares: LEVEL,
  },
  notificationEmail: property(
    "String",
    ({ notification_email }: { notification_email?: string }) => notification_email,
  ),
  events: property(events),
});

/** The caller's settings for groups or projects; anonymous callers have none. */
const ofSources = (column: Owner["column"]) =>
  loaded(settings, async (ids, { db, caller, tier }) => {
    if (!caller) return new Map();
    const stored = await findAll(db, caller.id, column, ids);
    const none = { level: DEFAULTS.source, flags: {} };
    return new Map(ids.map((id) => [id, shown(stored.get(id) ?? none, tier)]));
  });

const CHANGE = {
  global: routeOf(notificationSettingsResource, "PUT /notification_settings"),
  group: routeOf(notificationSettingsResource, "PUT /groups/:id/notification_settings"),
  project: routeOf(notificationSettingsResource, "PUT /projects/:id/notification_settings"),
};

/** The caller's notification settings. */
export const graphqlModule: GraphqlModule = {
  types: [settings],
  extend: {
    CurrentUser: {
      notificationSettings: computed(settings, ["u.id"], ([id], { db }) =>
        globalSettings(db, id as number),
      ),
    },
    Group: { notificationSettings: ofSources("namespace_id") },
    Project: { notificationSettings: ofSources("project_id") },
  },
  mutations: {
    notificationSettingsUpdate: mutation({
      about: "Change the caller's notification settings: for a group, a project, or everything.",
      input: {
        groupPath: arg.id,
        projectPath: arg.id,
        level: arg.choice(LEVEL),
        notificationEmail: arg.about("Not for groups and projects.", arg.string),
        events: arg.input(EVENTS),
      },
      payload: { notificationSettings: property(settings) },
      run: async ({ groupPath, projectPath, level, notificationEmail, events }, { call }) => {
        if (groupPath !== undefined && projectPath !== undefined) {
          throw new GraphError(
            "Only one of [groupPath, projectPath] arguments is allowed at the same time.",
          );
        }
        const id = groupPath ?? projectPath;
        const flags = FLAGS.map((flag) => [flag, events?.[camelCase(flag)]]);
        const changes = { level, ...Object.fromEntries(flags) };
        if (id === undefined) {
          const sent = { ...changes, notification_email: notificationEmail };
          return { notificationSettings: await call(CHANGE.global, sent) };
        }
        const route = groupPath === undefined ? CHANGE.project : CHANGE.group;
        return { notificationSettings: await call(route, { id, ...changes }) };
      },
    }),
  },
};
