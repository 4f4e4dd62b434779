import { ROLES } from "../../core/access/roles.ts";
import { invalid, notFound } from "../../core/errors.ts";
import * as field from "../../core/field.ts";
import * as param from "../../core/input.ts";
import { paginate } from "../../core/pagination.ts";
import { presenter } from "../../core/presenter.ts";
import { type Resource, routes } from "../../core/resource.ts";
import { insertRow } from "../../store/insert.ts";
import type { Reader } from "../../store/port.ts";
import { updateRow } from "../../store/update.ts";
import { migrations } from "./table.ts";

const HOUR = 3_600_000;

const TYPES = ["banner", "notification"] as const;
const THEMES = [
  "indigo",
  "light-indigo",
  "blue",
  "light-blue",
  "green",
  "light-green",
  "red",
  "light-red",
  "dark",
  "light",
] as const;

const broadcastMessage = presenter({
  id: field.integer("bm.id"),
  message: field.text("bm.message"),
  starts_at: field.instant("bm.starts_at"),
  ends_at: field.instant("bm.ends_at"),
  color: field.text("bm.color"),
  font: field.text("bm.font"),
  target_access_levels: field.json("bm.target_access_levels", "array of integer"),
  target_path: field.text("bm.target_path"),
  broadcast_type: field.text("bm.broadcast_type"),
  dismissable: field.flag("bm.dismissable"),
  theme: field.text("bm.theme"),
  active: field.derived(
    ["bm.starts_at", "bm.ends_at"],
    "boolean",
    ([from, to], { now }) => Number(from) <= now && now < Number(to),
  ),
});

const id = { message_id: param.recordId() };
const message = param.text({ max: 10_000 });
const changeable = {
  starts_at: param.optional(param.instant()),
  ends_at: param.optional(param.instant()),
  color: param.optional(param.text()),
  font: param.unlessBlank(param.text()),
  target_access_levels: param.optional(param.arrayOf(param.oneOf(Object.values(ROLES)))),
  target_path: param.clearable(param.text()),
  broadcast_type: param.optional(param.choice(TYPES)),
  dismissable: param.optional(param.boolean()),
  theme: param.optional(param.choice(THEMES)),
};

/** The columns that are set from attributes. @throws ApiError 400 for what is no colour */
function columnsOf({
  dismissable,
  target_access_levels: levels,
  ...rest
}: param.Input<typeof changeable> & { message?: string | undefined }) {
  for (const name of ["color", "font"] as const) {
    const color = rest[name];
    if (color !== undefined && !/^#([0-9a-f]{3}|[0-9a-f]{6})$/i.test(color)) {
      throw invalid({ [name]: ["must be a valid color code"] });
    }
  }
  return {
    message: rest.message,
    starts_at: rest.starts_at,
    ends_at: rest.ends_at,
    color: rest.color,
    font: rest.font,
    target_path: rest.target_path,
    broadcast_type: rest.broadcast_type,
    theme: rest.theme,
    target_access_levels: levels && JSON.stringify(levels),
    dismissable: dismissable === undefined ? undefined : Number(dismissable),
  };
}

async function rowOf(db: Reader, messageId: number) {
  const [found] = await db.rows(
    `select ${broadcastMessage.columns} from broadcast_messages bm where bm.id = ?`,
    [messageId],
  );
  if (!found) throw notFound();
  return found;
}

const { del, get, list, post, put } = routes({ path: "/broadcast_messages" });

/** Messages of administrators to everybody, for clients to show. */
export const broadcastMessageResource: Resource = {
  name: "Broadcast messages",
  migrations,
  routes: [
    list("", {
      summary: "List the messages to everybody, past ones too",
      access: "anyone",
      presenter: broadcastMessage,
      handle: ({ db, presenter: shown, page }) =>
        paginate(db, shown, page, { from: "broadcast_messages bm", values: [], order: "bm.id" }),
    }),
    get("/:message_id", {
      summary: "Get a message to everybody",
      access: "anyone",
      input: id,
      presenter: broadcastMessage,
      handle: ({ db, input }) => rowOf(db, input.message_id),
    }),
    post("", {
      summary: "Tell everybody something: for an hour, unless other times are given",
      access: "admin",
      input: { message, ...changeable },
      presenter: broadcastMessage,
      handle: async ({ db, input, now }) => {
        const given = columnsOf(input);
        const starts_at = given.starts_at ?? now;
        const created = await insertRow(db, "broadcast_messages", {
          message: input.message,
          starts_at,
          ends_at: given.ends_at ?? starts_at + HOUR,
          color: given.color ?? "#E75E40",
          font: given.font ?? "#FFFFFF",
          target_access_levels: given.target_access_levels ?? "[]",
          target_path: given.target_path ?? null,
          broadcast_type: given.broadcast_type ?? "banner",
          dismissable: given.dismissable ?? 0,
          theme: given.theme ?? "indigo",
          created_at: now,
          updated_at: now,
        });
        return rowOf(db, created);
      },
    }),
    put("/:message_id", {
      summary: "Change a message to everybody",
      access: "admin",
      input: { ...id, message: param.optional(message), ...changeable },
      presenter: broadcastMessage,
      handle: async ({ db, input, now }) => {
        await rowOf(db, input.message_id);
        await updateRow(db, "broadcast_messages", input.message_id, columnsOf(input), now);
        return rowOf(db, input.message_id);
      },
    }),
    del("/:message_id", {
      summary: "Remove a message to everybody",
      access: "admin",
      input: id,
      handle: async ({ db, input, requireUnmodified }) => {
        const found = await db.one<{ updated_at: number }>(
          "select updated_at from broadcast_messages where id = ?",
          [input.message_id],
        );
        if (!found) throw notFound();
        requireUnmodified(found.updated_at);
        await db.run("delete from broadcast_messages where id = ?", [input.message_id]);
        return undefined;
      },
    }),
  ],
};
