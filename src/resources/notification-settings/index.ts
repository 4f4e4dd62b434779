import { ApiError, invalid } from "../../core/errors.ts";
import * as param from "../../core/input.ts";
import { type Context, Json, type Resource, routes, type Tier } from "../../core/resource.ts";
import type { Database, Reader } from "../../store/port.ts";
import * as users from "../users/queries.ts";
import * as settings from "./queries.ts";
import { migrations } from "./table.ts";

const flags = Object.fromEntries(
  settings.FLAGS.map((flag) => [flag, param.optional(param.boolean())]),
) as Record<settings.Flag, ReturnType<typeof param.optional<boolean>>>;

const changes = { level: param.optional(param.anyText()), ...flags };

/** `new_epic` exists only in the ultimate tier. */
const flagsOf = (tier: Tier) =>
  settings.FLAGS.filter((flag) => flag !== "new_epic" || tier === "ultimate");

/** An unknown level gets GitLab's own message. */
function requireLevel(level: string | undefined): settings.Level | undefined {
  if (level === undefined) return undefined;
  const known = settings.LEVELS.find((one) => one === level);
  if (!known) throw new ApiError(400, { message: `'${level}' is not a valid level` });
  return known;
}

/** The global settings, which never have `events`. */
export async function globalSettings(db: Reader, userId: number) {
  const { level, notification_email } = await settings.find(db, userId, "global");
  const own = (await users.find(db, userId))?.email;
  return { level, notification_email: notification_email ?? own };
}

/** Settings for a group or project, with `events` only if the level is `custom`. */
export function shown({ level, flags }: Pick<settings.Settings, "level" | "flags">, tier: Tier) {
  if (level !== "custom") return { level };
  const events = flagsOf(tier).map((flag) => [flag, flags[flag] ?? false]);
  return { level, events: Object.fromEntries(events) as settings.Flags };
}

async function sourceSettings(
  { db, source, tier }: Pick<Context, "source" | "tier"> & { db: Reader },
  userId: number,
) {
  return new Json(shown(await settings.find(db, userId, source), tier));
}

/** Flags are stored at every level, and take effect when it is `custom`. */
async function change(
  db: Database,
  userId: number,
  scope: settings.Scope,
  input: param.Input<typeof changes>,
  tier: Tier,
  now: number,
  email?: string | null,
): Promise<void> {
  const before = await settings.find(db, userId, scope);
  const flags = { ...before.flags };
  for (const flag of flagsOf(tier)) {
    const value = input[flag];
    if (value !== undefined) flags[flag] = value;
  }
  const level = requireLevel(input.level) ?? before.level;
  const notification_email = email === undefined ? before.notification_email : email;
  await settings.save(db, userId, scope, { level, notification_email, flags }, now);
}

const globalExamples = [{ level: "participating", notification_email: "ada@example.com" }];
const { new_epic, ...ofEveryTier } = Object.fromEntries(
  settings.FLAGS.map((flag) => [flag, false]),
) as Record<settings.Flag, boolean>;
const sourceExamples = [
  { level: "custom", events: { ...ofEveryTier, new_epic } },
  { level: "custom", events: ofEveryTier },
  { level: "global" },
];

const sourceRoutes = (["group", "project"] as const).flatMap((kind) => [
  routes({ source: kind }).get("/notification_settings", {
    summary: `Get the caller's notification settings for a ${kind}`,
    examples: sourceExamples,
    handle: (context) => sourceSettings(context, context.caller.id),
  }),
  routes({ source: kind }).put("/notification_settings", {
    summary: `Change the caller's notification settings for a ${kind}`,
    examples: sourceExamples,
    input: changes,
    handle: async (context) => {
      const { db, source, input, tier, now } = context;
      const userId = context.caller.id;
      await change(db, userId, source, input, tier, now);
      return sourceSettings(context, userId);
    },
  }),
]);

const { get, put } = routes({ path: "/notification_settings" });

/** Notification settings of the caller: global, and for groups and projects. */
export const notificationSettingsResource: Resource = {
  name: "Notification settings",
  migrations,
  routes: [
    get("", {
      summary: "Get the caller's notification settings",
      examples: globalExamples,
      handle: async ({ db, caller }) => new Json(await globalSettings(db, caller.id)),
    }),
    put("", {
      summary: "Change the caller's notification settings",
      examples: globalExamples,
      input: { ...changes, notification_email: param.clearable(param.anyText()) },
      handle: async ({ db, input, caller, tier, now }) => {
        const userId = caller.id;
        const { notification_email: email } = input;
        if (email && !(await users.hasAddress(db, userId, email))) {
          throw invalid({ notification_email: ["is not an email you own"] });
        }
        await change(db, userId, "global", input, tier, now, email);
        return new Json(await globalSettings(db, userId));
      },
    }),
    ...sourceRoutes,
  ],
};
