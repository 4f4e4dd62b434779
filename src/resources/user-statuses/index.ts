import { invalid } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { escaped } from "../../core/markup.ts";
import { presenter } from "../../core/presenter.ts";
import { type Context, type Resource, type Route, routes } from "../../core/resource.ts";
import { USER_SCOPES } from "../../core/scopes.ts";
import type { Database, Reader, Value } from "../../store/port.ts";
import { knownNames } from "../award-emoji/known.ts";
import { requireUserNamed } from "../users/rules.ts";
import { migrations } from "./table.ts";

const DEFAULT_EMOJI = "speech_balloon";
const MAX_MESSAGE = 100;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long a status may be shown. */
const PERIODS: Readonly<Record<string, number>> = {
  "30_minutes": 30 * MINUTE,
  "3_hours": 3 * HOUR,
  "8_hours": 8 * HOUR,
  "1_day": DAY,
  "3_days": 3 * DAY,
  "7_days": 7 * DAY,
  "30_days": 30 * DAY,
};

const status = presenter({
  emoji: field.text(`coalesce(us.emoji, '${DEFAULT_EMOJI}')`),
  message: field.text("us.message"),
  availability: field.text("coalesce(us.availability, 'not_set')"),
  message_html: field.derived(["us.message"], "string", ([message]) =>
    message === null ? "" : escaped(String(message)),
  ),
  clear_status_at: field.instant("us.clear_at"),
});

/** A user's status as a row of its presenter. Users who have none, or whose status has ended, are shown without one. */
async function rowOf(
  { db, presenter, now }: Pick<Context, "presenter" | "now"> & { readonly db: Reader },
  userId: number,
): Promise<Value[]> {
  const [found] = await db.rows(
    `select ${presenter.columns} from users u
     left join user_statuses us on us.user_id = u.id and (us.clear_at is null or us.clear_at > ?)
     where u.id = ?`,
    [now, userId],
  );
  return found as Value[];
}

const input = {
  emoji: param.clearable(param.anyText()),
  message: param.clearable(param.anyText({ max: MAX_MESSAGE })),
  availability: param.clearable(param.choice(["not_set", "busy"])),
  clear_status_after: param.clearable(param.choice(Object.keys(PERIODS))),
};

type Changing = Pick<Context<typeof input>, "input" | "now" | "presenter"> & {
  readonly prepared: ReadonlySet<string>;
  readonly db: Database;
  readonly caller: { readonly id: number };
};

interface Status {
  readonly emoji: string;
  readonly message: string;
  readonly availability: string;
  readonly clear_at: number | null;
}

/** Sets the caller's status. @param before what stays as it is where nothing is sent */
async function set(context: Changing, before: Status | undefined): Promise<Value[]> {
  const { db, caller, input, now, prepared: names } = context;
  const { emoji = before?.emoji, message = before?.message, clear_status_after: period } = input;
  if (emoji && !names.has(emoji)) throw invalid({ emoji: ["is not a valid emoji name"] });
  const availability = input.availability ?? before?.availability ?? "not_set";
  await db.run("delete from user_statuses where user_id = ?", [caller.id]);
  if (emoji || message || availability === "busy") {
    const kept = period === undefined ? (before?.clear_at ?? null) : null;
    await db.run(
      "insert into user_statuses (user_id, emoji, message, availability, clear_at) values (?, ?, ?, ?, ?)",
      [
        caller.id,
        emoji || DEFAULT_EMOJI,
        message ?? "",
        availability,
        period ? now + (PERIODS[period] as number) : kept,
      ],
    );
  }
  return rowOf(context, caller.id);
}

const { get, patch, put } = routes();

const own: readonly Route[] = [
  get("/user/status", {
    summary: "Get the caller's status",
    scopes: USER_SCOPES,
    presenter: status,
    handle: (context) => rowOf(context, context.caller.id),
  }),
  put("/user/status", {
    summary: "Replace the caller's status; without attributes, they have none any more",
    input,
    presenter: status,
    prepare: knownNames,
    handle: (context) => set(context, undefined),
  }),
  patch("/user/status", {
    summary: "Change the caller's status; what is not sent stays as it is",
    input,
    presenter: status,
    prepare: knownNames,
    handle: async (context) => {
      const { db, caller, now } = context;
      const before = await db.one<Status>(
        `select emoji, message, availability, clear_at from user_statuses
         where user_id = ? and (clear_at is null or clear_at > ?)`,
        [caller.id, now],
      );
      return set(context, before);
    },
  }),
];

/** What users say about what they are doing. */
export const userStatusResource: Resource = {
  name: "User statuses",
  migrations,
  routes: [
    ...own,
    get("/users/:user_id/status", {
      summary: "Get the status of a user, by id or username",
      access: "anyone",
      scopes: USER_SCOPES,
      input: { user_id: param.anyText() },
      presenter: status,
      handle: async (context) => {
        const { id } = await requireUserNamed(context.db, context.input.user_id);
        return rowOf(context, id);
      },
    }),
  ],
};
