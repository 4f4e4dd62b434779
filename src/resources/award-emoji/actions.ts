import { visibleNotes } from "../../core/access/visibility.ts";
import * as param from "../../core/input.ts";
import { Json, type Route } from "../../core/resource.ts";
import { placeholders } from "../../store/placeholders.ts";
import { routesBelow } from "../issuables/places.ts";
import type { NoteableType } from "../issuables/type.ts";
import { ISSUABLE_TYPES } from "../issuables/types.ts";
import { findNoteable } from "../notes/rules.ts";
import { changeRouteOf } from "./index.ts";

// What pages show and do beside REST, which tells of the emoji of one note at a time: these routes have no address.

/** So many notes are asked for at once. */
const MOST = 1000;

const ofNotes = (type: NoteableType) =>
  routesBelow(type, `/${type.path}/:noteable_id`).get("/emoji_of_notes", {
    summary: "Count the emoji of notes, by their names",
    isShownToVisitors: true,
    input: {
      noteable_id: param.recordId(),
      note_ids: param.arrayOf(param.integer(), { max: MOST }),
    },
    handle: async (context) => {
      const { db, viewer, input } = context;
      const target = await findNoteable(context, type, input.noteable_id);
      if (input.note_ids.length === 0) return new Json([]);
      const among = placeholders(input.note_ids);
      const visible = visibleNotes(viewer);
      const found = await db.rows(
        `select ae.note_id, ae.name, count(*), max(case when ae.user_id = ? then 1 else 0 end), min(ae.id)
         from notes nt join award_emoji ae on ae.note_id = nt.id
         where nt.id in (${among.sql}) and nt.${type.column} = ? and ${visible.sql}
         group by ae.note_id, ae.name order by 5`,
        [viewer.caller?.id ?? 0, ...among.values, target.id, ...visible.values],
      );
      return new Json(
        found.map(([note_id, name, count, mine]) => ({ note_id, name, count, mine: mine === 1 })),
      );
    },
  });

const BY_PATH = new Map<string, Readonly<Record<"list" | "toggle", Route>>>(
  ISSUABLE_TYPES.map((type) => [
    type.path,
    { list: ofNotes(type), toggle: changeRouteOf(type, "note") },
  ]),
);

/** The routes that count the emoji of notes, and that give or take back one. @param path such as `issues` */
export const emojiOfNotes = (
  path: string,
): Readonly<Record<"list" | "toggle", Route>> | undefined => BY_PATH.get(path);
