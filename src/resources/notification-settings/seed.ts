import * as v from "valibot";
import { optionsOf } from "../../core/options.ts";
import {
  oneOf,
  type SeededSource,
  type SeededUser,
  type Seeding,
  seedPart,
  type Word,
} from "../../core/seeding.ts";
import * as settings from "./queries.ts";

/** A user's notification settings: the level, and the event flags that are set. */
export type NotificationSettingsSeed = { level: Word<settings.Level> } & {
  [Flag in keyof settings.Flags]: boolean | undefined;
};

const schema = optionsOf({
  level: oneOf(settings.LEVELS),
  ...v.entriesFromList(settings.FLAGS, v.optional(v.boolean())),
});

function save(
  { db, now }: Seeding,
  userId: number,
  scope: settings.Scope,
  { level, ...flags }: v.InferOutput<typeof schema>,
): Promise<unknown> {
  const saved = { level, notification_email: null, flags: flags as settings.Flags };
  return settings.save(db, userId, scope, saved, now);
}

/** A user's global settings. */
export const globalNotificationSettingsPart = seedPart({
  schema: v.optional(schema),
  counted: "notification_settings",
  async insert(seeding, given, user: SeededUser) {
    if (!given) return 0;
    await save(seeding, user.id, "global", given);
    return 1;
  },
});

/** The settings of users for a group or project, by user name. */
export const notificationSettingsPart = seedPart({
  schema: v.optional(v.record(v.string(), schema), {}),
  counted: "notification_settings",
  async insert(seeding, given, source: SeededSource) {
    const all = Object.entries(given);
    for (const [username, one] of all) await save(seeding, seeding.userId(username), source, one);
    return all.length;
  },
});
